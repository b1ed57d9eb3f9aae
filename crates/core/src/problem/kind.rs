//! Every kind of error that drive reports: its text in JSON, its class, its meaning and its advice.
//!
//! To add one, add a line to the table and run the cli's test
//! `the_document_of_errors_lists_every_kind` with `DRIVE_UPDATE_DOCS=1`: it writes `docs/errors.md`.

use super::Class;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// One line per kind: `Variant: "textInJson", Class, "What it means.", "What to do.";`
macro_rules! kinds {
    ($($area:literal { $($name:ident: $text:literal, $class:ident, $meaning:literal, $advice:literal;)+ })+) => {
        /// What went wrong. Class and exit code follow from it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[doc = $meaning] $name,)+)+
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Kind] = &[$($(Kind::$name,)+)+];

            /// The stable camel-case text that scripts may match.
            pub fn as_str(self) -> &'static str {
                match self { $($(Kind::$name => $text,)+)+ }
            }

            /// The part of drive that the kind belongs to, as a heading.
            pub fn area(self) -> &'static str {
                match self { $($(Kind::$name)|+ => $area,)+ }
            }

            /// The class, which says who must act.
            pub fn class(self) -> Class {
                match self { $($(Kind::$name => Class::$class,)+)+ }
            }

            /// The meaning in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $($(Kind::$name => $meaning,)+)+ }
            }

            /// What to do about it, in one sentence.
            pub fn what_to_do(self) -> &'static str {
                match self { $($(Kind::$name => $advice,)+)+ }
            }
        }
    };
}

