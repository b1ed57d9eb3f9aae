//! Coding agents: roles, events while they run, and outcomes.

pub mod answer;
mod config;
mod event;
mod limits;
mod outcome;
mod permission;
mod reach;
mod redact;
mod role;
pub mod stream;
mod usage;

pub use config::{
    AgentConfig, AgentKind, AgentNetwork, allowed_env, config_dir_variable, looks_secret,
    secret_held_by, secret_values, withheld_values,
};
pub use event::{AgentEvent, Wait};
pub use limits::AgentLimits;
pub use outcome::{AgentOutcome, Ending, Failure, Ignored, Session};
pub use permission::{Decision, PermissionRequest, PermissionRules, decide};
pub use reach::{proxy_of, reach};
pub use redact::{EventRedactor, REPLACEMENT, Redactor, Secrets};
pub use role::{Access, Role};
pub use usage::{Budget, Cost, Meter, Overrun, Scope, SessionTotals, Usage};
