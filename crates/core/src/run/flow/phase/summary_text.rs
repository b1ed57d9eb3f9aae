//! The summary comment: one for each pull request, edited in place.

use super::super::super::model::{Phase, Request, Run};
use super::super::review::OLDER;
use super::findings_text::{counted, older_findings, open_findings};
use super::outcome_text::outcome_text;
use super::record_text::{cell, outside_lines};
use crate::agent::{Cost, Usage};
use crate::forge::text::{BODY_CHARS, fit};
use crate::review::{Domain, verdict_title};
use std::fmt::Write;

/// Room for marks that a forge adds to the text.
const MARKS_ROOM: usize = 2_000;

/// The results of the reviews so far in one comment: the verdict and its commit, a row for each
/// domain, the open findings, and the cost.
pub(super) fn summary_text(run: &Run, phase: &Phase, request: &Request) -> String {
    let domains = request.kind.phase_terms();
    let domains = domains.map_or(Vec::new(), |terms| terms.review_plan().domains);
    let mut text = format!("{}\n\n", outcome_text(run, phase, request));
    text.push_str("| review | commit | reviews |\n|---|---|---|\n");
    for domain in &domains {
        text.push_str(&row(run, phase, domain.as_ref()));
    }
    let open = open_findings(phase, request);
    if !open.is_empty() {
        let _ = write!(text, "\nOpen findings:\n\n{open}");
    }
    let older = older_findings(phase, request);
    if !older.is_empty() {
        let _ = write!(text, "\n{OLDER}:\n\n{older}");
    }
    let outside = outside_lines(&phase.record);
    if !outside.is_empty() {
        let _ = write!(
            text,
            "\n<details><summary>{} changed outside of what the findings name</summary>\n\n{}\n\n\
             </details>\n",
            counted(outside.len(), "place"),
            outside.join("\n")
        );
    }
    let _ = write!(text, "\n{}\n", costs(phase));
    fit(&text, BODY_CHARS - MARKS_ROOM)
}

fn row(run: &Run, phase: &Phase, domain: Option<&Domain>) -> String {
    let reviews = phase.record.reviews.iter();
    let reviews: Vec<_> = reviews
        .filter(|one| one.domain.as_ref() == domain)
        .collect();
    let Some(last) = reviews.last() else {
        let name = domain.map_or("Review", Domain::name);
        return format!("| {} | - | 0 |\n", cell(name));
    };
    let heading = domain.map_or_else(
        || format!("[REVIEW - {}]", verdict_title(last.verdict)),
        |domain| domain.heading(last.verdict),
    );
    let refuted = last.findings.iter().filter(|one| one.refuted.is_some());
    let refuted = match refuted.count() {
        0 => String::new(),
        count => format!(", {count} refuted"),
    };
    let head = last.head.as_ref().map_or("-", |head| head.short());
    let older = if last.head == run.work.head_sha {
        ""
    } else {
        " (older)"
    };
    format!(
        "| {}{refuted} | {head}{older} | {} |\n",
        cell(&heading),
        last.round
    )
}

fn costs(phase: &Phase) -> String {
    let (mut seconds, mut usage, mut cost) = (0, Usage::default(), None::<Cost>);
    for job in &phase.record.jobs {
        let ended = job.ended_at.unwrap_or(job.started_at);
        seconds += ended.duration_since(job.started_at).as_secs().max(0);
        usage = usage.plus(job.usage);
        cost = match (cost, job.cost) {
            (Some(before), Some(more)) => Some(before.plus(more)),
            (before, more) => before.or(more),
        };
    }
    let rounds = counted(phase.rounds as usize, "fix round");
    let time = match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    };
    let cost = cost.map_or(String::new(), |cost| format!(", {cost}"));
    let tokens = usage
        .reported()
        .map_or(String::new(), |tokens| format!(", {tokens} tokens"));
    format!("{rounds}, {time} of agent time{tokens}{cost}.")
}
