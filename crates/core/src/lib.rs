//! Domain types, state machines, rules and parsers.
//!
//! This crate reads no clock, environment variable, file or socket: time is an argument and effects
//! are values, so a second front end or a simulation can use all of it.

pub mod agent;
pub mod cruise;
pub mod default_branch_name;
mod did_you_mean;
mod fences;
pub mod forge;
pub mod ids;
pub mod markdown;
pub mod network;
pub mod phase;
pub mod plan;
pub mod private_paths;
pub mod problem;
pub mod process;
pub mod prompts;
pub mod review;
pub mod run;
pub mod sandbox;
pub mod secrets;
pub mod serde_path;
pub mod settings;
pub mod steering;
pub mod test_files;
pub mod time;
pub mod timeline;
mod units;
pub mod verify;

pub use problem::{Class, Problem};
