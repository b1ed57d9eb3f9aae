//! The behaviour of a case's agents, defined once: as scripts, and as answers of the model for the real CLIs.

use crate::stage::PRIMARY;
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{
    Call, DECLINED as ALL_DECLINED, FIXED as ALL_FIXED, Fault, Script, Turn, WHY_DECLINED,
};
use serde_json::{Value, json};
use std::path::Path;

/// Text that the coder leaves in the folder but not in git, so that no other checkout contains it.
pub(crate) const NOTES: &str = "only in this folder";
const APPROVED: &str = "```json\n{\"verdict\": \"approved\"}\n```";
const APPROVE: &str = "echo '{\"verdict\": \"approved\"}'";
const NAMES: &str =
    "```json\n{\"pr_title\": \"Greet by name\", \"branch_name\": \"greet-by-name\"}\n```";
/// Commands of a reviewer that must not be able to change anything.
const PRY: &str = "echo hacked > greet.txt; echo hacked > evil.txt; git branch evil";
const KEEP_BOTH: &str = "printf 'theirs\\none\\n' > greet.txt";
const THREE_LINES: &str = "printf 'one\\ntwo\\nthree\\n' > greet.txt";

/// The beginning of each kind of prompt, or text that only it contains.
mod asked {
    pub(super) const NAMES: &str = "Choose a title and a branch name";
    pub(super) const MERGE: &str = "Others changed the same lines";
    pub(super) const FIX: &str = "Address the comments below on the work";
    pub(super) const REVIEW: &str = "Review the work of another agent";
    pub(super) const REVIEW_DOMAIN: &str = "for one domain only: ";
    pub(super) const REFUTE: &str = "Try to refute each of them";
    /// The diff after a fix.
    pub(super) const FIXED: &str = "+fixed";
}

/// Whether a prompt requests a review.
pub(crate) fn is_review(prompt: &str) -> bool {
    prompt.contains(asked::REVIEW) || prompt.contains(asked::REVIEW_DOMAIN)
}

/// The agents: a coder writes three lines; a fixer appends one, and resolves a conflict by keeping
/// both sides; a reviewer judges.
pub(crate) struct Play {
    pub(crate) reviewer: Judge,
    /// The domain whose reviewer waits until it may continue; an empty one is the review of everything.
    pub(crate) waits_in: Option<&'static str>,
    pub(crate) fixer: Fixer,
    /// An additional command of the coder.
    pub(crate) besides: &'static str,
    /// Why the first finding is wrong, if an agent is asked to refute findings.
    pub(crate) refutes: Option<&'static str>,
}

/// The behaviour of a fixer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fixer {
    Fixes,
    /// Changes nothing, and explains why.
    Declines,
}

