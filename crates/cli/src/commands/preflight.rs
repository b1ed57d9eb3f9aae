//! Checks with the forge, before an agent costs anything, whether the run will be able to publish.

use crate::app::App;
use drive_adapters::git::Git;
use drive_core::forge::readiness::Intent;
use drive_core::problem::Problem;
use drive_core::run::{Publish, Request};
use drive_engine::ports::Forge;

/// Fails if something would prevent the run from pushing its branch and opening its pull request,
/// and prints warnings about the rest. A run without a pull request checks nothing.
pub(crate) fn require_ready(
    app: &App,
    forge: &dyn Forge,
    git: &Git,
    request: &Request,
) -> Result<(), Problem> {
    if request.publish == Publish::BranchOnly {
        return Ok(());
    }
    let intent = Intent {
        branch: request.branch.clone(),
        signs: git.signs_commits(&request.repo),
    };
    let readiness = forge.preflight(Some(&intent))?;
    if let Some(problem) = readiness.problem() {
        return Err(problem);
    }
    for warning in readiness.warnings() {
        app.output().warn(warning);
    }
    Ok(())
}
