//! The forges and their shared parts.

pub mod github;
mod key_file;
pub mod local;
mod open;
mod select;

pub use key_file::require_marker_key;
pub use open::{ForgeHost, OpenForge, open};
