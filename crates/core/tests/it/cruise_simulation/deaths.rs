//! Deaths of the owner at any moment, possibly with the loss of its journal.

use crate::common;
use crate::cruise_simulation::agents;
use crate::cruise_simulation::checks;
use crate::cruise_simulation::clock::{HOUR, MINUTE};
use crate::cruise_simulation::git::PlanText;
use crate::cruise_simulation::sim::{Owner, Sim, Who};
use crate::cruise_simulation::world::UnderWay;
use drive_core::agent::Access;
use drive_core::run::{
    Adopted, Effect, Event, Makes, PlanApproval, Published, Request, Run, RunKind, STATE_FORMAT,
    phase_state, read_run, write_run,
};
use drive_core::sandbox::{Lifetime, Sandbox};

const MOST_CRASHES: u64 = 8;

impl Sim {
    pub fn maybe_die(&mut self) {
        let is_deadly = self.rng.below(1_000) < self.deadliness;
        if is_deadly && self.crashes < MOST_CRASHES {
            self.die();
        }
    }

    /// Kills the owner. Its current effects have happened, partly or not at all.
    pub fn die(&mut self) {
        let Some(owner) = self.owner.take() else {
            return;
        };
        self.tell(|| "the owner dies".to_owned());
        self.crashes += 1;
        for mut one in owner.under_way {
            self.cut_short(&mut one);
            if let Some(process) = &one.process
                && self.rng.percent(50)
            {
                self.world.git.alive.retain(|pid| *pid != process.child.pid);
            }
        }
        let wait = [
            (6, (1, MINUTE)),
            (3, (MINUTE, HOUR)),
            (1, (HOUR, 40 * HOUR)),
        ];
        let (least, most) = self.rng.weighed(&wait);
        self.comes = self.world.clock.steady + self.rng.between(least, most);
    }

    pub fn cut_short(&mut self, one: &mut UnderWay) {
        if one.result.is_some() {
            return;
        }
        match &one.effect {
            Effect::RunAgent { job, sandbox } => {
                let writes = sandbox.is_some() && job.role.access() == Access::Write;
                if self.world.git.is_merging() {
                    agents::resolve(one.temper, &mut self.world.git, &mut self.rng);
                } else if writes && self.world.git.tree.is_some() && self.rng.percent(50) {
                    let plan = self.world.git.tree.as_ref().map(|tree| tree.plan);
                    let plan = plan.unwrap_or(PlanText::Missing);
                    agents::scribble(&mut self.world.git, plan, &mut self.rng);
                }
                if let Some(tree) = &mut self.world.git.tree {
                    tree.half_done |= writes;
                }
            }
            Effect::OnForge { .. } | Effect::OpenPullRequest { .. } if self.rng.percent(25) => {
                self.world.perform(one, &self.run, &mut self.rng);
            }
            _ => {}
        }
    }

    /// The next owner knows only what was written.
    pub fn take_over(&mut self) {
        self.tell(|| "an owner comes".to_owned());
        // Reading every state back took half the time of a cruise; one in four still makes thousands.
        if self.crashes % 4 == 1 {
            let text = write_run(&self.run).unwrap();
            let read = read_run(STATE_FORMAT, &text).unwrap();
            assert_eq!(read, self.run, "a state is not read as it was written");
            self.run = read;
        }
        if self.rng.percent(5) {
            self.check_journal();
        }
        self.owner = Some(Owner::default());
        // The next command ends a team whose owner died.
        if self.who == Who::Team || self.rng.percent(20) {
            let name = self.name("ownerLost");
            self.deliver(Event::OwnerLost, name);
        }
    }

    /// Loses the journal with its owner. The next one finds the sandbox, and continues from it, git
    /// and the forge.
    pub fn lose_journal(&mut self) {
        let state = phase_state(&self.run);
        let (Some(state), Some(request), None) = (state, &self.run.request, &self.run.shutdown)
        else {
            return;
        };
        if checks::is_ending(self) || self.run.work.pull_request.is_none() {
            return;
        }
        let mut request = Request::clone(request);
        self.die();
        self.tell(|| "the journal is gone".to_owned());
        self.losses += 1;
        self.world.git.alive.clear();
        if let RunKind::Cruise(terms) = &mut request.kind {
            if let Makes::Plan { approval, .. } = &mut terms.makes {
                *approval = PlanApproval::default();
            }
            terms.adopted = Some(Adopted {
                sandbox: Sandbox {
                    lifetime: Lifetime::Persistent,
                    ..common::sandbox()
                },
                pull_request: Published {
                    number: drive_core::ids::PrNumber::new(7),
                    url: "local:7".to_owned(),
                },
                title: "X".to_owned(),
                head_sha: drive_core::ids::CommitSha::new(self.world.git.head()),
                domain: state.current_review_domain,
                rounds: state.completed_rounds,
            });
        }
        self.run = Run::new(common::run_id());
        self.journal.clear();
        self.known.clear();
        let requested = Event::Requested {
            request: Box::new(request),
        };
        self.deliver(requested, "request".to_owned());
    }
}
