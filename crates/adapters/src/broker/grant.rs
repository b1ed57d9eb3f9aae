//! The keys behind the dummies of a broker, and whom it tells and asks.

use drive_core::agent::Usage;
use std::ops::ControlFlow;

/// What one dummy stands for.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The agent has this.
    pub(crate) dummy: String,
    /// The model's server is shown this; nothing where it is empty and `headers` hold the key.
    pub(crate) real: String,
    /// The address that paths of calls are appended to, without a last slash.
    pub(crate) upstream: String,
    /// Headers that are set on every call.
    pub(crate) headers: Vec<(String, String)>,
}

/// Called with the tokens of the run so far whenever more were used. `Break` ends every call, and refuses
/// the next ones: the budget is used up.
pub(crate) type OnUsage = Box<dyn Fn(Usage) -> ControlFlow<()> + Send + Sync>;

/// Reads the user's logins again, and returns the grants as they would be made now, in the same order.
/// Called when the model's server refuses a key: the user's own program may have renewed it.
pub(crate) type Renew = Box<dyn Fn() -> Vec<Grant> + Send + Sync>;
