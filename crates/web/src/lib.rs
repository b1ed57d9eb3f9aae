//! What drive shows and hears over HTTP: the dashboard, the webhook receiver, and the
//! server they run on.
//!
//! Holds no state of its own: what must survive goes through the engine's ports.

mod connections;
pub mod dashboard;
pub mod server;
pub mod webhook;

pub use axum::Router;
