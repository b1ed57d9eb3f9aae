//! Random numbers from the kernel.

use drive_core::problem::{Kind, Problem};

/// A number nobody can guess, for names that must not collide.
pub fn random_u32() -> Result<u32, Problem> {
    getrandom::u32().map_err(|error| {
        Problem::new(Kind::NoRandomness, "the system provides no random numbers").because(error)
    })
}
