use super::forge_act::{ForgeAct, ForgeAnswer};
use super::merge::{BranchAt, MergeWhen};
use super::outcome::{BranchTip, CommitSummary, Published};
use super::tree::RunMessage;
use crate::Problem;
use crate::agent::{AgentOutcome, Budget, Role};
use crate::ids::{BranchName, CommitSha, PrNumber, RemoteName, RunId, SandboxId};
use crate::process::ProcessIdentity;
use crate::sandbox::{KeptWork, Sandbox, SandboxSpec};
use crate::verify::Verification;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Something to be done in the world. Plain data: it is journaled before it is performed, and it
/// may be performed by another process than the one that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "effect")]
pub enum Effect {
    /// Find a branch name that nobody uses.
    ChooseBranch {
        /// The name to have.
        wanted: BranchName,
        /// Whether a person asked for this very name: then one that is taken is an error, and not
        /// a reason to add a number.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exact: bool,
        /// The remote on which it must be free as well.
        remote: Option<RemoteName>,
    },
    /// Make a sandbox.
    CreateSandbox {
        /// Which.
        spec: SandboxSpec,
    },
    /// Let an agent work.
    RunAgent {
        /// In which sandbox; `None` for a job that needs no files.
        sandbox: Option<SandboxId>,
        /// What it is to do.
        job: Box<AgentJob>,
    },
    /// End a process that outlived its owner.
    EndProcess {
        /// Which.
        identity: ProcessIdentity,
    },
    /// Commit what is left in a sandbox, and see what its branch holds.
    CommitWork {
        /// Where.
        sandbox: SandboxId,
        /// The message of the commit for what the agent left uncommitted.
        message: String,
    },
    /// Write one file of a sandbox.
    WriteFile {
        /// Where.
        sandbox: SandboxId,
        /// Which, relative to its root.
        path: String,
        /// What it will hold.
        text: String,
    },
    /// Read one file of a commit.
    ReadFile {
        /// Where.
        sandbox: SandboxId,
        /// Of which commit.
        commit: CommitSha,
        /// Which, relative to its root.
        path: String,
    },
    /// Read what a branch changes.
    ReadDiff {
        /// Where.
        sandbox: SandboxId,
        /// Against which commit.
        base: CommitSha,
        /// Up to which commit.
        head: CommitSha,
    },
    /// Push the branch.
    Push {
        /// From where.
        sandbox: SandboxId,
        /// To which remote.
        remote: RemoteName,
        /// Which.
        branch: BranchName,
        /// The commit it must be at.
        head_sha: CommitSha,
        /// The commit of ours that the remote had last. Where it has none at all any more, somebody
        /// deleted the branch there, and it is not made again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        published: Option<CommitSha>,
    },
    /// Open a pull request, or find the one that is open.
    OpenPullRequest {
        /// The branch with the work.
        branch: BranchName,
        /// The branch it goes to.
        base: BranchName,
        /// Its title.
        title: String,
        /// Its description.
        body: String,
        /// Whether nobody is asked to look yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
    },
    /// Do something on a pull request.
    OnForge {
        /// Which.
        pr: PrNumber,
        /// What.
        act: ForgeAct,
        /// Where it is not the effect's own key: what is tried a second time under a new key must
        /// not be posted twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    },
    /// Bring the commits of another branch in, by a merge. Conflicts stay in the sandbox, with the
    /// merge in progress.
    Integrate {
        /// Into the branch of this sandbox.
        sandbox: SandboxId,
        /// Whose commits.
        from: BranchAt,
        /// Whether a merge that needs nobody's help is made as well.
        when: MergeWhen,
        /// The branch that the work goes to, to tell what the work is compared with afterwards.
        base: Option<BranchAt>,
        /// The commit of ours that the other branch had last. Where it is not in there any more,
        /// somebody rewrote that branch: then theirs counts, and ours is kept apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        published: Option<CommitSha>,
    },
    /// Commit a merge whose conflicts somebody was asked to resolve.
    ConcludeMerge {
        /// Where.
        sandbox: SandboxId,
        /// The name of what is merged, for the message.
        from: BranchAt,
        /// The branch's tip before.
        ours: CommitSha,
        /// The commit that is merged in.
        theirs: CommitSha,
        /// The branch that the work goes to.
        base: Option<BranchAt>,
    },
    /// Put the branch of a sandbox back to a commit; what that takes away is kept first.
    RollBack {
        /// Where.
        sandbox: SandboxId,
        /// To which commit.
        to: CommitSha,
    },
    /// Verify a commit in a place no agent touched. Doing it again gives a verdict again.
    Verify {
        /// Which.
        head: CommitSha,
        /// The branch it is to go to; the verdict holds for what that is now.
        base: BranchAt,
    },
    /// Deliver a message to the journal of another run, once.
    ToRun {
        /// The other run.
        run: RunId,
        /// The message.
        message: RunMessage,
    },
    /// Keep what is safe nowhere else, then remove a sandbox.
    RemoveSandbox {
        /// Which.
        sandbox: SandboxId,
    },
}

/// One job for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    /// Which agent, by its name in the settings.
    pub agent: String,
    /// What it is asked to be.
    pub role: Role,
    /// Which round of the run.
    pub round: u32,
    /// What a reviewer looks at.
    pub domain: Option<String>,
    /// What it is told.
    pub prompt: String,
    /// The same as data, for programs.
    pub input: JobInput,
    /// The model, where it is not the agent's own.
    pub model: Option<String>,
    /// How long it may be silent.
    pub idle: Duration,
    /// How long it may work.
    pub total: Duration,
    /// What it may still use.
    pub budget: Budget,
    /// How often it may ask for a permission.
    pub max_escalations: u32,
}

