use crate::CancelToken;
use drive_core::Problem;
use drive_core::run::Notice;

/// Tells a person something at once.
pub trait Notifier: Sync {
    /// Hands a notice over, within a deadline. It is never repeated, whatever comes of it.
    fn notify(&self, notice: &Notice, cancel: &CancelToken) -> Result<(), Problem>;
}
