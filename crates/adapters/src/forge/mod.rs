//! The forges, and what they share.

pub mod github;
mod key_file;

pub use key_file::require_marker_key;
