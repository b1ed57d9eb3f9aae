use super::agents::FakeAgents;
use super::clock::FakeClock;
use super::forge::FakeForge;
use super::machine::{DriveProcess, FakeMachine};
use super::notifier::FakeNotifier;
use super::nudges::FakeNudges;
use super::phase_files::FakePhaseFiles;
use super::promotion::FakeGate;
use super::repository::{FakeRepository, Files};
use super::store::{CrashPoint, FakeStore};
use crate::forge::Conversation;
use crate::journal::Journal;
use crate::perform::{Unobserved, World};
use crate::ports::IsolationMode;
use drive_core::forge::marker::MarkerKey;
use drive_core::forge::trust::Trusted;
use drive_core::secrets::SecretPolicy;
use drive_core::time::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder of a fake world's repository.
pub const REPOSITORY_PATH: &str = "/repository";

/// Everything that survives a crash of drive.
pub struct FakeWorld {
    /// The time.
    pub clock: FakeClock,
    /// The machine's processes.
    pub machine: FakeMachine,
    /// The journal.
    pub store: FakeStore,
    /// The repository with its sandboxes.
    pub repository: FakeRepository,
    /// The scripted agents.
    pub agents: FakeAgents,
    /// The forge with its pull requests.
    pub forge: FakeForge,
    /// The phases' state files.
    pub phase_files: FakePhaseFiles,
    /// The verifier.
    pub gate: FakeGate,
    /// The receiver of notifications.
    pub notifier: FakeNotifier,
    /// Webhook hints.
    pub nudges: FakeNudges,
    /// The policy on secrets.
    pub secrets: SecretPolicy,
}

/// A drive process: its handles to the world, and its memory.
pub struct FakeOwner {
    /// The process. Killing it makes every handle fail.
    pub process: DriveProcess,
    /// The owner's handle to the journal.
    pub store: FakeStore,
    clock: FakeClock,
    repository: FakeRepository,
    agents: FakeAgents,
    phase_files: FakePhaseFiles,
    gate: FakeGate,
    notifier: FakeNotifier,
    conversation: Conversation,
    secrets: SecretPolicy,
}

impl FakeWorld {
    /// A world that contains only a repository with these files.
    pub fn new(now: Timestamp, files: Files) -> Self {
        let clock = FakeClock::at(now);
        let machine = FakeMachine::named("machine-1");
        // The test itself observes as a process that never dies.
        let test = machine.start_drive();
        let repository = FakeRepository::new(test.clone(), clock.clone(), files);
        let agents = FakeAgents::new(repository.clone(), machine.clone(), test.clone());
        Self {
            store: FakeStore::new(test.clone()),
            forge: FakeForge::new(repository.clone(), clock.clone(), test.clone()),
            phase_files: FakePhaseFiles::new(test.clone()),
            notifier: FakeNotifier::new(test.clone()),
            gate: FakeGate::new(clock.clone(), test, repository.clone()),
            nudges: FakeNudges::new(clock.clone()),
            secrets: SecretPolicy::default(),
            clock,
            machine,
            repository,
            agents,
        }
    }

    /// Starts a drive process, which dies at this point.
    pub fn start_owner(&self, crash: Option<CrashPoint>) -> FakeOwner {
        let process = self.machine.start_drive();
        let clock = Arc::new(self.clock.clone());
        let forge = Arc::new(self.forge.of(process.clone()));
        let key = MarkerKey::new(&[7; 32]);
        FakeOwner {
            store: self.store.of(process.clone(), crash),
            clock: self.clock.clone(),
            repository: self.repository.of(process.clone()),
            agents: self.agents.of(process.clone()),
            phase_files: self.phase_files.of(process.clone()),
            gate: self.gate.of(process.clone()),
            notifier: self.notifier.of(process.clone()),
            secrets: self.secrets.clone(),
            conversation: Conversation::new(forge, key, Trusted::default(), clock),
            process,
        }
    }
}

impl FakeOwner {
    /// The journal, as used by this owner.
    pub fn journal(&self) -> Journal<'_> {
        Journal {
            store: &self.store,
            clock: &self.clock,
        }
    }

    /// The real performer with this owner's ports.
    pub fn performer(&self) -> World<'_> {
        World {
            sandboxes: &self.repository,
            phase_files: &self.phase_files,
            history: &self.repository,
            agents: &self.agents,
            processes: &self.process,
            forge: Some(&self.conversation),
            gate: Some(&self.gate),
            notifier: Some(&self.notifier),
            runs_dir: PathBuf::from("/runs"),
            isolation: IsolationMode::Off,
            secrets: self.secrets.clone(),
            observer: &Unobserved,
        }
    }
}
