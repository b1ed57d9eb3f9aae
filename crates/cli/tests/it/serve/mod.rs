//! Tests `drive serve` with the real binary, over real HTTP on loopback.

mod acting;
mod browser;
mod dashboard;
mod listening;
mod live;
mod logging_in;
pub(crate) mod serving;
mod webhooks;