kinds! {
    "General" {
        Usage: "usage", Usage, "The command line is wrong.", "Follow the hint, or run the command with `--help`.";
        Interrupted: "interrupted", Interrupted, "A person or a signal stopped the command.", "Continue the run with `drive runs resume`, or run the command again.";
        Bug: "bug", Environment, "Drive panicked or broke one of its own rules.", "Report it with the message; `RUST_BACKTRACE=1` shows where it happened.";
        Internal: "internal", Environment, "A part of drive failed in a way that must not happen.", "Report it with the message.";
        AnswerUnfit: "answerUnfit", Environment, "The result could not be written as JSON.", "Report it with the message.";
        OutputFailed: "outputFailed", Environment, "Standard output could not be written.", "Check where the output goes, for example whether that disk is full.";
        InputFailed: "inputFailed", Environment, "Standard input could not be read.", "Check what is piped into the command.";
        CurrentFolderUnknown: "currentFolderUnknown", Environment, "The current folder cannot be determined.", "Change to a folder that exists.";
        NoSuchFolder: "noSuchFolder", Usage, "A folder that was named does not exist.", "Check the path given with `--repo`, or the folder in the route.";
        RequirementMissing: "requirementMissing", Environment, "Something that drive needs is missing on this machine.", "Run `drive doctor` and follow its hints.";
        SignalsUnavailable: "signalsUnavailable", Environment, "Signal handlers could not be installed.", "Check the limits of the user or the container.";
        NoRandomness: "noRandomness", Environment, "The system provides no random numbers.", "Check that `getrandom` is allowed in the container.";
        NoUsableAgent: "noUsableAgent", Work, "None of the agents in the settings can run here.", "Install one or log in, as `drive doctor` says.";
        DemoPlace: "demoPlace", Environment, "The demonstration could not write its files.", "Point `TMPDIR` at a folder with free space.";
        DemoSlow: "demoSlow", Environment, "The demonstration did not finish in time.", "Try again when the machine is less busy.";
    }
    "Settings and prompts" {
        SettingsInvalid: "settingsInvalid", Usage, "The settings contain mistakes.", "Correct the named lines, then run `drive config check`.";
        SettingsExist: "settingsExist", Usage, "The repository already has a `drive.toml`.", "Edit it, or replace it with `drive init --force`.";
        SettingsMissing: "settingsMissing", Usage, "The settings file does not exist.", "Check the path given with `--config`.";
        SettingsUnreadable: "settingsUnreadable", Usage, "The settings file cannot be read.", "Correct the file, or pass another one with `--config`.";
        NoHome: "noHome", Usage, "`sandbox.root` starts with `~/`, but `HOME` is not set.", "Set `HOME`, or use an absolute path.";
        PromptUnreadable: "promptUnreadable", Usage, "A prompt file cannot be read.", "Check that the file is readable UTF-8 text.";
        PromptTooLong: "promptTooLong", Usage, "A prompt file is too long.", "Shorten it.";
        UnknownPrompt: "unknownPrompt", Usage, "A prompt file has a name that drive does not know.", "Rename it to one of the names in the hint.";
        DomainWithoutPrompt: "domainWithoutPrompt", Usage, "A review domain of the project's own has no prompt file, or an empty one.", "Write what its reviewers look for into the file that the hint names.";
        PromptInputMissing: "promptInputMissing", Usage, "A prompt file leaves out a placeholder that the agent needs.", "Add the placeholder that the message names to the file.";
        UnknownPromptInput: "unknownPromptInput", Usage, "A prompt file uses a placeholder that it is not given.", "Use one of the placeholders in the hint.";
    }
    "Task and plan" {
        TaskEmpty: "taskEmpty", Usage, "The task is empty.", "Describe the task, or pass `-` to read it from standard input.";
        TaskTooLarge: "taskTooLarge", Usage, "The task is too long.", "Put the material into a file of the repository and name that file in the task.";
        TaskNotText: "taskNotText", Usage, "The task on standard input is not UTF-8 text.", "Convert it to UTF-8.";
        TaskUnreadable: "taskUnreadable", Environment, "The task could not be read from standard input.", "Check what is piped into the command.";
        TaskHoldsSecret: "taskHoldsSecret", Usage, "The task contains the value of a secret.", "Name the variable instead: tasks appear in commits and pull requests.";
        PlanUnreadable: "planUnreadable", Usage, "The plan file cannot be read.", "Check the path given with `--plan-file`.";
        PlanTooLarge: "planTooLarge", Usage, "The plan file is too large.", "Shorten it to prose and one block of tasks.";
        PlanInvalid: "planInvalid", Usage, "The plan file is not a valid plan.", "Correct what the message names; the README shows a plan.";
        PlanUnsound: "planUnsound", Work, "The plan of the cruise has errors and cannot be approved.", "Wait for the fixer; `drive cruise status` shows its progress.";
        NoPlan: "noPlan", Work, "The cruise has no plan yet.", "Wait for the planner; `drive cruise status` shows its progress.";
    }
    "Agents" {
        UnknownAgent: "unknownAgent", Usage, "The settings have no agent of that name.", "Use one of the names in the hint, or add it under `[agents]`.";
        AgentWithoutCommand: "agentWithoutCommand", Usage, "The agent has no command.", "Set `command` for it under `[agents]`.";
        AgentHomeEntry: "agentHomeEntry", Usage, "An entry of `home` is not a path inside the home folder.", "Use relative paths such as `.config/tool`.";
        AgentNetwork: "agentNetwork", Usage, "An entry of `allow_hosts` is not a host, or would have no effect.", "Write `host`, `host:port` or `*.example.com`, or remove it.";
        AgentPermissions: "agentPermissions", Usage, "A permission rule of the agent is malformed or would have no effect.", "Write `Tool` or `Tool(pattern)`, or remove the rule.";
        AgentMcp: "agentMcp", Usage, "`mcp` names a server that the agent's own settings do not have, or its kind takes none.", "Name servers of the agent's own settings.";
        AgentSettings: "agentSettings", Usage, "A settings file of the agent itself cannot be read.", "Correct the file named in the message.";
        ForgeTokenForAgent: "forgeTokenForAgent", Usage, "The agent would receive a secret of the forge.", "Remove that variable from `env` of the agent: drive itself pushes and posts.";
        EmptyPrompt: "emptyPrompt", Usage, "The agent was given an empty prompt.", "Describe what to do.";
        AgentNotInstalled: "agentNotInstalled", Environment, "The agent's program is not installed.", "Install it or set its `command`; `drive doctor` shows what is installed.";
        AgentNotExecutable: "agentNotExecutable", Environment, "The agent's program is not executable.", "Run `chmod +x` on it, or set another `command`.";
        AgentWrongProgram: "agentWrongProgram", Environment, "The agent's program is not of the configured kind.", "Correct `command` and `kind` under `[agents]`.";
        AgentFolder: "agentFolder", Environment, "A folder for the agent could not be prepared.", "Check free space and permissions of the state directory.";
        AgentInput: "agentInput", Environment, "The agent's input could not be written.", "Check free space and permissions of the state directory.";
        AgentNotHeld: "agentNotHeld", Environment, "The agent ran without the isolation it was started for.", "Check what it changed; `drive doctor` shows which isolation this machine supports.";
        AgentNotSupervised: "agentNotSupervised", Environment, "The agent could not be started or supervised.", "Run `drive doctor`.";
        AgentLoginExpired: "agentLoginExpired", Environment, "The agent is not logged in.", "Log in with the agent's own command, or pass its key with `env` under `[agents]`.";
        AgentUsageLimit: "agentUsageLimit", Environment, "The agent's plan reached its usage \
                                                          limit.", "Wait for the reset, or \
                                                          choose another agent with `--agent`.";
        ModelUnavailable: "modelUnavailable", Environment, "The agent could not reach its model, or the model refused.", "Try again later, or choose another agent with `--agent`.";
        AgentGarbage: "agentGarbage", Environment, "The agent printed output that does not match its `kind`.", "Check `kind` and `command` under `[agents]`, then run `drive doctor`.";
        AgentFailed: "agentFailed", Work, "The agent reported that it failed.", "Read its log with `drive runs logs ID`.";
        AgentInterrupted: "agentInterrupted", Environment, "The drive process that ran the agent was killed.", "No action needed: the agent's unfinished work is saved, and drive starts it again.";
        AgentNoVerdict: "agentNoVerdict", Work, "The agent ended without reporting a result.", "Read its log with `drive runs logs ID`.";
        AgentEscalations: "agentEscalations", Work, "The agent asked for more permissions than allowed.", "Raise `max_escalations`, or allow what it needs under `[agents]`.";
        BudgetExceeded: "budgetExceeded", Work, "The run reached its token or cost limit.", "Grant more with `drive runs extend`, or raise the limit in `[budget]` for new runs.";
        AgentTimedOut: "agentTimedOut", Work, "The agent ran, or was silent, for too long.", "Raise `total_timeout` or `idle_timeout`.";
        AgentMemoryLimit: "agentMemoryLimit", Work, "The agent reached its memory limit.", "Raise `memory` in its `[agents.NAME.limits]`, or give it a smaller task.";
        AgentProcessLimit: "agentProcessLimit", Work, "The agent reached its process limit.", "Raise `processes` in its `[agents.NAME.limits]`.";
        AgentDiskLimit: "agentDiskLimit", Work, "The agent wrote more than allowed, or the disk is nearly full.", "Raise `disk` or `files` in its `[agents.NAME.limits]`, or make room on the disk.";
        AgentOutputLimit: "agentOutputLimit", Work, "The agent reached its output limit.", "Read its log with `drive runs logs ID`.";
    }
    "Runs and cruises" {
        RunFailed: "runFailed", Work, "The run did not succeed.", "See what happened with `drive runs show ID`.";
        NothingChanged: "nothingChanged", Work, "The agent changed nothing.", "Read its log with `drive runs logs ID`, or make the task more concrete.";
        NothingOnBranch: "nothingOnBranch", Work, "The agent left no commit that belongs on the run's branch.", "Look for its work on other branches and in `drive kept list`.";
        NotApproved: "notApproved", Work, "The reviewer still requests changes.", "Read its findings with `drive runs show ID`; `--max-iterations` allows more rounds.";
        ReviewInconclusive: "reviewInconclusive", Work, "The reviewer gave no usable verdict.", "Review the change yourself; `drive runs logs ID` shows what the reviewer said.";
        HeadNotReviewed: "headNotReviewed", Work, "Commits came after the last review.", "Review them yourself; `--max-iterations` allows more rounds.";
        MergeConflict: "mergeConflict", Work, "The work conflicts with its base, and no agent resolved the conflict.", "Merge the base by hand; `drive kept list` shows what the agent tried.";
        SecretInCommit: "secretInCommit", Work, "A commit that would be pushed contains a secret.", "Rewrite the commit without it, or allow its file in `secrets.allow`, then run `drive runs resume`.";
        SecretCheckFailed: "secretCheckFailed", Work, "The commits to push could not be checked for secrets.", "Push them by hand after reading them, or make them smaller.";
        SteeringUnapproved: "steeringUnapproved", Work, "The change touches steering files, and no person approved its latest commit.", "Read the named files, approve the pull request, then merge it with `drive runs resume`.";
        Unheard: "unheard", Work, "The pull request could not be read, so drive decided nothing.", "Read it yourself; `drive doctor` shows whether the forge can be reached.";
        Objected: "objected", Work, "A person requests changes, so drive merged nothing.", "Resolve what the review asks for, or dismiss it, then merge by hand.";
        ChecksFailed: "checksFailed", Work, "A check of the forge failed, and no fixer could help.", "Read its log on the forge.";
        ChecksPending: "checksPending", Work, "A check of the forge did not end in time, so drive merged nothing.", "Merge by hand once it passed.";
        CommentsOpen: "commentsOpen", Work, "People wrote more comments than drive could answer.", "Read what is open with `drive runs show ID`, then decide yourself.";
        MergedUnheard: "mergedUnheard", Work, "A person's comment right before the merge was read only after it.", "Read the comment; the hint has the command that reverts the merge.";
        LandedBroken: "landedBroken", Work, "The merged result differs from what was verified, and fails verification.", "Revert it with the command in the hint, or repair it at once.";
        LandedUnchecked: "landedUnchecked", Work, "The pull request was merged, but the result could not be verified.", "Verify the base with the command in the hint.";
        MergeQueued: "mergeQueued", Work, "A pull request waits in a merge queue, which merges it later.", "Wait for the forge, then check the base with `drive verify`.";
        NotMerged: "notMerged", Work, "A merge did not go through.", "Merge by hand; `drive kept list` shows what was tried.";
        TasksFailed: "tasksFailed", Work, "Tasks of the run did not succeed.", "See why with `drive runs show ID`; `drive runs list` shows the run of each task.";
        ChecksChanged: "checksChanged", Work, "An agent changed files that hold the checks of its task.", "Review the change; if the plan's checks are wrong, correct the plan.";
        AcceptanceFailed: "acceptanceFailed", Work, "Every task landed, but an acceptance entry of the plan is not met.", "Read the receipts with `drive cruise report`; then fix it on the branch, or start another cruise.";
        OwnerLost: "ownerLost", Work, "The process that owned the run was killed.", "Continue it with `drive runs resume`; its work is on its branch and in `drive kept list`.";
        CruiseTooOld: "cruiseTooOld", Work, "The cruise did not end within `cruise.max_age`.", "Start another cruise for what is left; a longer `max_age` in `[cruise]` allows more time.";
        Inactive: "inactive", Work, "Nothing happened on the pull request until `inactivity_timeout`.", "Start a new cruise; a longer `inactivity_timeout` in `[cruise]` allows more time.";
        PullRequestClosed: "pullRequestClosed", Work, "The pull request was closed without a merge.", "Start a new run.";
        CruiseNeedsPullRequest: "cruiseNeedsPullRequest", Usage, "A cruise needs a forge to open its pull request on.", "Set `kind` in `[forge]`; `local` needs nothing else.";
        ModeNeedsPullRequest: "modeNeedsPullRequest", Usage, "The mode `github` needs a pull request, but `--no-pr` opens none.", "Leave out `--no-pr`, or pass `--mode pingpong`.";
        NoBaseBranch: "noBaseBranch", Usage, "The run has no base branch to open a pull request against.", "Pass `--base BRANCH`, or `--no-pr`.";
        NoCruise: "noCruise", Usage, "This repository has no active cruise.", "Start one with `drive cruise run`; `drive cruise list --all` shows ended ones.";
        UnknownCruise: "unknownCruise", Usage, "No cruise has that id.", "List them with `drive cruise list --all`.";
        SeveralCruises: "severalCruises", Usage, "More than one cruise matches.", "Name one of those in the hint.";
        UnknownTask: "unknownTask", Usage, "The cruise has no such task.", "`drive cruise status` shows every task.";
        TaskNotBlocked: "taskNotBlocked", Usage, "Only a blocked task can be retried.", "`drive cruise status` shows every task.";
        TaskLanded: "taskLanded", Usage, "A task that has landed cannot be left out.", "Revert its merge on the branch of the cruise.";
        PlanApproved: "planApproved", Usage, "The plan is approved, so it takes no more comments or approvals.", "`drive cruise status` shows its tasks.";
        CruiseOver: "cruiseOver", Usage, "The cruise has ended.", "Start a new one with `drive cruise run`.";
        CommentEmpty: "commentEmpty", Usage, "The comment is empty.", "Say what to change.";
        CommentTooLong: "commentTooLong", Usage, "The comment is too long.", "Put the material into a file of the repository and name that file.";
        NoRuns: "noRuns", Usage, "There are no runs yet.", "Start one with `drive spawn`.";
        NoRunFits: "noRunFits", Usage, "No run of this repository can be treated like that.", "Name one; `drive runs list --all` shows those of all repositories.";
        SeveralRuns: "severalRuns", Usage, "The command can act on more than one run.", "Name one of those in the hint.";
        NothingToExtend: "nothingToExtend", Usage, "`drive runs extend` needs a limit to raise and a positive amount.", "Pass `--cost USD`, `--tokens N` or `--rounds N`.";
        UnknownRun: "unknownRun", Usage, "No run has that id.", "List them with `drive runs list`.";
        RunNotResumable: "runNotResumable", Usage, "The run cannot continue: it still runs, or it ended for good.", "Start a new one; only a run that was stopped, killed or used up its budget continues.";
        RunOver: "runOver", Usage, "The run has already ended.", "See how it ended with `drive runs show ID`.";
        RunOfTask: "runOfTask", Usage, "The run builds a task of a cruise, which decides about it.", "Stop the cruise, or use `drive cruise skip` or `drive cruise retry` with the task.";
        RunNotRetryable: "runNotRetryable", Usage, "The run cannot be repeated as a new one.", "Follow the hint: only a `spawn` or `spawn-team` that ended without success is repeated.";
        NotConfirmed: "notConfirmed", Usage, "The command ends or deletes something for good and needs a confirmation.", "Pass `--yes` if you mean it.";
        NoLog: "noLog", Usage, "No agent of the run has a log.", "See how far it got with `drive runs show ID`.";
        LogUnreadable: "logUnreadable", Environment, "A log cannot be read.", "Check the permissions of the state directory.";
        RunOwned: "runOwned", Environment, "Another process owns the run.", "Wait for that process, or stop it.";
        LeaseLost: "leaseLost", Environment, "Another process took over the run.", "Let the other process finish; `drive runs show ID` shows its progress.";
        OwnerSlow: "ownerSlow", Environment, "The owner of the run has not ended it yet.", "Check again with `drive runs show ID`.";
        NoRequest: "noRequest", Environment, "The journal of the cruise has no request.", "End it with `drive cruise cleanup`.";
        RepositoryGone: "repositoryGone", Environment, "The repository of the run no longer exists.", "Move it back, or end the cruise with `drive cruise cleanup --force`.";
        NotDetached: "notDetached", Environment, "The run could not continue in the background.", "Check free space in the state directory; run `drive cruise resume`, or start a spawn without `--detach`.";
        NotRebuilt: "notRebuilt", Environment, "The cruise could not be rebuilt from its sandbox.", "Start a new one with `drive cruise run`.";
        PhaseFileNotPlain: "phaseFileNotPlain", Environment, "A file of the phase was replaced by a link or something else.", "Remove it from the sandbox.";
        PhaseStateDamaged: "phaseStateDamaged", Environment, "The state file in the sandbox is damaged.", "Use `drive cruise status`: the file is only a copy.";
        PhaseStateOutside: "phaseStateOutside", Environment, "The state file in the sandbox points at a folder that is not a sandbox.", "Check `.cruise/phase-state.json`, which an agent may have changed.";
        PhaseStateMoved: "phaseStateMoved", Environment, "The state file belongs to another sandbox.", "Check `.cruise/phase-state.json`, which an agent may have changed.";
        PhaseStateFromTheFuture: "phaseStateFromTheFuture", Environment, "The state file in the sandbox has a time in the future.", "Check the clock of the machine and `.cruise/phase-state.json`.";
        PhaseStateBranch: "phaseStateBranch", Environment, "The state file in the sandbox names another branch than the sandbox is on.", "Check `.cruise/phase-state.json`, which an agent may have changed.";
        PhaseStatePullRequest: "phaseStatePullRequest", Environment, "The state file in the sandbox names another pull request than the forge knows.", "Check `.cruise/phase-state.json`, which an agent may have changed.";
        PhaseStateNewer: "phaseStateNewer", Environment, "A newer drive wrote the state file in the sandbox.", "Use that newer version.";
        PhaseStateUnwritable: "phaseStateUnwritable", Environment, "The state file in the sandbox cannot be written.", "Check free space and permissions of the sandbox.";
    }
    "Git" {
        NotARepository: "notARepository", Usage, "The folder is not inside a git repository.", "Run drive inside a repository, or pass `--repo PATH`.";
        NoCommitsYet: "noCommitsYet", Usage, "The repository has no commits yet.", "Make a first commit with `git commit`.";
        UnknownRevision: "unknownRevision", Usage, "The revision does not exist in this repository.", "Check the name; a shallow clone may need `git fetch --unshallow`.";
        RepositoryUnreadable: "repositoryUnreadable", Environment, "Git cannot read the repository.", "See what `git status` says there.";
        UnsupportedPath: "unsupportedPath", Environment, "The repository's path is not UTF-8 or contains a line break.", "Move the repository to a folder with a plain name.";
        GitFailed: "gitFailed", Environment, "A git command failed.", "Follow what git said.";
        GitTimedOut: "gitTimedOut", Environment, "A git command did not end in time.", "Check whether another program blocks the repository, its disk or its remote.";
        GitOutputTooLarge: "gitOutputTooLarge", Environment, "A git command printed more than drive reads.", "Check the repository for unusually large files or diffs.";
        RefLocked: "refLocked", Environment, "A git lock file blocks a branch or tag.", "Delete the named lock file if no git process is running in the repository.";
        IndexUnreadable: "indexUnreadable", Environment, "The git index cannot be copied.", "Check free space and permissions of the git folder.";
        RemoteUnreachable: "remoteUnreachable", Environment, "Git cannot reach the remote.", "Check that `git ls-remote` works there without asking for a password.";
        PushRefused: "pushRefused", Environment, "The remote refused the branch.", "Follow what the remote said; the work is on the local branch.";
        BranchKeepsMoving: "branchKeepsMoving", Environment, "The branch changed every time it was fetched.", "Find out who rewrites it, then try again.";
        BranchDeleted: "branchDeleted", Environment, "The branch was deleted on the remote.", "Restore it there; the commits are on the local branch.";
        BaseGone: "baseGone", Environment, "The base branch no longer exists.", "Choose another base for the pull request.";
        BranchMoved: "branchMoved", Work, "The branch has commits that the run does not have.", "Take the work from the local branch or `drive kept list`, and pass another `--branch` next time.";
        BranchExists: "branchExists", Usage, "The branch already exists.", "Pass `--branch` with another name.";
        BranchConflict: "branchConflict", Usage, "The branch's name and the name of another branch exclude each other, as `main/x` and `main` do.", "Pass `--branch` with another name.";
        BranchTaken: "branchTaken", Usage, "The branch name and all similar names are taken.", "Pass `--branch` with another name.";
        BranchCheckedOut: "branchCheckedOut", Usage, "The branch is checked out somewhere.", "Pass `--branch` with another name.";
        BranchInUse: "branchInUse", Environment, "The run's branch is checked out, so drive does not move it.", "Check out another branch there; a cruise then continues by itself.";
        BranchNotFound: "branchNotFound", Usage, "The branch does not exist.", "List branches with `git branch`.";
        BadBranchName: "badBranchName", Usage, "Git does not allow the branch name.", "Use letters, digits, `-`, `_`, `.` and `/`, such as `feat/login`.";
        NoBranch: "noBranch", Usage, "No branch is checked out.", "Name the branch: `drive pr open BRANCH`.";
        NoCommits: "noCommits", Work, "The branch has no commits beyond its base.", "Commit something on it first.";
        HistoryShallow: "historyShallow", Environment, "The clone is too shallow to merge the commit into its base.", "Run `git fetch --unshallow`, then try again.";
        HistoryUnrelated: "historyUnrelated", Work, "The branch does not build on its base: they share no commit, or existing commits were rewritten.", "Rebuild it from its base with `git cherry-pick`.";
        OperationInProgress: "operationInProgress", Work, "A merge, rebase or similar operation was left unfinished.", "Finish or abort it, then try again.";
        NestedRepository: "nestedRepository", Work, "A folder is a nested repository and cannot be committed.", "Remove it, ignore it, or make it a submodule.";
        FileTooLarge: "fileTooLarge", Work, "A file is too large to be read.", "Make it smaller.";
        NotUtf8: "notUtf8", Usage, "A path of the run is not UTF-8.", "Rename the folder.";
    }
    "Sandboxes and saved work" {
        BadSandboxName: "badSandboxName", Usage, "The sandbox name is not a plain name.", "Use at most 100 letters, digits, `-`, `_` and `.`.";
        BadPattern: "badPattern", Usage, "An entry of `copy` or `seed` is not a usable pattern.", "Name a path inside the repository, such as `.env.example` or `fixtures/*.bin`.";
        UnknownSandbox: "unknownSandbox", Usage, "There is no sandbox of that name.", "List them with `drive sandbox list`.";
        SeveralSandboxes: "severalSandboxes", Usage, "The command can act on more than one sandbox.", "Name one of those in the hint.";
        SandboxExists: "sandboxExists", Usage, "A sandbox of that name exists for another purpose.", "Use another name, or remove that sandbox first.";
        SandboxFolderTaken: "sandboxFolderTaken", Environment, "A folder that drive did not make is where the sandbox should be.", "Move it away.";
        SandboxGone: "sandboxGone", Environment, "The sandbox was deleted by hand.", "Use what was committed on its branch; `drive cruise cleanup` ends its cruise.";
        SandboxReplaced: "sandboxReplaced", Environment, "The sandbox was replaced by something else.", "Remove what is there.";
        SandboxNotOurs: "sandboxNotOurs", Environment, "The sandbox is not removed because drive cannot prove that it made it.", "Remove it by hand if it is not needed.";
        SandboxUnclear: "sandboxUnclear", Environment, "The sandbox is not removed because its ownership cannot be checked.", "Remove it by hand if it is not needed.";
        SandboxPersistent: "sandboxPersistent", Environment, "The sandbox is only removed on request.", "Remove it by hand if it is not needed.";
        SandboxInUse: "sandboxInUse", Environment, "The sandbox is not removed because its run may still be alive.", "Wait for the run to end.";
        SandboxRecordUnreadable: "sandboxRecordUnreadable", Environment, "The record of a sandbox cannot be read.", "Check the file named in the hint.";
        SandboxRecordUnwritable: "sandboxRecordUnwritable", Environment, "The record of a sandbox cannot be written.", "Check free space and permissions of the sandbox folder.";
        SandboxRootUnusable: "sandboxRootUnusable", Environment, "The folder for sandboxes cannot be written.", "Make it writable, or set `sandbox.root` to another folder.";
        LockHeld: "lockHeld", Environment, "Another process has held a lock for too long.", "Wait for it to end, or check what that process is doing.";
        NotWritten: "notWritten", Environment, "A file cannot be written.", "Check free space, permissions, and that no folder of the path is a link.";
        StorageFailed: "storageFailed", Environment, "A file or folder cannot be used.", "Check who owns it and whether the disk is mounted read-only.";
        DiskFull: "diskFull", Environment, "The disk is full.", "Free some space and run the command again.";
        WorkCannotBeKept: "workCannotBeKept", Work, "The sandbox stays because something in it cannot be saved.", "Save or remove that by hand, then remove the sandbox.";
        WorkRefused: "workRefused", Work, "Commits of a sandbox are damaged or unsafe and do not reach the repository.", "Look at what was saved with `drive kept list`.";
        SigningFailed: "signingFailed", Environment, "Your git signs commits, and drive cannot use the key.", "Make `git commit -S` work without a prompt, or turn signing off with `git config commit.gpgSign false`.";
        TooMuchKept: "tooMuchKept", Environment, "The run has too many saved states.", "Drop some with `drive kept drop`.";
        UnknownKeptWork: "unknownKeptWork", Usage, "No saved work has that name.", "List it with `drive kept list`.";
    }
    "Processes" {
        EmptyCommand: "emptyCommand", Usage, "A command is empty.", "Name a program in the route or the agent.";
        CommandNotFound: "commandNotFound", Environment, "A command does not exist.", "Install it, or name it by its full path.";
        CommandNotExecutable: "commandNotExecutable", Environment, "A command is not executable.", "Run `chmod +x` on it if it is a program.";
        WorkingFolderMissing: "workingFolderMissing", Environment, "The folder to run in does not exist.", "Check that it was not removed.";
        FolderUnusable: "folderUnusable", Environment, "A folder for a process cannot be made or used.", "Check free space and permissions.";
        IsolationMissing: "isolationMissing", Environment, "A required isolation is not available.", "Run `drive doctor`, or set `sandbox.isolation` to `auto`.";
        ProcessNotStarted: "processNotStarted", Environment, "A process could not be started.", "Check the limits on processes and memory.";
        ProcessSurvived: "processSurvived", Environment, "Processes of an earlier run could not be killed.", "Look for processes that wait for a disk or a network file system.";
        ReportUnreadable: "reportUnreadable", Environment, "The report of an earlier process cannot be read.", "Check the permissions of the state directory.";
        SupervisionFailed: "supervisionFailed", Environment, "The helper that supervises a process failed.", "Run `drive doctor`.";
    }
    "State" {
        StateDirRelative: "stateDirRelative", Usage, "`DRIVE_STATE_DIR` is not an absolute path.", "Set it to an absolute path.";
        StateDirUnknown: "stateDirUnknown", Environment, "There is no folder for the state directory because `HOME` is not set.", "Set `DRIVE_STATE_DIR` to a folder of yours.";
        StateDirUnusable: "stateDirUnusable", Environment, "The state directory cannot be used.", "Make it writable, or set `DRIVE_STATE_DIR` to another folder.";
        StateNotWritable: "stateNotWritable", Environment, "The database cannot be written.", "Make its folder writable, or set `DRIVE_STATE_DIR` to another folder.";
        Database: "database", Environment, "The database failed.", "Check the disk, then run the command again.";
        DatabaseBusy: "databaseBusy", Environment, "Another process holds the database.", "Wait for the other command, then run this one again.";
        CorruptDatabase: "corruptDatabase", Environment, "The database is damaged.", "Move it away to start with an empty one: branches and saved work stay in git.";
        ForeignDatabase: "foreignDatabase", Environment, "The database belongs to another program.", "Move it away, or set `DRIVE_STATE_DIR` to another folder.";
        NewerDatabase: "newerDatabase", Environment, "The database was written by a newer version of drive.", "Install that version, or set `DRIVE_STATE_DIR` to another folder.";
        IllegalEvent: "illegalEvent", Environment, "The journal refused an event that does not fit the run.", "Report it with the message: nothing was written.";
    }
    "Pull requests" {
        PullRequestNotFound: "pullRequestNotFound", Usage, "The pull request does not exist.", "List them with `drive pr list`, or open one with `drive pr open`.";
        PullRequestAmbiguous: "pullRequestAmbiguous", Usage, "More than one pull request matches.", "Pass its number.";
        PullRequestMerged: "pullRequestMerged", Usage, "The pull request was merged and cannot be reopened.", "Open a new one from another branch.";
        PullRequestNotOpen: "pullRequestNotOpen", Usage, "The pull request is not open.", "Reopen it with `drive pr reopen`, or open a new one.";
        BranchHasPullRequest: "branchHasPullRequest", Usage, "The branch has another open pull request.", "Close that one first.";
        BaseUnknown: "baseUnknown", Usage, "The base of the pull request cannot be determined.", "Pass `--base BRANCH`.";
        CommentNotFound: "commentNotFound", Usage, "The comment does not exist.", "List the comments with `drive pr show`.";
        CommentLost: "commentLost", Environment, "A comment that was just written is missing.", "Check the pull request with `drive pr show`.";
        BodyMissing: "bodyMissing", Usage, "The comment has no text.", "Give the text after the pull request, or pass `--body -` and pipe it in.";
        BodyEmpty: "bodyEmpty", Usage, "The text of the comment is empty.", "Write something.";
        BodyTooLong: "bodyTooLong", Usage, "The text of the comment is too long.", "Split it into several comments.";
        BodyNotText: "bodyNotText", Usage, "The text on standard input is not UTF-8.", "Convert it to UTF-8.";
        NameUnusable: "nameUnusable", Usage, "The author's name is empty or not plain text.", "Pass `--as NAME`, or set `git config user.name`.";
        NameTaken: "nameTaken", Usage, "The author's name is the one that drive posts under.", "Pass `--as` with another name.";
        FileNotInDiff: "fileNotInDiff", Usage, "The file is not part of the pull request's diff.", "Name one of the files in the hint.";
        LineNotInDiff: "lineNotInDiff", Usage, "The line is not part of the pull request's diff.", "Name one of the lines in the hint.";
        HeadMoved: "headMoved", Work, "The pull request has a newer head than the one that was named.", "Review what is new with `drive pr show`.";
        MergeRefused: "mergeRefused", Work, "The pull request was not merged.", "Resolve the reason in the message, then try again.";
    }
    "Forge" {
        NoForge: "noForge", Usage, "There is no forge to open a pull request on.", "Pass `--no-pr`, or set `kind` in `[forge]`.";
        ForgeUrl: "forgeUrl", Usage, "`forge.api_url` is not the address of an API.", "Set it to an address such as `https://api.github.com`.";
        ForgeRepo: "forgeRepo", Usage, "`forge.repo` is not the name of a repository.", "Set it to `owner/name`.";
        RemoteMissing: "remoteMissing", Usage, "The repository has no remote on the forge.", "Set `forge.repo` to `owner/name`, or `forge.kind` to `local`.";
        RemoteNotOnForge: "remoteNotOnForge", Usage, "The remote is on another server than `forge.api_url`.", "Set `forge.api_url` to the API of your server, or `forge.kind` to `local`.";
        TokenMissing: "tokenMissing", Environment, "There is no token for the forge.", "Set the variable that `forge.token_env` names, or run `gh auth login`.";
        ForgeToken: "forgeToken", Environment, "The forge does not accept the token.", "Run `gh auth login`, or set the variable that `forge.token_env` names.";
        AppKeyUnusable: "appKeyUnusable", Usage, "The private key of the GitHub App cannot be used.", "Set `forge.private_key_file` to a private key that GitHub made for the app.";
        AppRefused: "appRefused", Environment, "GitHub does not accept the app, its key or its installation.", "Check `forge.app_id`, `forge.installation_id` and `forge.private_key_file`.";
        TokenCommandFailed: "tokenCommandFailed", Environment, "`forge.token_command` printed no token.", "Run the command yourself: it must print one token on one line.";
        NotifyFailed: "notifyFailed", Environment, "`notify.command` could not be run, or failed.", "Run the command yourself: it reads one JSON document on standard input and must exit with 0.";
        NotifyTimedOut: "notifyTimedOut", Environment, "`notify.command` did not end in time.", "Let the command pass the notification on and exit.";
        ForgeReadOnly: "forgeReadOnly", Environment, "The repository on the forge is archived or disabled.", "Unarchive it, or work in another repository.";
        BranchRules: "branchRules", Environment, "Rules of the repository would refuse the push of a branch.", "Use a branch name that the rules allow, or have the token's account added to their bypass list.";
        ForgeForbidden: "forgeForbidden", Environment, "The token lacks a permission.", "Give it read and write access to pull requests, contents and statuses.";
        ForgeNotFound: "forgeNotFound", Environment, "The forge does not have the requested object, or hides it.", "Check `forge.repo`, and that the token can see the repository.";
        ForgeRejected: "forgeRejected", Environment, "The forge rejected a request as invalid.", "Follow what the forge said.";
        ForgeFailed: "forgeFailed", Environment, "The forge answered with an error.", "Wait: drive retries by itself.";
        ForgeAnswer: "forgeAnswer", Environment, "The forge's answer could not be read.", "Check that `forge.api_url` is a supported forge.";
        ForgeAnswerTooLarge: "forgeAnswerTooLarge", Environment, "The forge's answer is too large.", "Check that `forge.api_url` is a supported forge.";
        ForgeListTooLong: "forgeListTooLong", Environment, "A list of the forge has too many pages.", "Check the repository for an unusual number of comments or pull requests.";
        ForgeTimeout: "forgeTimeout", Environment, "The forge did not answer in time.", "Check the network and `forge.api_url`; drive retries by itself.";
        ForgeUnreachable: "forgeUnreachable", Environment, "The forge cannot be reached.", "Check the network and `forge.api_url`; drive retries by itself.";
        RateLimited: "rateLimited", Environment, "The token has reached the forge's rate limit.", "Wait for the reset, or use a token of another account.";
        MarkerKeyUnusable: "markerKeyUnusable", Environment, "The key that marks drive's comments cannot be used.", "Check the permissions of the named file.";
        NoThread: "noThread", Environment, "A thread for requests to the forge could not be started.", "Check the limits on processes and memory.";
        PollerGone: "pollerGone", Environment, "The forge is no longer polled.", "Continue the cruise with `drive cruise resume`.";
    }
    "Server and webhooks" {
        NotFound: "notFound", Usage, "The page does not exist.", "Follow a link of the dashboard.";
        PageFailed: "pageFailed", Environment, "The page could not be rendered.", "Reload it.";
        FormRefused: "formRefused", Usage, "A form was sent that the server does not accept.", "Load the page again, and send the form from there.";
        NotOwned: "notOwned", Usage, "No process owns the run, so the request would not be seen.", "Run the command that the page names.";
        ListenExposed: "listenExposed", Usage, "The address can be reached from other machines.", "Listen on `127.0.0.1` behind a proxy with TLS, or pass `--expose webhooks`.";
        ListenFailed: "listenFailed", Environment, "The server cannot listen on the address.", "Choose another port, or end the program that uses it.";
        NothingToServe: "nothingToServe", Usage, "The server would serve neither the dashboard nor webhooks.", "Set the webhook secret, or pass `--expose all`.";
        ServerEnded: "serverEnded", Environment, "The server ended by itself.", "Start it again with `drive serve`.";
        ThreadFailed: "threadFailed", Environment, "The thread for webhooks could not be started.", "Check the limits on processes and memory.";
        WebhookSecretMissing: "webhookSecretMissing", Usage, "The webhook secret is empty.", "Set the same long random secret here and in the forge's webhook settings.";
        WebhookUnreadable: "webhookUnreadable", Environment, "A signed webhook delivery is not valid JSON.", "Set the content type of the webhook to `application/json`.";
    }
    "Verification" {
        Unverified: "unverified", Work, "The pull request has no passing verification of what it would merge.", "Run the `drive verify` command in the hint, then `drive pr merge`; `--unverified` skips this check.";
        VerificationFailed: "verificationFailed", Work, "The commit did not pass verification.", "Read the failed stage in the report, and correct the commit.";
        VerificationRefused: "verificationRefused", Usage, "The verification was asked for something it cannot do.", "Correct the revision, the routes or the paths that the message names.";
        VerificationNotRun: "verificationNotRun", Environment, "The verification could not be carried out.", "Resolve the reason in the message, then run `drive verify` again.";
        NoVerifier: "noVerifier", Environment, "There is no verifier for this run.", "Run `drive verify` yourself.";
        NoSlot: "noSlot", Environment, "Too many other verifications ran until the deadline.", "Try again later, or raise `verify.max_parallel` or `verify.deadline`.";
        SlotUnusable: "slotUnusable", Environment, "The lock that limits parallel verifications cannot be used.", "Check the permissions of the state directory.";
        OutsideWorkspace: "outsideWorkspace", Usage, "A path leads outside the workspace.", "Use a program's plain name, or a path inside the repository.";
        ProgramNotFound: "programNotFound", Environment, "A program or folder of a stage is not in the workspace.", "Make sure that an earlier stage builds it.";
        WorkspaceGone: "workspaceGone", Environment, "The workspace was removed during the verification.", "Run `drive verify` again.";
        CheckoutIncomplete: "checkoutIncomplete", Environment, "The new workspace does not contain the commit's files.", "Check free space, then run `drive verify` again.";
        ScratchUnusable: "scratchUnusable", Environment, "A temporary folder cannot be made or used.", "Point `TMPDIR` at a folder with free space.";
        ScratchStays: "scratchStays", Environment, "A temporary folder cannot be removed.", "Remove it by hand.";
        DiskTimeUnknown: "diskTimeUnknown", Environment, "The time of the disk cannot be determined.", "Check that the temporary folder is writable.";
        LivenessUnknown: "livenessUnknown", Environment, "Drive cannot determine whether another verification is still alive.", "Check the permissions of the state directory.";
        ProjectUnreadable: "projectUnreadable", Environment, "A project's own tool cannot describe the project.", "Run the named tool yourself and follow what it says.";
        NoStartupHelper: "noStartupHelper", Environment, "The helper program for startup tests is missing.", "Install drive again.";
        ReportNotKept: "reportNotKept", Environment, "The report of the verification cannot be written.", "Check free space and permissions of the state directory.";
        ReportNotWritten: "reportNotWritten", Environment, "A report file of `drive verify` cannot be written.", "Check the folder, the permissions and the free space of the file that the message names.";
        HookForeign: "hookForeign", Usage, "The repository has a pre-push hook that drive did not write.", "Call `drive verify` from that hook, or move it away and run `drive hooks install` again.";
        HookUnusable: "hookUnusable", Environment, "The pre-push hook cannot be read, written or removed.", "Check the permissions of the hooks folder that the message names.";
        NoReport: "noReport", Environment, "The verifier ended without a report.", "Run `drive verify` again.";
        VerifierDied: "verifierDied", Environment, "The verifier was killed.", "Run `drive verify` again; `dmesg` shows whether the machine ran out of memory.";
        WorkerNotStarted: "workerNotStarted", Environment, "The verifier could not be started.", "Check the limits on processes and memory.";
        WorkerLost: "workerLost", Environment, "Drive lost track of the verifier.", "Run `drive verify` again.";
    }
}