/// The behaviour of a reviewer.
pub(crate) enum Judge {
    Approves,
    /// Reports these findings until the change was fixed.
    Finds(Vec<Value>),
    /// Reports these findings in this domain until the change was fixed, and approves in all
    /// others. The review of everything has no name.
    FindsIn(&'static str, Vec<Value>),
    /// Answers that this domain does not apply, and approves in all others.
    NotApplicableIn(&'static str),
    /// Gives this answer, whatever it sees.
    Says(String),
    /// Ends without an answer in this domain, and approves in all others.
    CrashesIn(&'static str),
    /// Approves what it sees, and tries to change it with all of its tools.
    Pries,
}

impl From<Judge> for Play {
    fn from(reviewer: Judge) -> Self {
        Self {
            reviewer,
            waits_in: None,
            fixer: Fixer::Fixes,
            besides: ":",
            refutes: None,
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

fn needs_changes(suggestions: &[Value]) -> Value {
    json!({"verdict": "needs_changes", "suggestions": suggestions})
}

fn not_applicable() -> Value {
    json!({"verdict": "not_applicable"})
}

fn refutes(why: &str) -> Value {
    json!({"findings": [{"id": "finding-1", "holds": false, "why": why}]})
}

fn block(answer: &Value) -> String {
    format!("```json\n{answer}\n```\n")
}

impl Play {
    /// The primary as a script.
    pub(crate) fn primary_script(&self) -> String {
        let primary = match self.fixer {
            Fixer::Fixes => PRIMARY.to_owned(),
            Fixer::Declines => PRIMARY
                .replace(
                    "echo fixed >> greet.txt; echo \"Appended.\"",
                    "echo \"No.\"",
                )
                .replace(
                    r#""action": "fixed""#,
                    &format!(r#""action": "declined", "note": "{WHY_DECLINED}""#),
                ),
        };
        primary
            .replace(
                "coder)",
                &format!("coder) echo '{NOTES}' > notes.log; {};", self.besides),
            )
            .replace(
                "fixer)",
                &format!("fixer) if grep -q '<<<<<<<' greet.txt; then {KEEP_BOTH}; exit; fi;"),
            )
    }

    /// The reviewer as a script, and the text that it prints.
    pub(crate) fn reviewer_script(&self, says: &Path, go: &Path) -> (String, String) {
        let (script, said) = match &self.reviewer {
            Judge::Approves => (APPROVE.to_owned(), String::new()),
            Judge::Finds(suggestions) => (
                format!("if grep -q fixed greet.txt; then {APPROVE}; else cat {says:?}; fi"),
                block(&needs_changes(suggestions)),
            ),
            Judge::FindsIn(domain, suggestions) => (
                format!(
                    "if [ \"$DRIVE_DOMAIN\" = {domain:?} ] && ! grep -q fixed greet.txt; then cat {says:?}; \
                     else {APPROVE}; fi"
                ),
                block(&needs_changes(suggestions)),
            ),
            Judge::NotApplicableIn(domain) => (
                format!(
                    "if [ \"$DRIVE_DOMAIN\" = {domain:?} ]; then cat {says:?}; else {APPROVE}; fi"
                ),
                block(&not_applicable()),
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
        let refutes = self.refutes.map_or(String::new(), |why| {
            let answer = refutes(why);
            format!("if grep -q 'finding-1' \"$DRIVE_INPUT\"; then echo '{answer}'; exit; fi\n")
        });
        (format!("cat > /dev/null\n{refutes}{waits}{script}\n"), said)
    }

    /// The model of all agents, which distinguishes them by their prompts.
    pub(crate) fn model(&self, reviewer: Cli, go: &Path) -> Script {
        let fixes = match self.fixer {
            Fixer::Fixes => vec![
                Turn::run("echo fixed >> greet.txt"),
                Turn::text(format!("Appended.\n```json\n{ALL_FIXED}\n```")),
            ],
            Fixer::Declines => vec![Turn::text(format!("No.\n```json\n{ALL_DECLINED}\n```"))],
        };
        let approved = || said(reviewer, &json!({"verdict": "approved"}));
        let mut script = Script::new([
            Turn::run(format!(
                "{THREE_LINES}; echo '{NOTES}' > notes.log; {}",
                self.besides
            )),
            Turn::text("A greeting."),
        ])
        .when(asked::NAMES, [Turn::text(NAMES)])
        .when(asked::MERGE, [Turn::run(KEEP_BOTH), Turn::text("Merged.")])
        .when(asked::FIX, fixes);
        let in_domain = |domain: &str| match domain {
            "" => asked::REVIEW.to_owned(),
            domain => format!("{}{domain}", asked::REVIEW_DOMAIN),
        };
        if let Some(why) = self.refutes {
            script = script.when(asked::REFUTE, said(reviewer, &refutes(why)));
        }
        if let Some(domain) = self.waits_in {
            let mut held = approved();
            held[0] = held[0].clone().held_until(go);
            script = script.when(in_domain(domain), held);
        }
        let turns = match &self.reviewer {
            Judge::Approves => approved(),
            Judge::Finds(suggestions) => {
                script = script.when(asked::FIXED, approved());
                said(reviewer, &needs_changes(suggestions))
            }
            Judge::FindsIn(domain, suggestions) => {
                let found = said(reviewer, &needs_changes(suggestions));
                script = script
                    .when(asked::FIXED, approved())
                    .when(in_domain(domain), found);
                approved()
            }
            Judge::NotApplicableIn(domain) => {
                script = script.when(in_domain(domain), said(reviewer, &not_applicable()));
                approved()
            }
            // A CLI with an option for its answer requests it once more.
            Judge::Says(text) => vec![Turn::text(text), Turn::text(text)],
            Judge::CrashesIn(domain) => {
                // An error for which no agent retries.
                let broken = Turn::fault(Fault::status(400));
                script = script.when(in_domain(domain), [broken]);
                approved()
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

/// The turns with which the model gives an answer: through the CLI's own option, or as text.
fn said(reviewer: Cli, answer: &Value) -> Vec<Turn> {
    match reviewer {
        Cli::Codex | Cli::Gemini => vec![Turn::text(block(answer))],
        Cli::Claude => {
            let call = Call::tool("StructuredOutput", in_full(answer));
            vec![Turn::call(call), Turn::text("That is all.")]
        }
    }
}

/// The answer with all fields that its schema requires.
fn in_full(answer: &Value) -> Value {
    let mut full = json!({"analysis": "It must greet."});
    if answer["findings"].is_array() {
        full["findings"] = answer["findings"].clone();
        return full;
    }
    let suggestions = answer["suggestions"].as_array();
    let suggestions = suggestions.into_iter().flatten().map(|one| {
        let mut finding = json!({
            "file": null, "line": null, "endLine": null, "issue": null, "evidence": null,
            "suggestion": null, "replacement": null, "severity": "major", "confidence": 100,
            "preExisting": false,
        });
        for (key, value) in one.as_object().unwrap() {
            finding[key] = value.clone();
        }
        if finding["severity"] == "high" {
            finding["severity"] = json!("blocker");
        }
        finding
    });
    full["suggestions"] = suggestions.collect();
    full["verdict"] = answer["verdict"].clone();
    full["commit"] = Value::Null;
    full
}

/// Inspects the work, and then tries to change it with each of its tools.
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
