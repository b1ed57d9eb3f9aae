//! The line of a cruise: the branch that its tasks land on, one verified merge after another.

use super::merge::BranchAt;
use crate::cruise::train::{Conflict, Coupled};
use crate::ids::{CommitSha, PrNumber, RunId, TaskId, TreeSha};
use crate::verify::Verification;
use serde::{Deserialize, Serialize};

/// An action on the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum LineAct {
    /// Create the branch, here and on its remote. A repetition finds it.
    BeginLine {
        /// The branch.
        line: BranchAt,
        /// The commit it begins at.
        at: CommitSha,
    },
    /// Merge commits, one after another, onto a commit. No branch is moved.
    Assemble {
        /// The commit.
        onto: CommitSha,
        /// The commits to merge, in this order.
        cars: Vec<CarOrder>,
    },
    /// Verify an assembled commit.
    VerifyTrain {
        /// The commit it was assembled onto.
        onto: CommitSha,
        /// The assembled commit.
        commit: CommitSha,
        /// The tree of that commit.
        tree: TreeSha,
        /// The commit whose verification rules apply. Tasks that landed may have changed the rules
        /// on the branch.
        rules: CommitSha,
    },
    /// Move the branch forward to a verified commit, if it still is at the expected one.
    Land {
        /// The branch.
        line: BranchAt,
        /// The expected tip.
        from: CommitSha,
        /// The verified commit.
        commit: CommitSha,
        /// The tree of that commit.
        tree: TreeSha,
        /// The pull requests of its tasks, each of which is read once more right before the branch moves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        offers: Vec<Offer>,
    },
    /// Run the plan's checks on a commit.
    CheckContract {
        /// The commit whose isolation rules apply.
        base: CommitSha,
        /// The commit.
        commit: CommitSha,
        /// The commands to run.
        checks: Vec<ContractCheck>,
    },
}

/// A commit to merge into a train.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarOrder {
    /// The task that made it.
    pub task: TaskId,
    /// The task's title, for the message of the merge.
    pub title: String,
    /// The commit.
    pub head: CommitSha,
}

/// A commit that the run of a task offers on its own pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The task.
    pub task: TaskId,
    /// The run that watches the pull request.
    pub run: RunId,
    /// The commit.
    pub head: CommitSha,
    /// The pull request.
    pub pull_request: PrNumber,
}

/// A task that must not land yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldTask {
    /// The task.
    pub task: TaskId,
    /// The commit.
    pub head: CommitSha,
    /// The reason.
    pub why: String,
}

/// A check of the plan, or of a validator, that a program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractCheck {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// The purpose of the check.
    pub shows: Shows,
    /// The command.
    pub command: Vec<String>,
    /// The expected exit code.
    pub exit: i32,
    /// Text that the output must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// The purpose of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shows {
    /// It proves an acceptance entry, whose text in the plan this is.
    Criterion(String),
    /// It tests a validator's claim.
    Claim,
}

impl ContractCheck {
    /// Whether it tests a validator's claim.
    pub fn is_claim(&self) -> bool {
        self.shows == Shows::Claim
    }

    /// The text of the acceptance entry in the plan.
    pub fn criterion(&self) -> Option<&str> {
        match &self.shows {
            Shows::Criterion(text) => Some(text),
            Shows::Claim => None,
        }
    }
}

/// The result of one acceptance criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// Whether the criterion is met.
    pub result: ReceiptResult,
    /// The exit code; `None` if a signal or a limit ended the command.
    pub exit: Option<i32>,
    /// The end of its output.
    pub output: String,
    /// The duration of the command.
    pub duration_ms: u64,
    /// Why it was not met, or not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the command itself ran. An earlier failure, for example of the compiler, can prevent that.
    #[serde(default = "is_so", skip_serializing_if = "Clone::clone")]
    pub ran: bool,
}

fn is_so() -> bool {
    true
}

/// The result of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReceiptResult {
    /// The command ended as expected.
    Proven,
    /// The command did not end as expected.
    Failed,
    /// It could not be run, or there is no evidence.
    Unproven,
    /// A validator judged that the entry is met, and named existing files. No program showed it.
    Judged,
}

impl ReceiptResult {
    /// Whether there is evidence that the entry is met.
    pub fn is_met(self) -> bool {
        match self {
            ReceiptResult::Proven | ReceiptResult::Judged => true,
            ReceiptResult::Failed | ReceiptResult::Unproven => false,
        }
    }

    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            ReceiptResult::Proven => "proven",
            ReceiptResult::Failed => "failed",
            ReceiptResult::Unproven => "no evidence",
            ReceiptResult::Judged => "judged",
        }
    }
}

/// The result of an action on the line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum LineAnswer {
    /// The branch exists.
    LineBegun,
    /// The merges were made.
    Assembled {
        /// The merged cars, in order.
        cars: Vec<Coupled>,
        /// The first car that could not be merged; the ones after it were not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
    },
    /// The verification ended.
    TrainVerified {
        /// The report.
        report: Box<Verification>,
    },
    /// The branch is at the commit, which has the verified tree.
    CarsLanded,
    /// The branch is not at the expected commit. It was not moved.
    LineMoved {
        /// Its tip; `None` if the branch is gone.
        tip: Option<CommitSha>,
        /// Whether the branch no longer contains the expected commit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_rewritten: bool,
    },
    /// People or checks object to these tasks. The branch was not moved.
    Unheard {
        /// The tasks, with their reasons.
        tasks: Vec<HeldTask>,
    },
    /// The commands were run.
    ContractChecked {
        /// The result of each check, in order.
        receipts: Vec<Receipt>,
    },
}

impl LineAct {
    /// The first part of the effect's key.
    pub fn name(&self) -> &'static str {
        match self {
            LineAct::BeginLine { .. } => "beginLine",
            LineAct::Assemble { .. } => "assemble",
            LineAct::VerifyTrain { .. } => "verifyTrain",
            LineAct::Land { .. } => "land",
            LineAct::CheckContract { .. } => "checkContract",
        }
    }
}
