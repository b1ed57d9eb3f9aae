//! `drive cruise report`: what became of every task, and what proves it.

use super::find;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{AuditDocument, PhaseCost};
use crate::output::Printable;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Audit, AuditFinding, Evidence, Run, Spent, TaskResult, audit, is_cruise, planning_run,
    validating_run,
};
use drive_core::time::Timestamp;
use drive_core::timeline::describe_status;
use drive_engine::ports::Store;
use std::fmt::Write;

/// Prints the audit of a cruise.
pub(super) fn report(app: &App, id: Option<&str>) -> Outcome {
    let store = app.store()?;
    let run = find::shown(&store, id, &app.start_dir()?)?;
    let Some(found) = audit(&run) else {
        return Err(no_audit(&run));
    };
    let phases = phases(&store, &run)?;
    let text = text(&run, &found);
    let document = AuditDocument::new(&run, &found, outcome(&run), phases);
    Answer::new(&document, Printable(&text).to_string())
}

/// The audit of a cruise as text; `None` where it has no plan.
pub(crate) fn audit_text(run: &Run) -> Option<String> {
    let text = text(run, &audit(run)?);
    Some(Printable(&text).to_string())
}

fn no_audit(run: &Run) -> Problem {
    let why = if is_cruise(run) && run.children.is_empty() {
        "it only plans"
    } else {
        "its plan is not approved yet"
    };
    Problem::new(
        Kind::NoPlan,
        format!("cruise `{}` has nothing to report: {why}", run.id),
    )
    .hint("`drive cruise status` shows how far it is")
}

/// How it ended, in one line.
fn outcome(run: &Run) -> String {
    match &run.outcome {
        None => "not ended".to_owned(),
        Some(outcome) => match &outcome.failure {
            Some(problem) => problem.message.clone(),
            None => describe_status(outcome.status).to_owned(),
        },
    }
}

fn text(run: &Run, audit: &Audit) -> String {
    let mut text = format!("cruise   {}: {}\n", run.id, outcome(run));
    if let Some(commit) = &audit.commit {
        let _ = writeln!(text, "commit   {commit}");
    }
    let _ = writeln!(text, "level    {}", audit.level.as_str());
    for task in &audit.tasks {
        let status = status_word(task.status);
        let _ = writeln!(
            text,
            "task     {:16} {status:12} {}",
            task.id.as_str(),
            task.title
        );
        for one in &task.evidence {
            let result = one.result.name();
            let _ = writeln!(text, "           {result:12} {}", one.criterion);
            if let Some(shown) = shown(one) {
                let _ = writeln!(text, "           {:12} {shown}", "");
            }
        }
    }
    for one in &audit.findings {
        let _ = writeln!(text, "finding  {}", finding(one));
    }
    for one in &audit.additions {
        let _ = writeln!(text, "added    {one}");
    }
    for gap in &audit.gaps {
        let _ = writeln!(text, "gap      {gap}");
    }
    text
}

fn status_word(status: TaskResult) -> &'static str {
    match status {
        TaskResult::Implemented => "implemented",
        TaskResult::Partial => "partial",
        TaskResult::Missing => "missing",
        TaskResult::Deviated => "deviated",
    }
}

/// What shows an entry, or why nothing does.
fn shown(one: &Evidence) -> Option<String> {
    if let (Some(expected), false) = (&one.expected, one.command.is_empty()) {
        let actual = one.actual.as_deref().unwrap_or("not run");
        let command = one.command.join(" ");
        return Some(format!("{command}: expected {expected}, got {actual}"));
    }
    match &one.place {
        Some(place) => Some(match place.line {
            Some(line) => format!("{}:{line}", place.file),
            None => place.file.clone(),
        }),
        None => one.actual.clone(),
    }
}

fn finding(one: &AuditFinding) -> String {
    let confirmed = match one.confirmed {
        Some(_) => "confirmed",
        None => "not confirmed",
    };
    let place = match &one.place {
        Some(place) => format!(" ({})", place.file),
        None => String::new(),
    };
    let severity = one.severity.name();
    format!("{severity:12} {confirmed}: {}{place}", one.title)
}

/// What planning, building and validating took, from the runs themselves.
fn phases(store: &dyn Store, run: &Run) -> Result<Vec<PhaseCost>, Problem> {
    let (planning, validating) = (planning_run(run), validating_run(run));
    let mut validation = None;
    let mut phases = Vec::new();
    let (mut spent, mut began, mut ended) = (Spent::default(), None, None);
    for id in run.children.keys() {
        let Some(child) = store.load(id)? else {
            continue;
        };
        let end = child.outcome.as_ref().map(|outcome| outcome.ended_at);
        let times = (child.started_at, end);
        if Some(id) == planning.as_ref() {
            phases.push(PhaseCost::new("planning", times, child.spent_in_all()));
            continue;
        }
        if Some(id) == validating.as_ref() {
            validation = Some(PhaseCost::new("validating", times, child.spent_in_all()));
            continue;
        }
        spent = spent.plus(child.spent_in_all());
        began = earlier(began, child.started_at);
        ended = end.max(ended);
    }
    phases.push(PhaseCost::new("building", (began, ended), spent));
    phases.extend(validation);
    Ok(phases)
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
