//! Verifications and their reports.

use super::html::{Html, Rows, clip};
use super::page::{Refresh, instant, page, part};
use drive_core::verify::{Stage, StageStatus, Verification, render, text};
use std::time::Duration;

/// The maximum number of verifications in the list.
pub(super) const VERIFICATIONS: usize = 100;
/// The maximum length of a reason in the list, in characters.
const REASON: usize = 160;
/// The maximum number of failing tests and of notes on a page.
const LINES: usize = 100;
/// The maximum size of the output of one stage, in bytes.
const OUTPUT: usize = 16 * 1024;

/// Renders the list, newest first.
pub(super) fn list_page(reports: &[Verification]) -> String {
    page("verifications", Refresh::Stream, |html| {
        part(html, "verifications", |html| list(html, reports));
    })
}

fn list(html: &mut Html, reports: &[Verification]) {
    if reports.is_empty() {
        html.raw("<p>No verifications yet; verify a commit with <code>drive verify</code>.</p>\n");
        return;
    }
    let columns = &["id", "verdict", "commit", "started", "took", "reason"];
    html.table(columns, |rows| {
        for report in reports {
            rows.row(|row| list_row(row, report));
        }
    });
}

fn list_row(row: &mut Rows<'_>, report: &Verification) {
    let id = report.run_id.as_str();
    row.cell_with(|html| html.link("/verifications/", id, id));
    row.cell(report.overall.as_str());
    row.cell(render::subject(report));
    row.cell(instant(report.timing.started_at));
    row.cell(took(report.timing.duration_ms));
    let reason = report.failure.as_ref().map_or("", |one| &one.reason);
    row.cell(clip(reason, REASON));
}

/// Renders one report.
pub(super) fn show_page(report: &Verification) -> String {
    let title = format!("verification {}", report.run_id);
    page(&title, Refresh::Still, |html| {
        let candidate = &report.candidate;
        html.raw("<dl>\n");
        html.fact("verdict", Some(report.overall.as_str()));
        html.fact("commit", candidate.head_sha.as_ref());
        html.fact("base", candidate.base_sha.as_ref());
        html.fact("merged tree", candidate.merged_tree_sha.as_ref());
        html.fact("rules from", candidate.rules_from.as_ref());
        html.fact("reused from", report.cached_from.as_ref());
        html.fact("started", Some(instant(report.timing.started_at)));
        html.fact("took", Some(took(report.timing.duration_ms)));
        if let Some(failure) = &report.failure {
            html.fact("category", Some(failure.category.as_str()));
            html.fact("reason", Some(&failure.reason));
            html.fact("hint", failure.hint.as_ref());
        }
        html.raw("</dl>\n");
        stages(html, &report.stages);
        lines(html, "Notes", &report.notes);
    })
}

fn stages(html: &mut Html, stages: &[Stage]) {
    html.raw("<h2>Stages</h2>\n");
    let columns = &["stage", "route", "status", "took", "command", "reason"];
    html.table(columns, |rows| {
        for stage in stages {
            rows.row(|row| {
                row.cell(stage.name.words()).cell(&stage.route);
                row.cell(render::status_word(stage.status));
                row.cell(took(stage.duration_ms));
                row.cell(clip(&stage.command.join(" "), REASON));
                let reason = stage.reason.as_deref().unwrap_or_default();
                row.cell(clip(reason, REASON));
            });
        }
    });
    for stage in stages.iter().filter(|stage| did_not_pass(stage)) {
        lines(html, "Failing tests", &stage.failed_tests);
        for tail in [&stage.stdout_tail, &stage.stderr_tail] {
            if !tail.trim().is_empty() {
                html.element("pre", text::tail_lines(tail, OUTPUT))
                    .raw("\n");
            }
        }
    }
}

fn did_not_pass(stage: &Stage) -> bool {
    match stage.status {
        StageStatus::Fail | StageStatus::Timeout | StageStatus::Error => true,
        StageStatus::Pass | StageStatus::Skipped => false,
    }
}

fn lines(html: &mut Html, title: &'static str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    html.element("h2", title).raw("\n<ul>\n");
    for line in lines.iter().take(LINES) {
        html.element("li", line).raw("\n");
    }
    html.raw("</ul>\n");
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        html.raw("<p>").text(more).raw(" more are not shown</p>\n");
    }
}

fn took(millis: u64) -> String {
    let seconds = Duration::from_millis(millis).as_secs_f64();
    format!("{seconds:.1} s")
}
