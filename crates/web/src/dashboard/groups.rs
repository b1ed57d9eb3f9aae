//! The first page: all runs, grouped by who must act on them.

use super::Sources;
use super::html::{Html, clip};
use super::page::{Refresh, ago, command, page, part};
use super::words::{cost, kind, pull_request, title};
use drive_core::Problem;
use drive_core::run::{Group, OutcomeStatus, Run, Standing, State, standing};
use drive_core::time::Timestamp;
use drive_core::timeline::first_line;
use drive_engine::lease;
use drive_engine::ports::{RunFilter, Store};
use std::collections::BTreeMap;

/// Which runs are read, and how many: the active ones, and the newest of all.
const READ: [(RunFilter, u32); 2] = [(RunFilter::Active, 500), (RunFilter::All, 150)];
/// The maximum number of ended runs in the list.
const DONE: usize = 50;
/// The maximum number of runs in each other group.
const ROWS: usize = 200;
/// The maximum length of a reason, in characters.
const REASON: usize = 300;
/// The maximum length of a failed command's output, in characters.
const TAIL: usize = 600;

/// A run with the data that its page and the list show.
pub(super) struct Row {
    pub(super) run: Run,
    pub(super) standing: Standing,
}

/// The page with the runs that have no parent, in groups, newest first.
pub(super) fn list_page(sources: &Sources) -> Result<String, Problem> {
    let rows = load(sources)?;
    let now = sources.clock.now();
    Ok(page("Runs", Refresh::Stream, |html| {
        part(html, "groups", |html| groups(html, &rows, now));
    }))
}

fn groups(html: &mut Html, rows: &[Row], now: Timestamp) {
    if rows.is_empty() {
        html.raw(
            "<p>No runs yet. Start one with <code>drive spawn TASK</code>, or watch <code>drive \
                 demo</code>.</p>\n",
        );
        return;
    }
    for group in Group::ALL {
        let of_group = rows.iter().filter(|row| row.standing.group == group);
        section(html, group, &of_group.collect::<Vec<&Row>>(), now);
    }
}

fn load(sources: &Sources) -> Result<Vec<Row>, Problem> {
    let store = sources.runs.as_ref();
    let mut runs = BTreeMap::new();
    for (filter, most) in READ {
        for run in store.list(filter, most)? {
            runs.insert(run.id.clone(), run);
        }
    }
    let (roots, children): (Vec<Run>, Vec<Run>) =
        runs.into_values().partition(|run| run.parent().is_none());
    let mut rows = Vec::new();
    for run in roots {
        let standing = with_owner(sources, &run, standing(&run, &children))?;
        rows.push(Row { run, standing });
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.run.started_at));
    Ok(rows)
}

/// The standing of one run, and its children.
pub(super) fn stands(sources: &Sources, run: &Run) -> Result<(Standing, Vec<Run>), Problem> {
    let children = children(sources.runs.as_ref(), run)?;
    let standing = with_owner(sources, run, standing(run, &children))?;
    Ok((standing, children))
}

/// The standing of each of these runs.
pub(super) fn standings(sources: &Sources, runs: &[Run]) -> Result<Vec<Standing>, Problem> {
    let each = runs.iter();
    each.map(|run| with_owner(sources, run, standing(run, &[])))
        .collect()
}

fn children(store: &dyn Store, run: &Run) -> Result<Vec<Run>, Problem> {
    let mut children = Vec::new();
    for id in run.children.keys() {
        children.extend(store.load(id)?);
    }
    Ok(children)
}

fn with_owner(sources: &Sources, run: &Run, its: Standing) -> Result<Standing, Problem> {
    lease::with_owner(sources.runs.as_ref(), sources.whoami.as_ref(), run, its)
}

fn section(html: &mut Html, group: Group, rows: &[&Row], now: Timestamp) {
    let (id, name, empty) = match group {
        Group::NeedsYou => ("needs-you", "Needs you", "Nothing needs you."),
        Group::Working => (
            "working",
            "Working",
            "No agent works. Start one with `drive spawn TASK`.",
        ),
        Group::Waiting => ("waiting", "Waiting", "Nothing waits."),
        Group::Done => ("done", "Done", "Nothing has ended yet."),
    };
    html.raw("<section").attr("aria-labelledby", id);
    html.raw(">\n<h2").attr("id", id).raw(">").text(name);
    html.raw(" <span class=\"count\">").text(rows.len());
    html.raw("</span></h2>\n");
    let most = if group == Group::Done { DONE } else { ROWS };
    if rows.is_empty() {
        html.element("p", empty).raw("\n");
    } else {
        html.raw("<ul class=\"rows\">\n");
        for row in rows.iter().take(most) {
            tell_row(html, row, now);
        }
        html.raw("</ul>\n");
    }
    if rows.len() > most {
        html.raw("<p>").text(rows.len() - most);
        html.raw(" older ones are not shown; list them with <code>drive runs list</code></p>\n");
    }
    html.raw("</section>\n");
}

