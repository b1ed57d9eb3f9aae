//! Tests the agents' streams, as recorded from the real programs and as broken on purpose.

mod answering;
mod calls;
mod completing;
mod judging;
mod properties;
mod redacting;
mod support;
mod telling;
mod usage;
