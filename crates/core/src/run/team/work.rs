//! The primary at work: on the task, or on one remark. What it changed is committed and pushed, and
//! the remark's author is answered.

use super::super::effect::{AgentJob, Effect, EffectResult, JobComment};
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::super::outcome::{CommitSummary, OutcomeStatus};
use super::super::request::Publish;
use super::super::reviewing::{Remark, RemarkRecord, commit_message_for, reply_to};
use super::super::spawn::nothing_changed;
use super::texts::{commit_message, pull_request_body};
use super::{Flight, TeamStage};
use crate::Problem;
use crate::agent::answer::{CommentAction, read_fixer};
use crate::agent::{AgentOutcome, Role};
use crate::forge::Surface;
use crate::forge::text::quoted;
use crate::prompts::Prompt;
use crate::sandbox::KeptWork;
use crate::settings::TeamMode;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// One piece of work of the primary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Errand {
    /// The remark it is about; `None` for the task itself.
    pub remark: Option<Remark>,
    /// How far it is.
    pub step: ErrandStep,
    /// The branch's tip before it.
    pub head_before: Option<String>,
    /// What the primary did about the remark, as far as it said.
    pub action: Option<CommentAction>,
    /// What it said, or why it failed.
    pub note: String,
    /// How often the branch had moved when it was to be pushed.
    #[serde(default)]
    pub moved: u32,
}

/// How far an errand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrandStep {
    /// The agent works.
    Agent,
    /// What it left is being committed.
    Commit,
    /// It failed, and what it left is being kept and taken away.
    RollBack,
    /// The branch is being pushed.
    Push,
    /// The author is being answered.
    Reply,
    /// The thread is being resolved.
    Resolve,
}

