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

/// The merge of a train's cars up to this one.
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

/// A move to begin now. It is in progress until its result is reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "move")]
pub enum Move {
    /// Merge the cars one after another, the first one onto `onto`, and stop at the first conflict.
    /// The result goes to [`Train::assembled`](super::Train::assembled), or
    /// [`Train::failed`](super::Train::failed).
    Assemble {
        /// The tip of the line.
        onto: CommitSha,
        /// The cars, in order.
        cars: Vec<Car>,
    },
    /// Verify a tree. The result goes to [`Train::verified`](super::Train::verified).
    Verify {
        /// The tip of the line, whose rules apply.
        onto: CommitSha,
        /// The merge commit to verify.
        commit: CommitSha,
        /// The tree of the assembled commit.
        tree: TreeSha,
        /// The tasks that the tree adds to `onto`.
        tasks: Vec<TaskId>,
    },
    /// Fast-forward the line from `from` to `commit`, and only from there. The result goes to
    /// [`Train::landed`](super::Train::landed), to [`Train::moved`](super::Train::moved) if the
    /// line is elsewhere, or to [`Train::failed`](super::Train::failed).
    Land {
        /// The expected tip of the line.
        from: CommitSha,
        /// The verified merge commit. It equals `from` if the line contains everything already.
        commit: CommitSha,
        /// Its tree, to compare with the line's tree afterwards.
        tree: TreeSha,
        /// The tasks that land.
        tasks: Vec<TaskId>,
    },
}

/// A car that conflicts with the cars before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The task of the car.
    pub task: TaskId,
    /// Files with conflicts.
    pub files: Vec<String>,
    /// Earlier tasks that changed these files; empty if the line itself changed them.
    pub with: Vec<TaskId>,
}

/// A car that left the train and needs another round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// The task.
    pub task: TaskId,
    /// The commit that does not land.
    pub head: CommitSha,
    /// Why it left.
    pub why: Why,
}

/// Why a car left the train.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum Why {
    /// It conflicts with other commits.
    Conflicts {
        /// Files with conflicts.
        files: Vec<String>,
        /// Tasks that it conflicts with.
        with: Vec<TaskId>,
    },
    /// A tree with this car could not be verified because of its contents, and could without the car.
    Unverified {
        /// The tree.
        tree: TreeSha,
        /// Why it could not be verified.
        reason: String,
        /// The tasks before it in the train, which the tree also contains.
        with: Vec<TaskId>,
    },
    /// A tree with this car failed verification, and passed without the car.
    Red {
        /// The tree.
        tree: TreeSha,
        /// The tasks before it in the train, which the tree also contains.
        with: Vec<TaskId>,
    },
}

/// The result of verifying a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum Verdict {
    /// Verification passed.
    Green,
    /// Verification failed.
    Red,
    /// The verification failed to run.
    Unknown {
        /// The reason.
        why: String,
        /// The cause of that.
        cause: Cause,
    },
}

/// Why a tree could not be verified. The remedy depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The tree itself: a test hangs or is flaky. This proves nothing, and the tree can land
    /// without the task that causes it.
    Candidate,
    /// The base, or the way the verification was requested. Another try may give another result.
    Base,
    /// The machine. Only time helps.
    Machine,
}

/// The state of a car.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CarState {
    /// It waits for a train, or its train is being assembled.
    Queued,
    /// Its train is being verified.
    Verifying,
    /// It is being landed.
    Landing,
}

/// A kind of move that can fail for a reason outside the train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// Performs [`Move::Assemble`].
    Assembly,
    /// Performs [`Move::Land`].
    Landing,
}
