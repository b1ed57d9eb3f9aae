//! The real binary, as a user or a script meets it.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test starts the program and prepares its world"
)]

mod config;
mod config_files;
mod config_schema;
mod doctor;
mod kept;
mod output;
mod plugin;
mod pr;
mod scripts;
mod support;
mod usage;
