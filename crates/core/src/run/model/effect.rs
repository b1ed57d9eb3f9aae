//! Effects: the actions that a run requests, and their results.

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

/// An action in the world. It is plain data: it is journaled before it is performed, and another
/// process than the one that decided it may perform it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "effect")]
pub enum Effect {
    /// Reserve a free branch name.
    ChooseBranch {
        /// The wanted name.
        wanted: BranchName,
        /// Whether a person chose the name: then a taken name is an error, and no number is appended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exact: bool,
        /// The remote on which the name must be free too.
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
        /// The commits since which changed lines are reported.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        since: Vec<CommitSha>,
    },
    /// Write a file into a sandbox, or remove it.
    WriteFile {
        /// The sandbox.
        sandbox: SandboxId,
        /// Path relative to the sandbox.
        path: String,
        /// The contents; `None` removes the file.
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
        /// The commit that this run pushed last. If the branch is missing on the remote, a person
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
        /// The base of the pull request, to report which commits the work adds after the merge.
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
        /// The commit whose verification rules apply if agents write the base branch; `None` uses
        /// the rules of the base's current commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<CommitSha>,
    },
    /// Compare the merged commit on the base with the verified tree, and verify it if it differs.
    /// The effect changes nothing, so it can be repeated.
    CheckLanded {
        /// The commit that the forge reported; `None` reads the base branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landed: Option<CommitSha>,
        /// The base branch.
        base: BranchAt,
        /// The base commit during the verification.
        base_sha: CommitSha,
        /// The verified tree.
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
    /// Notify a person with the program of their settings.
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

/// The lines that changed since a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedLines {
    /// The commit.
    pub since: CommitSha,
    /// The changed files; their hunks have no context lines.
    pub files: Vec<FileDiff>,
    /// Whether the list is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

impl Effect {
    /// The first part of the effect's key.
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

/// The form in which a forge merged commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LandedAs {
    /// A merge commit.
    Merge,
    /// This number of consecutive commits: one if they were squashed, all of them if they were rebased.
    Commits(usize),
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum EffectResult {
    /// The name is reserved.
    BranchChosen {
        /// The reserved name.
        branch: BranchName,
    },
    /// The sandbox exists.
    SandboxCreated {
        /// The sandbox.
        sandbox: Box<Sandbox>,
    },
    /// The agent ended, successfully or not.
    AgentEnded {
        /// The outcome.
        outcome: Box<AgentOutcome>,
        /// Path of the agent's log.
        log: Option<PathBuf>,
    },
    /// The process and everything it started have ended.
    ProcessEnded,
    /// The branch has these commits.
    WorkCommitted {
        /// The branch's tip after the commit.
        head_sha: CommitSha,
        /// Its commits since the base, oldest first.
        commits: Vec<CommitSummary>,
        /// Warnings, such as a rebase that is still in progress.
        warnings: Vec<String>,
        /// The changed lines for each requested commit, as far as they are known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<ChangedLines>,
    },
    /// The file was written.
    FileWritten,
    /// The file was read.
    FileRead {
        /// Its text; `None` when there is no such file.
        text: Option<String>,
    },
    /// The diff for a reviewer was read.
    DiffRead {
        /// All files with their counts, and as much of the unified diff as fits; or the first part of it.
        diff: String,
        /// The other parts. Each lists all files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<String>,
        /// The lines that the whole diff shows, where inline comments can be placed.
        lines: Vec<FileDiff>,
        /// Whether the diff shows more lines than those listed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
        /// The changes since the commit that the reviewer saw last; `None` if it saw none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
        /// The changed lines of that diff, for a limited number of files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<ChangedLines>,
        /// Lines of the whole diff that look like a reviewer's answer, shown or not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        quotes: String,
    },
    /// The remote has the commit.
    Pushed,
    /// The branch has other people's commits, on the remote or, without a remote, in the user's
    /// repository. It was not moved.
    BranchMoved {
        /// The tip of the other branch; `None` if it was deleted.
        remote_head: Option<CommitSha>,
    },
    /// The branch contains both sides, or there was nothing to merge.
    Integrated {
        /// The branch's tip after the integration.
        head_sha: CommitSha,
        /// The new base of the work; `None` if it is unknown and stays as it was.
        base_sha: Option<CommitSha>,
        /// The branch's commits since that base, oldest first.
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
        /// The branch's commits since that base, oldest first.
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
        /// The form in which the forge merged the run's commits.
        made: LandedAs,
        /// The report on the landed commit, if its tree is not the verified one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<Verification>>,
        /// Comments that drive had not read before the merge.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<Comment>,
        /// Requests for changes that drive had not read before the merge.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        objections: Vec<Objected>,
        /// Why unread comments could not be determined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
    },
    /// The forge performed the action.
    OnForge {
        /// The forge's answer.
        answer: ForgeAnswer,
    },
    /// The action on the line was performed.
    OnLine {
        /// The answer.
        answer: LineAnswer,
    },
    /// The other run has the message in its journal.
    Delivered,
    /// The person was notified, or wants no notifications.
    Notified,
    /// The sandbox is gone.
    SandboxRemoved {
        /// The saved work.
        kept: Option<KeptWork>,
        /// Commits that stay on the run's branch and were not reported before, because their agent
        /// failed or was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<BranchTip>,
    },
    /// The effect failed.
    Failed {
        /// The reason.
        problem: Problem,
    },
}
