use drive_core::forge::webhook::Nudge;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;

/// Triggers a poll. A nudge is a hint: losing one costs time, never a comment.
pub trait Nudges: Send + Sync {
    /// Passes a nudge on without waiting.
    fn nudge(&self, nudge: Nudge) -> Result<(), Problem>;
}

/// A channel whose reader polls. A full one already holds enough reasons to poll.
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

/// A nudge as it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptNudge {
    /// Its place; a later nudge has a higher one.
    pub number: u64,
    /// The pull requests to poll. The name of the repository is in lower case.
    pub nudge: Nudge,
    /// When the webhook arrived.
    pub at: Timestamp,
}

/// Nudges that one process heard, for the owners of runs in other processes.
///
/// An owner remembers the highest number it has seen, looks here between two polls (reading costs
/// the forge nothing), and polls at once when something is newer.
pub trait NudgeLog: Send + Sync {
    /// The nudges of a repository, as `owner/name`, above a number; oldest first. 0 gives all that are
    /// still kept.
    fn newer_than(&self, number: u64, repository: &str) -> Result<Vec<KeptNudge>, Problem>;
}

/// The webhook deliveries that were taken, across restarts.
pub trait Deliveries: Send + Sync {
    /// Records a delivery. Returns whether its id is new.
    fn is_first(&self, id: &str, at: Timestamp) -> Result<bool, Problem>;
}
