//! The dashboard, the webhook receiver, and their HTTP server.
//!
//! This crate stores nothing itself: all durable data goes through the engine's ports.

mod connections;
pub mod control;
pub mod dashboard;
pub mod server;
mod session;
pub mod webhook;

pub use axum::Router;
pub use connections::Limits;
pub use session::{Logins, is_stored_hash_of, stored_hash};
