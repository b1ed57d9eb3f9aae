//! The forges, and what they share.

pub mod github;
mod key_file;
pub mod local;
mod select;

pub use key_file::require_marker_key;
pub use select::select;
