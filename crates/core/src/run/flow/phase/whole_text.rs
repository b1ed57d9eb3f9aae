//! Texts about the combined commits of a cruise, for people and fixers.

use super::super::super::audit::open_entries;
use super::super::super::model::{
    Checked, ContractCheck, DoneWhen, JudgeCheck, Opinion, Phase, PhaseTerms, Receipt,
    ReceiptResult, Run, WholeTerms,
};
use super::super::public_text::public;
use crate::agent::answer::Cited;
use crate::forge::text::plain_line;
use crate::ids::{CommitSha, TaskId};
use crate::markdown::code;
use crate::problem::Problem;
use std::fmt::Write;

/// The longest reason, in characters.
const REASON_CHARS: usize = 1_000;
/// How many characters of a name a table cell shows.
const CELL_CHARS: usize = 100;
/// How many findings, and how many additions, are listed.
const MOST_LISTED: usize = 20;

/// The state of the commit, as text for people.
pub(super) fn announcement(
    run: &Run,
    phase: &Phase,
    terms: &PhaseTerms,
    problem: Option<&Problem>,
) -> String {
    let checked = phase.whole.checked.as_ref();
    let landed = terms
        .whole()
        .map_or_else(String::new, |whole| concluded(whole, checked));
    let head = run.work.head_sha.as_ref().map_or("-", |sha| sha.short());
    let mut text = match problem {
        Some(problem) => {
            let why = plain_line(&public(&problem.to_string(), run), REASON_CHARS);
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
            let then = match terms.done() {
                DoneWhen::Merged { auto: true } => "Drive merges it now.",
                DoneWhen::Merged { auto: false }
                | DoneWhen::Reviewed { .. }
                | DoneWhen::Asked
                | DoneWhen::Landed { .. }
                | DoneWhen::Approved(_) => "Merge this pull request when you agree.",
            };
            format!("{landed} The branch is at {head}.{base} {then}")
        }
    };
    if let (Some(checked), Some(whole)) = (checked, terms.whole()) {
        let entries = (whole.contract.as_slice(), whole.judged.as_slice());
        let told = receipts(entries, &checked.receipts, checked.opinion.as_ref());
        text.push_str(&public(&told, run));
    }
    text
}

/// What landed, and how many criteria have no evidence.
fn concluded(whole: &WholeTerms, checked: Option<&Checked>) -> String {
    let Some(checked) = checked else {
        return whole.landed.clone();
    };
    let opinion = checked.opinion.as_ref();
    let run = whole.contract.iter().map(|one| {
        let found = receipt_of(&checked.receipts, one);
        found.map_or(ReceiptResult::Unproven, |found| found.result)
    });
    let judged = whole.judged.iter().map(|one| {
        let found = opinion.and_then(|opinion| opinion.of(&one.task, &one.id));
        found.map_or(ReceiptResult::Unproven, |found| found.result)
    });
    let mut open: Vec<String> = open_entries(run.chain(judged)).collect();
    match opinion.map_or(0, |opinion| opinion.findings.len()) {
        0 => {}
        1 => open.push("1 finding".to_owned()),
        many => open.push(format!("{many} findings")),
    }
    if open.is_empty() {
        return whole.landed.clone();
    }
    format!("{} {}.", whole.landed, open.join("; "))
}

fn receipt_of<'a>(receipts: &'a [Receipt], check: &ContractCheck) -> Option<&'a Receipt> {
    let mut receipts = receipts.iter();
    receipts.find(|one| one.task == check.task && one.id == check.id)
}

/// A table with the result of each entry, from programs and the validator, and the validator's
/// findings; empty if there is nothing to show. An entry without a result has no evidence.
pub(in crate::run) fn receipts(
    (contract, judged): (&[ContractCheck], &[JudgeCheck]),
    receipts: &[Receipt],
    opinion: Option<&Opinion>,
) -> String {
    let mut text = String::new();
    if !contract.is_empty() || !judged.is_empty() {
        text.push_str("\n\n| acceptance | result | exit |\n|---|---|---|\n");
    }
    for check in contract {
        let found = receipt_of(receipts, check);
        let result = found.map_or(ReceiptResult::Unproven, |one| one.result);
        let exit = found.and_then(|one| one.exit);
        row(&mut text, (&check.task, &check.id), result.name(), exit);
    }
    for check in judged {
        let found = opinion.and_then(|opinion| opinion.of(&check.task, &check.id));
        let Some(one) = found else {
            let result = ReceiptResult::Unproven.name();
            row(&mut text, (&check.task, &check.id), result, None);
            continue;
        };
        let ran = one
            .receipt
            .as_ref()
            .filter(|_| one.result == ReceiptResult::Failed);
        let exit = ran.and_then(|receipt| receipt.exit);
        let result = match one.places.first() {
            Some(place) if one.result == ReceiptResult::Judged => {
                format!("judged; see {}", code(&place_text(place), CELL_CHARS))
            }
            Some(_) | None => one.result.name().to_owned(),
        };
        row(&mut text, (&one.task, &one.id), &result, exit);
    }
    if let Some(opinion) = opinion {
        text.push_str(&findings(opinion));
    }
    text
}

fn row(text: &mut String, (task, id): (&TaskId, &str), result: &str, exit: Option<i32>) {
    let exit = exit.map_or("none".to_owned(), |exit| exit.to_string());
    let name = code(&format!("{task} {id}"), CELL_CHARS);
    let _ = writeln!(text, "| {name} | {result} | {exit} |");
}

fn place_text(place: &Cited) -> String {
    match place.line {
        Some(line) => format!("{}:{line}", place.file),
        None => place.file.clone(),
    }
}

/// The validator's findings beyond the entries, as Markdown.
fn findings(opinion: &Opinion) -> String {
    let mut text = String::new();
    if let Some(why) = &opinion.failure {
        let why = plain_line(why, REASON_CHARS);
        let _ = write!(text, "\nNo validator judged the other entries: {why}.\n");
    }
    if !opinion.findings.is_empty() {
        text.push_str("\nFindings of the validator:\n\n");
    }
    for one in opinion.findings.iter().take(MOST_LISTED) {
        let confirmed = match one.confirmed {
            Some(_) => "confirmed by a command that failed",
            None => "not confirmed",
        };
        let place = one.place.as_ref();
        let place = place.map_or(String::new(), |place| {
            format!(" ({})", code(&place_text(place), CELL_CHARS))
        });
        let title = plain_line(&one.title, REASON_CHARS);
        let severity = one.severity.name();
        let _ = writeln!(text, "- {severity}, {confirmed}: {title}{place}");
    }
    more(&mut text, opinion.findings.len(), "findings");
    if !opinion.additions.is_empty() {
        text.push_str("\nNot requested by any task:\n\n");
    }
    for one in opinion.additions.iter().take(MOST_LISTED) {
        let _ = writeln!(text, "- {}", plain_line(one, REASON_CHARS));
    }
    more(&mut text, opinion.additions.len(), "additions");
    text
}

fn more(text: &mut String, all: usize, what: &str) {
    if all > MOST_LISTED {
        let _ = writeln!(text, "- {} more {what}", all - MOST_LISTED);
    }
}

/// A commit that did not pass verification, as text for a fixer.
pub(super) fn red_text(head: &CommitSha, report: &str) -> String {
    format!("Commit {head} does not pass verification. Fix the cause.\n\n{report}")
}
