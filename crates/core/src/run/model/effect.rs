//! Effects: what a run wants to be done, and the results.

use super::forge_act::{ForgeAct, ForgeAnswer};
use super::job::AgentJob;
use super::line::{LineAct, LineAnswer};
use super::merge::{BranchAt, MergeWhen};
use super::notice::Notice;
use super::outcome::{BranchTip, CommitSummary, Published};
use super::post_key::PostKey;
use super::tree::RunMessage;
use super::watch::Objected;
use crate::Problem;
use crate::agent::AgentOutcome;
use crate::forge::Comment;
use crate::forge::inline::FileDiff;
use crate::ids::{BranchName, CommitSha, PrNumber, RemoteName, RunId, SandboxId, TreeSha};
use crate::process::ProcessIdentity;
use crate::sandbox::{KeptWork, Sandbox, SandboxSpec};
use crate::verify::Verification;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Something to be done in the world. Plain data: it is journaled before it is performed, and it
/// may be performed by another process than the one that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "effect")]
pub enum Effect {
    /// Reserve a free branch name.
    ChooseBranch {
        /// The wanted name.
        wanted: BranchName,
        /// Whether a person chose the name: then a taken one is an error instead of a reason to add a
        /// number.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exact: bool,
        /// The remote where it must be free too.
        remote: Option<RemoteName>,
    },
    /// Create a sandbox.
    CreateSandbox {
        /// Branch, base and files of the sandbox.
        spec: SandboxSpec,
    },
    /// Run an agent.
    RunAgent {
        /// Its sandbox; `None` for a job that needs no files.
        sandbox: Option<SandboxId>,
        /// The job.
        job: Box<AgentJob>,
    },
    /// End a process that a dead owner left running.
    EndProcess {
        /// The process.
        identity: ProcessIdentity,
    },
    /// Commit uncommitted changes, and report the commits of the branch.
    CommitWork {
        /// The sandbox.
        sandbox: SandboxId,
        /// The commit message.
        message: String,
        /// The commits since which the changed lines are told.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        since: Vec<CommitSha>,
    },
    /// Write a file into a sandbox, or remove it.
    WriteFile {
        /// The sandbox.
        sandbox: SandboxId,
        /// Path relative to the sandbox.
        path: String,
        /// The contents; `None` where it is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Read a file of a commit.
    ReadFile {
        /// The sandbox.
        sandbox: SandboxId,
        /// The commit.
        commit: CommitSha,
        /// Path relative to the root of the repository.
        path: String,
    },
    /// Read the diff of a branch.
    ReadDiff {
        /// The sandbox.
        sandbox: SandboxId,
        /// The base commit.
        base: CommitSha,
        /// The head commit.
        head: CommitSha,
        /// The commit that the same reviewer saw last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<CommitSha>,
    },
    /// Push the branch.
    Push {
        /// The sandbox.
        sandbox: SandboxId,
        /// The remote.
        remote: RemoteName,
        /// The branch.
        branch: BranchName,
        /// The commit to push.
        head_sha: CommitSha,
        /// The commit that this run pushed last. If the branch is gone from the remote, a person
        /// deleted it, and it is not pushed again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        published: Option<CommitSha>,
    },
    /// Open a pull request, or find the open one of the branch.
    OpenPullRequest {
        /// The head branch.
        branch: BranchName,
        /// The base branch.
        base: BranchName,
        /// The pull request's title.
        title: String,
        /// The pull request's description, in Markdown.
        body: String,
        /// Whether to open it as a draft.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
    },
    /// Act on a pull request.
    OnForge {
        /// The pull request.
        pr: PrNumber,
        /// The action.
        act: ForgeAct,
        /// Overrides the effect's own key, so that a retry under a new effect key posts nothing twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<PostKey>,
    },
    /// Merge another branch into the branch of the sandbox. Conflicts stay in the sandbox, with the
    /// merge in progress.
    Integrate {
        /// The sandbox.
        sandbox: SandboxId,
        /// The branch to merge.
        from: BranchAt,
        /// Whether to merge when there is no conflict.
        when: MergeWhen,
        /// The base of the pull request, to report which commits the work adds afterwards.
        base: Option<BranchAt>,
        /// The commit that this run pushed last. If the other branch no longer contains it, a person
        /// rewrote that branch: the sandbox moves there, and our commits are saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        published: Option<CommitSha>,
    },
    /// Commit a merge after an agent resolved its conflicts.
    ConcludeMerge {
        /// The sandbox.
        sandbox: SandboxId,
        /// The merged branch, for the commit message.
        from: BranchAt,
        /// The tip of the branch before the merge.
        ours: CommitSha,
        /// The merged commit.
        theirs: CommitSha,
        /// The base of the pull request.
        base: Option<BranchAt>,
    },
    /// Reset the branch of a sandbox to a commit, after saving what that drops.
    RollBack {
        /// The sandbox.
        sandbox: SandboxId,
        /// The commit.
        to: CommitSha,
    },
    /// Verify a commit in a fresh sandbox. Repeating it gives a new report.
    Verify {
        /// The commit.
        head: CommitSha,
        /// The base branch; the report is valid for its current commit.
        base: BranchAt,
        /// The commit whose rules count, where the base is a branch that agents write: those of the
        /// base's current commit otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<CommitSha>,
    },
    /// Compare what a merge left on the base with the tree that was verified, and verify it where it
    /// is another one. Nothing is changed, so it can be repeated.
    CheckLanded {
        /// The commit that the forge named; else the base branch is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landed: Option<CommitSha>,
        /// The base branch.
        base: BranchAt,
        /// The commit it was at when the tree was verified.
        base_sha: CommitSha,
        /// The tree that was verified.
        tree: TreeSha,
    },
    /// Act on the branch that the tasks of a cruise land on.
    OnLine {
        /// The action.
        act: LineAct,
    },
    /// Deliver a message to the journal of another run, once.
    ToRun {
        /// The other run.
        run: RunId,
        /// The message.
        message: RunMessage,
    },
    /// Tell a person something, by the program of their settings.
    Notify {
        /// The notification to send.
        notice: Box<Notice>,
    },
    /// Save unsaved work, then remove a sandbox.
    RemoveSandbox {
        /// The sandbox.
        sandbox: SandboxId,
    },
}

/// Which lines changed since a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedLines {
    /// The commit.
    pub since: CommitSha,
    /// The changed files, whose hunks have no context.
    pub files: Vec<FileDiff>,
    /// Whether more changed than is told here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

impl Effect {
    /// The first part of its key.
    pub fn name(&self) -> &'static str {
        match self {
            Effect::ChooseBranch { .. } => "chooseBranch",
            Effect::CreateSandbox { .. } => "createSandbox",
            Effect::RunAgent { .. } => "runAgent",
            Effect::EndProcess { .. } => "endProcess",
            Effect::CommitWork { .. } => "commitWork",
            Effect::WriteFile { .. } => "writeFile",
            Effect::ReadFile { .. } => "readFile",
            Effect::ReadDiff { .. } => "readDiff",
            Effect::Push { .. } => "push",
            Effect::OpenPullRequest { .. } => "openPullRequest",
            Effect::OnForge { act, .. } => act.name(),
            Effect::Integrate { .. } => "integrate",
            Effect::ConcludeMerge { .. } => "concludeMerge",
            Effect::RollBack { .. } => "rollBack",
            Effect::Verify { .. } => "verify",
            Effect::CheckLanded { .. } => "checkLanded",
            Effect::OnLine { act } => act.name(),
            Effect::ToRun { message, .. } => message.name(),
            Effect::Notify { .. } => "notify",
            Effect::RemoveSandbox { .. } => "removeSandbox",
        }
    }
}

