//! Requests to a cruise from any terminal. Its owner acts on them, or this process if there is no
//! owner.

use super::answers::repo_of;
use super::host::Host;
use super::telling::{active, name, owner_told, tell};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::RunDocument;
use crate::recovery::recover;
use crate::task::load_task;
use drive_adapters::clock::SystemClock;
use drive_adapters::environment::user_name;
use drive_adapters::process::ThisProcess;
use drive_core::agent::Budget;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Ask, Child, Flow, PlanCheck, Run, amending_run, planning_run, validating_run, waits_for_person,
};
use drive_engine::cruise::tell_owner;
use drive_engine::journal::Journal;
use drive_engine::ports::Store;
use std::time::{Duration, Instant};

/// How long a command waits for the owner to end what it was asked to end.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(100);
/// The longest comment.
const LONGEST_COMMENT: usize = 60_000;

/// Polls now, after adding the person's comment if there is one.
pub(super) fn fix(app: &App, id: Option<&str>, comment: Option<&str>) -> Outcome {
    let mut asks = Vec::new();
    if let Some(comment) = comment {
        let text = load_task(comment, app.cancel()?)?;
        if text.trim().is_empty() {
            return Err(Problem::new(Kind::CommentEmpty, "the comment is empty")
                .hint("say what to change: `drive cruise fix --comment \"…\"`"));
        }
        if text.chars().count() > LONGEST_COMMENT {
            return Err(Problem::new(
                Kind::CommentTooLong,
                format!("the comment has more than {LONGEST_COMMENT} characters"),
            )
            .hint("put the text into a file of the repository and name that file"));
        }
        let ask = Ask::Comment {
            id: name()?,
            author: user_name(app.environment()),
            text,
        };
        asks.push((ask, name()?));
    }
    asks.push((Ask::Poll, name()?));
    let done = "polls the pull request now";
    // Recovery takes longer than a message to a live owner, so it comes second.
    let told = match hearing(app, id) {
        Ok(run) => tell_live_owner(app, &run, &asks, done)?,
        Err(_) => None,
    };
    recover(app);
    match told {
        Some(answer) => Ok(answer),
        None => tell(app, &hearing(app, id)?, asks, done),
    }
}

/// Delivers requests if a live process owns the cruise, without opening anything else.
fn tell_live_owner(
    app: &App,
    run: &Run,
    asks: &[(Ask, String)],
    done: &str,
) -> Result<Option<Answer>, Problem> {
    let store = app.store()?;
    let journal = Journal {
        store: &store,
        clock: &SystemClock,
    };
    let owner = tell_owner(&journal, &ThisProcess::load(), &run.id, asks)?;
    owner.map(|owner| owner_told(run, &owner, done)).transpose()
}

/// Raises the limits of a cruise.
pub(crate) fn extend_limits(app: &App, id: Option<&str>, budget: Budget, rounds: u32) -> Outcome {
    let run = active(app, id)?;
    if rounds > 0 {
        require_rounds_wanted(&run)?;
    }
    let ask = Ask::Extend { budget, rounds };
    tell(app, &run, vec![(ask, name()?)], "received the new limits")
}

/// A cruise that builds has no round limit of its own: it passes more rounds to the runs that wait for
/// them.
fn require_rounds_wanted(run: &Run) -> Result<(), Problem> {
    let is_wanted = run.children.values().any(Child::waits_for_limit);
    if is_wanted || !matches!(run.flow, Flow::Cruise { .. }) {
        return Ok(());
    }
    let problem = Problem::new(
        Kind::NothingToExtend,
        format!("no run of cruise `{}` waits for fixer rounds", run.id),
    );
    let mut live = run.children.iter().filter(|(_, child)| child.is_live());
    Err(problem.hint(match live.next() {
        Some((id, _)) => format!(
            "to raise the limit of one run before it is reached, name that run: `drive runs extend {id} \
             --rounds 3`"
        ),
        None => "leave out `--rounds`; `--cost` and `--tokens` raise the budget of the whole cruise"
            .to_owned(),
    }))
}

/// Approves the current head.
pub(super) fn approve(app: &App, id: Option<&str>) -> Outcome {
    if let Some(answer) = accept(app, id)? {
        return Ok(answer);
    }
    let run = planning(app, id)?;
    let Flow::Phase { phase } = &run.flow else {
        return Err(nothing_to_approve(&run));
    };
    match &phase.plan {
        PlanCheck::Unread => return Err(nothing_to_approve(&run)),
        PlanCheck::Invalid { errors } => {
            return Err(Problem::new(Kind::PlanUnsound, "the plan has errors")
                .cause(errors.to_string())
                .hint(match waits_for_person(&run) {
                    Some(waits) => waits,
                    None => format!(
                        "a fixer is correcting it; `drive cruise status {}` shows its progress",
                        run.id
                    ),
                }));
        }
        PlanCheck::Valid { .. } => {}
    }
    let head = run
        .work
        .head_sha
        .clone()
        .ok_or_else(|| nothing_to_approve(&run))?;
    app.output()
        .narrate(format_args!("approving the plan at {head}"));
    let by = user_name(app.environment());
    tell(
        app,
        &run,
        vec![(Ask::Approve { by, head }, name()?)],
        "received the approval",
    )
}

