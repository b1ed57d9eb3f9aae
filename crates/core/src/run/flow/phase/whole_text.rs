//! What people and fixers read about the commits of a cruise that go to the base.

use super::super::super::model::{DoneWhen, Phase, PhaseTerms, Receipt, ReceiptResult, Run};
use crate::forge::text::plain_line;
use crate::ids::CommitSha;
use crate::markdown::code;
use crate::problem::Problem;
use crate::prompts::fenced;
use std::fmt::Write;

/// The longest reason, in characters.
const REASON_CHARS: usize = 1_000;
/// How many characters of a name stand in a table.
const CELL_CHARS: usize = 100;
/// How many characters of an output a fixer is told.
const OUTPUT_CHARS: usize = 2_000;

/// How the commit stands, for people.
pub(super) fn announcement(
    run: &Run,
    phase: &Phase,
    terms: &PhaseTerms,
    problem: Option<&Problem>,
) -> String {
    let landed = terms.whole().map_or("", |whole| whole.landed.as_str());
    let head = run.work.head_sha.as_ref().map_or("-", |sha| sha.short());
    let mut text = match problem {
        Some(problem) => {
            let why = plain_line(&problem.to_string(), REASON_CHARS);
            format!(
                "{landed} Commit {head} needs you: {why}.\n\nComment here to have it changed, merge it \
                 if you accept it as it is, or close this pull request."
            )
        }
        None => {
            let base = phase.judged.as_ref();
            let base = base.map_or_else(String::new, |judged| {
                format!(
                    " Merged into {}, it passed verification.",
                    judged.base_sha.short()
                )
            });
            let then = match terms.done {
                DoneWhen::Merged { auto: true } => "Drive merges it now.",
                DoneWhen::Merged { auto: false }
                | DoneWhen::Reviewed { .. }
                | DoneWhen::Asked
                | DoneWhen::Approved { .. } => "Merge this pull request when you agree.",
            };
            format!("{landed} The branch is at {head}.{base} {then}")
        }
    };
    if let Some(checked) = &phase.whole.checked {
        text.push_str(&receipts(&checked.receipts));
    }
    text
}

/// What programs showed, as a table.
pub(in crate::run) fn receipts(receipts: &[Receipt]) -> String {
    let mut text = String::from("\n\n| acceptance | result | exit |\n|---|---|---|\n");
    for one in receipts {
        let result = match one.result {
            ReceiptResult::Proven => "proven",
            ReceiptResult::Failed => "failed",
            ReceiptResult::Unproven => "not run",
        };
        let exit = one.exit.map_or("none".to_owned(), |exit| exit.to_string());
        let name = code(&format!("{} {}", one.task, one.id), CELL_CHARS);
        let _ = writeln!(text, "| {name} | {result} | {exit} |");
    }
    text
}

/// A check of the contract that did not pass, for a fixer.
pub(super) fn gap_text(receipt: &Receipt, criterion: &str) -> String {
    let why = receipt.why.as_deref().unwrap_or("it did not pass");
    let mut text = format!(
        "Acceptance entry `{}` of task `{}` is not met: {criterion}\n\nIts check says: {why}. Fix the \
         cause; do not weaken the check.",
        receipt.id, receipt.task
    );
    let output: String = receipt.output.chars().take(OUTPUT_CHARS).collect();
    if !output.trim().is_empty() {
        let _ = write!(text, "\n\nIts output:\n\n{}", fenced(&output, "text"));
    }
    text
}

/// A commit that did not pass verification, for a fixer.
pub(super) fn red_text(head: &CommitSha, report: &str) -> String {
    format!("Commit {head} does not pass verification. Fix the cause.\n\n{report}")
}
