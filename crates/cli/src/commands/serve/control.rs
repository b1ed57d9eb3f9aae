//! Carries out requests of the pages: through the journal, by the process that owns the run.

use drive_adapters::entropy::random_u32;
use drive_adapters::forge::local::{CommentTarget, LocalForge, PersonalComment};
use drive_adapters::process::ThisProcess;
use drive_adapters::store::SqliteStore;
use drive_core::forge::ReviewState;
use drive_core::ids::{CommitSha, DedupeKey, PrNumber, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Ask, Event, Flow, Run, amending_run, is_cruise, planning_run, validating_run,
};
use drive_engine::cruise::tell_owner;
use drive_engine::journal::Journal;
use drive_engine::lease::Whoami;
use drive_engine::ports::{Clock, Forge, Liveness, Store};
use drive_web::control::{Acted, Action, Control, PullAct, RunAct};
use std::sync::Arc;

/// Delivers requests to the owner of a run, and acts on the local forge as the user.
pub(super) struct JournalControl {
    pub(super) store: SqliteStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) whoami: ThisProcess,
    pub(super) user: String,
    pub(super) forge: Result<Arc<LocalForge>, Problem>,
}

impl Control for JournalControl {
    fn act(&self, action: Action) -> Result<Acted, Problem> {
        match action {
            Action::Run { id, act } => self.on_run(&id, act),
            Action::Pull { number, act } => self.on_pull(number, &act),
        }
    }
}

impl JournalControl {
    fn on_run(&self, id: &RunId, act: RunAct) -> Result<Acted, Problem> {
        let run = self.active(id)?;
        let (target, asks, command) = match act {
            RunAct::Stop => return self.stop(&run),
            RunAct::Approve { head } => {
                let target = self.approvable(&run, &head)?;
                let by = self.user.clone();
                let command = format!("drive cruise approve {id}");
                (target, vec![Ask::Approve { by, head }], command)
            }
            RunAct::Comment { text } => {
                let comment = Ask::Comment {
                    id: name()?,
                    author: self.user.clone(),
                    text,
                };
                let command = format!("drive cruise fix {id} --comment TEXT");
                (self.hearing(&run)?, vec![comment, Ask::Poll], command)
            }
            RunAct::Poll => {
                let command = format!("drive cruise fix {id}");
                (self.hearing(&run)?, vec![Ask::Poll], command)
            }
            RunAct::Extend { budget, rounds } => {
                let command = format!("drive runs extend {id} {}", run.extension());
                (run, vec![Ask::Extend { budget, rounds }], command)
            }
            RunAct::Retry { task } => {
                let command = format!("drive cruise retry {task} --cruise {id}");
                (run, vec![Ask::RetryTask { task }], command)
            }
            RunAct::Skip { task } => {
                let command = format!("drive cruise skip {task} --cruise {id}");
                (run, vec![Ask::SkipTask { task }], command)
            }
            RunAct::Pause => (run, vec![Ask::Pause], format!("drive cruise pause {id}")),
            RunAct::Unpause => (run, vec![Ask::Unpause], format!("drive cruise resume {id}")),
            RunAct::Cleanup => (
                run,
                vec![Ask::Cleanup],
                format!("drive cruise cleanup {id}"),
            ),
        };
        self.tell(&target, asks, &command)
    }

    fn active(&self, id: &RunId) -> Result<Run, Problem> {
        let run = self.store.load(id)?.ok_or_else(|| {
            Problem::new(Kind::UnknownRun, format!("there is no run `{id}`"))
                .hint("list runs with `drive runs list`")
        })?;
        if run.is_active() {
            return Ok(run);
        }
        Err(
            Problem::new(Kind::CruiseOver, format!("run `{id}` has ended"))
                .hint(format!("`drive runs show {id}` shows how")),
        )
    }

    /// Delivers requests in this order, if a live process owns the run.
    fn tell(&self, run: &Run, asks: Vec<Ask>, command: &str) -> Result<Acted, Problem> {
        let mut named = Vec::new();
        for ask in asks {
            named.push((ask, name()?));
        }
        match tell_owner(&self.journal(), &self.whoami, &run.id, &named)? {
            Some(owner) => Ok(Acted {
                pid: Some(owner.process.pid.unsigned_abs()),
            }),
            None => Err(not_owned(run, command)),
        }
    }

