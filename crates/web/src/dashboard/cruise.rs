//! The page of a cruise: graph, tasks and audit, in addition to the parts that every run has.

use super::graph::{colour, graph};
use super::html::{Html, clip};
use drive_core::ids::TaskId;
use drive_core::run::{Audit, Evidence, Flow, PlanCheck, Run, TaskResult, TaskView, audit, tasks};

/// The maximum number of rows per table.
const ROWS: usize = 200;
/// The maximum length of a text in a table, in characters.
const WORDS: usize = 400;

/// Renders the tasks of a cruise and their results.
pub(super) fn tell_cruise(html: &mut Html, run: &Run) {
    let tasks = tasks(run);
    html.raw("<h2>Tasks</h2>\n");
    if tasks.is_empty() {
        html.raw("<p>No tasks yet: they come with the approved plan.</p>\n");
        return;
    }
    graph(html, &tasks);
    cockpit(html, &tasks);
    if let Some(audit) = audit(run) {
        report(html, &audit);
    }
}

/// Renders the plan that waits for an approval, if this run or one of its children has one.
pub(super) fn tell_plan(html: &mut Html, run: &Run, children: &[Run]) {
    let all = std::iter::once(run).chain(children);
    for one in all.filter(|one| one.awaits_approval()) {
        let (Flow::Phase { phase }, Some(head)) = (&one.flow, &one.work.head_sha) else {
            continue;
        };
        let PlanCheck::Valid { plan } = &phase.plan else {
            continue;
        };
        html.raw("<h2>The plan at ")
            .text(head.short())
            .raw("</h2>\n");
        let columns = &["task", "after", "must be true"];
        html.table(columns, |rows| {
            for task in plan.tasks.iter().take(ROWS) {
                rows.row(|row| {
                    row.cell_with(|html| {
                        html.element("strong", &task.id).raw(" ");
                        html.text(clip(&task.title, WORDS));
                    });
                    let after = task.depends_on.iter().map(TaskId::as_str);
                    row.cell(after.collect::<Vec<&str>>().join(", "));
                    let entries = task.acceptance.iter().map(|one| one.text.as_str());
                    let entries = entries.collect::<Vec<&str>>().join("; ");
                    row.cell(clip(&entries, WORDS));
                });
            }
        });
    }
    if let Flow::Cruise { build } = &run.flow {
        let doubts = build.doubts.iter().map(ToString::to_string);
        list(html, "Entries without evidence", doubts);
    }
}

fn cockpit(html: &mut Html, tasks: &[TaskView]) {
    let columns = &[
        "task",
        "state",
        "attempts",
        "run",
        "pull request",
        "cost",
        "reason",
    ];
    html.table(columns, |rows| {
        for task in tasks.iter().take(ROWS) {
            rows.row(|row| {
                row.cell_with(|html| {
                    html.element("strong", &task.id).raw(" ");
                    html.text(clip(&task.title, WORDS));
                });
                row.cell_with(|html| {
                    html.raw("<span class=\"state ").raw(colour(task.state));
                    html.raw("\">").text(task.state.as_str()).raw("</span>");
                });
                row.cell(task.attempts).cell_with(|html| {
                    if let Some(run) = &task.run {
                        html.link("/runs/", run.as_str(), run);
                    }
                });
                row.cell(
                    task.pull_request
                        .map(|pr| format!("#{pr}"))
                        .unwrap_or_default(),
                );
                let cost = task.cost_usd.map(|usd| format!("${usd:.2}"));
                row.cell(cost.unwrap_or_default());
                row.cell(clip(task.reason.as_deref().unwrap_or_default(), WORDS));
            });
        }
    });
}

fn report(html: &mut Html, audit: &Audit) {
    html.raw("<h2>Audit</h2>\n<dl>\n");
    html.fact("level", Some(audit.level.as_str()));
    html.fact("commit", audit.commit.as_ref());
    html.raw("</dl>\n");
    let columns = &["task", "became", "must be true", "result", "shown by"];
    html.table(columns, |rows| {
        let entries = audit.tasks.iter().flat_map(|task| {
            let of_task = task.evidence.iter();
            of_task.map(move |one| (task, one))
        });
        for (task, one) in entries.take(ROWS) {
            rows.row(|row| {
                row.cell(&task.id).cell(became(task.status));
                row.cell(clip(&one.criterion, WORDS))
                    .cell(one.result.name());
                row.cell(clip(&shown_by(one), WORDS));
            });
        }
    });
    let findings = audit.findings.iter().map(|one| {
        let confirmed = if one.confirmed.is_some() {
            "confirmed"
        } else {
            "not confirmed"
        };
        format!("{}, {confirmed}: {}", one.severity.name(), one.title)
    });
    list(html, "Findings", findings);
    list(html, "Gaps", audit.gaps.iter().cloned());
    list(
        html,
        "Built but not requested",
        audit.additions.iter().cloned(),
    );
}

fn list(html: &mut Html, title: &'static str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    html.element("h3", title).raw("\n<ul>\n");
    for line in lines.take(ROWS) {
        html.element("li", clip(&line, WORDS)).raw("\n");
    }
    html.raw("</ul>\n");
}

fn became(result: TaskResult) -> &'static str {
    match result {
        TaskResult::Implemented => "implemented",
        TaskResult::Partial => "partial",
        TaskResult::Missing => "missing",
        TaskResult::Deviated => "deviated",
    }
}

/// The evidence of an entry, or why there is none.
fn shown_by(one: &Evidence) -> String {
    if let (Some(expected), false) = (&one.expected, one.command.is_empty()) {
        let actual = one.actual.as_deref().unwrap_or("not run");
        let command = one.command.join(" ");
        return format!("{command}: expected {expected}, got {actual}");
    }
    match &one.place {
        Some(place) => match place.line {
            Some(line) => format!("{}:{line}", place.file),
            None => place.file.clone(),
        },
        None => one.actual.clone().unwrap_or_default(),
    }
}
