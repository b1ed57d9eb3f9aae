//! Runs an agent.

use super::World;
use super::put_back::strayed;
use crate::executor::Task;
use crate::ports::{AgentRequest, INSTRUCTION_FILES, InstructionFile, Place};
use drive_core::agent::{Access, AgentEvent, Decision, Role};
use drive_core::ids::SandboxId;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Layer, Limits, add_layers};
use drive_core::prompts::with_rules;
use drive_core::run::{AgentJob, EffectResult, Note, Spent};
use std::cell::Cell;

/// How many notes of one agent are journaled: enough for every wait and permission of a long job,
/// and a limit for an agent that prints too much.
const MOST_NOTES: u32 = 500;
/// The name of the new, empty folder in which a job without a sandbox works.
const EMPTY: &str = "empty";

impl World<'_> {
    pub(super) fn run_agent(
        &self,
        task: &Task<'_>,
        sandbox: Option<&SandboxId>,
        job: &AgentJob,
    ) -> Result<EffectResult, Problem> {
        // An earlier owner may have died while its agent worked: drive never starts a second one,
        // and never lets the next one build on half-written files.
        if let Some(identity) = task.run.processes.get(&task.claimed.key) {
            self.processes.end(identity)?;
            if sandbox.is_some() && job.role.access() == Access::Write {
                return Err(interrupted(&job.agent));
            }
        }
        let sandbox = sandbox
            .map(|id| self.require_sandbox(task, id))
            .transpose()?;
        let agent = self.agents.agent(&job.agent)?;
        let reviewed = sandbox
            .clone()
            .filter(|_| reads_commit(job.role) && task.run.work.head_sha.is_some());
        // An earlier reviewer may have been killed in the middle of its work.
        if let Some(sandbox) = &reviewed {
            self.put_back(task, sandbox)?;
        }
        let scratch = self.runs_dir.join(task.run.id.as_str()).join(format!(
            "{}-{}",
            task.claimed.key.as_str().replace('/', "-"),
            task.claimed.attempt
        ));
        let mut request = AgentRequest {
            run: task.run.id.clone(),
            role: job.role,
            round: job.round,
            domain: job.domain.clone(),
            prompt: job.prompt.clone(),
            input: serde_json::to_string_pretty(&job.input).ok(),
            answer: job.input.answer,
            sandbox: sandbox
                .as_ref()
                .map_or(scratch.join(EMPTY), |sandbox| sandbox.path.clone()),
            git_dir: sandbox.as_ref().map(|sandbox| sandbox.git_dir.clone()),
            scratch: scratch.clone(),
            model: job.model.clone(),
            resume: None,
            instructions: Vec::new(),
            limits: Limits {
                wall: job.total,
                idle: Some(job.idle),
                ..Limits::default()
            },
            budget: task.run.budget_for(&task.claimed.key),
            held: job.held.iter().map(std::path::PathBuf::from).collect(),
            max_escalations: job.max_escalations,
            isolation: self.isolation,
        };
        let takes = agent.takes_instructions();
        if sandbox.is_some() && (takes || job.role == Role::Reviewer) {
            request.instructions = self.instructions(task)?;
        }
        if !takes {
            let files = std::mem::take(&mut request.instructions);
            let files = files
                .iter()
                .map(|one| (one.name.as_str(), one.text.as_str()));
            let files: Vec<(&str, &str)> = files.collect();
            request.prompt = with_rules(&request.prompt, &files);
        }
        let notes = Notes {
            task,
            count: Cell::new(0),
            used: Cell::new(Spent::default()),
        };
        let outcome = agent.run(
            &request,
            task.cancel,
            &mut |identity| task.process_started(identity.clone()),
            &mut |event| {
                notes.keep(&event);
                self.observer.agent(&task.run.id, &task.claimed.key, &event);
            },
        );
        self.agents.tidy(&scratch);
        if let Some(sandbox) = &reviewed {
            // The agent's usage counts even if the sandbox cannot be put back.
            if let Ok(outcome) = &outcome {
                let spent = Spent::of(outcome);
                notes.journal(Note::Used { spent });
            }
            self.sandboxes
                .mend(sandbox, task.run.work.head_sha.as_ref())?;
            if let Some(kept) = self.put_back(task, sandbox)? {
                let message = strayed(job, &kept);
                notes.warn(&message);
                let event = AgentEvent::Warning { message };
                self.observer.agent(&task.run.id, &task.claimed.key, &event);
            }
        }
        let outcome = outcome?;
        Ok(EffectResult::AgentEnded {
            outcome: Box::new(outcome),
            log: Some(scratch),
        })
    }
}

