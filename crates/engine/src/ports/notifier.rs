use crate::CancelToken;
use drive_core::Problem;
use drive_core::run::Notice;

/// Notifies a person.
pub trait Notifier: Sync {
    /// Sends a notice, within a deadline. It is never repeated, even after a failure.
    fn notify(&self, notice: &Notice, cancel: &CancelToken) -> Result<(), Problem>;
}
