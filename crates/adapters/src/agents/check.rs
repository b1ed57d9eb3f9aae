//! Asks an agent's program for its version.

use super::confine::{Confined, isolation};
use super::home::{Wanted, prepare};
use super::locate::Program;
use super::runner::{AnyAgent, environment};
use drive_core::agent::{AgentNetwork, Role};
use drive_core::network::Reach;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeakPolicy, Limits};
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, CommandSpec, IsolationMode};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long an agent may take to print its version.
const VERSION_LIMITS: Limits = Limits {
    wall: Duration::from_secs(60),
    idle: None,
    grace: Duration::from_secs(2),
    drain: Duration::from_secs(1),
    memory_bytes: None,
    processes: None,
    disk_bytes: None,
    files: None,
    output_bytes: 1024 * 1024,
    tail_bytes: 4096,
    log_bytes: 0,
};

impl AnyAgent {
    pub(super) fn ask_version(
        &self,
        program: &Program,
        args: Vec<OsString>,
        env: BTreeMap<OsString, OsString>,
        mode: IsolationMode,
        cancel: &CancelToken,
    ) -> Result<String, Problem> {
        let scratch = self.host.scratch.join("check").join(&self.name);
        let (end, text) = self.ask(program, args, env, &scratch, mode, cancel)?;
        if end.is_success() && self.recipe.recognises(&text) {
            return Ok(text);
        }
        Err(self.wrong_program(program, &text))
    }

    /// Starts the program with these arguments in an empty home below `scratch`, without secrets
    /// and network, and returns its output.
    pub(super) fn ask(
        &self,
        program: &Program,
        args: Vec<OsString>,
        mut env: BTreeMap<OsString, OsString>,
        scratch: &Path,
        mode: IsolationMode,
        cancel: &CancelToken,
    ) -> Result<(End, String), Problem> {
        let folders = prepare(scratch, &Wanted::nothing())?;
        let real_home = self.real_home();
        let readable = self.tools(program, &args, &env, real_home.as_deref());
        // A repository may name the program, and nobody has reviewed that yet.
        let listed: Vec<&str> = self.config.variables().collect();
        env.retain(|name, _| !listed.iter().any(|one| name == one));
        let spec = CommandSpec {
            args,
            env: environment(env, [], &folders),
            limits: VERSION_LIMITS,
            isolation: isolation(&Confined {
                role: Role::Reviewer,
                mode,
                sandbox: None,
                git_dir: None,
                real_home: real_home.as_deref(),
                state: &self.host.state,
                held: &[],
                keys: &self.host.hidden,
                folders: &folders,
                readable,
                network: AgentNetwork::Off,
                reach: Reach::default(),
                layered: Vec::new(),
            }),
            leaks: LeakPolicy::Kill,
            ..CommandSpec::new(&program.path, &folders.home)
        };
        let mut output = Collect::new(64 * 1024);
        let report = self
            .host
            .runner
            .run(&spec, cancel, &mut |_| Ok(()), &mut output)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((report.end, text))
    }

    fn wrong_program(&self, program: &Program, said: &str) -> Problem {
        let said = self.secrets().redact(said.trim());
        let first = said.lines().next().unwrap_or("nothing");
        let shown: String = first.chars().take(100).collect();
        Problem::new(
            Kind::AgentWrongProgram,
            format!(
                "agent `{}` is not of the kind `{}`: `{}` is another program",
                self.name,
                self.recipe.kind(),
                program.path.display()
            ),
        )
        .cause(format!("`--version` prints `{shown}`"))
        .hint(format!(
            "set `command` and `kind` in `[agents.{}]`",
            self.name
        ))
    }
}
