//! The newest runs, and the details of one.

use super::html::{Html, clip, newest};
use super::page::{Refresh, instant, left_out, page};
use super::record::{tell_record, tokens};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::phase::PhaseName;
use drive_core::process::missing_layers;
use drive_core::run::{Run, cruise_status, paused_for, waits_for_person};
use drive_core::timeline::{describe_state, timeline};
use drive_engine::ports::{Entry, RunFilter, Store};

/// Runs in the list.
const RUNS: u32 = 100;
/// Characters of a task in the list.
const TITLE: usize = 120;
/// Characters of a task on its own page.
const TASK: usize = 20_000;
/// Commits, warnings and events shown of one run.
const LINES: usize = 200;

/// The list, newest first.
pub(super) fn list_page(store: &dyn Store) -> Result<String, Problem> {
    let runs = store.list(RunFilter::All, RUNS)?;
    Ok(page("runs", Refresh::Live, |html| {
        if runs.is_empty() {
            html.raw("<p>no runs yet; start one with <code>drive spawn TASK</code></p>\n");
            return;
        }
        html.raw("<table>\n<tr><th>run<th>kind<th>state<th>task<th>cost<th>pull request</tr>\n");
        for run in &runs {
            row(html, run);
        }
        html.raw("</table>\n");
        if runs.len() >= RUNS as usize {
            html.raw(
                "<p>older runs are not shown; list them with <code>drive runs \
                      list</code></p>\n",
            );
        }
    }))
}

fn row(html: &mut Html, run: &Run) {
    html.raw("<tr><td>");
    html.link("/runs/", run.id.as_str(), &run.id);
    html.raw("</td>").element("td", kind(run));
    html.element("td", describe_state(run));
    let task = run.request.as_ref().map_or("", |request| &request.task);
    let first = task.lines().next().unwrap_or_default();
    html.element("td", clip(first, TITLE));
    html.element("td", cost(run).unwrap_or_default());
    html.raw("<td>");
    pull_request(html, run);
    html.raw("</td></tr>\n");
}

/// One run; `None` where there is none of that name.
pub(super) fn show_page(store: &dyn Store, id: &str) -> Result<Option<String>, Problem> {
    let id = RunId::new(id);
    let Some(run) = store.load(&id)? else {
        return Ok(None);
    };
    let journal = store.journal(&id)?;
    let refresh = if run.is_active() {
        Refresh::Live
    } else {
        Refresh::Still
    };
    let title = format!("run {}", run.id);
    Ok(Some(page(&title, refresh, |html| {
        facts(html, &run);
        let task = run.request.as_ref().map_or("", |request| &request.task);
        html.raw("<h2>Task</h2>\n").element("pre", clip(task, TASK));
        commits(html, &run);
        isolation(html, &run);
        warnings(html, &run);
        if let Some(record) = run.flow.record() {
            tell_record(html, record);
        }
        events(html, &run.id, &journal);
    })))
}

fn facts(html: &mut Html, run: &Run) {
    let request = run.request.as_ref();
    let outcome = run.outcome.as_ref();
    let failure = outcome.and_then(|outcome| outcome.failure.as_ref());
    html.raw("<dl>\n");
    html.fact("state", Some(describe_state(run)));
    html.fact("kind", Some(kind(run)));
    if let Some(cruise) = cruise_status(run) {
        html.fact("phase", Some(phase(cruise.phase)));
        html.fact("step", Some(cruise.state));
        html.fact("waiting for", cruise.waiting_for);
        html.fact("next poll", cruise.next_poll_at.map(instant));
        html.fact("pending comments", Some(cruise.pending_comments));
        html.fact("fixer rounds", Some(cruise.rounds));
    } else {
        let wait = waits_for_person(run).or_else(|| paused_for(run));
        html.fact("waiting for", wait);
    }
    html.fact("failure", failure.map(|failure| &failure.message));
    html.fact("hint", failure.and_then(|failure| failure.hint.as_ref()));
    html.fact("repository", request.map(|request| request.repo.display()));
    html.fact("agent", request.map(|request| &request.agent));
    html.fact("branch", run.work.branch.as_ref());
    html.fact("head", run.work.head_sha.as_ref());
    html.fact("base", request.map(|request| &request.base_sha));
    html.raw("<dt>pull request</dt><dd>");
    pull_request(html, run);
    html.raw("</dd>\n");
    html.fact("cost", cost(run));
    html.fact("tokens", Some(tokens(run.spent_in_all().usage)));
    html.fact("started", run.started_at.map(instant));
    html.fact("ended", outcome.map(|outcome| instant(outcome.ended_at)));
    for kept in &run.kept {
        html.fact("saved work", Some(&kept.reference));
    }
    html.raw("</dl>\n");
}

fn pull_request(html: &mut Html, run: &Run) {
    match &run.work.pull_request {
        Some(pr) => html.outward(&pr.url, format_args!("#{} {}", pr.number, pr.url)),
        None => {
            html.text("none");
        }
    }
}

fn commits(html: &mut Html, run: &Run) {
    let (shown, hidden) = newest(&run.work.commits, LINES);
    html.raw("\n<h2>Commits</h2>\n<ul>\n");
    for commit in shown {
        let line = format!("{} {}", clip(&commit.sha, 10), commit.subject);
        html.element("li", line).raw("\n");
    }
    html.raw("</ul>\n");
    left_out(html, hidden, "commits");
}

fn isolation(html: &mut Html, run: &Run) {
    if run.layers.is_empty() {
        return;
    }
    html.raw("<h2>Isolation</h2>\n<ul>\n");
    for (name, why) in missing_layers(&run.layers) {
        let line = format!("missing layer {}: {why}", name.as_str());
        html.element("li", line).raw("\n");
    }
    let active = run.layers.iter().filter(|layer| layer.is_active());
    let active: Vec<&str> = active.map(|layer| layer.name.as_str()).collect();
    let line = format!("active layers: {}", active.join(", "));
    html.element("li", line).raw("\n</ul>\n");
}

fn warnings(html: &mut Html, run: &Run) {
    let (shown, hidden) = newest(&run.warnings, LINES);
    if shown.is_empty() {
        return;
    }
    html.raw("<h2>Warnings</h2>\n<ul>\n");
    for warning in shown {
        html.element("li", warning).raw("\n");
    }
    html.raw("</ul>\n");
    left_out(html, hidden, "warnings");
}

fn events(html: &mut Html, run: &RunId, journal: &[Entry]) {
    let events = journal.iter().map(|entry| (entry.event.clone(), entry.at));
    let moments = timeline(run, events);
    let (shown, hidden) = newest(&moments, LINES);
    html.raw("<h2>What happened</h2>\n");
    left_out(html, hidden, "events");
    html.raw("<table>\n<tr><th>time<th>event</tr>\n");
    for moment in shown {
        html.raw("<tr>").element("td", instant(moment.at));
        html.element("td", &moment.text).raw("</tr>\n");
    }
    html.raw("</table>\n");
}

fn kind(run: &Run) -> &'static str {
    match &run.request {
        Some(request) => request.kind.as_str(),
        None => "not requested yet",
    }
}

fn phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Planning => "planning",
        PhaseName::Building => "building",
        PhaseName::Validating => "validating",
    }
}

fn cost(run: &Run) -> Option<String> {
    run.spent_in_all().cost.map(|cost| cost.to_string())
}