impl Flight<'_> {
    /// Sets the primary to work.
    pub(super) fn work(&mut self, remark: Option<Remark>) {
        let job = match &remark {
            None => self.primary(Role::Coder, self.request.task.clone()),
            Some(remark) => self.resolver(remark),
        };
        let errand = Errand {
            remark,
            step: ErrandStep::Agent,
            head_before: self.run.work.head_sha.clone(),
            action: None,
            note: String::new(),
            moved: 0,
        };
        self.at(errand);
        let sandbox = Some(self.run.sandbox_id());
        self.start(sandbox, job);
    }

    pub(super) fn primary(&self, role: Role, prompt: String) -> AgentJob {
        self.job(self.request.agent.clone(), role, prompt)
    }

    fn resolver(&self, remark: &Remark) -> AgentJob {
        let task = &self.request.task;
        let id = remark.id();
        let prompt = match remark.comment {
            None => Prompt::Fix {
                task,
                remarks: &remark.body,
            },
            Some(_) => Prompt::Resolve {
                task,
                id: &id,
                author: &remark.author,
                file: remark.file.as_deref(),
                line: remark.line,
                body: &remark.body,
                thread: &remark.thread,
            },
        };
        let prompt = self.terms.prompts.render(&prompt);
        let mut job = self.primary(Role::Fixer, prompt);
        job.round = remark.round;
        job.domain = remark.domain.map(|domain| domain.name().to_owned());
        job.input.comments.push(JobComment {
            id,
            author: remark.author.clone(),
            file: remark.file.clone(),
            line: remark.line,
            body: remark.body.clone(),
            url: None,
            commit: None,
            is_older: false,
        });
        job
    }

    pub(super) fn at(&mut self, errand: Errand) {
        let errand = Box::new(errand);
        self.team.stage = TeamStage::Working { errand };
    }

    pub(super) fn worked(&mut self, errand: Errand, result: EffectResult) {
        match result {
            EffectResult::AgentEnded { outcome, .. } => self.agent_worked(errand, &outcome),
            EffectResult::WorkCommitted {
                head_sha, commits, ..
            } => self.committed(errand, head_sha, &commits),
            EffectResult::Pushed => self.published(errand),
            EffectResult::BranchMoved { .. } => self.branch_moved(errand),
            EffectResult::OnForge {
                answer: ForgeAnswer::Posted { .. },
            } => self.replied(errand),
            EffectResult::OnForge { .. } => self.proceed(),
            EffectResult::RolledBack { kept } => self.rolled_back(errand, kept),
            EffectResult::Failed { problem } => self.work_failed(errand, problem),
            // Results of effects that no errand decides.
            EffectResult::BranchChosen { .. }
            | EffectResult::SandboxCreated { .. }
            | EffectResult::ProcessEnded
            | EffectResult::FileWritten
            | EffectResult::FileRead { .. }
            | EffectResult::DiffRead { .. }
            | EffectResult::PullRequestOpened { .. }
            | EffectResult::Integrated { .. }
            | EffectResult::Replaced { .. }
            | EffectResult::Conflicted { .. }
            | EffectResult::Verified { .. }
            | EffectResult::SandboxRemoved { .. } => {}
        }
    }

    fn agent_worked(&mut self, mut errand: Errand, outcome: &AgentOutcome) {
        let failure = outcome.problem(&self.request.agent);
        let message = match &errand.remark {
            None => {
                let status = OutcomeStatus::of_agent(&outcome.ending);
                if status != OutcomeStatus::Succeeded {
                    return self.leave(status, failure);
                }
                self.team.summary.clone_from(&outcome.summary);
                commit_message(&self.team.title, &self.request.task)
            }
            Some(remark) => {
                if let Some(problem) = failure {
                    return self.roll_back(errand, &problem);
                }
                let answer = read_fixer(&outcome.text).ok().and_then(|answer| {
                    let mut all = answer.comments.into_iter();
                    all.find(|one| one.id == remark.id())
                });
                let action = answer.as_ref().map(|one| one.action);
                errand.action = Some(action.unwrap_or(CommentAction::Fixed));
                errand.note = answer.map_or(String::new(), |one| one.note);
                commit_message_for(remark)
            }
        };
        errand.step = ErrandStep::Commit;
        self.at(errand);
        let sandbox = self.run.sandbox_id();
        self.run.decide(Effect::CommitWork { sandbox, message });
    }

    fn committed(&mut self, errand: Errand, head_sha: String, commits: &[CommitSummary]) {
        if commits.is_empty() {
            let problem = nothing_changed(&self.request.agent);
            return self.leave(OutcomeStatus::Failed, Some(problem));
        }
        self.push(errand, head_sha);
    }

    /// Puts the branch where others see it.
    pub(super) fn push(&mut self, mut errand: Errand, head_sha: String) {
        let is_new = errand.head_before.as_ref() != Some(&head_sha);
        errand.step = ErrandStep::Push;
        match self.remote().map(str::to_owned) {
            Some(remote) if is_new => {
                let branch = self.run.work.branch.clone().unwrap_or_default();
                self.at(errand);
                let sandbox = self.run.sandbox_id();
                self.run.decide(Effect::Push {
                    sandbox,
                    remote,
                    branch,
                    head_sha,
                    published: None,
                });
            }
            Some(_) | None => self.published(errand),
        }
    }

    /// The work is where others see it.
    fn published(&mut self, mut errand: Errand) {
        let Some(remark) = errand.remark.clone() else {
            return self.open_pull_request();
        };
        let head = self.run.work.head_sha.clone();
        let commit = head.filter(|head| errand.head_before.as_ref() != Some(head));
        let is_fixed = errand.action == Some(CommentAction::Fixed) && commit.is_some();
        self.team.record.remarks.push(RemarkRecord {
            comment: remark.comment,
            file: remark.file.clone(),
            line: remark.line,
            commit: commit.clone(),
            note: errand.note.clone(),
            resolved: is_fixed,
        });
        let body = reply_to(errand.action, commit.as_deref(), &errand.note);
        if let Some(thread) = remark.thread_id() {
            self.team.threads.said(thread, &self.request.agent, &body);
        }
        let reply = remark.comment.map(|to| {
            let body = match to.surface {
                Surface::Inline => body,
                Surface::Conversation | Surface::Review => {
                    format!("{}\n\n{body}", quoted(&remark.author, None, &remark.body))
                }
            };
            ForgeAct::Reply { to, body }
        });
        errand.step = ErrandStep::Reply;
        self.at(errand);
        if !reply.is_some_and(|reply| self.on_forge(reply)) {
            self.proceed();
        }
    }

    fn replied(&mut self, mut errand: Errand) {
        let resolved = self
            .team
            .record
            .remarks
            .last()
            .is_some_and(|last| last.resolved);
        let comment = errand.remark.as_ref().and_then(|remark| remark.comment);
        errand.step = ErrandStep::Resolve;
        self.at(errand);
        match comment {
            Some(comment) if resolved => {
                self.on_forge(ForgeAct::ResolveThread { comment });
            }
            Some(_) | None => self.proceed(),
        }
    }

    /// Half of what a remark asks for must not go into the commit for the next one, nor before the
    /// eyes of others: it is kept aside, and the branch stays at its last good commit.
    fn roll_back(&mut self, mut errand: Errand, problem: &Problem) {
        errand.action = None;
        errand.note = problem.to_string();
        errand.step = ErrandStep::RollBack;
        let to = errand.head_before.clone().unwrap_or_default();
        self.at(errand);
        let sandbox = self.run.sandbox_id();
        self.run.decide(Effect::RollBack { sandbox, to });
    }

    fn rolled_back(&mut self, mut errand: Errand, kept: Option<KeptWork>) {
        if let Some(kept) = kept {
            let _ = write!(
                errand.note,
                " What was begun is kept: `{}`.",
                kept.reference
            );
        }
        self.published(errand);
    }

    /// The task itself must work out; a remark that cannot be resolved is noted, and the next one
    /// is taken. Work that others cannot see is of no use to them, so a push must work out too.
    fn work_failed(&mut self, errand: Errand, problem: Problem) {
        match errand.step {
            ErrandStep::Push => self.fail(problem),
            ErrandStep::Agent | ErrandStep::Commit => {
                if errand.remark.is_none() {
                    return self.fail(problem);
                }
                if errand.step == ErrandStep::Agent {
                    self.team.record.job_failed(&problem, self.now);
                }
                self.run
                    .warnings
                    .push(format!("a remark could not be worked in: {problem}"));
                self.roll_back(errand, &problem);
            }
            // With half work in the sandbox nothing more may be committed.
            ErrandStep::RollBack => self.stop(OutcomeStatus::NeedsHuman, problem),
            ErrandStep::Reply | ErrandStep::Resolve => {
                self.run
                    .warnings
                    .push(format!("a comment could not be answered: {problem}"));
                self.proceed();
            }
        }
    }

    fn open_pull_request(&mut self) {
        if self.run.work.pull_request.is_some() {
            return self.proceed();
        }
        let base = match (&self.request.publish, &self.request.base_branch) {
            (Publish::PullRequest { .. }, Some(base)) => base.clone(),
            (Publish::PullRequest { .. }, None) | (Publish::BranchOnly, _) => {
                return self.proceed();
            }
        };
        self.team.stage = TeamStage::OpeningPullRequest;
        self.run.decide(Effect::OpenPullRequest {
            branch: self.run.work.branch.clone().unwrap_or_default(),
            base,
            title: self.team.title.clone(),
            body: pull_request_body(self.run, &self.team, self.request),
            draft: self.terms.mode == TeamMode::Github,
        });
    }

    pub(super) fn pull_request_opened(&mut self, result: EffectResult) {
        if self.run.work.pull_request.is_none() {
            return self.give_up(result);
        }
        self.proceed();
    }
}
