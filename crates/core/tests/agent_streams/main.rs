//! The agents' streams, as recorded from the real programs and as broken on purpose.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests read fixtures and may fail loudly"
)]

mod answering;
mod calls;
mod completing;
mod judging;
mod properties;
mod redacting;
mod support;
mod telling;
mod usage;