/// Accepts the acceptance entries of a cruise that show nothing; `None` if it does not wait for that.
fn accept(app: &App, id: Option<&str>) -> Result<Option<Answer>, Problem> {
    let run = active(app, id)?;
    let Flow::Cruise { build } = &run.flow else {
        return Ok(None);
    };
    let Some(line) = build.line.as_ref().filter(|_| !build.doubts.is_empty()) else {
        return Ok(None);
    };
    for doubt in &build.doubts {
        app.output().narrate(format_args!("accepting: {doubt}"));
    }
    let ask = Ask::Approve {
        by: user_name(app.environment()),
        head: line.tip.clone(),
    };
    tell(app, &run, vec![(ask, name()?)], "builds the plan").map(Some)
}

/// The run that takes up comments on the pull request of a cruise now.
fn hearing(app: &App, id: Option<&str>) -> Result<Run, Problem> {
    let run = active(app, id)?;
    let child = match validating_run(&run).or_else(|| amending_run(&run)) {
        Some(child) => app.store()?.load(&child)?,
        None => None,
    };
    match child.filter(Run::is_active) {
        Some(child) => Ok(child),
        None => planning(app, id),
    }
}

/// The run that writes the plan of a cruise.
fn planning(app: &App, id: Option<&str>) -> Result<Run, Problem> {
    let run = active(app, id)?;
    let Some(child) = planning_run(&run) else {
        return match run.flow {
            Flow::Cruise { .. } => Err(Problem::new(
                Kind::PlanApproved,
                format!("cruise `{}` builds a plan that you brought", run.id),
            )
            .hint(format!("`drive cruise status {}` shows its tasks", run.id))),
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => Ok(run),
        };
    };
    match app.store()?.load(&child)? {
        None => Err(nothing_to_approve(&run)),
        Some(child) if child.is_active() => Ok(child),
        Some(_) => Err(Problem::new(
            Kind::PlanApproved,
            format!(
                "the plan of cruise `{}` is approved; its tasks are built",
                run.id
            ),
        )
        .hint(format!("`drive cruise status {}` shows them", run.id))),
    }
}

fn nothing_to_approve(run: &Run) -> Problem {
    Problem::new(Kind::NoPlan, format!("cruise `{}` has no plan yet", run.id)).hint(format!(
        "wait for the planner; `drive cruise status {}` shows its progress",
        run.id
    ))
}

/// Ends the cruise and waits for its end.
pub(super) fn cleanup(app: &App, id: Option<&str>, force: bool) -> Outcome {
    let run = active(app, id)?;
    let host = match repo_of(app, &run).and_then(|repo| Host::of(app, &repo)) {
        Err(problem) if force => {
            app.output().warn(format_args!("{problem}"));
            Host::adrift(app)?
        }
        found => found?,
    };
    let name = name()?;
    host.with_service(app, |cruises| cruises.ask(&run.id, Ask::Cleanup, &name))?;
    let until = Instant::now() + PATIENCE;
    loop {
        let now = host.wiring.journal().require(&run.id)?;
        if !now.is_active() {
            let mut text = format!("cruise {} ended; its pull request stays open\n", now.id);
            for kept in &now.kept {
                text.push_str(&format!(
                    "saved    {} (`drive kept restore {}`)\n",
                    kept.reference, kept.reference
                ));
            }
            for warning in &now.warnings {
                text.push_str(&format!("note     {warning}\n"));
            }
            return Answer::new(&RunDocument::new(&now, None), text);
        }
        if app.cancel()?.asked().is_some() {
            let what = format!("stopped waiting for cruise `{}` to end", run.id);
            return Err(Problem::new(Kind::Interrupted, what).hint(format!(
                "it was asked to end; see `drive runs show {}`",
                run.id
            )));
        }
        if Instant::now() >= until {
            return Err(Problem::new(
                Kind::OwnerSlow,
                format!("the owner of cruise `{}` has not ended it yet", run.id),
            )
            .hint(format!(
                "it was asked to end; see `drive runs show {}`",
                run.id
            )));
        }
        std::thread::sleep(GLANCE);
    }
}
