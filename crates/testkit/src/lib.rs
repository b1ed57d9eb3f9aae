//! Simulated servers and a simulated world for tests. Never linked into a release binary.
// GitHub's objects are wide, and `json!` recurses once per field.
#![recursion_limit = "256"]

pub mod forge_contract;
pub mod github;
pub mod interop;
pub mod model_server;
