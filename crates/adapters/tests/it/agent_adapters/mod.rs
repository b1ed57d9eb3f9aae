//! Tests the agent adapters with programs that imitate agents: real processes, real kernel
//! isolation, no network.

mod caches;
mod command;
mod containment;
mod dialogue;
mod keys;
mod logins;
mod network;
mod stage;
mod trouble;
