//! The line of a cruise: merges tasks one after another and moves the branch that they land on.
//!
//! The branch only moves from the expected commit to one whose tree was verified, and never
//! backwards. If it has a remote, the remote's branch moves first, by a push that the remote
//! refuses if the branch is elsewhere, and the local branch follows.

use super::World;
use super::merge::MOST_FILES;
use super::promotion::{TAIL_BYTES, requested};
use super::publish::refused;
use crate::cancel::CancelToken;
use crate::executor::Task;
use crate::ports::{
    Leftovers, MergeCommit, Place, Promotion, PromotionGate, Push, Pushed, VersionControl,
};
use drive_core::cruise::train::{Conflict, Coupled};
use drive_core::forge::inert::{Said, plain};
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchAt, CarOrder, EffectResult, HeldTask, LineAct, LineAnswer, Note};
use drive_core::secrets::SecretPolicy;
use drive_core::verify::Overall;
use std::path::Path;

/// How many characters of a title go into a merge message.
const TITLE_CHARS: usize = 200;

/// The ports and data for actions on a line.
pub struct Line<'a> {
    /// Version control.
    pub history: &'a dyn VersionControl,
    /// The verifier; `None` if nothing is verified.
    pub gate: Option<&'a dyn PromotionGate>,
    /// The policy on secrets.
    pub secrets: &'a SecretPolicy,
    /// The user's repository.
    pub repo: &'a Path,
    /// The run, for the trailer of merges.
    pub run: &'a RunId,
    /// The text that a person wrote in the task.
    pub said: Said,
    /// The commit where the run began: earlier commits are not checked for secrets if a
    /// remote-tracking branch contains them.
    pub base: &'a CommitSha,
    /// A newer commit of the base branch.
    pub merged: Option<&'a CommitSha>,
    /// Asks to stop.
    pub cancel: &'a CancelToken,
}

/// The result of an action on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct OnLine {
    /// The answer for the run.
    pub answer: LineAnswer,
    /// A warning for people, if there is one.
    pub warning: Option<String>,
}

impl From<LineAnswer> for OnLine {
    fn from(answer: LineAnswer) -> Self {
        Self {
            answer,
            warning: None,
        }
    }
}

/// The number of the note about a local branch that did not follow.
const NOT_FOLLOWED: u32 = 0;

impl World<'_> {
    pub(super) fn on_line(&self, task: &Task<'_>, act: &LineAct) -> Result<EffectResult, Problem> {
        let request = requested(task)?;
        let line = Line {
            history: self.history,
            gate: self.gate,
            secrets: &self.secrets,
            repo: &request.repo,
            run: &task.run.id,
            said: task.run.said(),
            base: &request.base_sha,
            merged: task.run.work.base_sha.as_ref(),
            cancel: task.cancel,
        };
        let OnLine { answer, warning } = match act {
            LineAct::Land {
                line: branch,
                from,
                commit,
                tree,
                offers,
            } => line.land_if(branch, (from, commit), tree, &|| self.unheard(task, offers))?,
            LineAct::BeginLine { .. }
            | LineAct::Assemble { .. }
            | LineAct::VerifyTrain { .. }
            | LineAct::CheckContract { .. } => line.act(act)?,
        };
        if let Some(text) = warning {
            task.note(NOT_FOLLOWED, Note::Warning { text })?;
        }
        Ok(EffectResult::OnLine { answer })
    }
}

