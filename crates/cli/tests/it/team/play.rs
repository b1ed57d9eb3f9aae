//! What the agents of a case do, told once: as scripts, and as what the model behind the real CLIs
//! says.

use crate::stage::PRIMARY;
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Call, FIXED as ALL_FIXED, Fault, Script, Turn};
use serde_json::json;
use std::path::Path;

/// What the coder leaves in the folder but not in git, so that no other checkout could show it.
pub(crate) const NOTES: &str = "only in this folder";
const APPROVED: &str = "```json\n{\"verdict\": \"approved\"}\n```";
const APPROVE: &str = "echo '{\"verdict\": \"approved\"}'";
const NAMES: &str =
    "```json\n{\"pr_title\": \"Greet by name\", \"branch_name\": \"greet-by-name\"}\n```";
/// What a reviewer tries that may not change a thing.
const PRY: &str = "echo hacked > greet.txt; echo hacked > evil.txt; git branch evil";
const KEEP_BOTH: &str = "printf 'theirs\\none\\n' > greet.txt";
const THREE_LINES: &str = "printf 'one\\ntwo\\nthree\\n' > greet.txt";

/// How a prompt of each kind begins, or what only it says.
mod asked {
    pub(super) const NAMES: &str = "Choose a title and a branch name";
    pub(super) const MERGE: &str = "Others changed the same lines";
    pub(super) const FIX: &str = "Address the comments below on the work";
    pub(super) const REVIEW: &str = "Review the work of another agent";
    pub(super) const REVIEW_DOMAIN: &str = "for one domain only: ";
    /// The diff after a fix.
    pub(super) const FIXED: &str = "+fixed";
}

/// A coder writes three lines; a fixer appends one, and resolves a conflict by keeping what both
/// meant; a reviewer judges.
pub(crate) struct Play {
    pub(crate) reviewer: Judge,
    /// The domain whose reviewer waits until it may go on; an empty one is the review of everything.
    pub(crate) waits_in: Option<&'static str>,
}

/// What a reviewer does.
pub(crate) enum Judge {
    Approves,
    /// Finds these until the change was fixed.
    Finds(Vec<serde_json::Value>),
    /// Says this, whatever it sees.
    Says(String),
    /// Ends without an answer in this domain, and approves in all others.
    CrashesIn(&'static str),
    /// Approves what it sees, and tries to change it by whatever tools it has.
    Pries,
}

impl From<Judge> for Play {
    fn from(reviewer: Judge) -> Self {
        Self {
            reviewer,
            waits_in: None,
        }
    }
}

impl Judge {
    /// One finding on a line of the diff.
    pub(crate) fn objects() -> Self {
        Self::Finds(vec![json!({
            "file": "greet.txt", "line": 2, "issue": "two is wrong", "severity": "high",
        })])
    }
}

fn needs_changes(suggestions: &[serde_json::Value]) -> String {
    let answer = json!({"verdict": "needs_changes", "suggestions": suggestions});
    format!("```json\n{answer}\n```\n")
}

impl Play {
    /// The primary as a script.
    pub(crate) fn primary_script() -> String {
        PRIMARY
            .replace("coder)", &format!("coder) echo '{NOTES}' > notes.log;"))
            .replace(
                "fixer)",
                &format!("fixer) if grep -q '<<<<<<<' greet.txt; then {KEEP_BOTH}; exit; fi;"),
            )
    }

    /// The reviewer as a script, and the text that it shows.
    pub(crate) fn reviewer_script(&self, says: &Path, go: &Path) -> (String, String) {
        let (script, said) = match &self.reviewer {
            Judge::Approves => (APPROVE.to_owned(), String::new()),
            Judge::Finds(suggestions) => (
                format!("if grep -q fixed greet.txt; then {APPROVE}; else cat {says:?}; fi"),
                needs_changes(suggestions),
            ),
            Judge::Says(text) => (format!("cat {says:?}"), text.clone()),
            Judge::CrashesIn(domain) => (
                format!("[ \"$DRIVE_DOMAIN\" = {domain:?} ] && kill -9 $$\n{APPROVE}"),
                String::new(),
            ),
            Judge::Pries => (
                format!("{PRY}\nif [ \"$(cat notes.log)\" = '{NOTES}' ]; then {APPROVE}; fi"),
                String::new(),
            ),
        };
        let waits = self.waits_in.map_or(String::new(), |domain| {
            format!(
                "if [ \"$DRIVE_DOMAIN\" = {domain:?} ]; then\n\
                 n=0; while [ ! -e {go:?} ] && [ $n -lt 1200 ]; do n=$((n + 1)); sleep 0.1; done\nfi\n"
            )
        });
        (format!("cat > /dev/null\n{waits}{script}\n"), said)
    }

    /// The model of all of them: it tells its agents apart by what they are asked.
    pub(crate) fn model(&self, reviewer: Cli, go: &Path) -> Script {
        let fixes = [
            Turn::run("echo fixed >> greet.txt"),
            Turn::text(format!("Appended.\n```json\n{ALL_FIXED}\n```")),
        ];
        let mut script = Script::new([
            Turn::run(format!("{THREE_LINES}; echo '{NOTES}' > notes.log")),
            Turn::text("A greeting."),
        ])
        .when(asked::NAMES, [Turn::text(NAMES)])
        .when(asked::MERGE, [Turn::run(KEEP_BOTH), Turn::text("Merged.")])
        .when(asked::FIX, fixes);
        let in_domain = |domain: &str| match domain {
            "" => asked::REVIEW.to_owned(),
            domain => format!("{}{domain}", asked::REVIEW_DOMAIN),
        };
        if let Some(domain) = self.waits_in {
            let held = Turn::text(APPROVED).held_until(go);
            script = script.when(in_domain(domain), [held]);
        }
        let turns = match &self.reviewer {
            Judge::Approves => vec![Turn::text(APPROVED)],
            Judge::Finds(suggestions) => {
                script = script.when(asked::FIXED, [Turn::text(APPROVED)]);
                vec![Turn::text(needs_changes(suggestions))]
            }
            Judge::Says(text) => vec![Turn::text(text)],
            Judge::CrashesIn(domain) => {
                // An answer that no agent asks for again.
                let broken = Turn::fault(Fault::status(400));
                script = script.when(in_domain(domain), [broken]);
                vec![Turn::text(APPROVED)]
            }
            Judge::Pries => {
                let mut turns = pries(reviewer);
                turns.push(Turn::text(APPROVED));
                turns
            }
        };
        script
            .when(asked::REVIEW_DOMAIN, turns.clone())
            .when(asked::REVIEW, turns)
    }
}

/// Looks at the work, and then tries to change it by each of its tools.
fn pries(reviewer: Cli) -> Vec<Turn> {
    match reviewer {
        Cli::Codex => vec![Turn::run("cat greet.txt notes.log"), Turn::run(PRY)],
        Cli::Gemini => vec![
            Turn::call(Call::tool("read_file", json!({"file_path": "greet.txt"}))),
            Turn::write("evil.txt", "hacked"),
            Turn::run(PRY),
        ],
        Cli::Claude => vec![
            Turn::call(Call::tool("Read", json!({"file_path": "greet.txt"}))),
            Turn::write("evil.txt", "hacked"),
            Turn::run(PRY),
        ],
    }
}
