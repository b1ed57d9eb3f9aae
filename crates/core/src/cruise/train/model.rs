//! The values that a landing train takes and returns.

use crate::ids::{CommitSha, TaskId, TreeSha};
use serde::{Deserialize, Serialize};

/// The reviewed commit of a task that waits to land.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Car {
    /// The task.
    pub task: TaskId,
    /// Its reviewed commit.
    pub head: CommitSha,
}

/// The merge of all cars of a train up to this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coupled {
    /// The task of the last car in it.
    pub task: TaskId,
    /// The reviewed commit of that task.
    pub head: CommitSha,
    /// The merge commit, a descendant of the merge commits before it.
    pub commit: CommitSha,
    /// The tree of the merge commit.
    pub tree: TreeSha,
}

impl Coupled {
    pub(super) fn car(&self) -> Car {
        Car {
            task: self.task.clone(),
            head: self.head.clone(),
        }
    }
}

/// What to begin now. It is under way until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "move")]
pub enum Move {
    /// Merge the cars one on another, the first one on `onto`, and stop at the first conflict.
    /// Answered by [`Train::assembled`](super::Train::assembled), or
    /// [`Train::failed`](super::Train::failed).
    Assemble {
        /// The tip of the line.
        onto: CommitSha,
        /// The cars, in order.
        cars: Vec<Car>,
    },
    /// Verify a tree. Answered by [`Train::verified`](super::Train::verified).
    Verify {
        /// The tip of the line, whose rules apply.
        onto: CommitSha,
        /// The merge commit to verify.
        commit: CommitSha,
        /// The tree of the assembled commit.
        tree: TreeSha,
        /// The tasks that it adds to `onto`.
        tasks: Vec<TaskId>,
    },
    /// Fast-forward the line from `from` to `commit`, and only from there. Answered by
    /// [`Train::landed`](super::Train::landed), by [`Train::moved`](super::Train::moved) when the
    /// line is elsewhere, or by [`Train::failed`](super::Train::failed).
    Land {
        /// Where the line must be.
        from: CommitSha,
        /// The verified merge commit. Equal to `from` if the line has all of it already.
        commit: CommitSha,
        /// Its tree, to compare with the line's tree afterwards.
        tree: TreeSha,
        /// The tasks that land.
        tasks: Vec<TaskId>,
    },
}

/// A car that cannot be merged on the cars before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The task of the car.
    pub task: TaskId,
    /// Files with conflicts.
    pub files: Vec<String>,
    /// Tasks before it that changed these files; empty if the line itself changed them.
    pub with: Vec<TaskId>,
}

/// A car that leaves the train and needs another round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// The task.
    pub task: TaskId,
    /// The commit that does not land.
    pub head: CommitSha,
    /// The reason.
    pub why: Why,
}

/// Why a car leaves the train.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum Why {
    /// It cannot be merged.
    Conflicts {
        /// Files with conflicts.
        files: Vec<String>,
        /// Tasks that it conflicts with.
        with: Vec<TaskId>,
    },
    /// A tree could not be verified because of what is in it, and could without this car.
    Unverified {
        /// The tree.
        tree: TreeSha,
        /// What happened.
        reason: String,
        /// The tasks of the train before it, which the tree also contains.
        with: Vec<TaskId>,
    },
    /// The verification of a tree failed that passed without this car.
    Red {
        /// The tree.
        tree: TreeSha,
        /// The tasks of the train before it, which the tree also contains.
        with: Vec<TaskId>,
    },
}

/// How the verification of a tree ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum Verdict {
    /// Verification passed.
    Green,
    /// Verification failed.
    Red,
    /// It could not be verified.
    Unknown {
        /// The reason.
        why: String,
        /// Where the reason is.
        cause: Cause,
    },
}

/// Why a tree could not be verified: what helps depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The tree: a test hangs, or fails now and then. It proves nothing, and a tree without the task
    /// that is to blame can land.
    Candidate,
    /// What it is compared with, or the way it was asked for. Another try may differ.
    Base,
    /// The machine. Nothing but time helps.
    Machine,
}

/// Where a car is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CarState {
    /// It waits for a train, or its train is being assembled.
    Queued,
    /// It is in a train that is verified.
    Verifying,
    /// It is being landed.
    Landing,
}

/// A move that can fail for a reason outside the train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// Performs [`Move::Assemble`].
    Assembly,
    /// Performs [`Move::Land`].
    Landing,
}
