//! The simulated world, which performs effects like the real one. Repeated effects find what was done before.

use crate::common;
use crate::cruise_simulation::agents::{self, Temper};
use crate::cruise_simulation::clock::{Clock, MINUTE, SECOND};
use crate::cruise_simulation::forge::{By, Forge};
use crate::cruise_simulation::git::{Git, Merge, PlanText};
use crate::cruise_simulation::rng::Rng;
use drive_core::agent::{Access, Role};
use drive_core::forge::inline::parse_diff;
use drive_core::forge::{PrState, Surface};
use drive_core::ids::{CommitSha, EffectKey, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::process::ProcessIdentity;
use drive_core::run::{Effect, EffectResult, ForgeAct, MergeWhen, Published, Run};
use drive_core::sandbox::{Lifetime, Sandbox};

pub struct World {
    pub clock: Clock,
    pub git: Git,
    pub forge: Forge,
    /// How many percent of the agents misbehave.
    pub wildness: u64,
    /// How many percent of the requests to the forge fail.
    pub faults: u64,
    /// The commits that reviewers saw, each with the part of the change.
    pub reviewed: Vec<(Option<String>, String, usize)>,
}

/// An effect that is being performed.
pub struct UnderWay {
    pub key: EffectKey,
    pub effect: Effect,
    pub temper: Temper,
    pub process: Option<ProcessIdentity>,
    /// The tokens that its agent reported before it ended.
    pub noted: u64,
    /// When it happens, and when its result is known, by the steady clock.
    pub happens: i64,
    pub reports: i64,
    /// When it happened.
    pub happened: i64,
    pub fault: Fault,
    /// Whether its agent was running when an earlier owner died.
    pub interrupted: bool,
    pub result: Option<EffectResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It does not happen.
    Before,
    /// It happens, but is reported as failed.
    After,
}

/// The number of parts into which the change of a commit is divided.
pub fn parts_of(head: &str) -> usize {
    1 + head.bytes().map(usize::from).sum::<usize>() % 3
}

/// The part that a reviewer is told to review.
fn part_in(prompt: &str) -> usize {
    let (_, rest) = prompt.split_once("you review part ").unwrap_or_default();
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    number.parse().unwrap_or(1)
}

impl World {
    /// Starts to perform an effect.
    pub fn begin(&mut self, run: &Run, key: &EffectKey, rng: &mut Rng) -> UnderWay {
        let effect = run.pending[key].clone();
        let (mut temper, mut process) = (Temper::Good, None);
        let mut wait = rng.between(1, 3 * SECOND);
        let mut faults = 0;
        let mut interrupted = false;
        match &effect {
            Effect::RunAgent { job, sandbox } => {
                // Processes of an earlier owner are ended first, so that there is never a second one.
                if let Some(left) = run.processes.get(key) {
                    self.git.alive.retain(|pid| *pid != left.child.pid);
                    interrupted = sandbox.is_some() && job.role.access() == Access::Write;
                }
                temper = agents::temper(job.role, self.wildness, rng);
                wait = agents::duration(temper, job, rng);
                if !interrupted {
                    self.git.last_pid += 10;
                    process = Some(common::identity(self.git.last_pid));
                }
            }
            Effect::OnForge { .. } | Effect::OpenPullRequest { .. } | Effect::Push { .. } => {
                faults = self.faults;
                if rng.percent(5) {
                    wait = rng.between(1, 10 * MINUTE);
                }
            }
            // The disk may be full, or the remote unreachable.
            Effect::CommitWork { .. }
            | Effect::ReadFile { .. }
            | Effect::WriteFile { .. }
            | Effect::Integrate { .. } => {
                faults = self.faults / 2;
            }
            _ => {}
        }
        let mut fault = match rng.percent(faults) {
            false => Fault::None,
            true if rng.percent(50) => Fault::Before,
            true => Fault::After,
        };
        if faults > 0 && self.clock.steady < self.forge.down_until {
            fault = Fault::Before;
        }
        let happens = self.clock.steady + wait;
        UnderWay {
            key: key.clone(),
            effect,
            temper,
            process,
            noted: 0,
            happens,
            reports: happens + rng.between(1, 3 * SECOND),
            happened: happens,
            fault,
            interrupted,
            result: None,
        }
    }

    /// Performs the effect now.
    pub fn perform(&mut self, one: &mut UnderWay, run: &Run, rng: &mut Rng) {
        one.happened = self.clock.steady;
        let down = Problem::new(Kind::ForgeFailed, "the forge did not answer");
        if one.fault == Fault::Before {
            one.result = Some(EffectResult::Failed { problem: down });
            return;
        }
        let result = self.apply(one, run, rng);
        one.result = Some(match one.fault {
            Fault::After => EffectResult::Failed { problem: down },
            Fault::None | Fault::Before => result,
        });
    }

    fn apply(&mut self, one: &UnderWay, run: &Run, rng: &mut Rng) -> EffectResult {
        if one.interrupted {
            let problem = Problem::new(Kind::AgentInterrupted, "its owner died");
            return EffectResult::Failed { problem };
        }
        match &one.effect {
            Effect::ChooseBranch { wanted, .. } => EffectResult::BranchChosen {
                branch: wanted.clone(),
            },
            Effect::CreateSandbox { .. } => {
                self.git.create();
                EffectResult::SandboxCreated {
                    sandbox: Box::new(Sandbox {
                        lifetime: Lifetime::Persistent,
                        ..common::sandbox()
                    }),
                }
            }
            Effect::RunAgent { sandbox, job } => {
                if let Some(process) = &one.process {
                    self.git.alive.retain(|pid| *pid != process.child.pid);
                }
                assert!(sandbox.is_none() || self.git.tree.is_some(), "no sandbox");
                if job.role != Role::Reviewer {
                    return agents::work(one, job, &mut self.git, &self.clock, rng);
                }
                let head = run.work.head_sha.as_deref().unwrap_or_default();
                assert!(!self.git.is_astray() && !self.git.is_dirty());
                let seen = (job.domain.clone(), self.git.head(), part_in(&job.prompt));
                // The engine shows the reviewer only the head, and reverts its changes.
                let result = agents::work(one, job, &mut self.git, &self.clock, rng);
                let is_review = !job.prompt.contains("Try to refute");
                if is_review && !agents::contradicts(&result) {
                    self.reviewed.push(seen);
                }
                if self.git.is_astray() || self.git.is_dirty() || self.git.head() != head {
                    self.git.roll_back(head, self.clock.now());
                }
                result
            }
            Effect::EndProcess { identity } => {
                self.git.alive.retain(|pid| *pid != identity.child.pid);
                EffectResult::ProcessEnded
            }
            Effect::CommitWork { .. } => {
                let half = self.git.tree.as_ref().is_some_and(|tree| tree.half_done);
                assert!(!half, "half-done work is committed");
                self.git.commit();
                self.git.come_back(self.clock.now());
                EffectResult::WorkCommitted {
                    head_sha: CommitSha::new(self.git.head()),
                    commits: self.git.history(),
                    warnings: Vec::new(),
                    changed: Vec::new(),
                }
            }
            Effect::WriteFile { .. } => {
                if let Some(tree) = &mut self.git.tree {
                    tree.plan = PlanText::Sound;
                    tree.dirty = true;
                }
                EffectResult::FileWritten
            }
            Effect::ReadFile { .. } | Effect::ReadDiff { .. } | Effect::Push { .. }
                if self.git.is_astray() =>
            {
                panic!("an agent's stray work is still in the sandbox")
            }
            Effect::ReadFile { commit, .. } => EffectResult::FileRead {
                text: self.git.plan_at(commit).text(),
            },
            // Drawn from a copy, so that old seeds give the same numbers.
            Effect::ReadDiff { .. } if rng.clone().percent(10) => EffectResult::Failed {
                problem: Problem::new(Kind::DiskFull, "the change cannot be read"),
            },
            Effect::ReadDiff { head, .. } => EffectResult::DiffRead {
                diff: common::DIFF.to_owned(),
                parts: vec![common::DIFF.to_owned(); parts_of(head) - 1],
                lines: parse_diff(common::DIFF),
                is_cut: false,
                since: None,
                changed: None,
                quotes: String::new(),
            },
            Effect::Push { head_sha, .. } => {
                if self.git.push(head_sha, self.clock.steady) {
                    EffectResult::Pushed
                } else {
                    EffectResult::BranchMoved {
                        remote_head: self.git.remote_head().map(CommitSha::new),
                    }
                }
            }
            Effect::OpenPullRequest { .. } => {
                assert!(self.git.remote_head().is_some(), "nothing was pushed");
                self.forge.pr.get_or_insert(PrState::Open);
                EffectResult::PullRequestOpened {
                    pull_request: Published {
                        number: PrNumber::new(7),
                        url: "local:7".to_owned(),
                    },
                }
            }
            Effect::OnForge {
                act,
                idempotency_key,
                ..
            } => {
                let own = idempotency_key.as_ref().map(ToString::to_string);
                let name = own.unwrap_or_else(|| one.key.to_string());
                self.forge.head = self.git.remote_head();
                let answer = self.forge.act(act, &name, &self.clock, rng);
                self.check_post(act, run);
                self.check_merge(act, run);
                match answer {
                    Some(answer) => EffectResult::OnForge { answer },
                    None => EffectResult::Failed {
                        problem: Problem::new(Kind::CommentNotFound, "no such comment"),
                    },
                }
            }
            Effect::Integrate { .. } | Effect::ConcludeMerge { .. } if self.git.is_astray() => {
                panic!("a merge into another branch")
            }
            Effect::Integrate {
                when: MergeWhen::Conflicting,
                ..
            } => {
                let merge = self.git.merge_base(rng.percent(10));
                self.merged(merge)
            }
            Effect::Integrate { published, .. } => {
                let (now, published) = (self.clock.now(), published.as_deref());
                let merge = self.git.merge(rng.percent(40), published, now);
                self.merged(merge)
            }
            Effect::ConcludeMerge { .. } => {
                let half = self.git.tree.as_ref().is_some_and(|tree| tree.half_done);
                assert!(!half, "a half-done resolution is committed");
                let merge = self.git.conclude();
                self.merged(merge)
            }
            Effect::RollBack { to, .. } => EffectResult::RolledBack {
                kept: Some(self.git.roll_back(to, self.clock.now())),
            },
            Effect::Verify { head, .. } => {
                let base = common::verification::base();
                common::verification::verified(if rng.percent(70) {
                    common::verification::passed(head, &base)
                } else {
                    common::verification::failed(head, &base)
                })
            }
            Effect::CheckLanded { .. } => common::good(&one.effect),
            Effect::OnLine { act } => panic!("{}", act.name()),
            Effect::ToRun { run, .. } => panic!("a message to {run}"),
            Effect::Notify { .. } => EffectResult::Notified,
            Effect::RemoveSandbox { .. } => {
                assert!(self.git.alive.is_empty(), "an agent lost its sandbox");
                let kept = self.git.remove(self.clock.now());
                EffectResult::SandboxRemoved { kept, branch: None }
            }
        }
    }

    fn merged(&self, merge: Merge) -> EffectResult {
        match merge {
            Merge::Done => EffectResult::Integrated {
                head_sha: CommitSha::new(self.git.head()),
                base_sha: None,
                commits: self.git.history(),
                warnings: Vec::new(),
            },
            Merge::Replaced(kept) => EffectResult::Replaced {
                head_sha: CommitSha::new(self.git.head()),
                base_sha: None,
                commits: self.git.history(),
                kept: Some(kept),
            },
            Merge::Conflicts { ours, theirs } => EffectResult::Conflicted {
                ours: CommitSha::new(ours),
                theirs: CommitSha::new(theirs),
                files: vec!["plan.md".to_owned()],
            },
        }
    }

    /// Checks that only verified commits are merged, and only those that people see.
    fn check_merge(&self, act: &ForgeAct, run: &Run) {
        let ForgeAct::Merge { head, verified } = act else {
            return;
        };
        assert!(verified.is_some(), "an unverified merge");
        assert_eq!(run.work.head_sha.as_ref(), Some(head));
        assert!(self.git.is_pushed(head), "{head} is merged and not pushed");
    }

    /// Checks the forge after a post.
    fn check_post(&self, act: &ForgeAct, run: &Run) {
        let ForgeAct::Reply { to, body } = act else {
            return;
        };
        let unsaid = "The fixer did not answer this comment. Its changes of this round are in ";
        // Outside of a thread, a reply begins with a quote of the comment.
        let quote = body
            .split_once("\n\n")
            .filter(|(first, _)| first.starts_with("> "));
        assert_eq!(quote.is_some(), to.surface != Surface::Inline, "{body}");
        let body = quote.map_or(body.as_str(), |(_, rest)| rest);
        let named = body.strip_prefix("Fixed in ").or(body.strip_prefix(unsaid));
        if let Some(rest) = named {
            let sha: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            assert!(
                self.git.is_pushed(&sha),
                "a reply names {sha}, which nobody can see"
            );
        }
        let Some(said) = self.forge.find(*to) else {
            return;
        };
        assert_ne!(said.by, By::Mallory, "an untrusted comment was answered");
        // A notice that a comment waits is posted once as well, and is no answer.
        let said_to = |is_notice: bool| {
            let replies = self.forge.said.iter();
            let replies = replies.filter(|one| one.reply_to == Some(*to));
            let names = replies.filter_map(|one| one.proof.as_deref());
            names
                .filter(|name| name.starts_with("waits/") == is_notice)
                .count()
        };
        let versions = said.versions.len();
        for replies in [said_to(false), said_to(true)] {
            assert!(
                replies <= versions,
                "{replies} replies to {to:?}, which has {versions} versions, in run {}",
                run.id
            );
        }
    }
}
