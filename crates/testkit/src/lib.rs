//! Servers and worlds that simulate the real ones, for tests. Never linked into a release binary.
// GitHub's objects are wide, and `json!` recurses once for each field.
#![recursion_limit = "256"]

pub mod forge_contract;
pub mod github;
pub mod interop;
pub mod model_server;