fn tell_row(html: &mut Html, row: &Row, now: Timestamp) {
    let (run, its) = (&row.run, &row.standing);
    html.raw("<li class=\"row ").raw(edge(its.group)).raw("\">");
    html.raw("<h3>");
    html.link("/runs/", run.id.as_str(), title(run));
    html.raw("</h3>\n");
    tell_standing(html, run, its);
    html.raw("<p class=\"meta\">").text(&run.id);
    html.raw(" · ")
        .text(kind(run))
        .raw(" · ")
        .text(age(run, now));
    if run.work.pull_request.is_some() {
        html.raw(" · ");
        pull_request(html, run);
    }
    if let Some(cost) = cost(run) {
        html.raw(" · ").text(cost);
    }
    let repo = run.request.as_ref().and_then(|one| one.repo.file_name());
    if let Some(repo) = repo {
        html.raw(" · ").text(repo.to_string_lossy());
    }
    match run.children.len() {
        0 => &mut *html,
        1 => html.raw(" · 1 child run"),
        many => html.raw(" · ").text(many).raw(" child runs"),
    };
    html.raw("</p></li>\n");
}

/// Renders the state with its reason; after a failure, the cause and the command's output; then the
/// next command.
pub(super) fn tell_standing(html: &mut Html, run: &Run, its: &Standing) {
    html.raw("<p><strong class=\"state ");
    html.raw(colour(run, its.group)).raw("\">");
    html.text(State::of(run, its).as_str()).raw("</strong>");
    if let Some(reason) = &its.reason {
        html.raw(": ").text(clip(reason, REASON));
    }
    html.raw("</p>\n");
    let failure = run.outcome.as_ref().and_then(|one| one.failure.as_ref());
    if let Some(failure) = failure {
        if let Some(cause) = failure.causes.last() {
            html.element("pre", tail(cause)).raw("\n");
        }
        if let Some(hint) = &failure.hint {
            html.element("p", clip(hint, REASON)).raw("\n");
        }
    }
    if let Some(next) = &its.command {
        command(html, next);
    }
}

fn tail(text: &str) -> String {
    let length = text.chars().count();
    if length <= TAIL {
        return text.to_owned();
    }
    let last: String = text.chars().skip(length - TAIL).collect();
    format!("…{last}")
}

fn age(run: &Run, now: Timestamp) -> String {
    match (&run.outcome, run.started_at) {
        (Some(outcome), _) => format!("ended {} ago", ago(outcome.ended_at, now)),
        (None, Some(started)) => format!("for {}", ago(started, now)),
        (None, None) => "not started".to_owned(),
    }
}

fn edge(group: Group) -> &'static str {
    match group {
        Group::NeedsYou => "g-you",
        Group::Working => "g-work",
        Group::Waiting => "g-wait",
        Group::Done => "g-done",
    }
}

fn colour(run: &Run, group: Group) -> &'static str {
    match (group, run.outcome.as_ref().map(|outcome| outcome.status)) {
        (Group::NeedsYou, _) => "s-you",
        (Group::Working, _) => "s-work",
        (Group::Waiting, _) | (Group::Done, Some(OutcomeStatus::Cancelled) | None) => "s-wait",
        (Group::Done, Some(OutcomeStatus::Succeeded)) => "s-good",
        (
            Group::Done,
            Some(OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::NeedsHuman),
        ) => "s-bad",
    }
}

/// Renders the child runs on the page of their root.
pub(super) fn tell_children(html: &mut Html, root: &Run, children: &[Run], standings: &[Standing]) {
    if children.is_empty() {
        return;
    }
    html.raw("<h2>Child runs</h2>\n");
    let columns = &["run", "works on", "state", "reason", "cost"];
    html.table(columns, |rows| {
        for (child, its) in children.iter().zip(standings).take(ROWS) {
            rows.row(|row| {
                row.cell_with(|html| html.link("/runs/", child.id.as_str(), &child.id));
                let task = root.children.get(&child.id).map(|one| one.task.as_str());
                row.cell(task.unwrap_or_default());
                row.cell(State::of(child, its).as_str());
                row.cell(its.reason.as_deref().map(first_line).unwrap_or_default());
                row.cell(cost(child).unwrap_or_default());
            });
        }
    });
}
