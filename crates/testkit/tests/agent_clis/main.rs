//! The real agent CLIs against the scripted model: what our adapters take for granted about them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "tests start real programs and may fail loudly"
)]

#[allow(
    dead_code,
    reason = "the facts about signals and hangs come with the next commit"
)]
mod bare;
mod record;
mod working;
