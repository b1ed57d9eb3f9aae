//! Tests the bounded runner with real processes, as root and as an ordinary user.

#[macro_use]
mod support;

mod attacks;
mod bombs;
mod ends;
pub(crate) mod escape;
mod isolation;
mod layers;
mod leftovers;
mod light;
mod memory;
mod network;
mod refusals;
mod roles;
mod start;
mod streams;
mod survivors;
mod traps;