    /// Asks the owner to save the work and end the run.
    fn stop(&self, run: &Run) -> Result<Acted, Problem> {
        let owner = self.store.owner(&run.id)?;
        let owner = owner.filter(|owner| self.whoami.liveness(owner) == Liveness::Alive);
        let Some(owner) = owner else {
            let command = if is_cruise(run) {
                format!("drive cruise cleanup {}", run.id)
            } else {
                format!("drive runs resume {}", run.id)
            };
            return Err(not_owned(run, &command));
        };
        let key = DedupeKey::new(format!("stop/{}", name()?));
        self.journal()
            .deliver(&run.id, &Event::CancelAsked, &key, None)?;
        Ok(Acted {
            pid: Some(owner.process.pid.unsigned_abs()),
        })
    }

    /// The run whose plan can be approved, only at the commit that the person saw.
    fn approvable(&self, run: &Run, head: &CommitSha) -> Result<Run, Problem> {
        if let Flow::Cruise { build } = &run.flow
            && !build.doubts.is_empty()
        {
            let tip = build.line.as_ref().map(|line| &line.tip);
            return require_head(run.clone(), tip == Some(head), head);
        }
        let planning = match planning_run(run) {
            Some(child) => self.store.load(&child)?,
            None => Some(run.clone()),
        };
        let planning = planning.filter(Run::awaits_approval).ok_or_else(|| {
            Problem::new(
                Kind::PlanApproved,
                format!("run `{}` has no plan that waits for approval", run.id),
            )
            .hint(format!("`drive cruise status {}` shows its state", run.id))
        })?;
        let is_head = planning.work.head_sha.as_ref() == Some(head);
        require_head(planning, is_head, head)
    }

    /// The run that takes up comments now.
    fn hearing(&self, run: &Run) -> Result<Run, Problem> {
        if !matches!(run.flow, Flow::Cruise { .. }) {
            return Ok(run.clone());
        }
        let children = [validating_run(run), amending_run(run), planning_run(run)];
        for child in children.into_iter().flatten() {
            if let Some(child) = self.store.load(&child)?.filter(Run::is_active) {
                return Ok(child);
            }
        }
        Err(Problem::new(
            Kind::PlanApproved,
            format!("run `{}` reads no comments now", run.id),
        )
        .hint("comment on the pull request of a task instead"))
    }

    fn on_pull(&self, number: PrNumber, act: &PullAct) -> Result<Acted, Problem> {
        let forge = self.forge.as_ref().map_err(Clone::clone)?;
        match act {
            PullAct::Comment { text } => {
                let said = PersonalComment {
                    author: None,
                    body: text,
                    target: CommentTarget::Conversation,
                };
                forge.comment(number, &said)?;
            }
            PullAct::Approve { head } => {
                let now = forge.fetch(number)?.head_sha;
                if now != *head {
                    return Err(head_moved(&format!("pull request {number}"), head));
                }
                forge.personal_review(number, None, ReviewState::Approved, "")?;
            }
            PullAct::Close => forge.close(number)?,
        }
        Ok(Acted { pid: None })
    }

    fn journal(&self) -> Journal<'_> {
        Journal {
            store: &self.store,
            clock: self.clock.as_ref(),
        }
    }
}

fn require_head(run: Run, is_head: bool, head: &CommitSha) -> Result<Run, Problem> {
    if is_head {
        Ok(run)
    } else {
        Err(head_moved(&format!("run `{}`", run.id), head))
    }
}

fn head_moved(what: &str, head: &CommitSha) -> Problem {
    let message = format!("{what} has moved on from {}", head.short());
    Problem::new(Kind::HeadMoved, message).hint("reload the page to see the changes")
}

fn not_owned(run: &Run, command: &str) -> Problem {
    let message = format!(
        "no process owns run `{}`, so the request would not be seen",
        run.id
    );
    Problem::new(Kind::NotOwned, message).hint(format!("in a terminal: `{command}`"))
}

fn name() -> Result<String, Problem> {
    Ok(format!("{:08x}{:08x}", random_u32()?, random_u32()?))
}
