//! What drive shows and hears over HTTP: the webhook receiver, and the server it runs on.
//!
//! Holds no state of its own: what must survive goes through the engine's ports.

mod connections;
pub mod server;
pub mod webhook;

pub use axum::Router;
