//! Ends a cruise early.

use super::super::super::model::{Ending, Flow, ForgeAct, OutcomeStatus, Run};
use super::super::shutdown;
use super::context::{line, with_build};
use super::texts;
use crate::problem::Problem;
use crate::time::Timestamp;

/// Ends a cruise early, and posts that on the pull request.
pub(super) fn leave(run: &mut Run, status: OutcomeStatus, problem: Problem, now: Timestamp) {
    let mut posts = Vec::new();
    if run.work.pull_request.is_some() && line(run).is_some() && !is_told(run) {
        with_build(run, |build| {
            build.told = true;
            build.ending = Some(Ending {
                status,
                problem: Some(problem.clone()),
            });
        });
        if let Some(request) = run.request.clone() {
            let body = texts::cockpit(run, &request);
            posts.push(ForgeAct::UpdateBody { body });
        }
        let body = texts::outcome(run, Some((status, &problem)));
        posts.push(ForgeAct::PostComment { body });
    }
    shutdown::abandon_with(run, status, Some(problem), posts, now);
}

/// Whether the pull request has been told how the cruise ended.
pub(super) fn is_told(run: &Run) -> bool {
    matches!(&run.flow, Flow::Cruise { build } if build.told)
}
