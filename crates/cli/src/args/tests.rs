use super::*;
use crate::examples::EXAMPLES;
use std::collections::BTreeSet;

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

/// Every command with its path, such as `drive config show`.
fn commands() -> Vec<(String, clap::Command)> {
    fn walk(path: &str, command: &clap::Command, all: &mut Vec<(String, clap::Command)>) {
        for below in command.get_subcommands() {
            walk(&format!("{path} {}", below.get_name()), below, all);
        }
        all.push((path.to_owned(), command.clone()));
    }
    let mut all = Vec::new();
    walk("drive", &Cli::command(), &mut all);
    all
}

/// Whether a help text is one line that starts with a capital and does not end with a full stop.
fn is_in_style(help: &str) -> bool {
    help.starts_with(|first: char| first.is_ascii_uppercase())
        && !help.ends_with('.')
        && !help.contains('\n')
        && help.len() <= 100
}

#[test]
fn every_command_and_every_argument_has_help_in_one_style() {
    let mut wrong = Vec::new();
    for (path, command) in commands() {
        if command.is_hide_set() {
            continue;
        }
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        if !is_in_style(&about) {
            wrong.push(format!("{path}: {about:?}"));
        }
        for argument in command
            .get_arguments()
            .filter(|argument| !argument.is_hide_set())
        {
            let help = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            if !is_in_style(&help) {
                wrong.push(format!("{path} {}: {help:?}", argument.get_id()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn no_two_commands_say_the_same_and_no_two_arguments_of_one_do() {
    let mut seen = BTreeSet::new();
    let mut twice = Vec::new();
    for (path, command) in commands() {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        if !seen.insert(about.clone()) {
            twice.push(format!("{path}: {about}"));
        }
        let mut helps = BTreeSet::new();
        for argument in command.get_arguments() {
            let help = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            if !helps.insert(help.clone()) {
                twice.push(format!("{path} {}: {help}", argument.get_id()));
            }
        }
    }
    assert_eq!(twice, [""; 0]);
}

/// The words of a line as a shell splits them, without redirections.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" < ").next().unwrap();
    let line = line.split(" > ").next().unwrap();
    let mut words = Vec::new();
    for (index, piece) in line.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_has_examples_that_parse() {
    let shown: BTreeSet<String> = EXAMPLES
        .iter()
        .map(|(path, _)| format!("drive {path}"))
        .collect();
    let leaves = commands().into_iter();
    let leaves = leaves.filter(|(_, command)| command.get_subcommands().next().is_none());
    let leaves: BTreeSet<String> = leaves.map(|(path, _)| path).collect();
    assert_eq!(shown, leaves);
    for (path, lines) in EXAMPLES {
        for line in *lines {
            assert!(line.starts_with(&format!("drive {path}")), "{line}");
            let parsed = Cli::try_parse_from(words(line));
            assert!(
                parsed.is_ok(),
                "{line}: {:?}",
                parsed.err().map(|error| error.to_string())
            );
        }
    }
}

/// The command lines of the contract. Nouns that do not exist yet are skipped.
#[test]
fn every_command_line_of_the_contract_parses() {
    let lines = [
        "spawn TASK --agent codex --base main --branch b --keep --no-pr --idle-timeout 1m --total-timeout 2m",
        "spawn -",
        "spawn-team TASK --mode pingpong --max-iterations 2 --primary codex --reviewer codex --keep",
        "cruise run TASK --plan-only --plan-file f --auto-approve --detach",
        "cruise run TASK --max-parallel 2 --pr-strategy per-task --detach",
        "cruise list",
        "cruise status",
        "cruise logs -f",
        "cruise fix ID --comment TEXT",
        "cruise fix",
        "cruise approve ID",
        "cruise resume ID",
        "cruise resume --all",
        "cruise cleanup ID",
        "verify REV --base REV --json",
        "verify --base REV --junit F --sarif F --github --status",
        "hooks install",
        "hooks uninstall",
        "verify",
        "pr list",
        "pr show 1",
        "pr comment 1",
        "pr approve 1",
        "pr merge 1",
        "pr close 1",
        "serve",
        "doctor",
        "config show",
        "config check",
        "config schema",
        "demo",
        "completions bash",
        "config show --repo PATH --config FILE --json -v --color never",
        "config show -q",
    ];
    let built = Cli::command();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        if built.find_subcommand(words[0]).is_none() {
            continue;
        }
        let parsed = Cli::try_parse_from([&["drive"], words.as_slice()].concat());
        assert!(
            parsed.is_ok(),
            "{line}: {:?}",
            parsed.err().map(|error| error.to_string())
        );
    }
}

/// To accept a new command's help: `INSTA_UPDATE=always cargo nextest run -p
/// infinite-improbability-drive help_reads`.
#[test]
fn the_help_reads_as_intended() {
    let mut command = Cli::command()
        .term_width(100)
        .color(clap::ColorChoice::Never);
    insta::assert_snapshot!(command.render_help());
}
