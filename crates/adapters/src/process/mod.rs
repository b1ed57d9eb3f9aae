//! Bounded processes: all children are started here.
//!
//! [`BoundedRunner`] starts a command either fully contained, under a helper that is this same binary
//! (`supervise`), or light, directly in its own process group (`light`). Both report the same way.

mod capture;
mod cgroup;
mod foreground;
mod full;
mod input;
mod leftover;
mod light;
mod log;
mod procfs;
mod program;
mod runner;
mod streams;
mod supervise;
mod sys;
mod usage;
mod whoami;
mod wire;

pub use foreground::{page, run_in_foreground};
pub use runner::BoundedRunner;
pub use supervise::{NOTHING, SUPERVISE, supervise_if_asked};
pub use whoami::ThisProcess;

use drive_core::problem::{Kind, Problem};
use drive_core::process::LayerName;
use drive_engine::ports::CommandSpec;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;

/// The environment of a child. Creates its private temporary folder and names it there.
fn private_tmp(spec: &CommandSpec) -> Result<Vec<(OsString, OsString)>, Problem> {
    let mut env = spec.env.clone();
    if let Some(tmp) = &spec.isolation.tmp {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(tmp);
        made.map_err(|error| {
            Problem::new(
                Kind::FolderUnusable,
                format!("cannot create temporary folder `{}`", tmp.display()),
            )
            .cause(error.to_string())
        })?;
        env.retain(|(key, _)| key != "TMPDIR");
        env.push(("TMPDIR".into(), tmp.into()));
    }
    Ok(env)
}

/// Differences between this machine and a simulated one, for tests.
#[derive(Clone, Debug, Default)]
struct StandIns {
    without: Vec<LayerName>,
    pins: Vec<(String, SocketAddr)>,
}
