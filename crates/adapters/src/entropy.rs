//! Random numbers from the kernel.

use drive_core::problem::{Kind, Problem};

/// A random number, for names that must not collide.
pub fn random_u32() -> Result<u32, Problem> {
    getrandom::u32().map_err(missing)
}

/// 128 random bits as text, for passwords.
pub fn random_token() -> Result<String, Problem> {
    let half = || getrandom::u64().map_err(missing);
    Ok(format!("{:016x}{:016x}", half()?, half()?))
}

fn missing(error: getrandom::Error) -> Problem {
    Problem::new(Kind::NoRandomness, "the system provides no random numbers").because(error)
}
