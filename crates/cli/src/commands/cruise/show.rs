//! `drive cruise list`, `status` and `logs`.

use super::find;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::runs::logs::{self, LogOptions};
use crate::commands::runs::tree::child_line;
use crate::documents::{CruiseDocument, CruiseSummary, CruisesDocument, open_first};
use crate::output::{Look, Printable};
use crate::table::{Cell, Column, Tone, age, render};
use crate::wiring::Wiring;
use drive_adapters::process::ThisProcess;
use drive_core::agent::answer::{Verdict, title_of};
use drive_core::problem::Problem;
use drive_core::review::Domain;
use drive_core::run::{
    CruiseStatus, DomainVerdict, Entry, Flow, Life, Run, cruise_status, domain_verdicts,
    planning_run, tasks,
};
use drive_core::time::Timestamp;
use drive_core::timeline::describe_status;
use drive_engine::lease::Whoami;
use drive_engine::ports::{Liveness, Owner, RunFilter, Store};
use std::fmt::Write;

/// How many comments are listed.
const COMMENTS_SHOWN: usize = 30;

/// Lists the active cruises, or all.
pub(super) fn list(app: &App, all: bool) -> Outcome {
    let store = app.store()?;
    let filter = if all {
        RunFilter::All
    } else {
        RunFilter::Active
    };
    let runs = find::all(&store, filter)?;
    let runs = runs.into_iter().map(|run| shown(&store, run));
    let runs = runs.collect::<Result<Vec<Run>, Problem>>()?;
    let is_owned = |run: &Run| living_owner(&store, run).is_some();
    let mut text = table(&runs, is_owned, app.now(), app.output().look());
    if runs.is_empty() {
        text.push_str("no cruises; start one with `drive cruise run TASK`\n");
    }
    let begun = runs.iter().filter_map(|run| {
        let status = cruise_status(run)?;
        let owner = living_owner(&store, run);
        Some(CruiseSummary::new(run, Some(&status), owner.as_ref()))
    });
    let document = CruisesDocument {
        cruises: begun.collect(),
    };
    Answer::new(&document, text)
}

/// The columns. A narrow terminal drops those with larger numbers first.
const COLUMNS: [Column; 8] = [
    Column::left("ID", 0),
    Column::left("STATE", 0),
    Column::right("AGE", 1),
    Column::right("PR", 2),
    Column::right("ROUNDS", 5),
    Column::right("OPEN", 4),
    Column::right("COST", 3),
    Column::left("TASK", 0),
];

/// One line for each cruise, and one more for each that waits.
fn table(runs: &[Run], is_owned: impl Fn(&Run) -> bool, now: Timestamp, look: Look) -> String {
    let begun = |run| Some((run, unless_idle(run, cruise_status(run)?, is_owned(run))));
    let all: Vec<(&Run, CruiseStatus)> = runs.iter().filter_map(begun).collect();
    let row = |(run, status): &(&Run, CruiseStatus)| {
        let pr = run.work.pull_request.as_ref();
        let cost = run.spent_in_all().cost;
        let tone = match (&run.outcome, &status.waiting_for) {
            (Some(_), _) => Tone::Plain,
            (None, Some(_)) => Tone::Waiting,
            (None, None) => Tone::Working,
        };
        [
            Cell::new(run.id.as_str()),
            Cell::toned(&status.state, tone),
            Cell::new(run.started_at.map_or(String::new(), |at| age(at, now))),
            Cell::new(pr.map_or(String::new(), |pr| format!("#{}", pr.number))),
            Cell::new(status.rounds.to_string()),
            Cell::new(status.pending_comments.to_string()),
            Cell::new(cost.map_or(String::new(), |cost| cost.to_string())),
            Cell::new(task_of(run)),
        ]
    };
    let rows: Vec<[Cell; 8]> = all.iter().map(row).collect();
    let mut text = render(COLUMNS, &rows, look);
    for (run, status) in &all {
        if let Some(waits) = &status.waiting_for {
            let _ = writeln!(text, "{}: waiting for {}", run.id, Cell::new(waits).text());
        }
    }
    text
}

