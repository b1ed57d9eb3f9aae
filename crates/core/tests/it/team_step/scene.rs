//! A world for tests of a team: it gives the prepared answers, and otherwise everything succeeds.

use crate::common::{agent_ended, agent_said, at, good, ignored, problem, run_id};
use drive_core::agent::Role;
use drive_core::forge::Checks;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{
    AgentJob, CommitSummary, Effect, EffectResult, Event, Flow, ForgeAct, ForgeAnswer, JobComment,
    OutcomeStatus, Phase, PollResult, Request, Run, fold, step,
};
use std::collections::{BTreeMap, VecDeque};

pub const APPROVED: &str = r#"{"verdict": "approved"}"#;
pub const OBJECTS: &str = r#"{"verdict": "needs_changes", "suggestions": [
    {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"}]}"#;

/// The checks that a reading shows for a commit.
pub type ShownChecks = Box<dyn Fn(&CommitSha) -> Checks>;

/// A world that gives the prepared answers, and otherwise lets everything succeed. Every coder and
/// fixer adds a commit.
#[derive(Default)]
pub struct Scene {
    pub reviews: VecDeque<EffectResult>,
    /// The answers to the next polls.
    pub people: VecDeque<ForgeAnswer>,
    pub fixer: Option<EffectResult>,
    /// How the first fixers end.
    pub agents: VecDeque<EffectResult>,
    pub fails: Option<&'static str>,
    /// Prepared answers to effects, by name; afterwards all succeed.
    pub answers: BTreeMap<&'static str, VecDeque<EffectResult>>,
    /// The checks that each reading shows; the last one remains.
    pub checks: VecDeque<ShownChecks>,
    pub performed: Vec<Effect>,
    pub head: Option<String>,
    pub commits: Vec<CommitSummary>,
    /// The number of commits, including those that were reverted.
    pub made: usize,
    pub told: Vec<String>,
    pub jobs: Vec<AgentJob>,
}

impl Scene {
    pub fn reviews(said: &[&str]) -> Self {
        Self {
            reviews: said.iter().map(|text| agent_said(text)).collect(),
            ..Self::default()
        }
    }

    pub fn answers(&mut self, name: &'static str, answers: impl IntoIterator<Item = EffectResult>) {
        self.answers.entry(name).or_default().extend(answers);
    }

    pub fn performed_as(&self, name: &str) -> Vec<&Effect> {
        let all = self.performed.iter();
        all.filter(|effect| effect.name() == name).collect()
    }

    pub fn fly(&mut self, request: Request) -> Run {
        self.fly_until(request, |_| false)
    }

    /// Like `fly`, until this is true.
    pub fn fly_until(&mut self, request: Request, is_there: impl Fn(&Run) -> bool) -> Run {
        let requested = Event::Requested {
            request: Box::new(request),
        };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        for second in 1..5_000 {
            if is_there(&run) {
                return run;
            }
            let Some((key, effect)) = run.pending.first_key_value() else {
                let Some((&timer, &due)) = run.timers.iter().min_by_key(|(_, due)| **due) else {
                    return run;
                };
                run = step(run, Event::Woken { timer }, due).unwrap().0;
                continue;
            };
            let result = self.perform(effect);
            let ended = Event::EffectEnded {
                key: key.clone(),
                result,
            };
            run = step(run, ended, at(second)).unwrap().0;
        }
        panic!("no end: {:?}", self.told);
    }

    pub fn perform(&mut self, effect: &Effect) -> EffectResult {
        self.performed.push(effect.clone());
        if self.fails == Some(effect.name()) {
            return EffectResult::Failed { problem: problem() };
        }
        let answers = self.answers.get_mut(effect.name());
        if let Some(answer) = answers.and_then(VecDeque::pop_front) {
            self.head = match &answer {
                EffectResult::Integrated { head_sha, .. } => Some(head_sha.clone().to_string()),
                _ => self.head.take(),
            };
            return answer;
        }
        match effect {
            Effect::RunAgent { job, .. } => self.run_agent(job),
            Effect::CommitWork { message, .. } => {
                self.made += 1;
                let sha = CommitSha::new(format!("{:040}", self.made));
                self.commits.push(CommitSummary {
                    sha: sha.clone(),
                    subject: message.lines().next().unwrap().to_owned(),
                });
                self.head = Some(sha.to_string());
                EffectResult::WorkCommitted {
                    head_sha: sha,
                    commits: self.commits.clone(),
                    warnings: Vec::new(),
                    changed: Vec::new(),
                }
            }
            Effect::OnForge { act, .. } => {
                self.told.extend(telling(act));
                let answer = match (act, self.people.pop_front_if_listening(act)) {
                    (_, Some(answer)) => EffectResult::OnForge { answer },
                    (_, None) => good(effect),
                };
                self.with_checks(act, answer)
            }
            Effect::RollBack { to, .. } => {
                if let Some(at) = self.commits.iter().position(|one| one.sha == *to) {
                    self.commits.truncate(at + 1);
                    self.head = Some(to.to_string());
                }
                good(effect)
            }
            Effect::Integrate { .. } => EffectResult::Integrated {
                head_sha: CommitSha::new(self.head.clone().unwrap_or_default()),
                base_sha: None,
                commits: self.commits.clone(),
                warnings: Vec::new(),
            },
            effect => good(effect),
        }
    }

    /// Adds the checks of the requested commit to a reading.
    fn with_checks(&mut self, act: &ForgeAct, mut answer: EffectResult) -> EffectResult {
        if let (
            ForgeAct::Poll {
                checks: Some(head), ..
            },
            EffectResult::OnForge {
                answer: ForgeAnswer::Polled { poll },
            },
            Some(checks),
        ) = (act, &mut answer, self.checks.front())
        {
            poll.checks = Some(checks(head));
            if self.checks.len() > 1 {
                self.checks.pop_front();
            }
        }
        answer
    }

    /// The complete texts that were posted in the conversation.
    pub fn comments(&self) -> Vec<&str> {
        let acts = self.performed.iter().filter_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostComment { body },
                ..
            } => Some(body.as_str()),
            _ => None,
        });
        acts.collect()
    }

    fn run_agent(&mut self, job: &AgentJob) -> EffectResult {
        self.jobs.push(job.clone());
        match job.role {
            Role::Reviewer => match self.reviews.len() {
                0 | 1 => self.reviews.front().unwrap().clone(),
                _ => self.reviews.pop_front().unwrap(),
            },
            Role::Namer => {
                agent_said(r#"{"pr_title": "Check names", "branch_name": "check-names"}"#)
            }
            Role::Fixer => self
                .agents
                .pop_front()
                .or_else(|| self.fixer.clone())
                .unwrap_or_else(|| agent_said(&all_fixed(job))),
            Role::Coder | Role::Planner | Role::Validator => agent_ended(None),
        }
    }

    pub fn roles(&self) -> Vec<String> {
        let name = |job: &AgentJob| match &job.domain {
            Some(domain) => format!("{} {domain}", job.role),
            None => job.role.to_string(),
        };
        self.jobs.iter().map(name).collect()
    }
}