/// Whether an agent of this role must see exactly the run's current commit.
fn reads_commit(role: Role) -> bool {
    matches!(role, Role::Reviewer | Role::Validator)
}

/// The largest instruction file that is read.
const INSTRUCTION_BYTES: u64 = 1024 * 1024;

impl World<'_> {
    /// The repository's instructions for agents, read from the user's repository at the base: the
    /// run's own changes of them count only after a person merged them.
    fn instructions(&self, task: &Task<'_>) -> Result<Vec<InstructionFile>, Problem> {
        let Some(request) = &task.run.request else {
            return Ok(Vec::new());
        };
        let files = self.history.plain_files(
            Place::Checkout(&request.repo),
            &request.base_sha,
            &INSTRUCTION_FILES,
            INSTRUCTION_BYTES,
        )?;
        let files = files.into_iter();
        Ok(files
            .map(|(name, text)| InstructionFile { name, text })
            .collect())
    }
}

fn interrupted(agent: &str) -> Problem {
    Problem::new(
        Kind::AgentInterrupted,
        format!("agent `{agent}` was interrupted: its drive process was killed"),
    )
}

/// Journals notes that a person may want to see.
struct Notes<'a> {
    task: &'a Task<'a>,
    count: Cell<u32>,
    /// The usage that was journaled last.
    used: Cell<Spent>,
}

impl Notes<'_> {
    fn keep(&self, event: &AgentEvent) {
        if let AgentEvent::Network { message } = event {
            return self.warn(message);
        }
        if let AgentEvent::Isolation { layers } = event {
            return self.layers(layers);
        }
        let note = match note_of(event) {
            Some(Note::Used { spent }) => self.used(spent),
            note => note.filter(|_| self.count.get() < MOST_NOTES),
        };
        if let Some(note) = note {
            self.journal(note);
        }
    }

    /// Journals a warning of drive itself about the agent, regardless of how many notes the agent caused.
    fn warn(&self, text: &str) {
        self.journal(Note::Warning {
            text: text.to_owned(),
        });
    }

    /// Journals the layers of isolation, unless they are known: most agents of a run have the same.
    fn layers(&self, layers: &[Layer]) {
        let known = &self.task.run.layers;
        let mut together = known.clone();
        add_layers(&mut together, layers.iter().cloned());
        if together != *known {
            let layers = layers.to_vec();
            self.journal(Note::Isolation { layers });
        }
    }

    fn journal(&self, note: Note) {
        let number = self.count.get() + 1;
        self.count.set(number);
        // The agent's own log contains it too; a full disk ends the run at its next important event.
        let _ = self.task.note(number, note);
    }

    fn used(&self, spent: Spent) -> Option<Note> {
        spent.is_news_after(&self.used.get()).then(|| {
            self.used.set(spent);
            Note::Used { spent }
        })
    }
}

fn note_of(event: &AgentEvent) -> Option<Note> {
    match event {
        AgentEvent::Launched { argv } => Some(Note::Launched { argv: argv.clone() }),
        AgentEvent::Waiting { wait } => Some(Note::Waiting {
            reason: wait.to_string(),
        }),
        AgentEvent::Warning { message } => Some(Note::Warning {
            text: message.clone(),
        }),
        AgentEvent::PermissionAnswered { request, decision } => Some(Note::Permission {
            tool: format!("{}({})", request.tool, request.detail),
            granted: *decision == Decision::Grant,
            rule: reason_of(decision),
        }),
        AgentEvent::Command { command, .. } => Some(Note::Command {
            line: command.clone(),
        }),
        AgentEvent::Usage { usage, cost } => Some(Note::Used {
            spent: Spent {
                usage: *usage,
                cost: *cost,
            },
        }),
        AgentEvent::Started { .. }
        | AgentEvent::Text { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::ToolUse { .. }
        | AgentEvent::FileChange { .. }
        | AgentEvent::Resumed
        | AgentEvent::PermissionAsked { .. }
        | AgentEvent::Network { .. }
        | AgentEvent::Isolation { .. }
        | AgentEvent::Finished { .. } => None,
    }
}

fn reason_of(decision: &Decision) -> String {
    match decision {
        Decision::Grant => "allowed by the settings".to_owned(),
        Decision::Deny { reason } => reason.clone(),
        Decision::Exhausted { allowed } => format!("more than {allowed} permission requests"),
    }
}
