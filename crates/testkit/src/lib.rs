//! What tests stand on: servers and worlds that play the real ones. Never linked into a release binary.

pub mod forge_contract;
pub mod interop;
pub mod model_server;