/// The status of a cruise without an owner: nothing happens in it, whatever it did last.
fn unless_idle(run: &Run, status: CruiseStatus, is_owned: bool) -> CruiseStatus {
    if is_owned || run.outcome.is_some() {
        return status;
    }
    let resume = format!("`drive cruise resume {}`: no process owns it", run.id);
    CruiseStatus {
        state: "no owner".to_owned(),
        waiting_for: Some(match status.waiting_for {
            Some(wait) => format!("{resume}; then {wait}"),
            None => resume,
        }),
        ..status
    }
}

/// The run to show for a cruise. While it plans, that is the planning run under the cruise's id.
fn shown(store: &dyn Store, run: Run) -> Result<Run, Problem> {
    let planning = planning_run(&run).filter(|id| run.children[id].is_live());
    let Some(id) = planning.filter(|_| run.is_active()) else {
        return Ok(run);
    };
    Ok(match store.load(&id)? {
        Some(child) if cruise_status(&child).is_some() => Run {
            id: run.id.clone(),
            ..child
        },
        Some(_) | None => run,
    })
}

/// `drive cruise status`.
pub(super) fn status(app: &App, id: Option<&str>) -> Outcome {
    let store = app.store()?;
    let run = find::shown(&store, id, &app.start_dir()?)?;
    let run = shown(&store, run)?;
    if matches!(run.flow, Flow::Cruise { .. }) {
        return building(&run, living_owner(&store, &run).as_ref(), app.now());
    }
    let (Some(status), Flow::Phase { phase }) = (cruise_status(&run), &run.flow) else {
        return Answer::new(
            &CruiseDocument::unbegun(&run),
            "the cruise has not started\n",
        );
    };
    let owner = living_owner(&store, &run);
    let document = CruiseDocument::new(&run, &status, phase, owner.as_ref());
    let mut text = at_a_glance(&run, &status, owner.as_ref(), app.now());
    let mut comments = open_first(phase).take(COMMENTS_SHOWN).peekable();
    while let Some(entry) = comments.next_if(|entry| entry.life.is_open()) {
        text.push_str(&comment_line(entry));
    }
    for one in domain_verdicts(&run) {
        text.push_str(&verdict_line(&one));
    }
    text.extend(comments.map(comment_line));
    for one in &phase.record.ignored {
        let author = one.author.as_deref().unwrap_or("unknown");
        let _ = writeln!(
            text,
            "ignored  {} by {author}: {}",
            one.comment.id, one.reason
        );
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {warning}");
    }
    Answer::new(&document, Printable(&text).to_string())
}

fn comment_line(entry: &Entry) -> String {
    let first = entry.body.lines().find(|line| !line.trim().is_empty());
    let words: String = first.unwrap_or_default().chars().take(60).collect();
    format!(
        "comment  {:18} {:12} {}: {words}\n",
        entry.id(),
        life(&entry.life),
        entry.author
    )
}

fn verdict_line(one: &DomainVerdict) -> String {
    let domain = one.domain.as_ref().map_or("whole plan", Domain::name);
    let verdict = match one.verdict {
        Some(Verdict::Approved) => "approved",
        Some(Verdict::NeedsChanges) => "requests changes",
        Some(Verdict::NotApplicable) => "does not apply",
        None if one.commit.is_some() => "no verdict",
        None => "not reviewed yet",
    };
    let at = match (&one.commit, one.is_current) {
        (Some(commit), false) => format!(" (of {}, not of the head)", commit.short()),
        (Some(_), true) | (None, _) => String::new(),
    };
    format!("review   {domain:22} {verdict}{at}\n")
}

/// The status of a cruise that builds tasks: its stage, and every task or child.
fn building(run: &Run, owner: Option<&Owner>, now: Timestamp) -> Outcome {
    let status = cruise_status(run);
    let tasks = tasks(run);
    let mut text = match &status {
        Some(status) => at_a_glance(run, status, owner, now),
        None => String::new(),
    };
    for task in &tasks {
        let _ = writeln!(
            text,
            "task     {:16} {:10} {}",
            task.id.as_str(),
            task.state.as_str(),
            task.title
        );
        if let Some(reason) = &task.reason {
            let first = reason.lines().next().unwrap_or_default();
            let _ = writeln!(text, "         {:16} {:10} {first}", "", "");
        }
    }
    if tasks.is_empty() {
        for (id, child) in &run.children {
            let _ = writeln!(text, "{}", child_line(id, child));
        }
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {warning}");
    }
    let document = CruiseDocument::building(run, status.as_ref(), owner);
    Answer::new(&document, Printable(&text).to_string())
}

