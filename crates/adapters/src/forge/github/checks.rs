//! Check runs and statuses of a commit, and the ones that a base requires.

use super::client::Client;
use drive_core::forge::Checks;
use drive_core::ids::{CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};

impl Client {
    pub(super) fn checks(&self, _: PrNumber, _: &CommitSha) -> Result<Checks, Problem> {
        Err(Problem::new(Kind::ForgeAnswer, "checks cannot be read yet"))
    }
}