/// What a job is about, as data: the file that `DRIVE_INPUT` names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInput {
    /// The task of the run.
    pub task: String,
    /// The commit that the work is compared with.
    pub diff_base: Option<CommitSha>,
    /// The pull request, once it is open.
    pub pull_request: Option<Published>,
    /// The comments to act on.
    pub comments: Vec<JobComment>,
    /// Where the plan stands, relative to the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_path: Option<String>,
    /// Files whose conflicts are to be resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// One comment to act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobComment {
    /// Its id, as the answer must name it.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// What it says.
    pub body: String,
    /// A link for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The commit it was given on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitSha>,
    /// Whether the branch has moved on since that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_older: bool,
}

impl Effect {
    /// The first half of its key.
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
            Effect::ToRun { message, .. } => message.name(),
            Effect::RemoveSandbox { .. } => "removeSandbox",
        }
    }
}

/// What performing an effect came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum EffectResult {
    /// This name is free.
    BranchChosen {
        /// It.
        branch: BranchName,
    },
    /// The sandbox is there.
    SandboxCreated {
        /// It.
        sandbox: Box<Sandbox>,
    },
    /// The agent ended, well or not.
    AgentEnded {
        /// How.
        outcome: Box<AgentOutcome>,
        /// Its log.
        log: Option<PathBuf>,
    },
    /// The process and all it started are gone.
    ProcessEnded,
    /// The branch holds this.
    WorkCommitted {
        /// Its tip.
        head_sha: CommitSha,
        /// Its commits since the base, oldest first.
        commits: Vec<CommitSummary>,
        /// What a person should know, such as a rebase that was left in progress.
        warnings: Vec<String>,
    },
    /// The file holds it.
    FileWritten,
    /// The file holds this.
    FileRead {
        /// Its text; `None` when there is no such file.
        text: Option<String>,
    },
    /// The change, as a unified diff.
    DiffRead {
        /// Its text.
        diff: String,
        /// Whether it was too long and its end is missing.
        cut: bool,
    },
    /// The remote has it.
    Pushed,
    /// The remote's branch holds commits that this one does not. Nothing was pushed.
    BranchMoved {
        /// Its tip.
        remote_head: Option<CommitSha>,
    },
    /// The branch holds both, or nothing had to be done.
    Integrated {
        /// Its tip.
        head_sha: CommitSha,
        /// What the work is compared with now; `None` when that cannot be told and nothing changes.
        base_sha: Option<CommitSha>,
        /// Its commits since then, oldest first.
        commits: Vec<CommitSummary>,
        /// What a person should know.
        warnings: Vec<String>,
    },
    /// The other branch was rewritten without our commits: the sandbox is where that one is.
    Replaced {
        /// Its tip.
        head_sha: CommitSha,
        /// What the work is compared with now; `None` when that cannot be told and nothing changes.
        base_sha: Option<CommitSha>,
        /// Its commits since then, oldest first.
        commits: Vec<CommitSummary>,
        /// What was saved first.
        kept: Option<KeptWork>,
    },
    /// The merge is in progress and needs somebody.
    Conflicted {
        /// The branch's tip before.
        ours: CommitSha,
        /// The commit that is merged in.
        theirs: CommitSha,
        /// The files to look at.
        files: Vec<String>,
    },
    /// The sandbox is at that commit.
    RolledBack {
        /// What was saved first.
        kept: Option<KeptWork>,
    },
    /// The pull request is open.
    PullRequestOpened {
        /// It.
        pull_request: Published,
    },
    /// There is a verdict.
    Verified {
        /// What the branch it is to go to was.
        base: CommitSha,
        /// The verdict.
        report: Box<Verification>,
    },
    /// The forge did it.
    OnForge {
        /// What it answered.
        answer: ForgeAnswer,
    },
    /// The other run has it in its journal.
    Delivered,
    /// The sandbox is gone.
    SandboxRemoved {
        /// What was saved first.
        kept: Option<KeptWork>,
        /// What stays on the run's branch, where that was not reported before: an agent that
        /// failed or was stopped may have committed by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<BranchTip>,
    },
    /// It could not be done.
    Failed {
        /// Why.
        problem: Problem,
    },
}
