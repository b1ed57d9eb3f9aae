//! The dashboard, the webhook receiver, and their HTTP server.
//!
//! Stores nothing itself: everything durable goes through the engine's ports.

mod connections;
pub mod dashboard;
pub mod server;
pub mod webhook;

pub use axum::Router;
pub use connections::Limits;
