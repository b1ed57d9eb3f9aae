//! `drive serve` by the real binary, over real HTTP on loopback.

mod dashboard;
mod listening;
mod serving;
mod webhooks;
