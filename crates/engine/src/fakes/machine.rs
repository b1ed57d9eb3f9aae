//! Processes of a fake machine: drive processes and the agents they start.

use super::lock::lock;
use crate::cancel::CancelToken;
use crate::lease::Whoami;
use crate::ports::{CommandSpec, Liveness, OutputSink, Owner, ProcessRunner, Started};
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{
    End, Layer, Presence, ProcessIdentity, ProcessMark, ProcessReport, Resources, StreamReport,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const BOOT: &str = "boot-1";

/// The processes of one machine. Clones are the same machine.
#[derive(Clone)]
pub struct FakeMachine {
    name: Arc<str>,
    state: Arc<Mutex<MachineState>>,
}

#[derive(Default)]
struct MachineState {
    last_pid: i32,
    drives: BTreeMap<i32, DriveProcess>,
    /// Running agents, by process.
    agents: BTreeMap<i32, RunId>,
    /// Descriptions of agents that were started while another one of their run was running.
    overlaps: Vec<String>,
    ends: BTreeMap<String, End>,
}

/// A drive process.
#[derive(Clone)]
pub struct DriveProcess {
    owner: Owner,
    alive: Arc<AtomicBool>,
    machine: FakeMachine,
}

impl FakeMachine {
    /// A machine without processes. Processes on a machine with another name cannot be checked.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            state: Arc::default(),
        }
    }

    /// Starts a drive process.
    pub fn start_drive(&self) -> DriveProcess {
        let mut state = lock(&self.state);
        let pid = state.next_pid();
        let process = DriveProcess {
            owner: Owner {
                machine: self.name.to_string(),
                boot: BOOT.to_owned(),
                process: mark(pid),
            },
            alive: Arc::new(AtomicBool::new(true)),
            machine: self.clone(),
        };
        state.drives.insert(pid, process.clone());
        process
    }

    /// The identity of an agent's process that has not executed anything yet.
    pub(super) fn prepare_agent(&self) -> ProcessIdentity {
        let pid = lock(&self.state).next_pid();
        ProcessIdentity {
            child: mark(pid),
            supervisor: None,
            init: None,
            pid_namespace: false,
            cgroups: Vec::new(),
            boot_id: BOOT.to_owned(),
            log_dir: None,
        }
    }

    /// Lets a prepared agent run.
    pub(super) fn let_run(&self, identity: &ProcessIdentity, run: &RunId, what: &str) {
        let mut state = lock(&self.state);
        let beside = state.agents.values().any(|other| other == run);
        if beside {
            let overlap = format!("{what} of run `{run}` started beside another agent");
            state.overlaps.push(overlap);
        }
        state.agents.insert(identity.child.pid, run.clone());
    }

    pub(super) fn agent_ended(&self, identity: &ProcessIdentity) {
        lock(&self.state).agents.remove(&identity.child.pid);
    }

    /// Sets how a program started by [`ProcessRunner::run`] ends; unlisted programs exit with 0.
    pub fn program_ends(&self, program: &str, end: End) {
        lock(&self.state).ends.insert(program.to_owned(), end);
    }

    /// The number of running agents, including those of dead owners.
    pub fn running_agents(&self) -> usize {
        lock(&self.state).agents.len()
    }

    /// Agents that were started while another agent of the same run was running.
    pub fn overlaps(&self) -> Vec<String> {
        lock(&self.state).overlaps.clone()
    }
}

impl MachineState {
    fn next_pid(&mut self) -> i32 {
        self.last_pid += 1;
        self.last_pid
    }
}

impl DriveProcess {
    /// Kills the process, so that its ports stop working. Agents that it started keep running.
    pub fn kill(&self) {
        self.alive.store(false, Ordering::SeqCst);
    }

    /// Whether the process is running.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::SeqCst)
    }

    /// Fails if the process is dead.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.is_alive() {
            Ok(())
        } else {
            Err(Problem::new(
                Kind::StorageFailed,
                format!("process {} is dead", self.owner.process.pid),
            ))
        }
    }
}

impl Whoami for DriveProcess {
    fn owner(&self) -> Owner {
        self.owner.clone()
    }

    fn liveness(&self, owner: &Owner) -> Liveness {
        if owner.machine != self.owner.machine {
            return Liveness::Unknown;
        }
        let state = lock(&self.machine.state);
        let known = state.drives.get(&owner.process.pid);
        match known.filter(|drive| drive.owner == *owner && drive.is_alive()) {
            Some(_) => Liveness::Alive,
            None => Liveness::Dead,
        }
    }
}

impl ProcessRunner for DriveProcess {
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        _: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        self.check()?;
        let identity = self.machine.prepare_agent();
        started(&identity)?;
        let program = spec.program.to_string_lossy().into_owned();
        let end = match cancel.asked() {
            Some(_) => End::Aborted,
            None => lock(&self.machine.state)
                .ends
                .get(&program)
                .cloned()
                .unwrap_or(End::Exited { code: 0 }),
        };
        Ok(ProcessReport {
            end,
            leader: None,
            duration_ms: 1,
            stdout: StreamReport::default(),
            stderr: StreamReport::default(),
            resources: Resources::default(),
            layers: Vec::new(),
            leaked: 0,
        })
    }

    fn inspect(&self, identity: &ProcessIdentity) -> Presence {
        if lock(&self.machine.state)
            .agents
            .contains_key(&identity.child.pid)
        {
            Presence::Alive
        } else {
            Presence::Gone
        }
    }

    fn end(&self, identity: &ProcessIdentity) -> Result<u32, Problem> {
        self.check()?;
        let ended = lock(&self.machine.state).agents.remove(&identity.child.pid);
        Ok(u32::from(ended.is_some()))
    }

    fn load_report(&self, _: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
        self.check()?;
        Ok(None)
    }

    fn probe(&self) -> Vec<Layer> {
        Vec::new()
    }
}

fn mark(pid: i32) -> ProcessMark {
    ProcessMark {
        pid,
        start_ticks: 1000 + pid.unsigned_abs() as u64,
    }
}
