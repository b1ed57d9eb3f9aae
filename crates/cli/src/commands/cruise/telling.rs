//! Sends a request to a cruise: its owner acts on it, or this process if there is no owner.

use super::answers::{over, repo_of, report};
use super::find::{self, Reach};
use super::host::Host;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{AskedDocument, RunDocument};
use drive_adapters::entropy::random_u32;
use drive_core::problem::Problem;
use drive_core::run::{Ask, Run, cruise_status};
use drive_engine::cruise::Reached;
use drive_engine::ports::{Owner, RunFilter};

pub(super) fn owner_told(run: &Run, owner: &Owner, done: &str) -> Outcome {
    let pid = owner.process.pid;
    let document = AskedDocument {
        id: run.id.to_string(),
        pid: Some(pid),
    };
    let text = format!("cruise {}: process {pid} {done}\n", run.id);
    Answer::new(&document, text)
}

pub(super) fn tell(app: &App, run: &Run, asks: Vec<(Ask, String)>, done: &str) -> Outcome {
    let host = Host::of(app, &repo_of(app, run)?)?;
    let mut reached = None;
    for (ask, name) in asks {
        reached = Some(host.with_service(app, |cruises| cruises.ask(&run.id, ask, &name))?);
    }
    match reached {
        Some(Reached::Advanced(run)) if run.outcome.is_some() => report(&host, &run),
        Some(Reached::Advanced(run)) => {
            let status = cruise_status(&run);
            let waits = status.and_then(|status| status.waiting_for);
            let root = run.parent().map_or(&run.id, |parent| &parent.run);
            let text = format!(
                "cruise {root} is waiting for {}\nno process owns it; continue with `drive cruise \
                 resume {root}`\n",
                waits.as_deref().unwrap_or("nothing"),
            );
            Answer::new(&RunDocument::new(&run, None), text)
        }
        Some(Reached::Owner(owner)) => owner_told(run, &owner, done),
        None => {
            let document = AskedDocument {
                id: run.id.to_string(),
                pid: None,
            };
            Answer::new(&document, "")
        }
    }
}

pub(super) fn active(app: &App, id: Option<&str>) -> Result<Run, Problem> {
    let store = app.store()?;
    let folder = app.start_dir()?;
    let run = find::one(&store, id, &folder, RunFilter::Active, Reach::Here)?;
    match &run.outcome {
        None => Ok(run),
        Some(outcome) => Err(over(&run, outcome)),
    }
}

pub(super) fn name() -> Result<String, Problem> {
    Ok(format!("{:08x}{:08x}", random_u32()?, random_u32()?))
}
