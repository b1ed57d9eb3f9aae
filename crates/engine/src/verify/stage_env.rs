//! The environment of a verification's commands: working folder, variables, limits and isolation.

use super::Workspace;
use crate::ports::{CommandSpec, Isolation, NetworkAccess, Writes};
use drive_core::network::Reach;
use drive_core::process::Limits;
use drive_core::settings::{IsolationMode, StageNetwork};
use drive_core::verify::Rules;
use std::path::Path;
use std::time::Duration;

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long a pipe that a left-over process keeps open is read after the command's end.
const DRAIN: Duration = Duration::from_secs(2);

/// The workspace and rules that every command of one verification runs under.
#[derive(Clone, Debug)]
pub struct StageEnv {
    /// Worktree of the candidate, with its private folders.
    pub workspace: Workspace,
    /// Limits, network access and isolation.
    pub rules: Rules,
}

impl StageEnv {
    /// A command with this environment. `cwd` must be inside the workspace.
    pub fn command(
        &self,
        program: &str,
        args: &[String],
        cwd: &Path,
        wall: Duration,
    ) -> CommandSpec {
        let mut spec = CommandSpec::new(program, cwd).args(args);
        spec.env = self.workspace.env.clone();
        spec.limits = self.limits(wall);
        spec.isolation = self.isolation();
        self.connect(&mut spec.isolation, self.rules.network);
        spec.leaks = self.rules.leaks;
        spec
    }

    /// Sets the network access of a command.
    pub(super) fn connect(&self, isolation: &mut Isolation, network: StageNetwork) {
        (isolation.network, isolation.reach) = match network {
            StageNetwork::Off => (NetworkAccess::Off, Reach::default()),
            StageNetwork::Registries => (NetworkAccess::Off, self.workspace.registries.clone()),
            StageNetwork::Open => (NetworkAccess::Open, Reach::default()),
        };
        isolation.reports_names = network != StageNetwork::Open;
    }

    fn limits(&self, wall: Duration) -> Limits {
        Limits {
            wall,
            idle: None,
            grace: GRACE,
            drain: DRAIN,
            memory_bytes: Some(self.rules.memory_bytes),
            processes: Some(self.rules.processes),
            disk_bytes: Some(self.rules.disk_bytes),
            files: Some(self.rules.files),
            output_bytes: self.rules.output_bytes,
            tail_bytes: self.rules.tail_bytes,
            ..Limits::default()
        }
    }

    fn isolation(&self) -> Isolation {
        let tmp = Some(self.workspace.tmp.clone());
        match self.rules.isolation {
            IsolationMode::Off => Isolation {
                tmp,
                ..Isolation::default()
            },
            IsolationMode::Auto | IsolationMode::Require => Isolation {
                writes: Writes::Only(vec![self.workspace.path.clone()]),
                tmp,
                protected: self.workspace.protected.clone(),
                hidden: self.workspace.hidden.clone(),
                shown: self.workspace.shown.clone(),
                layered: self.workspace.layered.clone(),
                required: self.rules.isolation == IsolationMode::Require,
                ..Isolation::default()
            },
        }
    }
}
