//! `drive cruise report`: the result of every task, with its evidence.

use super::find;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::AuditDocument;
use crate::output::Printable;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Audit, AuditFinding, Debrief, Evidence, Group, Run, TaskResult, audit, debrief, is_cruise,
    standing, waiting_for,
};
use drive_engine::ports::Store;
use std::fmt::Write;

/// Prints the audit of a cruise.
pub(super) fn report(app: &App, id: Option<&str>) -> Outcome {
    let store = app.store()?;
    let run = find::shown(&store, id, &app.start_dir()?)?;
    let Some(found) = audit(&run) else {
        return Err(no_audit(&run));
    };
    let children = children(&store, &run)?;
    let debrief = debrief(&run, &children);
    let decisions = decisions(&run, &children, &debrief);
    let mut text = text(&run, &found);
    for one in &decisions {
        let _ = writeln!(text, "decide   {one}");
    }
    way(&mut text, &debrief);
    let outcome = outcome(&run, &found);
    let document = AuditDocument::new(&run, &found, outcome, &debrief, decisions);
    Answer::new(&document, Printable(&text).to_string())
}

/// What is left to a person to decide: what the cruise waits for, and what was said that nobody settled.
fn decisions(run: &Run, children: &[Run], debrief: &Debrief) -> Vec<String> {
    let its = standing(run, children);
    let waits = match its.group {
        Group::NeedsYou => waiting_for(run, &its),
        Group::Working | Group::Waiting | Group::Done => None,
    };
    let open = debrief.said.iter().filter(|one| one.is_open);
    let open = open.map(|one| {
        let first = one.body.lines().next().unwrap_or_default();
        format!("comment of {}: {first}: {}", one.author, one.became)
    });
    waits.into_iter().chain(open).collect()
}

/// The audit of a cruise as text; `None` if it has no plan.
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
    .hint(format!(
        "`drive cruise status {}` shows its progress",
        run.id
    ))
}

/// The end of a cruise, in one line.
fn outcome(run: &Run, audit: &Audit) -> String {
    match &run.outcome {
        None => "not ended".to_owned(),
        Some(outcome) => match &outcome.failure {
            Some(problem) => problem.message.clone(),
            None => audit.conclusion(),
        },
    }
}

fn text(run: &Run, audit: &Audit) -> String {
    let mut text = format!("cruise   {}: {}\n", run.id, outcome(run, audit));
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
    let tried = audit.tasks.iter().filter(|task| task.attempts > 1);
    for task in tried {
        let _ = writeln!(
            text,
            "retries  {:16} {} attempts",
            task.id.as_str(),
            task.attempts
        );
    }
    for task in &audit.tasks {
        for one in &task.undone {
            let _ = writeln!(text, "undone   {:16} {one}", task.id.as_str());
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

/// The evidence of an entry, or why there is none.
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

/// The stored children of a cruise.
fn children(store: &dyn Store, run: &Run) -> Result<Vec<Run>, Problem> {
    let mut children = Vec::new();
    for id in run.children.keys() {
        children.extend(store.load(id)?);
    }
    Ok(children)
}

/// Adds the debrief: comments, phases and roles.
fn way(text: &mut String, debrief: &Debrief) {
    for one in &debrief.said {
        let first = one.body.lines().next().unwrap_or_default();
        let _ = writeln!(text, "comment  {}: {first}: {}", one.author, one.became);
    }
    let trains = debrief.trains;
    if trains.verified > 0 {
        let _ = write!(
            text,
            "trains   {} verified, {} failed, {} landed",
            counted(trains.verified, "merge"),
            trains.red,
            trains.landings
        );
        for (number, what) in [
            (trains.unknown, "not verified"),
            (trains.flaky, "flaky"),
            (trains.conflicts, "in conflict"),
        ] {
            if number > 0 {
                let _ = write!(text, ", {number} {what}");
            }
        }
        text.push('\n');
    }
    if let Some(parallelism) = debrief.parallelism {
        let _ = writeln!(text, "parallel {parallelism:.1} tasks at once on average");
    }
    for took in &debrief.phases {
        let (Some(began), Some(ended)) = took.times else {
            continue;
        };
        let time = duration(ended.as_millisecond() - began.as_millisecond());
        let cost = took.spent.cost.map(|cost| cost.usd());
        let time = with_tokens(time, took.spent.usage.reported());
        let _ = writeln!(text, "phase    {:16} {}", took.name, with_cost(time, cost));
    }
    for took in &debrief.roles {
        let time = duration(took.duration_ms);
        let agents = format!("{time} in {}", counted(took.agents, "agent"));
        let agents = with_tokens(agents, Some(took.tokens));
        let cost = took.cost.map(|cost| cost.usd());
        let role = took.role.name();
        let _ = writeln!(text, "role     {role:16} {}", with_cost(agents, cost));
    }
}

fn counted(number: u32, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

fn with_tokens(text: String, tokens: Option<u64>) -> String {
    match tokens {
        Some(tokens) => format!("{text}, {tokens} tokens"),
        None => text,
    }
}

fn with_cost(text: String, cost: Option<f64>) -> String {
    match cost {
        Some(cost) => format!("{text}, ${cost:.2}"),
        None => text,
    }
}

fn duration(millis: i64) -> String {
    let seconds = millis / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}
