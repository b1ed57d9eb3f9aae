//! Progress on standard error: one live line on a terminal, plain lines elsewhere.

use crate::output::Output;
use drive_core::agent::{AgentEvent, Cost, Usage};
use drive_core::ids::{EffectKey, RunId};
use drive_core::run::{Effect, EffectResult, Run, cruise_status, paused_for};
use drive_core::sandbox::SandboxNote;
use drive_core::timeline::{describe_step, first_line, is_internal, is_routine};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::perform::Observer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the elapsed time on the terminal is updated.
const TICK: Duration = Duration::from_secs(1);

/// Shows a run on standard error.
pub(crate) struct Progress<'a> {
    output: &'a Output,
    started: Instant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The agents at work.
    agents: BTreeMap<(RunId, EffectKey), AtWork>,
    /// The current activity of one agent; `None` if no agent works.
    now: Option<String>,
    /// The last wait that was printed.
    waits: Option<String>,
    /// The number of known warnings of each run.
    warnings: BTreeMap<RunId, usize>,
    /// Warnings of agents that were printed already.
    warned: BTreeSet<String>,
}

/// A working agent.
#[derive(Default)]
struct AtWork {
    /// Its domain, if it reviews one.
    domain: Option<String>,
    usage: Usage,
    cost: Option<Cost>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self {
            output,
            started: Instant::now(),
            seen: Mutex::new(Seen::default()),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` and updates the elapsed time on the terminal, even while the agent prints
    /// nothing. A stop request is confirmed with `what_stops`.
    pub(crate) fn ticking<T>(
        &self,
        cancel: &CancelToken,
        what_stops: &str,
        work: impl FnOnce() -> T,
    ) -> T {
        let (asked, heard) = channel::<Urgency>();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                loop {
                    match heard.recv_timeout(TICK) {
                        Ok(Urgency::Graceful) => self.output.narrate(format_args!(
                            "{} {what_stops} (Ctrl-C again to stop now)",
                            elapsed(self.started)
                        )),
                        Ok(Urgency::Now) => {}
                        Err(RecvTimeoutError::Timeout) => self.tick(),
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
            });
            // The thread ends with this guard, whatever the result of the work.
            let _asking = cancel.on_cancel(move |urgency| {
                let _ = asked.send(urgency);
            });
            work()
        })
    }

    fn tick(&self) {
        if let Some(line) = self.line() {
            self.output.redraw(&line);
        }
    }

    /// Shows an agent's activity, with the elapsed time, tokens and cost of all agents at work.
    fn now(&self, agent: &(RunId, EffectKey), what: &str) {
        let mut seen = self.seen();
        let domain = seen.agents.get(agent).and_then(|one| one.domain.as_deref());
        let what = match domain {
            Some(domain) if seen.agents.len() > 1 => format!("{domain}: {}", first_line(what)),
            Some(_) | None => first_line(what),
        };
        seen.now = Some(what);
        drop(seen);
        if let Some(line) = self.line() {
            self.output.live(&line);
        }
    }

    /// Prints the run's new warnings.
    fn warn(&self, run: &Run) {
        let mut seen = self.seen();
        let all = run.warnings.len();
        let known = seen.warnings.insert(run.id.clone(), all).unwrap_or(all);
        let fresh = run.warnings.iter().skip(known);
        for warning in fresh.filter(|warning| !seen.warned.contains(*warning)) {
            self.output.warn(warning);
        }
    }

    fn line(&self) -> Option<String> {
        let seen = self.seen();
        let mut line = format!("{} {}", elapsed(self.started), seen.now.as_ref()?);
        let all = seen.agents.values();
        let tokens: u64 = all.clone().map(|one| one.usage.counted()).sum();
        if tokens > 0 {
            let _ = write!(line, " · {tokens} tokens");
        }
        if let Some(cost) = all.filter_map(|one| one.cost).reduce(Cost::plus) {
            let _ = write!(line, " · {cost}");
        }
        Some(line)
    }
}

/// The task of a child run, as a prefix for its activity.
fn whose(run: &RunId) -> String {
    let Some((_, task)) = run.as_str().split_once('+') else {
        return String::new();
    };
    let task = task.trim_start_matches('+');
    match task.split_once('+') {
        Some((task, attempt)) => format!("{task} (attempt {attempt}): "),
        None => format!("{task}: "),
    }
}

impl Observer for Progress<'_> {
    fn begun(&self, run: &RunId, key: &EffectKey, effect: &Effect) {
        if let Effect::RunAgent { job, .. } = effect {
            let mut seen = self.seen();
            let domain = job.domain.clone();
            let one = AtWork {
                domain,
                ..AtWork::default()
            };
            seen.agents.insert((run.clone(), key.clone()), one);
            seen.now = Some(describe_step(effect));
        }
        // Tasks are built at the same time, so each step names its task.
        let whose = whose(run);
        let line = format!("{} {whose}{}", elapsed(self.started), describe_step(effect));
        if is_routine(effect) {
            return self.output.detail(line);
        }
        self.seen().waits = None;
        if is_internal(effect) {
            self.output.detail(line);
        } else {
            self.output.narrate(line);
        }
    }

    /// Prints each new wait once, and new warnings of a cruise.
    fn changed(&self, run: &Run) {
        let waits = match cruise_status(run) {
            Some(status) => {
                self.warn(run);
                status.waiting_for
            }
            None => paused_for(run),
        };
        // A post that waits for the rate limit is no activity.
        let works = run.forge_waits.is_empty() && run.pending.values().any(|one| !is_routine(one));
        if works || waits.is_none() || self.seen().waits == waits {
            return;
        }
        if let Some(waits) = &waits {
            self.output.narrate(format_args!(
                "{} waiting for {waits}",
                elapsed(self.started)
            ));
        }
        self.seen().waits = waits;
    }

    fn agent(&self, run: &RunId, key: &EffectKey, event: &AgentEvent) {
        let agent = &(run.clone(), key.clone());
        match event {
            AgentEvent::Usage { usage, cost } => {
                if let Some(one) = self.seen().agents.get_mut(agent) {
                    (one.usage, one.cost) = (*usage, *cost);
                }
            }
            AgentEvent::ToolUse { name, summary } => self.now(agent, &format!("{name} {summary}")),
            AgentEvent::FileChange { path } => self.now(agent, &format!("changed {path}")),
            AgentEvent::Command { command, .. } => self.now(agent, &format!("ran {command}")),
            AgentEvent::Text { text } => {
                let said = text.lines().map(str::trim).find(|line| !line.is_empty());
                if let Some(said) = said.filter(|line| !is_for_drive(line)) {
                    self.now(agent, said);
                }
            }
            AgentEvent::Waiting { wait } => self.output.warn(format_args!("agent: {wait}")),
            AgentEvent::PermissionAsked { request } => {
                self.output.narrate(format_args!(
                    "agent: asking for permission: {} ({})",
                    request.tool, request.detail
                ));
            }
            AgentEvent::Warning { message } | AgentEvent::Network { message } => {
                self.seen().warned.insert(message.clone());
                self.output.warn(message);
            }
            AgentEvent::Launched { argv } => {
                self.output
                    .detail(format_args!("agent: started as {}", argv.join(" ")));
            }
            AgentEvent::Started { model, .. } => {
                let model = model.as_deref().unwrap_or("its default model");
                self.output.detail(format_args!("agent: using {model}"));
            }
            AgentEvent::Thinking { .. }
            | AgentEvent::Resumed
            | AgentEvent::Isolation { .. }
            | AgentEvent::PermissionAnswered { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn ended(&self, run: &RunId, key: &EffectKey, result: &EffectResult) {
        let mut seen = self.seen();
        seen.agents.remove(&(run.clone(), key.clone()));
        if seen.agents.is_empty() {
            seen.now = None;
        }
        drop(seen);
        if let EffectResult::SandboxCreated { sandbox } = result {
            for note in &sandbox.notes {
                match note {
                    // Most repositories contain only some of the usual caches.
                    SandboxNote::NothingMatched { .. } => self.output.detail(note),
                    SandboxNote::ShallowHistory
                    | SandboxNote::SubmodulesNotFetched
                    | SandboxNote::FiltersNotRun { .. }
                    | SandboxNote::GitNotConfined { .. }
                    | SandboxNote::NotBrought { .. } => self.output.warn(note),
                }
            }
        }
        if let EffectResult::Failed { problem } = result {
            self.output
                .detail(format_args!("`{key}` failed: {problem}"));
        }
    }
}

/// Whether a line belongs to a JSON answer, which is for drive and not for people.
fn is_for_drive(line: &str) -> bool {
    line.starts_with(['{', '}', '[', ']', '"']) || line.starts_with("```")
}

fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("[{:02}:{:02}]", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::is_for_drive;

    #[test]
    fn an_answer_in_json_is_not_shown_to_people() {
        for line in [
            "```json",
            "{\"verdict\": 1}",
            "}",
            "\"note\": \"x\",",
            "[1]",
        ] {
            assert!(is_for_drive(line), "{line}");
        }
        for line in ["I look around.", "3 tests pass", "- one"] {
            assert!(!is_for_drive(line), "{line}");
        }
    }
}