impl Kind {
    /// The exit code of a command that fails with this kind.
    pub fn exit_code(self) -> u8 {
        self.class().exit_code()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        let known = Kind::ALL.iter().find(|kind| kind.as_str() == text);
        known.copied().ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Str(&text), &"a kind of problem of this drive")
        })
    }
}

/// Every kind by its text, for those who script against it.
impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "ErrorKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        json_schema!({
            "description": "What went wrong; `docs/errors.md` says what each kind means.",
            "type": "string",
            "enum": all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_a_text_of_its_own_in_camel_case() {
        let mut texts = BTreeSet::new();
        for kind in Kind::ALL {
            let text = kind.as_str();
            assert!(texts.insert(text), "two kinds have the text `{text}`");
            let mut variant = format!("{kind:?}");
            variant[..1].make_ascii_lowercase();
            assert_eq!(text, variant, "the text differs from the variant's name");
        }
    }

    #[test]
    fn every_meaning_and_every_advice_is_one_full_sentence() {
        for kind in Kind::ALL {
            for text in [kind.meaning(), kind.what_to_do()] {
                let first = text.trim_start_matches('`').chars().next().unwrap();
                let is_code = text.starts_with('`');
                assert!(is_code || first.is_uppercase(), "{kind}: {text}");
                assert!(
                    text.ends_with('.') && !text.ends_with(".."),
                    "{kind}: {text}"
                );
                assert!(!text.contains(". "), "{kind} has two sentences: {text}");
                assert!(text.matches('`').count() % 2 == 0, "{kind}: {text}");
            }
            assert_ne!(kind.meaning(), kind.what_to_do());
        }
    }

    #[test]
    fn every_kind_is_written_and_read_as_its_text() {
        for kind in Kind::ALL {
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), *kind);
        }
    }

    #[test]
    fn an_unknown_kind_is_an_error() {
        let error = serde_json::from_str::<Kind>("\"noSuchKind\"").unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains("noSuchKind"), "{shown}");
    }
}