impl Line<'_> {
    /// Performs an action. A repetition finds what was done.
    pub fn act(&self, act: &LineAct) -> Result<OnLine, Problem> {
        match act {
            LineAct::BeginLine { line, at } => self.begin(line, at).map(OnLine::from),
            LineAct::Assemble { onto, cars } => self.assemble(onto, cars).map(OnLine::from),
            LineAct::VerifyTrain {
                onto,
                commit,
                rules,
                ..
            } => self.verify(onto, commit, rules).map(OnLine::from),
            LineAct::Land {
                line,
                from,
                commit,
                tree,
                ..
            } => self.land_if(line, (from, commit), tree, &|| Ok(Vec::new())),
            LineAct::CheckContract {
                base,
                commit,
                checks,
            } => {
                let promotion = self.promotion(base, commit, base);
                let receipts = self
                    .require_gate()?
                    .check(&promotion, checks, self.cancel)?;
                Ok(OnLine::from(LineAnswer::ContractChecked { receipts }))
            }
        }
    }

    fn place(&self) -> Place<'_> {
        Place::Checkout(self.repo)
    }

    /// Creates the branch. A branch that is further along is the same one after some landings.
    fn begin(&self, line: &BranchAt, at: &CommitSha) -> Result<LineAnswer, Problem> {
        let there = match &line.remote {
            Some(remote) => self.remote_tip(remote, &line.branch)?,
            None => None,
        };
        let here = self.local_tip(&line.branch)?;
        for tip in there.iter().chain(&here) {
            self.require_from(line, at, tip)?;
        }
        if here.is_none() {
            let tip = there.as_ref().unwrap_or(at);
            self.history
                .create_branch(self.place(), &line.branch, tip)
                .or_else(|problem| self.made_meanwhile(line, at, problem))?;
        }
        if let (Some(remote), None) = (&line.remote, &there) {
            let push = Push {
                remote: remote.clone(),
                branch: line.branch.clone(),
                sha: at.clone(),
                expected: None,
            };
            self.require_no_secrets(&push)?;
            match self.history.push(self.place(), &push)? {
                Pushed::Done | Pushed::UpToDate => {}
                Pushed::Moved { .. } => match self.remote_tip(remote, &line.branch)? {
                    Some(tip) => self.require_from(line, at, &tip)?,
                    None => return Err(refused(remote, &line.branch, "it was deleted")),
                },
                Pushed::Refused { reason } => return Err(refused(remote, &line.branch, &reason)),
            }
        }
        Ok(LineAnswer::LineBegun)
    }

    /// Accepts a branch that another drive process created after it was looked up.
    fn made_meanwhile(
        &self,
        line: &BranchAt,
        at: &CommitSha,
        problem: Problem,
    ) -> Result<(), Problem> {
        match self.local_tip(&line.branch)? {
            Some(tip) => self.require_from(line, at, &tip),
            None => Err(problem),
        }
    }

    fn require_from(
        &self,
        line: &BranchAt,
        at: &CommitSha,
        tip: &CommitSha,
    ) -> Result<(), Problem> {
        if tip == at || self.history.is_ancestor(self.place(), at, tip)? {
            return Ok(());
        }
        Err(Problem::new(
            Kind::BranchExists,
            format!("branch `{line}` already exists at {tip}, which does not contain {at}"),
        )
        .hint("pass `--branch` with another name, or rename the one that exists"))
    }

    /// Merges the cars one after another, as if each landed separately: the `.gitattributes` of the
    /// merge before decide how a car's files are merged.
    fn assemble(&self, onto: &CommitSha, cars: &[CarOrder]) -> Result<LineAnswer, Problem> {
        let mut tip = onto.clone();
        let mut made: Vec<Coupled> = Vec::new();
        for car in cars {
            let leftovers = Leftovers {
                run: self.run.clone(),
                message: self.message(car),
            };
            let place = self.place();
            match self
                .history
                .merge_commits(place, &tip, &car.head, &leftovers)?
            {
                MergeCommit::Made { commit, tree } => {
                    tip = commit.clone();
                    made.push(Coupled {
                        task: car.task.clone(),
                        head: car.head.clone(),
                        commit,
                        tree,
                    });
                }
                MergeCommit::Conflicts { files } => {
                    let shown = files.iter().take(MOST_FILES);
                    let conflict = Conflict {
                        task: car.task.clone(),
                        files: shown
                            .map(|path| path.to_string_lossy().into_owned())
                            .collect(),
                        with: made.iter().map(|before| before.task.clone()).collect(),
                    };
                    return Ok(LineAnswer::Assembled {
                        cars: made,
                        conflict: Some(conflict),
                    });
                }
            }
        }
        Ok(LineAnswer::Assembled {
            cars: made,
            conflict: None,
        })
    }

    /// The merge message of a car. An agent wrote the title, so it is made inert and secrets are redacted.
    fn message(&self, car: &CarOrder) -> String {
        let words: Vec<&str> = car.title.split_whitespace().collect();
        let title: String = words.join(" ").chars().take(TITLE_CHARS).collect();
        let colon = if title.is_empty() { "" } else { ": " };
        let message = format!("Merge task `{}`{colon}{title}", car.task);
        plain(&self.secrets.secrets().redact(&message), &self.said)
    }

    fn verify(
        &self,
        onto: &CommitSha,
        commit: &CommitSha,
        rules: &CommitSha,
    ) -> Result<LineAnswer, Problem> {
        let promotion = self.promotion(onto, commit, rules);
        let report = self.require_gate()?.judge(&promotion, self.cancel)?;
        if self.cancel.asked().is_some() && report.overall != Overall::Pass {
            // An interrupted verification shows nothing about the tree.
            let what = "the verification was interrupted";
            return Err(Problem::new(Kind::Interrupted, what));
        }
        let report = Box::new(report.with_tails_of(TAIL_BYTES));
        Ok(LineAnswer::TrainVerified { report })
    }

    fn promotion<'b>(
        &'b self,
        base: &'b CommitSha,
        head: &'b CommitSha,
        rules: &'b CommitSha,
    ) -> Promotion<'b> {
        Promotion {
            repo: self.repo,
            head,
            base,
            rules,
        }
    }

    fn require_gate(&self) -> Result<&dyn PromotionGate, Problem> {
        self.gate.ok_or_else(|| {
            Problem::new(Kind::NoVerifier, "no verifier for this run")
                .hint("run `drive verify` by hand")
        })
    }

    /// Refuses a commit that is not the verified one or does not build on the branch. A commit id
    /// covers its tree, so a branch at this commit has the verified tree.
    fn require_verified(
        &self,
        from: &CommitSha,
        commit: &CommitSha,
        tree: &TreeSha,
    ) -> Result<(), Problem> {
        let place = self.place();
        let found = self.history.commit_object(place, commit)?.tree;
        let reason = if found != *tree {
            format!("its tree is {found}, not the verified {tree}")
        } else if !self.history.is_ancestor(place, from, commit)? {
            format!("it does not build on {from}")
        } else {
            return Ok(());
        };
        Err(
            Problem::new(Kind::NotMerged, format!("{commit} is not landed: {reason}"))
                .hint("report this; the branch was not moved"),
        )
    }

    /// Moves the branch, unless it is elsewhere. If a crash comes between the push and the local move, a
    /// repetition completes it: the remote has the commit then, and the local branch follows.
    ///
    /// `unheard` is called last: the branch does not move while there are objections against a task in it.
    fn land_if(
        &self,
        line: &BranchAt,
        (from, commit): (&CommitSha, &CommitSha),
        tree: &TreeSha,
        unheard: &dyn Fn() -> Result<Vec<HeldTask>, Problem>,
    ) -> Result<OnLine, Problem> {
        let tip = self.tip(line)?;
        let is_there = tip.as_ref() == Some(commit);
        if !is_there && tip.as_ref() != Some(from) {
            return self.moved(from, tip).map(OnLine::from);
        }
        self.require_verified(from, commit, tree)?;
        if !is_there {
            let tasks = unheard()?;
            if !tasks.is_empty() {
                return Ok(OnLine::from(LineAnswer::Unheard { tasks }));
            }
            match &line.remote {
                Some(remote) => self.push(remote, &line.branch, (from, commit))?,
                None => self.advance(&line.branch, from, commit)?,
            }
        }
        // The branch's actual tip counts, not the result of the move.
        let answer = match self.tip(line)? {
            Some(tip) if tip == *commit => LineAnswer::CarsLanded,
            // The branch has moved on; the caller decides whether it contains the commit.
            tip => self.moved(from, tip)?,
        };
        let warning = if answer == LineAnswer::CarsLanded && line.remote.is_some() {
            self.follow(&line.branch, commit)?
        } else {
            None
        };
        Ok(OnLine { answer, warning })
    }

    /// The answer about a branch that is elsewhere: further along, or without the expected commit.
    fn moved(&self, from: &CommitSha, tip: Option<CommitSha>) -> Result<LineAnswer, Problem> {
        let is_rewritten = match &tip {
            Some(tip) => !self.history.is_ancestor(self.place(), from, tip)?,
            None => false,
        };
        Ok(LineAnswer::LineMoved { tip, is_rewritten })
    }

    /// Moves a branch that exists only in this repository.
    fn advance(
        &self,
        branch: &BranchName,
        from: &CommitSha,
        commit: &CommitSha,
    ) -> Result<(), Problem> {
        let moved = self
            .history
            .advance_branch(self.place(), branch, from, commit);
        match moved {
            Err(problem) if self.local_tip(branch)?.as_ref() == Some(from) => Err(problem),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn push(
        &self,
        remote: &RemoteName,
        branch: &BranchName,
        (from, commit): (&CommitSha, &CommitSha),
    ) -> Result<(), Problem> {
        let push = Push {
            remote: remote.clone(),
            branch: branch.clone(),
            sha: commit.clone(),
            expected: Some(from.clone()),
        };
        self.require_no_secrets(&push)?;
        match self.history.push(self.place(), &push)? {
            Pushed::Done | Pushed::UpToDate | Pushed::Moved { .. } => Ok(()),
            Pushed::Refused { reason } => Err(refused(remote, branch, &reason)),
        }
    }

    /// Lets the local branch follow the remote's. A branch with other commits, or one that is checked out,
    /// belongs to the user and stays; a branch that the user deleted is not created again.
    fn follow(&self, branch: &BranchName, to: &CommitSha) -> Result<Option<String>, Problem> {
        let Some(tip) = self.local_tip(branch)? else {
            return Ok(None);
        };
        if tip == *to {
            return Ok(None);
        }
        if !self.history.is_ancestor(self.place(), &tip, to)? {
            return Ok(Some(format!(
                "branch `{branch}` has other commits here ({tip}) and was not moved; the landed one \
                 is {to}"
            )));
        }
        let moved = self.history.advance_branch(self.place(), branch, &tip, to);
        Ok(moved.err().map(|problem| {
            format!("branch `{branch}` here does not follow the remote's to {to}: {problem}")
        }))
    }

    /// Refuses to push a commit that adds a secret, or that cannot be checked.
    fn require_no_secrets(&self, push: &Push) -> Result<(), Problem> {
        let patch = self
            .history
            .unpublished(self.place(), push, self.base, self.merged)?;
        self.secrets.require_clean(&patch)
    }

    /// The tip of the branch: on its remote, if it has one.
    fn tip(&self, line: &BranchAt) -> Result<Option<CommitSha>, Problem> {
        match &line.remote {
            Some(remote) => self.remote_tip(remote, &line.branch),
            None => self.local_tip(&line.branch),
        }
    }

    /// The tip of a remote's branch, after fetching its commits.
    fn remote_tip(
        &self,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        self.history.fetch_branch(self.place(), remote, branch)
    }

    /// The tip of a local branch; `None` only if the branch does not exist.
    fn local_tip(&self, branch: &BranchName) -> Result<Option<CommitSha>, Problem> {
        match self.history.resolve(self.place(), &branch.full()) {
            Ok(tip) => Ok(Some(tip)),
            Err(problem) if problem.kind == Kind::UnknownRevision => Ok(None),
            Err(problem) => Err(problem),
        }
    }
}