fn at_a_glance(run: &Run, status: &CruiseStatus, owner: Option<&Owner>, now: Timestamp) -> String {
    let mut text = format!("cruise   {}: {}\n", run.id, task_of(run));
    let phase = status.phase.as_str();
    match (&run.outcome, &status.domain) {
        (Some(outcome), _) => {
            let end = describe_status(outcome.status);
            let _ = writeln!(text, "state    {phase}, ended: {end}");
            if let Some(problem) = &outcome.failure {
                let _ = writeln!(text, "because  {problem}");
            }
        }
        (None, domain) => {
            let domain = domain.as_ref();
            let domain = domain.map_or(String::new(), |domain| format!(" ({domain})"));
            let idle = match owner {
                Some(_) => "",
                None => "; no owner",
            };
            let _ = writeln!(text, "state    {phase}, {}{domain}{idle}", status.state);
        }
    }
    if let Some(waits) = &status.waiting_for {
        let _ = writeln!(text, "waiting  for {waits}");
    }
    if let (Some(at), Some(_), None) = (status.next_poll_at, owner, &run.outcome) {
        let seconds = at.duration_since(now).as_secs().max(0);
        let _ = writeln!(text, "poll     next in {seconds}s");
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = writeln!(text, "pull     #{} {}", pr.number, pr.url);
    }
    if let Some(head) = &run.work.head_sha {
        let _ = writeln!(text, "head     {head}");
    }
    let spent = run.spent_in_all();
    let cost = spent.cost.map_or(String::new(), |cost| format!(", {cost}"));
    let _ = writeln!(
        text,
        "rounds   {}, {} open comment{}, {}{cost}",
        status.rounds,
        status.pending_comments,
        if status.pending_comments == 1 {
            ""
        } else {
            "s"
        },
        spent.usage.describe()
    );
    match (owner, &run.outcome) {
        (_, Some(_)) => {}
        (Some(owner), None) => {
            let _ = writeln!(
                text,
                "owner    process {}{}",
                owner.process.pid,
                elsewhere(owner)
            );
        }
        (None, None) => {
            let _ = writeln!(
                text,
                "owner    none; continue with `drive cruise resume {}`",
                run.id
            );
        }
    }
    text
}

fn life(life: &Life) -> &'static str {
    match life {
        Life::Seen => "pending",
        Life::Dispatched { .. } => "being fixed",
        Life::Pushed { .. } => "replying",
        Life::Replied { .. } => "replied",
        Life::Asked { .. } => "asked back",
        Life::Unanswerable { .. } => "gone",
        Life::Left => "open",
        Life::Superseded => "edited",
        Life::Withdrawn { .. } => "put aside",
    }
}

/// The machine of an owner, as text, if it is another one.
fn elsewhere(owner: &Owner) -> String {
    if ThisProcess::load().owner().machine == owner.machine {
        String::new()
    } else {
        format!(" on machine {}", owner.machine)
    }
}

pub(super) fn living_owner(store: &dyn Store, run: &Run) -> Option<Owner> {
    let owner = store.owner(&run.id).ok().flatten()?;
    let is_dead = ThisProcess::load().liveness(&owner) == Liveness::Dead;
    (!is_dead).then_some(owner)
}

/// Prints the logs of a cruise's agents, or follows them.
pub(super) fn logs(app: &App, id: Option<&str>, follow: bool, options: &LogOptions) -> Outcome {
    let settings = &app.settings()?.settings;
    let wiring = Wiring::new(app, settings, &app.start_dir()?)?;
    let run = find::shown(&wiring.store, id, &app.start_dir()?)?;
    if follow && run.is_active() && living_owner(&wiring.store, &run).is_none() {
        app.output().narrate(format_args!(
            "no process owns cruise {}; continue with `drive cruise resume {}`",
            run.id, run.id
        ));
    }
    if follow {
        logs::follow(app, &wiring, run, options)
    } else {
        logs::logs(&wiring, &run, options)
    }
}

fn task_of(run: &Run) -> String {
    let request = run.request.as_ref();
    request.map_or(String::new(), |request| title_of(&request.task))
}