pub trait PopFrontIf {
    fn pop_front_if_listening(&mut self, act: &ForgeAct) -> Option<ForgeAnswer>;
}

impl PopFrontIf for VecDeque<ForgeAnswer> {
    fn pop_front_if_listening(&mut self, act: &ForgeAct) -> Option<ForgeAnswer> {
        matches!(act, ForgeAct::Poll { .. }).then(|| self.pop_front())?
    }
}

/// What a person on the pull request sees of an act.
pub fn telling(act: &ForgeAct) -> Option<String> {
    match act {
        ForgeAct::Poll { .. }
        | ForgeAct::React { .. }
        | ForgeAct::Summarize { .. }
        | ForgeAct::UpdateBody { .. } => None,
        ForgeAct::MarkReady => Some("ready".to_owned()),
        ForgeAct::Merge { head, .. } => Some(format!("merge {head}")),
        ForgeAct::PostReview { body, lines, .. } => Some(format!(
            "{} +{} lines",
            body.lines().next().unwrap(),
            lines.len()
        )),
        ForgeAct::PostComment { body } => Some(body.lines().next().unwrap().to_owned()),
        ForgeAct::Reply { to, body } => Some(format!("to {}: {body}", to.id)),
        ForgeAct::ResolveThread { comment } => Some(format!("resolved {}", comment.id)),
        ForgeAct::SetStatus { passed, .. } => Some(format!("status {passed}")),
    }
}

pub fn team(run: &Run) -> &Phase {
    match &run.flow {
        Flow::Phase { phase } => phase,
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => panic!("no team"),
    }
}

pub fn end(run: &Run) -> (OutcomeStatus, Option<Kind>, Option<LastWord>) {
    let outcome = run.outcome.as_ref().unwrap();
    let kind = outcome.failure.as_ref().map(|problem| problem.kind);
    (outcome.status, kind, team(run).verdict)
}

pub fn heard(comments: Vec<drive_core::forge::Comment>) -> ForgeAnswer {
    polled(PollResult {
        comments,
        ignored: vec![ignored()],
        next: Some(at(6)),
        ..PollResult::default()
    })
}

pub fn polled(poll: PollResult) -> ForgeAnswer {
    ForgeAnswer::Polled {
        poll: Box::new(poll),
    }
}

pub fn nobody() -> ForgeAnswer {
    polled(PollResult::default())
}

/// The answer of a fixer that claims to have fixed everything.
fn all_fixed(job: &AgentJob) -> String {
    let entry = |one: &JobComment| format!(r#"{{"id": "{}", "action": "fixed"}}"#, one.id);
    let entries: Vec<String> = job.input.comments.iter().map(entry).collect();
    format!(r#"{{"comments": [{}]}}"#, entries.join(", "))
}
