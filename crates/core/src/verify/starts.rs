//! Detects whether a command runs a given file of the repository.

/// Programs that run a file of the repository; names with versions such as `python3.12` count too.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "node", "perl", "php", "python", "ruby", "sh", "zsh",
];
/// Programs that only start another one.
const WRAPPERS: &[&str] = &[
    "env", "exec", "nice", "nohup", "stdbuf", "time", "timeout", "xvfb-run",
];

/// Whether a command runs a file: as its program, as the script of an interpreter, or in a shell line.
pub(super) fn starts(argv: &[String], file: &str) -> bool {
    let is_file = |word: &str| word.trim_start_matches("./") == file;
    let Some((program, rest)) = argv.split_first() else {
        return false;
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_interpreter = INTERPRETERS.contains(&name) || name.starts_with("python");
    if is_interpreter || WRAPPERS.contains(&name) {
        // Options and their values look like words; a false match is better than a miss.
        let words = rest
            .iter()
            .flat_map(|word| word.split([' ', ';', '&', '|', '(', ')', '\n']));
        return words.into_iter().any(is_file);
    }
    is_file(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_a_command_starts_is_known_and_a_file_that_it_reads_is_not() {
        for (command, expected) in [
            (&["./t.sh"] as &[&str], true),
            (&["t.sh", "-v"], true),
            (&["sh", "-e", "t.sh"], true),
            (&["/bin/bash", "./t.sh"], true),
            (&["grep", "x", "t.sh"], false),
            (&["sh", "-c", "set -e; ./t.sh"], true),
            (&["timeout", "60", "./t.sh"], true),
            (&["env", "X=1", "bash", "t.sh"], true),
            (&["sh", "-c", "make test"], false),
            (&[], false),
        ] {
            let argv: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(starts(&argv, "t.sh"), expected, "{command:?}");
        }
    }
}
