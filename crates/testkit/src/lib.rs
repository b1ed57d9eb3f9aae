//! Simulators, fakes and suites that tests of the other crates share. Never in a release binary.

pub mod forge_contract;
