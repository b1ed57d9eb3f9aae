//! `drive serve` by the real binary, over real HTTP on loopback.

mod dashboard;
mod listening;
pub(crate) mod serving;
mod webhooks;
