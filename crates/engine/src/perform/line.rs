//! The line of a cruise: merges tasks one on another and moves the branch they land on.

use super::World;
use crate::executor::Task;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{EffectResult, LineAct};

impl World<'_> {
    pub(super) fn on_line(&self, _: &Task<'_>, act: &LineAct) -> Result<EffectResult, Problem> {
        Err(Problem::new(Kind::Internal, act.name()))
    }
}