/// What a forge makes of the commits that it merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LandedAs {
    /// A merge commit.
    Merge,
    /// So many commits in a row: one where they were squashed, all of them where they were rebased.
    Commits(usize),
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum EffectResult {
    /// The name is reserved.
    BranchChosen {
        /// The name.
        branch: BranchName,
    },
    /// The sandbox exists.
    SandboxCreated {
        /// The sandbox.
        sandbox: Box<Sandbox>,
    },
    /// The agent ended, well or not.
    AgentEnded {
        /// The outcome.
        outcome: Box<AgentOutcome>,
        /// Path of the agent's log.
        log: Option<PathBuf>,
    },
    /// The process and all it started are gone.
    ProcessEnded,
    /// The branch has these commits.
    WorkCommitted {
        /// The branch's tip after the commit.
        head_sha: CommitSha,
        /// Its commits since the base, oldest first.
        commits: Vec<CommitSummary>,
        /// Warnings, such as a rebase that is still in progress.
        warnings: Vec<String>,
        /// Which lines changed, for each of the commits that were asked for, as far as it is known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<ChangedLines>,
    },
    /// The file is written.
    FileWritten,
    /// The file was read.
    FileRead {
        /// Its text; `None` when there is no such file.
        text: Option<String>,
    },
    /// The change, for a reviewer.
    DiffRead {
        /// All files with their counts, and of the unified diff what fits; or the first part of that.
        diff: String,
        /// The other parts, each with all files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<String>,
        /// Which lines the whole diff shows, so that a comment can stand on them.
        lines: Vec<FileDiff>,
        /// Whether it shows more lines than those.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
        /// The changes since the commit that the reviewer saw last; `None` if it saw none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
        /// The same as lines, of at most so many files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<ChangedLines>,
        /// Lines of the whole diff that read like a reviewer's answer, shown or not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        quotes: String,
    },
    /// The remote has the commit.
    Pushed,
    /// The branch has commits of others, on the remote or, without one, in the user's repository. It
    /// was not moved.
    BranchMoved {
        /// The tip of the other branch; `None` if it was deleted.
        remote_head: Option<CommitSha>,
    },
    /// The branch contains both, or nothing was to be merged.
    Integrated {
        /// The branch's tip after the integration.
        head_sha: CommitSha,
        /// The new base of the work; `None` if it is unknown and stays as it was.
        base_sha: Option<CommitSha>,
        /// Its commits since then, oldest first.
        commits: Vec<CommitSummary>,
        /// Warnings to show to the user.
        warnings: Vec<String>,
    },
    /// The other branch was rewritten without our commits; the sandbox moved to it.
    Replaced {
        /// The tip of the rewritten branch.
        head_sha: CommitSha,
        /// The new base of the work; `None` if it is unknown and stays as it was.
        base_sha: Option<CommitSha>,
        /// Its commits since then, oldest first.
        commits: Vec<CommitSummary>,
        /// The saved commits.
        kept: Option<KeptWork>,
    },
    /// The merge has conflicts and is in progress.
    Conflicted {
        /// The branch's tip before.
        ours: CommitSha,
        /// The commit that is merged in.
        theirs: CommitSha,
        /// The files with conflicts.
        files: Vec<String>,
    },
    /// The sandbox is at the commit.
    RolledBack {
        /// The saved work.
        kept: Option<KeptWork>,
    },
    /// The pull request is open.
    PullRequestOpened {
        /// The pull request.
        pull_request: Published,
    },
    /// The verification ended.
    Verified {
        /// The commit of the base branch.
        base: CommitSha,
        /// The report.
        report: Box<Verification>,
    },
    /// The commit that landed on the base is known.
    Landed {
        /// The commit.
        sha: CommitSha,
        /// What the forge made of the run's commits.
        made: LandedAs,
        /// The report on it, where its tree is not the one that was verified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<Verification>>,
        /// Comments that nobody had heard when it was merged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<Comment>,
        /// Requests for changes that nobody had heard when it was merged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        objections: Vec<Objected>,
        /// Why that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
    },
    /// The forge did it.
    OnForge {
        /// The forge's answer.
        answer: ForgeAnswer,
    },
    /// The line has it.
    OnLine {
        /// The answer.
        answer: LineAnswer,
    },
    /// The other run has the message in its journal.
    Delivered,
    /// The person was told, or nobody wants to be.
    Notified,
    /// The sandbox is gone.
    SandboxRemoved {
        /// The saved work.
        kept: Option<KeptWork>,
        /// Commits that stay on the run's branch and were not reported before, of an agent that failed
        /// or was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<BranchTip>,
    },
    /// The effect failed.
    Failed {
        /// The reason.
        problem: Problem,
    },
}
