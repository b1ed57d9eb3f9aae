//! `drive runs continue`: gives a new task to a run that has ended.

use super::pick;
use super::resume::{Ready, agents, no_request, require_branch};
use crate::answer::Outcome;
use crate::app::App;
use crate::commands::preflight::require_ready;
use crate::run_report;
use crate::task::load_task;
use crate::wiring::Wiring;
use clap::Args;
use drive_core::forge::PrState;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, require_continuable};
use drive_engine::ports::Store;
use drive_engine::{resume, start};

/// The arguments of `drive runs continue`.
#[derive(Debug, Args)]
pub(super) struct ContinueArgs {
    /// Id of the run [default: the only one that fits] and what to do; `-` reads it from standard input
    #[arg(value_name = "[ID] TASK", num_args = 1..=2, required = true)]
    words: Vec<String>,
}

impl ContinueArgs {
    /// The id, if there is one, and the task.
    fn split(&self, app: &App) -> Result<(Option<&str>, &str), Problem> {
        match self.words.as_slice() {
            [id, task, ..] => Ok((Some(id), task)),
            [one] if app.store()?.load(&RunId::new(one))?.is_some() => Err(Problem::new(
                Kind::TaskEmpty,
                format!("nothing to do is given for run `{one}`"),
            )
            .hint(format!("say it: `drive runs continue {one} TASK`"))),
            [task] => Ok((None, task)),
            [] => Ok((None, "")),
        }
    }
}

/// Lets an agent build on the branch of an ended run.
pub(super) fn give_more(app: &App, wiring: &Wiring, args: &ContinueArgs) -> Outcome {
    let (id, task) = args.split(app)?;
    let fits = |run: &Run| require_continuable(run).is_ok();
    let found = pick::only(app, id, "given more to do", fits)?;
    resume::check_more(&found, wiring.journal(), &wiring.whoami)?;
    let task = load_task(task, app.cancel()?)?;
    start::check_task(&task)?;
    let request = found.request.clone().ok_or_else(|| no_request(&found))?;
    let folder = &request.repo;
    let ready = Ready::new(app, &found, &request)?;
    let wiring = &ready.wiring;
    require_branch(wiring, &found, &request)?;
    require_open(&ready, &found)?;
    wiring.require_agents(agents(&request), &task, app)?;
    if let Some(talk) = &ready.conversation {
        require_ready(app, talk.forge.as_ref(), &wiring.git, &request)?;
    }
    app.output()
        .narrate(format_args!("continuing run {}", found.id));
    let run = ready.fly(app, |world, cancel| {
        let journal = wiring.journal();
        resume::give_more(&found.id, task, journal, &wiring.whoami, world, cancel)
    })?;
    run_report::answer(&run, wiring.changes(&run, folder).as_ref(), None)
}

/// Refuses to add to a pull request that was merged or closed.
fn require_open(ready: &Ready, run: &Run) -> Result<(), Problem> {
    let (Some(talk), Some(pr)) = (&ready.conversation, &run.work.pull_request) else {
        return Ok(());
    };
    let state = talk.forge.fetch(pr.number)?.state;
    let how = match state {
        PrState::Open => return Ok(()),
        PrState::Merged => "merged",
        PrState::Closed => "closed",
    };
    let (number, id) = (pr.number, &run.id);
    let message = format!("pull request #{number} of run `{id}` is {how}");
    Err(Problem::new(Kind::PullRequestNotOpen, message)
        .hint("reopen it, or start a new run with `drive spawn`"))
}
