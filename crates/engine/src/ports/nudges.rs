use drive_core::forge::webhook::Nudge;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;

/// Triggers a poll. A nudge is a hint: losing one costs time, never a comment.
pub trait Nudges: Send + Sync {
    /// Passes a nudge on without waiting.
    fn nudge(&self, nudge: Nudge) -> Result<(), Problem>;
}

/// A channel whose reader polls. A full channel already triggers polls.
impl Nudges for std::sync::mpsc::SyncSender<Nudge> {
    fn nudge(&self, nudge: Nudge) -> Result<(), Problem> {
        use std::sync::mpsc::TrySendError;
        match self.try_send(nudge) {
            Ok(()) | Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(Problem::new(
                Kind::PollerGone,
                "the forge is no longer polled",
            )),
        }
    }
}

/// A recorded nudge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptNudge {
    /// Its sequence number; later nudges have higher ones.
    pub number: u64,
    /// The pull requests to poll. The repository's name is in lowercase.
    pub nudge: Nudge,
    /// When the webhook arrived.
    pub at: Timestamp,
}

/// Nudges that one process received, for the owners of runs in other processes.
///
/// An owner stores the highest number it has seen, reads the log between two polls, which needs no
/// request to the forge, and polls immediately if there is a newer nudge.
pub trait NudgeLog: Send + Sync {
    /// The nudges of a repository (`owner/name`) above a number, oldest first. 0 returns all that are stored.
    fn newer_than(&self, number: u64, repository: &str) -> Result<Vec<KeptNudge>, Problem>;
}

/// The webhook deliveries that were accepted, across restarts.
pub trait Deliveries: Send + Sync {
    /// Records a delivery. Returns whether its id is new.
    fn is_first(&self, id: &str, at: Timestamp) -> Result<bool, Problem>;
}
