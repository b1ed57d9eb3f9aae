//! What tests stand on: servers and worlds that play the real ones. Never linked into a release binary.
// GitHub's objects are wide, and `json!` recurses once for each field.
#![recursion_limit = "256"]

pub mod forge_contract;
pub mod github;
pub mod interop;
pub mod model_server;
