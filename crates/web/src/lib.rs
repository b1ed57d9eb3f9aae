//! The dashboard, the webhook receiver, and their HTTP server.
//!
//! Holds no state of its own: what must survive goes through the engine's ports.

mod connections;
pub mod dashboard;
pub mod server;
pub mod webhook;

pub use axum::Router;
