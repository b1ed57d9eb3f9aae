//! The line of a cruise: the branch that its tasks land on, one verified merge after another.

use super::merge::BranchAt;
use crate::cruise::train::{Conflict, Coupled};
use crate::ids::{CommitSha, PrNumber, RunId, TaskId, TreeSha};
use crate::verify::Verification;
use serde::{Deserialize, Serialize};

/// Something to do with the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum LineAct {
    /// Make the branch, here and on its remote. Making it again finds it there.
    BeginLine {
        /// The branch.
        line: BranchAt,
        /// The commit it begins at.
        at: CommitSha,
    },
    /// Merge commits one on another onto a commit. No branch is touched.
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
        /// The commit whose rules count. What landed before may have changed those of the branch.
        rules: CommitSha,
    },
    /// Move the branch forward to a verified commit, if it still is where it was.
    Land {
        /// The branch.
        line: BranchAt,
        /// Where it is expected.
        from: CommitSha,
        /// The verified commit.
        commit: CommitSha,
        /// The tree of that commit.
        tree: TreeSha,
        /// The pull requests of the tasks in it: right before the branch moves, each is read once more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        offers: Vec<Offer>,
    },
    /// Run what the plan says must be true of a commit.
    CheckContract {
        /// The commit whose rules hold for the isolation.
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

/// A commit that the run of a task offers on a pull request of its own.
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

/// One entry of a plan that a program checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractCheck {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// What it shows.
    pub shows: Shows,
    /// The command.
    pub command: Vec<String>,
    /// The exit code that is expected.
    pub exit: i32,
    /// Text that the output must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// What a check shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shows {
    /// An acceptance entry, in the words of the plan.
    Criterion(String),
    /// What a validator claims.
    Claim,
}

impl ContractCheck {
    /// Whether it checks what a validator claims.
    pub fn is_claim(&self) -> bool {
        self.shows == Shows::Claim
    }

    /// The acceptance entry, in the words of the plan.
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
    /// The exit code; `None` where the command did not exit by itself.
    pub exit: Option<i32>,
    /// The end of its output.
    pub output: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Why it was not met, or not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether its command was tried. What comes before it, such as the compiler, can keep it from that.
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
    /// It did not.
    Failed,
    /// It could not be run, or nothing shows it.
    Unproven,
    /// A validator judged that it is met, and named files that are there. No program showed it.
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

/// The result of an act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum LineAnswer {
    /// The branch is there.
    LineBegun,
    /// The merges are made.
    Assembled {
        /// One for each car that was merged, in order.
        cars: Vec<Coupled>,
        /// The first car that could not be merged; those after it were not tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
    },
    /// The verification ended.
    TrainVerified {
        /// The report.
        report: Box<Verification>,
    },
    /// The branch is at the commit, and that has the verified tree.
    CarsLanded,
    /// The branch is not where it was expected. It was not moved.
    LineMoved {
        /// Where it is; `None` where it is gone.
        tip: Option<CommitSha>,
        /// Whether it lost the commit that was expected.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_rewritten: bool,
    },
    /// People or checks have something against these tasks. The branch was not moved.
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
    /// The first half of the key of the effect.
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
