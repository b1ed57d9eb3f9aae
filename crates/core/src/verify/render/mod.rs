//! Renders a verification: for a terminal, a pull request, test dashboards and code scanners.

mod check_annotations;
mod github;
mod human;
mod junit;
mod markdown;
mod place;
mod reasons;
mod sarif;
mod status;
mod words;

pub use check_annotations::check_annotations;
pub use github::{SUMMARY_BYTES, annotations, inert, shielded, summary};
pub use human::{human, subject};
pub use junit::junit;
pub use markdown::{MARKDOWN_CHARS, markdown};
pub use sarif::sarif;
pub use status::{STATUS_CHARS, status_text};
pub use words::status_word;

#[cfg(test)]
#[path = "../render_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "../report_tests.rs"]
mod report_tests;
