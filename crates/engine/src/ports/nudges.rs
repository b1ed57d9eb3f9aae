use drive_core::Problem;
use drive_core::forge::webhook::Nudge;
use drive_core::time::Timestamp;

/// Whoever polls, told to poll now. A nudge is a hint: losing one costs time, never a comment.
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
            Err(TrySendError::Disconnected(_)) => Err(Problem::environment(
                "pollerGone",
                "nobody polls the forge any more",
            )),
        }
    }
}

/// The webhook deliveries that were taken, across restarts.
pub trait Deliveries: Send + Sync {
    /// Records a delivery. Says whether it is the first of its id.
    fn is_first(&self, id: &str, at: Timestamp) -> Result<bool, Problem>;
}
