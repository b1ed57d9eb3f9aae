//! Examples for the help of every command. Tests parse each of them.

use clap::Command;

/// A command, with lines that show how to use it.
pub(crate) type Examples = (&'static str, &'static [&'static str]);

/// The examples, in the order of `drive --help`.
pub(crate) const EXAMPLES: &[Examples] = &[
    (
        "spawn",
        &[
            "drive spawn \"fix the login for names with a dot\"",
            "drive spawn - --agent codex --base main < task.md",
            "drive spawn \"try it\" --no-pr --keep",
            "drive spawn \"tidy the imports\" --detach",
        ],
    ),
    (
        "spawn-team",
        &[
            "drive spawn-team \"add a search page\" --mode pingpong",
            "drive spawn-team \"add a search page\" --primary codex --reviewer claude-code --auto-merge",
        ],
    ),
    (
        "cruise run",
        &[
            "drive cruise run \"add user auth\"",
            "drive cruise run \"add user auth\" --auto-approve --merge auto --detach",
            "drive cruise run \"add user auth\" --plan-file plan.md --build-only",
        ],
    ),
    (
        "cruise list",
        &["drive cruise list", "drive cruise list --all"],
    ),
    ("cruise status", &["drive cruise status"]),
    (
        "cruise logs",
        &["drive cruise logs -f", "drive cruise logs --role reviewer"],
    ),
    (
        "cruise fix",
        &["drive cruise fix --comment \"mention the tests\""],
    ),
    ("cruise approve", &["drive cruise approve"]),
    ("cruise report", &["drive cruise report"]),
    ("cruise retry", &["drive cruise retry login-form"]),
    ("cruise skip", &["drive cruise skip login-form"]),
    ("cruise pause", &["drive cruise pause"]),
    (
        "cruise resume",
        &["drive cruise resume", "drive cruise resume --all"],
    ),
    ("cruise cleanup", &["drive cruise cleanup"]),
    (
        "runs list",
        &[
            "drive runs list",
            "drive runs list --all --state failed",
            "drive runs list --watch",
        ],
    ),
    (
        "runs show",
        &[
            "drive runs show",
            "drive runs show r20261118-0942-k3f9a --json",
        ],
    ),
    (
        "runs resume",
        &[
            "drive runs resume",
            "drive runs resume r20261118-0942-k3f9a",
        ],
    ),
    (
        "runs continue",
        &[
            "drive runs continue \"also mention it in the README\"",
            "drive runs continue r20261118-0942-k3f9a \"also mention it in the README\"",
        ],
    ),
    (
        "runs stop",
        &["drive runs stop", "drive runs stop r20261118-0942-k3f9a"],
    ),
    (
        "runs retry",
        &["drive runs retry", "drive runs retry r20261118-0942-k3f9a"],
    ),
    (
        "runs extend",
        &[
            "drive runs extend --cost 5",
            "drive runs extend r20261118-0942-k3f9a --cost 5",
        ],
    ),
    (
        "runs logs",
        &[
            "drive runs logs -f",
            "drive runs logs r20261118-0942-k3f9a --role reviewer",
            "drive runs logs --agent 2 --raw",
        ],
    ),
    ("stats", &["drive stats --since 7d", "drive stats --all"]),
    ("kept list", &["drive kept list"]),
    (
        "kept restore",
        &["drive kept restore r20261118-0942-k3f9a --branch rescued"],
    ),
    ("kept drop", &["drive kept drop r20261118-0942-k3f9a/1"]),
    ("sandbox list", &["drive sandbox list --all"]),
    (
        "sandbox open",
        &[
            "drive sandbox open",
            "drive sandbox open r20261118-0942-k3f9a --print",
        ],
    ),
    (
        "sandbox prune",
        &[
            "drive sandbox prune --dry-run",
            "drive sandbox prune --older-than 7d --yes",
        ],
    ),
    (
        "sandbox remove",
        &["drive sandbox remove r20261118-0942-k3f9a"],
    ),
    (
        "prune",
        &["drive prune --dry-run", "drive prune --older-than 7d --yes"],
    ),
    ("pr list", &["drive pr list", "drive pr list --state all"]),
    ("pr show", &["drive pr show 1"]),
    ("pr diff", &["drive pr diff 1"]),
    (
        "pr open",
        &["drive pr open feat/login --base main --title \"Log in\""],
    ),
    (
        "pr comment",
        &[
            "drive pr comment 1 \"please mention the tests\"",
            "drive pr comment 1 \"two is wrong\" --file src/login.rs --line 2",
        ],
    ),
    ("pr approve", &["drive pr approve 1"]),
    ("pr merge", &["drive pr merge 1"]),
    ("pr ready", &["drive pr ready 1"]),
    ("pr close", &["drive pr close 1"]),
    ("pr reopen", &["drive pr reopen 1"]),
    ("serve", &["drive serve"]),
    (
        "verify",
        &[
            "drive verify --base main",
            "drive verify feat/login --base main --junit report.xml",
        ],
    ),
    ("hooks install", &["drive hooks install"]),
    ("hooks uninstall", &["drive hooks uninstall"]),
    ("demo", &["drive demo"]),
    ("init", &["drive init"]),
    ("doctor", &["drive doctor"]),
    ("config show", &["drive config show"]),
    ("config check", &["drive config check"]),
    ("config schema", &["drive config schema"]),
    ("config default", &["drive config default"]),
    (
        "completions",
        &["drive completions bash > ~/.local/share/bash-completion/completions/drive"],
    ),
];

/// Appends the examples to the help of every command.
pub(crate) fn with_examples(mut command: Command) -> Command {
    for (path, lines) in EXAMPLES {
        let words: Vec<&str> = path.split(' ').collect();
        command = at(command, &words, lines);
    }
    command
}

fn at(command: Command, path: &[&str], lines: &[&str]) -> Command {
    match path {
        [] => {
            let text = lines.iter().map(|line| format!("\n  {line}"));
            command.after_help(format!("Examples:{}", text.collect::<String>()))
        }
        [first, rest @ ..] => command.mut_subcommand(first, |below| at(below, rest, lines)),
    }
}
