//! The dashboard: pages that work without scripts, and forms that request actions.
//!
//! There is one page per noun. All text that drive did not write itself is escaped by the type that
//! contains it (`html`), every list is limited, no page contains an inline script, and browsers may
//! run only drive's own script file.

mod actions;
mod budget;
mod cruise;
mod forms;
mod graph;
mod groups;
mod hosts;
mod html;
mod ledger;
mod live;
mod login;
mod page;
mod pulls;
mod record;
mod router;
mod runs;
mod verifications;
mod words;

pub use hosts::Hosts;
pub use router::router;

use crate::control::Control;
use crate::session::{Logins, Session};
use drive_core::problem::Problem;
use drive_engine::lease::Whoami;
use drive_engine::ports::{Clock, Forge, PullRequests, Store};
use drive_engine::verify::KeptReports;
use std::sync::Arc;

/// The data sources of the dashboard.
pub struct Sources {
    /// The journals of all runs.
    pub runs: Arc<dyn Store>,
    /// Pull requests of the local forge, or why they are not available.
    pub pull_requests: Result<Arc<dyn PullRequests>, Problem>,
    /// Reports of verifications.
    pub verifications: Arc<dyn KeptReports>,
    /// The forge whose budget is shown, or why there is none.
    pub forge: Result<ShownForge, Problem>,
    /// Checks whether the owner of a run is alive.
    pub whoami: Arc<dyn Whoami>,
    /// The logins that may see the dashboard.
    pub logins: Arc<dyn Logins>,
    /// Performs the actions that forms request.
    pub control: Arc<dyn Control>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The forge of the repository.
pub struct ShownForge {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// The forge, with the reason for the choice.
    pub name: String,
}

const HTML: &str = "text/html; charset=utf-8";

/// The visitor of a page, and the query of its address.
struct Visit {
    session: Session,
    query: String,
}

impl Visit {
    fn new(session: Session, query: Option<String>) -> Self {
        Self {
            session,
            query: query.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
