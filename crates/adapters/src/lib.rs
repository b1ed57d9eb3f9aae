//! Adapters: git, forges, agents, bounded processes, isolation, stores.
//!
//! Each implements a port of `drive_engine::ports` and decides nothing: policy is in `drive_core`.

pub mod agents;
mod base64;
mod broker;
mod caches;
pub mod clock;
pub mod detached;
pub mod doctor;
pub mod entropy;
pub mod environment;
pub mod files;
pub mod forge;
pub mod git;
pub mod hooks;
pub mod notify;
pub mod process;
pub mod run_id;
pub mod sandbox;
pub mod settings;
pub mod signals;
pub mod state_dir;
pub mod store;
pub mod temp_dir;
mod tool_paths;
pub mod verify;

pub use clock::SystemClock;
pub use environment::Environment;
pub use state_dir::StateDir;
