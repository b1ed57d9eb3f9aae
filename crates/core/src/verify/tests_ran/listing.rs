//! Commands of test runners that list, collect or compile tests but run none.

/// The words that start a runner, with the arguments that keep it from running tests; empty if the
/// words alone do.
const LISTING: [(&[&str], &[&str]); 20] = [
    (
        &["pytest"],
        &[
            "--co",
            "--collect-only",
            "--setup-plan",
            "--fixtures",
            "--markers",
        ],
    ),
    (
        &["py.test"],
        &[
            "--co",
            "--collect-only",
            "--setup-plan",
            "--fixtures",
            "--markers",
        ],
    ),
    (&["jest"], &["--listTests", "--showConfig"]),
    (&["vitest", "list"], &[]),
    (&["vitest"], &["--help"]),
    (&["mocha"], &["--dry-run", "--list-files"]),
    (&["playwright", "test"], &["--list"]),
    (&["go", "test"], &["-list", "--list", "-c", "-n"]),
    (&["cargo", "test"], &["--list", "--no-run"]),
    (&["cargo", "nextest", "list"], &[]),
    (&["cargo", "nextest"], &["--no-run"]),
    (&["rspec"], &["--dry-run"]),
    (
        &["phpunit"],
        &[
            "--list-tests",
            "--list-tests-xml",
            "--list-suites",
            "--list-groups",
            "--list-test-files",
        ],
    ),
    (&["ctest"], &["-N", "--show-only"]),
    (&["dotnet", "test"], &["--list-tests", "-t"]),
    (&["mvn"], &["-DskipTests", "-Dmaven.test.skip"]),
    (&["mvnw"], &["-DskipTests", "-Dmaven.test.skip"]),
    (&["gradle"], &["-m", "--dry-run", "--test-dry-run"]),
    (&["gradlew"], &["-m", "--dry-run", "--test-dry-run"]),
    (&["make"], &["-n", "--dry-run", "--just-print", "--recon"]),
];

/// Whether a command line names runners and only lists or compiles tests.
pub(super) fn lists_only(command: &str) -> bool {
    let commands = command.split("&&").flat_map(|part| part.split([';', '|']));
    let runners: Vec<bool> = commands.filter_map(runner_lists).collect();
    !runners.is_empty() && runners.iter().all(|&lists| lists)
}

/// The command that a line shows before running it: npm and pnpm print `> jest --listTests`, yarn
/// and bun `$ jest --listTests`, a shell with `-x` `+ jest --listTests`, make the command alone.
pub(super) fn echoed(line: &str) -> Option<&str> {
    let marked = ["> ", "$ ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    marked
        // Gradle prints `> Task :test`, which is not a command.
        .filter(|command| !command.starts_with("Task "))
        .or_else(|| Some(line).filter(|line| lists_only(line)))
}

/// Whether a line is only the absolute path of a JavaScript test file: jest 30.5.2 prints nothing
/// else with `--listTests`.
pub(super) fn is_test_file(line: &str) -> bool {
    const ENDINGS: [&str; 8] = [".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"];
    line.starts_with('/')
        && !line.contains(char::is_whitespace)
        && [".test.", ".spec.", "/__tests__/"]
            .iter()
            .any(|mark| line.contains(mark))
        && ENDINGS.iter().any(|ending| line.ends_with(ending))
}

/// Whether the runner in one command only lists tests; `None` if the command names no runner.
fn runner_lists(command: &str) -> Option<bool> {
    let words: Vec<&str> = command
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .collect();
    LISTING.iter().find_map(|(runner, flags)| {
        let starts = |at: &[&str]| {
            basename(at[0]) == runner[0] && at[1..].iter().zip(&runner[1..]).all(|(a, b)| a == b)
        };
        let at = words.windows(runner.len()).position(starts)?;
        let is_flag = |word: &&&str| {
            flags
                .iter()
                .any(|flag| word.strip_prefix(flag).is_some_and(is_whole))
        };
        let mut rest = words[at + runner.len()..].iter();
        Some(flags.is_empty() || rest.any(|word| is_flag(&word)))
    })
}

/// The last part of a path.
pub(super) fn basename(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a flag's word ends here or continues with a value. `-Dx=false` disables the flag.
fn is_whole(rest: &str) -> bool {
    rest.is_empty() || (rest.starts_with('=') && rest != "=false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_only_lists_tests_is_known_by_its_arguments() {
        for (command, expected) in [
            ("jest --listTests", true),
            ("jest", false),
            ("jest --listTests && jest", false),
            ("node_modules/.bin/mocha --dry-run a.js", true),
            ("npx mocha a.js", false),
            ("python3 -m pytest --co -q", true),
            ("python3 -m pytest --cov", false),
            ("go test -list . ./...", true),
            ("go test -list=. ./...", true),
            ("go test ./...", false),
            ("go vet -list", false),
            ("cargo test --locked -- --list", true),
            ("cargo nextest list", true),
            ("cargo nextest run list", false),
            ("bundle exec rspec --dry-run", true),
            ("vendor/bin/phpunit --list-tests", true),
            ("mvn -B test -DskipTests", true),
            ("mvn test -Dmaven.test.skip=true", true),
            ("mvn test -DskipTests=false", false),
            ("./gradlew -m test", true),
            ("sh -c 'vitest list'", true),
            ("echo jest is nice", false),
            ("ls --list", false),
        ] {
            assert_eq!(lists_only(command), expected, "{command}");
        }
    }
}
