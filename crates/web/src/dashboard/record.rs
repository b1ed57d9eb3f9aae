//! Renders the record of a run's agents.

use super::html::{Html, Rows, clip, newest};
use super::page::left_out;
use super::words::{place, tokens};
use drive_core::agent::answer::Verdict;
use drive_core::ids::CommitSha;
use drive_core::review::Domain;
use drive_core::run::{JobRecord, Record, ReviewRecord};

/// The maximum number of rows per table.
const ROWS: usize = 200;
/// The maximum length of a text that others wrote, in characters.
const WORDS: usize = 500;

/// Renders jobs, reviews, findings, and comments that nobody acted on.
pub(super) fn tell_record(html: &mut Html, record: &Record) {
    html.raw("<h2>Agents</h2>\n");
    let columns = &["agent", "role", "round", "tokens", "cost", "failure"];
    let hidden = rows(html, columns, &record.jobs, job);
    left_out(html, hidden, "agents");
    html.raw("<h2>Reviews</h2>\n");
    let columns = &["domain", "round", "verdict", "findings"];
    let hidden = rows(html, columns, &record.reviews, review);
    left_out(html, hidden, "reviews");
    html.raw("<h2>Comments</h2>\n");
    let columns = &["file", "resolved", "commit", "note"];
    let hidden = rows(html, columns, &record.remarks, |row, remark| {
        let file = place(remark.file.as_deref(), remark.line);
        let resolved = if remark.resolved { "yes" } else { "no" };
        let commit = remark.commit.as_ref().map_or("none", CommitSha::short);
        row.cell(file).cell(resolved);
        row.cell(commit).cell(clip(&remark.note, WORDS));
    });
    left_out(html, hidden, "comments");
    html.raw("<h2>Ignored comments</h2>\n");
    let columns = &["comment", "author", "reason"];
    let hidden = rows(html, columns, &record.ignored, |row, one| {
        row.cell(one.comment.id);
        row.cell(one.author.as_deref().unwrap_or("unknown"));
        row.cell(one.reason);
    });
    left_out(html, hidden, "ignored comments");
}

fn rows<T>(
    html: &mut Html,
    columns: &'static [&'static str],
    all: &[T],
    row: impl Fn(&mut Rows<'_>, &T),
) -> usize {
    let (shown, hidden) = newest(all, ROWS);
    html.table(columns, |rows| {
        for one in shown {
            rows.row(|cells| row(cells, one));
        }
    });
    hidden
}

fn job(row: &mut Rows<'_>, job: &JobRecord) {
    row.cell(&job.agent).cell(job.role).cell(job.round);
    row.cell(tokens(job.usage));
    row.cell(job.cost.map(|cost| cost.to_string()).unwrap_or_default());
    let failure = job.failure.as_deref().unwrap_or_default();
    row.cell(clip(failure, WORDS));
}

fn review(row: &mut Rows<'_>, review: &ReviewRecord) {
    let of = review.domain.as_ref();
    let of = of.map_or("whole change", Domain::name);
    let verdict = match review.verdict {
        Some(Verdict::Approved) => "approved",
        Some(Verdict::NeedsChanges) => "needs changes",
        Some(Verdict::NotApplicable) => "not applicable",
        None => "none",
    };
    row.cell(of).cell(review.round).cell(verdict);
    row.cell(review.findings.len());
}
