//! Checks the state directory, the database, free space, and isolation layers.

use super::{Check, Doctor};
use crate::StateDir;
use crate::store::Database;
use drive_core::agent::AgentNetwork;
use drive_core::process::{LayerName, LayerState, missing_essentials};
use drive_core::settings::{ByteSize, IsolationMode};
use rustix::fs::statvfs;
use std::path::Path;

/// Below this many bytes, a build or a clone is likely to fill the disk.
const LITTLE_SPACE: u64 = 2 << 30;

/// Checks of the paths that must be writable.
pub(super) fn state(doctor: &Doctor<'_>) -> Vec<Check> {
    let state_dir = match StateDir::open(doctor.environment) {
        Ok(state_dir) => state_dir,
        Err(problem) => return vec![Check::from_problem("stateDir", &problem).required()],
    };
    let path = state_dir.path();
    vec![
        Check::ok("stateDir", format!("`{}` is writable", path.display())).required(),
        database(&state_dir),
        space(path),
    ]
}

fn database(state_dir: &StateDir) -> Check {
    let path = state_dir.database();
    let check = match Database::open(&path) {
        Ok(_) => {
            let version = rusqlite::version();
            Check::ok(
                "database",
                format!("SQLite {version} at `{}`", path.display()),
            )
        }
        Err(problem) => Check::from_problem("database", &problem),
    };
    check.required()
}

fn space(path: &Path) -> Check {
    const NAME: &str = "disk";
    let free = match statvfs(path) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let hint = "check the file system the state directory is on";
            return Check::degraded(NAME, format!("cannot determine free space: {error}"), hint);
        }
    };
    // Whole gibibytes are exact enough if there are any.
    let unit = if free >= LITTLE_SPACE { 30 } else { 20 };
    let detail = format!(
        "{} free at `{}`",
        ByteSize::new(free >> unit << unit),
        path.display()
    );
    if free < LITTLE_SPACE {
        let hint = "free some space, or move the state directory with `DRIVE_STATE_DIR`";
        return Check::degraded(NAME, detail, hint);
    }
    Check::ok(NAME, detail)
}

/// Checks of what the kernel of this machine can enforce.
pub(super) fn layers(doctor: &Doctor<'_>) -> Vec<Check> {
    let isolation = doctor.settings.sandbox.isolation;
    let layers = doctor.runner.probe();
    let mut agents = doctor.settings.agents.values();
    let own_network = agents.all(|agent| agent.network != AgentNetwork::Open);
    let refused = missing_essentials(&layers, own_network).map(|layer| layer.name);
    let refused: Vec<LayerName> = refused.collect();
    layers
        .into_iter()
        .map(|layer| {
            let is_refused = refused.contains(&layer.name);
            let name = format!("layer.{}", layer.name.as_str());
            match (layer.state, isolation) {
                (LayerState::Active, _) if layer.name == LayerName::DiskLimit => {
                    Check::ok(name, "polled every 5 s")
                }
                (LayerState::Active, _) => Check::ok(name, "available"),
                (LayerState::Missing(why), IsolationMode::Require) if is_refused => Check::missing(
                    name,
                    why,
                    "`sandbox.isolation` is `require`: enable this layer, or set it to `auto`",
                )
                .required(),
                (LayerState::Missing(why), _) => Check::degraded(
                    name,
                    why,
                    "drive runs without it; reports list what was not \
                                                enforced",
                ),
            }
        })
        .collect()
}
