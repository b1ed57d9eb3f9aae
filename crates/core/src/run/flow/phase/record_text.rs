//! The record of a phase as Markdown, for the end of the description.

use super::super::super::model::{JobRecord, Record, Run};
use super::super::isolation_text::isolation_text;
use crate::agent::answer::Verdict;
use crate::agent::{Cost, Role, Usage};
use crate::review::Domain;
use std::fmt::Write;

/// The longest line of other people's text in a table.
const CELL_CHARS: usize = 120;

/// The record as people read it.
pub(super) fn record_text(record: &Record, run: &Run) -> String {
    let mut text = format!("Run `{}`", run.id);
    if let Some(sandbox) = &record.sandbox {
        let _ = write!(text, " in `{}`", cell(sandbox));
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = write!(text, ", pull request {}", cell(&pr.url));
    }
    text.push_str(
        "\n\n| agent | role | time | tokens | cost | result \
                   |\n|---|---|---|---|---|---|\n",
    );
    for job in &record.jobs {
        text.push_str(&job_row(job));
    }
    tell_roles(record, &mut text);
    text.push_str("\nCommits:\n\n");
    for commit in &run.work.commits {
        let _ = writeln!(text, "- {} {}", commit.sha, cell(&commit.subject));
    }
    if let Some(isolation) = isolation_text(&run.layers) {
        let _ = write!(text, "\n{isolation}\n");
    }
    tell_reviews(record, &mut text);
    tell_remarks(record, &mut text);
    tell_notes(record, &mut text);
    text
}

/// Time, tokens and cost of each role together.
fn tell_roles(record: &Record, text: &mut String) {
    let mut roles: Vec<Role> = record.jobs.iter().map(|job| job.role).collect();
    roles.sort_unstable_by_key(|role| role.to_string());
    roles.dedup();
    for role in roles {
        let (mut count, mut seconds) = (0, 0);
        let (mut usage, mut cost) = (Usage::default(), None::<Cost>);
        for job in record.jobs.iter().filter(|job| job.role == role) {
            count += 1;
            seconds += job.ended_at.map_or(0, |ended| {
                ended.duration_since(job.started_at).as_secs().max(0)
            });
            usage = usage.plus(job.usage);
            cost = match (cost, job.cost) {
                (Some(before), Some(more)) => Some(before.plus(more)),
                (before, more) => before.or(more),
            };
        }
        let cost = cost.map_or("-".to_owned(), |cost| cost.to_string());
        let _ = writeln!(
            text,
            "| total | {role} | {seconds} s | {} | {cost} | jobs: {count} |",
            tokens(usage)
        );
    }
}

fn tell_reviews(record: &Record, text: &mut String) {
    if record.reviews.is_empty() {
        return;
    }
    text.push_str("\nReviews:\n\n");
    for review in &record.reviews {
        let verdict = match (review.verdict, &review.failure) {
            (Some(Verdict::Approved), _) => "approved".to_owned(),
            (Some(Verdict::NeedsChanges), _) => "needs changes".to_owned(),
            (None, Some(why)) => format!("no verdict: {}", cell(why)),
            (None, None) => "no verdict".to_owned(),
        };
        let at = review.head.as_deref().unwrap_or_default();
        let at = at
            .get(..10)
            .map_or(String::new(), |sha| format!(" at {sha}"));
        let _ = writeln!(
            text,
            "- {}, round {}{at}: {verdict}",
            review.domain.map_or("whole change", Domain::name),
            review.round
        );
        for one in &review.suggestions {
            let place = one.file.as_deref().map_or(String::new(), |file| {
                let line = one.line.map_or(String::new(), |line| format!(":{line}"));
                format!("`{}{line}` ", cell(file))
            });
            let _ = writeln!(text, "  - {place}{}", cell(&one.issue));
        }
    }
}

fn tell_remarks(record: &Record, text: &mut String) {
    if !record.remarks.is_empty() {
        text.push_str("\nComments:\n\n");
    }
    for remark in &record.remarks {
        let name = remark
            .comment
            .map_or("findings without a comment".to_owned(), |comment| {
                format!("comment {}", comment.id)
            });
        let became = match (&remark.commit, remark.resolved) {
            (Some(commit), true) => format!("resolved in {commit}"),
            (Some(commit), false) => format!("open, with changes in {commit}"),
            (None, _) => "open".to_owned(),
        };
        let _ = writeln!(text, "- {name}: {became} {}", cell(&remark.note));
    }
    if !record.ignored.is_empty() {
        text.push_str("\nIgnored comments:\n\n");
    }
    for one in &record.ignored {
        let author = one.author.as_deref().unwrap_or("unknown");
        let _ = writeln!(
            text,
            "- {} by {}: {}",
            one.comment.id,
            cell(author),
            one.reason
        );
    }
}

fn tell_notes(record: &Record, text: &mut String) {
    let mut started: Vec<String> = record.jobs.iter().map(|job| job.argv.join(" ")).collect();
    started.retain(|line| !line.is_empty());
    started.sort_unstable();
    started.dedup();
    for (number, line) in started.iter().enumerate() {
        if number == 0 {
            text.push_str("\nAgent commands:\n\n");
        }
        let _ = writeln!(text, "- `{}`", cell(line));
    }
    let permissions = record.jobs.iter().flat_map(|job| &job.permissions);
    for (number, one) in permissions.enumerate() {
        if number == 0 {
            text.push_str("\nPermission requests:\n\n");
        }
        let answer = if one.granted { "granted" } else { "refused" };
        let _ = writeln!(text, "- {answer}: `{}`", cell(&one.tool));
    }
    let commands = record.jobs.iter().flat_map(|job| &job.commands);
    for (number, line) in commands.enumerate() {
        if number == 0 {
            text.push_str("\nCommands:\n\n");
        }
        let _ = writeln!(text, "- `{}`", cell(line));
    }
}

fn job_row(job: &JobRecord) -> String {
    let role = match &job.domain {
        Some(domain) => format!("{} ({domain})", job.role),
        None => job.role.to_string(),
    };
    let time = job.ended_at.map_or("-".to_owned(), |ended| {
        format!("{} s", ended.duration_since(job.started_at).as_secs())
    });
    let cost = job.cost.map_or("-".to_owned(), |cost| cost.to_string());
    let end = match (&job.failure, job.ended_at) {
        (Some(why), _) => cell(why),
        (None, Some(_)) => "done".to_owned(),
        (None, None) => "running".to_owned(),
    };
    format!(
        "| {} | {role} | {time} | {} | {cost} | {end} |\n",
        cell(&job.agent),
        tokens(job.usage)
    )
}

fn tokens(usage: Usage) -> String {
    usage
        .reported()
        .map_or("unknown".to_owned(), |tokens| tokens.to_string())
}

/// Other people's text as one short line that breaks no table, code span or block.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = line
        .chars()
        .map(|c| match c {
            '|' => '/',
            '`' => '\'',
            '<' => '(',
            '>' => ')',
            other => other,
        })
        .take(CELL_CHARS)
        .collect();
    plain
}
