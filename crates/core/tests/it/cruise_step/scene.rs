//! A world for tests of a cruise: it gives the prepared answers, and otherwise everything succeeds.

use crate::common::{self, agent_ended, agent_said, at, good, problem, run_id, verification};
use drive_core::agent::Role;
use drive_core::forge::PrState;
use drive_core::ids::{CommitSha, EffectKey};
use drive_core::run::{
    AgentJob, Ask, CommitSummary, Effect, EffectResult, Event, Flow, ForgeAct, JobComment, LineAct,
    MergeWhen, Outcome, Phase, PhaseTerms, PollResult, Request, Run, Timer, fold, step,
};
use drive_core::time::Timestamp;
use drive_core::verify::RulesFrom;
use std::collections::{BTreeMap, VecDeque};

pub const APPROVED: &str = r#"{"verdict": "approved"}"#;
pub const OBJECTS: &str = r#"{"verdict": "needs_changes", "suggestions": [
    {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"}]}"#;

pub struct Scene {
    pub run: Run,
    pub now: Timestamp,
    pub journal: Vec<(Event, Timestamp)>,
    /// The results of the next polls.
    pub looks: VecDeque<PollResult>,
    /// Prepared answers to effects, by name; afterwards all succeed.
    pub answers: BTreeMap<&'static str, VecDeque<EffectResult>>,
    /// Prepared ends of agents, by role; afterwards all succeed.
    pub agents: BTreeMap<Role, VecDeque<EffectResult>>,
    pub performed: Vec<Effect>,
    pub jobs: Vec<AgentJob>,
    /// The branch of a cruise whose commits go to the base; `None` for other runs.
    pub line: Option<CommitSha>,
    commits: usize,
}

pub fn failed() -> EffectResult {
    EffectResult::Failed { problem: problem() }
}

/// The answer of a fixer that fixed everything and adds no notes.
fn all_fixed(job: &AgentJob) -> String {
    let entry = |one: &JobComment| format!(r#"{{"id": "{}", "action": "fixed"}}"#, one.id);
    let entries: Vec<String> = job.input.comments.iter().map(entry).collect();
    format!(r#"{{"comments": [{}]}}"#, entries.join(", "))
}

/// The commit that the `n`th agent made.
pub fn head(n: usize) -> String {
    format!("{n:040}")
}

/// The short form of this commit.
pub fn short(n: usize) -> String {
    head(n)[..10].to_owned()
}

impl Scene {
    /// A scene before its first effect.
    pub fn begin(terms: PhaseTerms) -> Self {
        Self::with(common::cruise::request_with(terms))
    }

    pub fn with(request: Request) -> Self {
        let requested = Event::Requested {
            request: Box::new(request),
        };
        let journal = vec![(requested, at(0))];
        Self {
            run: fold(run_id(), journal.clone()).unwrap(),
            now: at(0),
            journal,
            looks: VecDeque::new(),
            answers: BTreeMap::new(),
            agents: BTreeMap::new(),
            performed: Vec::new(),
            jobs: Vec::new(),
            line: None,
            commits: 0,
        }
    }

    /// A scene whose plan every domain approved, with nothing to do.
    pub fn watching(terms: PhaseTerms) -> Self {
        let mut scene = Self::begin(terms);
        scene.settle();
        scene.performed.clear();
        scene.jobs.clear();
        scene
    }

    pub fn cruise(&self) -> &Phase {
        match &self.run.flow {
            Flow::Phase { phase: cruise } => cruise,
            other => panic!("no cruise: {other:?}"),
        }
    }

    pub fn outcome(&self) -> &Outcome {
        self.run.outcome.as_ref().unwrap()
    }

    pub fn tell(&mut self, event: Event) {
        self.journal.push((event.clone(), self.now));
        self.run = step(self.run.clone(), event, self.now).unwrap().0;
    }

    /// Performs pending effects, one second each, until there are none.
    pub fn settle(&mut self) {
        self.settle_until(|_| false);
    }

    /// Like `settle`, until an effect of this kind is next.
    pub fn settle_until(&mut self, is_wanted: impl Fn(&Effect) -> bool) {
        for _ in 0..2_000 {
            if self.run.pending.values().any(&is_wanted) {
                return;
            }
            let Some((key, effect)) = self.run.pending.first_key_value() else {
                return;
            };
            let (key, effect) = (key.clone(), effect.clone());
            let result = self.perform(&effect);
            self.pass(1);
            self.tell(Event::EffectEnded { key, result });
        }
        panic!("no end: {:?}", self.told());
    }

    /// Performs only this effect.
    pub fn perform_one(&mut self, key: &EffectKey) {
        let effect = self.run.pending[key].clone();
        let result = self.perform(&effect);
        self.pass(1);
        let key = key.clone();
        self.tell(Event::EffectEnded { key, result });
    }

    pub fn pass(&mut self, seconds: i64) {
        let now = self.now.as_second() + seconds;
        self.now = Timestamp::from_second(now).unwrap();
    }

    /// Advances to this timer.
    pub fn wake(&mut self, timer: Timer) {
        self.now = self.run.timers[&timer].max(self.now);
        self.tell(Event::Woken { timer });
        self.settle();
    }

    /// The time until this timer, in seconds.
    pub fn until(&self, timer: Timer) -> i64 {
        self.run.timers[&timer].as_second() - self.now.as_second()
    }

    pub fn ask(&mut self, ask: Ask) {
        self.tell(Event::Asked { ask });
        self.settle();
    }

    /// Sets the result of the next poll.
    pub fn sees(&mut self, seen: PollResult) {
        self.looks.push_back(PollResult {
            state: seen.state.or(Some(PrState::Open)),
            ..seen
        });
        self.wake(Timer::Poll);
    }

    pub fn agent(&mut self, role: Role, ends: EffectResult) {
        self.agents.entry(role).or_default().push_back(ends);
    }

    pub fn answer(&mut self, name: &'static str, result: EffectResult) {
        self.answers.entry(name).or_default().push_back(result);
    }

    fn perform(&mut self, effect: &Effect) -> EffectResult {
        self.performed.push(effect.clone());
        let answer = self.answers.get_mut(effect.name());
        if let Some(answer) = answer.and_then(VecDeque::pop_front) {
            return answer;
        }
        if let Some(result) = self.on_line(effect) {
            return result;
        }
        match effect {
            Effect::RunAgent { job, .. } => {
                self.jobs.push(job.as_ref().clone());
                let ends = self.agents.get_mut(&job.role).and_then(VecDeque::pop_front);
                ends.unwrap_or_else(|| match job.role {
                    Role::Reviewer => agent_said(APPROVED),
                    Role::Fixer => agent_said(&all_fixed(job)),
                    _ => agent_ended(None),
                })
            }
            Effect::CommitWork { .. } => {
                self.commits += 1;
                let mut commits = self.run.work.commits.clone();
                commits.push(CommitSummary {
                    sha: CommitSha::new(head(self.commits)),
                    subject: "a change".into(),
                });
                EffectResult::WorkCommitted {
                    head_sha: CommitSha::new(head(self.commits)),
                    commits,
                    warnings: Vec::new(),
                    changed: Vec::new(),
                }
            }
            Effect::OnForge {
                act: ForgeAct::Poll { .. },
                ..
            } => common::cruise::looked(self.looks.pop_front().unwrap_or_default()),
            // The base can be merged as it is.
            Effect::Integrate {
                when: MergeWhen::Conflicting,
                ..
            } => EffectResult::Integrated {
                head_sha: self.run.work.head_sha.clone().unwrap(),
                base_sha: None,
                commits: self.run.work.commits.clone(),
                warnings: Vec::new(),
            },
            effect => good(effect),
        }
    }

    /// The result of an effect on the branch of a cruise: only fixers add commits to it, and it is
    /// verified against itself before it moves.
    fn on_line(&mut self, effect: &Effect) -> Option<EffectResult> {
        let line = self.line.clone()?;
        match effect {
            Effect::CommitWork { .. } => {
                let fixers = self.jobs.iter().filter(|job| job.role == Role::Fixer);
                if fixers.count() > self.commits {
                    return None;
                }
                Some(EffectResult::WorkCommitted {
                    head_sha: self.run.work.head_sha.clone()?,
                    commits: self.run.work.commits.clone(),
                    warnings: Vec::new(),
                    changed: Vec::new(),
                })
            }
            Effect::Verify { head, base, rules }
                if Some(&base.branch) == self.run.work.branch.as_ref() =>
            {
                let mut report = Box::new(verification::passed(head, &line));
                report.candidate.rules_from = rules.clone().map(RulesFrom::Commit);
                Some(EffectResult::Verified { base: line, report })
            }
            Effect::OnLine {
                act: LineAct::Land { commit, .. },
            } => {
                self.line = Some(commit.clone());
                None
            }
            _ => None,
        }
    }

    /// The posts on the pull request, with their markers.
    pub fn told(&self) -> Vec<(String, Option<String>)> {
        let said = self.performed.iter().filter_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostComment { body } | ForgeAct::Reply { body, .. },
                idempotency_key,
                ..
            } => Some((
                body.clone(),
                idempotency_key.as_ref().map(ToString::to_string),
            )),
            _ => None,
        });
        said.collect()
    }

    /// The acts with this name on the pull request.
    pub fn acts(&self, name: &str) -> Vec<&ForgeAct> {
        let acts = self.performed.iter().filter_map(|effect| match effect {
            Effect::OnForge { act, .. } if act.name() == name => Some(act),
            _ => None,
        });
        acts.collect()
    }

    pub fn bodies(&self) -> Vec<String> {
        self.told().into_iter().map(|(body, _)| body).collect()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.performed.iter().map(Effect::name).collect()
    }
}
