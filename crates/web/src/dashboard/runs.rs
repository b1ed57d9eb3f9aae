//! The page of one run.

use super::cruise::{tell_cruise, tell_plan};
use super::forms::{Forms, notice, of_run};
use super::groups::{standings, stands, tell_children, tell_standing};
use super::html::{Html, clip, newest, percent_encoded};
use super::ledger::{tell_findings, tell_ledger, tell_spent};
use super::page::{Refresh, instant, left_out, page, part};
use super::record::tell_record;
use super::words::{cost, kind, phase, title, tokens};
use super::{Sources, Visit};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::process::missing_layers;
use drive_core::run::{Flow, Run, Standing, State, cruise_status, waiting_for};
use drive_core::timeline::timeline;
use drive_engine::ports::Entry;

/// The maximum length of a task on its own page, in characters.
const TASK: usize = 20_000;
/// The maximum number of commits, warnings and events of one run.
const LINES: usize = 200;

/// Renders one run; `None` if there is no run with this id.
pub(super) fn show_page(
    sources: &Sources,
    id: &str,
    visit: &Visit,
) -> Result<Option<String>, Problem> {
    let id = RunId::new(id);
    let Some(run) = sources.runs.load(&id)? else {
        return Ok(None);
    };
    let journal = sources.runs.journal(&id)?;
    let (standing, children) = stands(sources, &run)?;
    let standings = standings(sources, &children)?;
    let name = format!("{}: {}", kind(&run), title(&run));
    let refresh = if run.is_active() {
        Refresh::Form(format!("/runs/{}/events", percent_encoded(run.id.as_str())))
    } else {
        Refresh::Still
    };
    Ok(Some(page(&name, refresh, |html| {
        notice(html, &visit.query);
        part(html, "lead", |html| {
            html.raw("<div class=\"lead\">\n");
            tell_standing(html, &run, &standing);
            html.raw("</div>\n");
        });
        let forms = Forms::new(&visit.session, "/runs/", run.id.as_str());
        part(html, "actions", |html| {
            of_run(html, &forms, &run, &children)
        });
        part(html, "story", |html| {
            tell_plan(html, &run, &children);
            if let Flow::Cruise { .. } = &run.flow {
                tell_cruise(html, &run);
            }
            tell_children(html, &run, &children, &standings);
            events(html, &run.id, &journal);
        });
        part(html, "details", |html| {
            details(html, &run, &standing);
        });
    })))
}

fn details(html: &mut Html, run: &Run, its: &Standing) {
    html.raw("<h2>Details</h2>\n");
    facts(html, run, its);
    let task = run.request.as_ref().map_or("", |request| &request.task);
    html.raw("<h2>Task</h2>\n").element("pre", clip(task, TASK));
    commits(html, run);
    isolation(html, run);
    warnings(html, run);
    if let Some(record) = run.flow.record() {
        tell_spent(html, record);
        tell_record(html, record);
        tell_findings(html, record);
    }
    if let Flow::Phase { phase } = &run.flow {
        tell_ledger(html, phase);
    }
}

fn facts(html: &mut Html, run: &Run, its: &Standing) {
    let request = run.request.as_ref();
    let outcome = run.outcome.as_ref();
    html.raw("<dl>\n");
    html.fact("run", Some(&run.id));
    if let Some(parent) = run.parent() {
        html.raw("<dt>part of</dt><dd>");
        html.link("/runs/", parent.run.as_str(), &parent.run);
        html.raw("</dd>\n");
    }
    html.fact("state", Some(State::of(run, its).as_str()));
    html.fact("kind", Some(kind(run)));
    if let Some(cruise) = cruise_status(run) {
        html.fact("phase", Some(phase(cruise.phase)));
        html.fact("step", Some(cruise.state));
        html.fact(
            "waiting for",
            cruise.waiting_for.or_else(|| waiting_for(run, its)),
        );
        html.fact("next poll", cruise.next_poll_at.map(instant));
        html.fact("pending comments", Some(cruise.pending_comments));
        html.fact("fixer rounds", Some(cruise.rounds));
    } else {
        html.fact("waiting for", waiting_for(run, its));
    }
    html.fact("repository", request.map(|request| request.repo.display()));
    html.fact("agent", request.map(|request| &request.agent));
    html.fact("branch", run.work.branch.as_ref());
    html.fact("head", run.work.head_sha.as_ref());
    html.fact("base", request.map(|request| &request.base_sha));
    html.raw("<dt>pull request</dt><dd>");
    match &run.work.pull_request {
        Some(pr) => html.outward(&pr.url, format_args!("#{} {}", pr.number, pr.url)),
        None => {
            html.text("none");
        }
    }
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
    html.table(&["time", "event"], |rows| {
        for moment in shown {
            rows.row(|row| {
                row.cell(instant(moment.at)).cell(&moment.text);
            });
        }
    });
}
