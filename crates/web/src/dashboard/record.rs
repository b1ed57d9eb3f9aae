//! The record of a run's agents.

use super::html::{Html, clip, newest};
use super::page::left_out;
use drive_core::agent::Usage;
use drive_core::agent::answer::Verdict;
use drive_core::review::Domain;
use drive_core::run::{JobRecord, Record, ReviewRecord};

/// Rows of each table.
const ROWS: usize = 200;
/// Characters of what somebody wrote.
const WORDS: usize = 500;

/// Jobs, reviews, remarks and comments that nobody acted on.
pub(super) fn tell_record(html: &mut Html, record: &Record) {
    html.raw("<h2>Agents</h2>\n");
    html.raw("<table>\n<tr><th>agent<th>role<th>round<th>tokens<th>cost<th>failure</tr>\n");
    let hidden = rows(html, &record.jobs, job);
    left_out(html, hidden, "agents");
    html.raw("<h2>Reviews</h2>\n");
    html.raw("<table>\n<tr><th>domain<th>round<th>verdict<th>findings</tr>\n");
    let hidden = rows(html, &record.reviews, review);
    left_out(html, hidden, "reviews");
    html.raw("<h2>Comments</h2>\n");
    html.raw("<table>\n<tr><th>file<th>resolved<th>commit<th>note</tr>\n");
    let hidden = rows(html, &record.remarks, |html, remark| {
        let file = remark.file.as_deref().unwrap_or_default();
        let resolved = if remark.resolved { "yes" } else { "no" };
        let commit = remark.commit.as_deref().unwrap_or_default();
        html.element("td", file).element("td", resolved);
        html.element("td", clip(commit, 10));
        html.element("td", clip(&remark.note, WORDS));
    });
    left_out(html, hidden, "comments");
    html.raw("<h2>Ignored comments</h2>\n");
    html.raw("<table>\n<tr><th>comment<th>author<th>reason</tr>\n");
    let hidden = rows(html, &record.ignored, |html, one| {
        html.element("td", one.comment.id);
        html.element("td", one.author.as_deref().unwrap_or("unknown"));
        html.element("td", one.reason);
    });
    left_out(html, hidden, "ignored comments");
}

fn rows<T>(html: &mut Html, all: &[T], row: impl Fn(&mut Html, &T)) -> usize {
    let (shown, hidden) = newest(all, ROWS);
    for one in shown {
        html.raw("<tr>");
        row(html, one);
        html.raw("</tr>\n");
    }
    html.raw("</table>\n");
    hidden
}

fn job(html: &mut Html, job: &JobRecord) {
    html.element("td", &job.agent).element("td", job.role);
    html.element("td", job.round);
    html.element("td", tokens(job.usage));
    html.element(
        "td",
        job.cost.map(|cost| cost.to_string()).unwrap_or_default(),
    );
    let failure = job.failure.as_deref().unwrap_or_default();
    html.element("td", clip(failure, WORDS));
}

fn review(html: &mut Html, review: &ReviewRecord) {
    let of = review.domain.as_ref();
    let of = of.map_or("whole change", Domain::name);
    let verdict = match review.verdict {
        Some(Verdict::Approved) => "approved",
        Some(Verdict::NeedsChanges) => "needs changes",
        Some(Verdict::NotApplicable) => "not applicable",
        None => "none",
    };
    html.element("td", of).element("td", review.round);
    html.element("td", verdict);
    html.element("td", review.findings.len());
}

/// Tokens as people read them in a table.
pub(super) fn tokens(usage: Usage) -> String {
    usage
        .reported()
        .map_or("unknown".to_owned(), |tokens| tokens.to_string())
}
