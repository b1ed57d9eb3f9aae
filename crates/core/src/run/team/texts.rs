//! What people read on the pull request.

use super::super::Run;
use super::super::request::{Kind, Request};
use super::super::spawn::shortened;
use super::Team;
use super::record::ReviewRecord;
use crate::agent::answer::{Suggestion, Verdict};
use crate::forge::text::{BODY_CHARS, fit};
use crate::prompts::fenced;
use crate::review::Domain;
use crate::settings::TeamMode;
use std::fmt::Write;

/// The least room that the record needs to be worth showing.
const LEAST_RECORD: usize = 500;

/// The message of the first commit.
pub(super) fn commit_message(title: &str, task: &str) -> String {
    match title == task.trim() {
        true => title.to_owned(),
        false => format!("{title}\n\n{}", shortened(task)),
    }
}

/// One suggestion in words.
pub(super) fn suggestion_text(suggestion: &Suggestion) -> String {
    let mut text = match &suggestion.severity {
        Some(severity) => format!("**{severity}** {}", suggestion.issue),
        None => suggestion.issue.clone(),
    };
    if let Some(what) = &suggestion.suggestion {
        let _ = write!(text, "\n\n{what}");
    }
    text
}

/// The text of a review: its heading, and what stands on no line.
pub(super) fn review_body(review: &ReviewRecord, on_lines: usize, others: &[Suggestion]) -> String {
    let mut text = heading(review);
    if let Some(failure) = &review.failure {
        let _ = write!(
            text,
            "\n\nThere is no verdict: {failure}. The work goes on."
        );
    }
    if on_lines > 0 {
        let _ = write!(text, "\n\n{on_lines} remarks stand on lines of the diff.");
    }
    if !others.is_empty() {
        text.push_str("\n\n");
        text.push_str(&listed(others));
    }
    text
}

fn heading(review: &ReviewRecord) -> String {
    match (review.domain, review.verdict) {
        (Some(domain), Some(verdict)) => domain.heading(verdict),
        (Some(domain), None) => format!("[{} REVIEW - INCONCLUSIVE]", domain.title()),
        (None, Some(Verdict::Approved)) => "[REVIEW - APPROVED]".to_owned(),
        (None, Some(Verdict::NeedsChanges)) => "[REVIEW - NEEDS CHANGES]".to_owned(),
        (None, None) => "[REVIEW - INCONCLUSIVE]".to_owned(),
    }
}

fn listed(suggestions: &[Suggestion]) -> String {
    let mut text = String::new();
    for suggestion in suggestions {
        let place = match (&suggestion.file, suggestion.line) {
            (Some(file), Some(line)) => format!("`{file}` line {line}: "),
            (Some(file), None) => format!("`{file}`: "),
            (None, _) => String::new(),
        };
        let words = suggestion_text(suggestion).replace('\n', "\n  ");
        let _ = writeln!(text, "- {place}{words}");
    }
    text
}

/// The pull request's description as it stands now: what was said, the task, in pingpong what the
/// reviewer said, and after the reviews the record. Within what a forge takes.
pub(super) fn pull_request_body(run: &Run, team: &Team, request: &Request) -> String {
    let mut text = team.summary.trim().to_owned();
    let task = fenced(&shortened(&request.task), "text");
    let _ = write!(
        text,
        "\n\n<details><summary>The task</summary>\n\n{task}\n\n</details>\n"
    );
    if is_pingpong(request) {
        for review in &team.record.reviews {
            let _ = write!(text, "\n### Review, round {}\n\n", review.round);
            text.push_str(&review_body(review, 0, &review.suggestions));
            text.push('\n');
        }
    }
    let mut text = fit(text.trim_start(), BODY_CHARS);
    if team.verdict.is_some() {
        let (open, close) = (
            "\n<details><summary>What happened</summary>\n\n",
            "\n</details>\n",
        );
        let room = BODY_CHARS.saturating_sub(text.chars().count() + open.len() + close.len());
        if room >= LEAST_RECORD {
            let record = fit(&team.record.markdown(run), room);
            text = format!("{text}{open}{record}{close}");
        }
    }
    text
}

fn is_pingpong(request: &Request) -> bool {
    match &request.kind {
        Kind::Team(terms) => terms.mode == TeamMode::Pingpong,
        Kind::Spawn => false,
    }
}

/// How a review is called in a list.
pub(super) fn review_name(domain: Option<Domain>) -> &'static str {
    domain.map_or("everything", Domain::name)
}
