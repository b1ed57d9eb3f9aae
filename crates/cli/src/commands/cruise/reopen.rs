//! Continues a cruise whose pull request was closed and reopened.

use super::answers::repo_of;
use super::find::was_closed;
use super::host::Host;
use super::telling::name;
use crate::app::App;
use drive_core::forge::PrState;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Event, Run, planning_run};
use drive_engine::ports::Store;

/// Continues a cruise that ended with its pull request; `None` if it ended for another reason.
pub(super) fn reopen(app: &App, run: &Run) -> Result<Option<Run>, Problem> {
    if !was_closed(run) {
        return Ok(None);
    }
    let host = Host::of(app, &repo_of(app, run)?)?;
    let store = &host.wiring.store;
    let planning = match planning_run(run) {
        Some(id) => store.load(&id)?,
        None => Some(run.clone()),
    };
    let number = planning
        .as_ref()
        .and_then(|run| run.work.pull_request.as_ref());
    let (Some(planning), Some(number)) = (&planning, number.map(|pr| pr.number)) else {
        return Ok(None);
    };
    let is_child = planning.id != run.id;
    if is_child && !planning.is_active() && !was_closed(planning) {
        // The cruise was building its tasks, and cannot continue.
        return Ok(None);
    }
    if host.forge()?.fetch(number)?.state != PrState::Open {
        return Err(Problem::new(
            Kind::CruiseOver,
            format!("cruise `{}` ended: pull request {number} is closed", run.id),
        )
        .hint(format!(
            "reopen the pull request, then run `drive cruise resume {}`",
            run.id
        )));
    }
    // The planning run is continued first, so that the cruise finds it at work.
    let mut ended: Vec<RunId> = Vec::new();
    if !planning.is_active() && planning.id != run.id {
        ended.push(planning.id.clone());
    }
    ended.push(run.id.clone());
    for id in &ended {
        let dedupe = DedupeKey::new(format!("resumed/{}", name()?));
        let event = Event::Resumed { granted: None };
        host.wiring.journal().deliver(id, &event, &dedupe, None)?;
    }
    host.wiring.journal().require(&run.id).map(Some)
}
