//! Progress on standard error: one live line on a terminal, plain lines elsewhere.

use crate::output::Output;
use drive_core::agent::{AgentEvent, Cost, Role, Usage};
use drive_core::ids::{EffectKey, PrNumber, RunId};
use drive_core::run::{
    Effect, EffectResult, ForgeAct, MergeWhen, Run, RunMessage, cruise_status, paused_for,
};
use drive_core::sandbox::SandboxNote;
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
/// The longest line of an agent's output, in characters.
const LONGEST: usize = 100;

/// Shows a run on standard error.
pub(crate) struct Progress<'a> {
    output: &'a Output,
    started: Instant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    usage: Usage,
    cost: Option<Cost>,
    /// What the agent is doing; `None` while no agent runs.
    now: Option<String>,
    /// The last wait that was printed.
    waits: Option<String>,
    /// How many warnings of each run are already known.
    warnings: BTreeMap<RunId, usize>,
    /// Warnings of agents that were printed.
    warned: BTreeSet<String>,
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

    /// Runs `work` and keeps the elapsed time on the terminal current, also while the agent is
    /// silent. A request to stop is acknowledged with `what_stops`.
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
            // The thread ends with this guard, however the work ends.
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

    /// Shows what the agent is doing, with elapsed time, tokens and cost.
    fn now(&self, what: &str) {
        self.seen().now = Some(cut(what));
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
        let tokens = seen.usage.counted();
        if tokens > 0 {
            let _ = write!(line, " · {tokens} tokens");
        }
        if let Some(cost) = seen.cost {
            let _ = write!(line, " · {cost}");
        }
        Some(line)
    }
}

impl Observer for Progress<'_> {
    fn begun(&self, _: &RunId, _: &EffectKey, effect: &Effect) {
        self.seen().now = match effect {
            Effect::RunAgent { .. } => Some(intention(effect)),
            Effect::ChooseBranch { .. }
            | Effect::ReadDiff { .. }
            | Effect::WriteFile { .. }
            | Effect::ReadFile { .. }
            | Effect::OnForge { .. }
            | Effect::CreateSandbox { .. }
            | Effect::EndProcess { .. }
            | Effect::CommitWork { .. }
            | Effect::Push { .. }
            | Effect::OpenPullRequest { .. }
            | Effect::Integrate { .. }
            | Effect::ConcludeMerge { .. }
            | Effect::RollBack { .. }
            | Effect::Verify { .. }
            | Effect::ToRun { .. }
            | Effect::RemoveSandbox { .. } => None,
        };
        let line = format!("{} {}", elapsed(self.started), intention(effect));
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
        let works = run.pending.values().any(|one| !is_routine(one));
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

    fn agent(&self, _: &RunId, _: &EffectKey, event: &AgentEvent) {
        match event {
            AgentEvent::Usage { usage, cost } => {
                let mut seen = self.seen();
                (seen.usage, seen.cost) = (*usage, *cost);
            }
            AgentEvent::ToolUse { name, summary } => self.now(&format!("{name} {summary}")),
            AgentEvent::FileChange { path } => self.now(&format!("changed {path}")),
            AgentEvent::Command { command, .. } => self.now(&format!("ran {command}")),
            AgentEvent::Text { text } => {
                // A fenced answer is for drive, not for people.
                let said = text.lines().find(|line| !line.trim().is_empty());
                if let Some(said) = said.filter(|line| !line.starts_with("```")) {
                    self.now(said);
                }
            }
            AgentEvent::Waiting { wait } => self.output.warn(format_args!("agent: {wait}")),
            AgentEvent::PermissionAsked { request } => {
                self.output.narrate(format_args!(
                    "agent: asking for permission: {} ({})",
                    request.tool, request.detail
                ));
            }
            AgentEvent::Warning { message } => {
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
            | AgentEvent::PermissionAnswered { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn ended(&self, _: &RunId, key: &EffectKey, result: &EffectResult) {
        if let EffectResult::SandboxCreated { sandbox } = result {
            for note in &sandbox.notes {
                match note {
                    // Most repositories have only some of the usual caches.
                    SandboxNote::NothingMatched { .. } => self.output.detail(note),
                    SandboxNote::ShallowHistory
                    | SandboxNote::SubmodulesNotFetched
                    | SandboxNote::FiltersNotRun { .. }
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

/// Whether an effect repeats while a run only waits.
fn is_routine(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OnForge {
            act: ForgeAct::Poll { .. } | ForgeAct::React { .. },
            ..
        }
    )
}

/// Whether an effect is a step that only `-v` shows.
fn is_internal(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ReadDiff { .. } | Effect::ReadFile { .. } | Effect::WriteFile { .. }
    )
}

fn intention(effect: &Effect) -> String {
    match effect {
        Effect::ChooseBranch { wanted, .. } => format!("choosing a branch name like {wanted}"),
        Effect::CreateSandbox { spec } => format!("creating sandbox {}", spec.id),
        Effect::RunAgent { job, .. } => match &job.domain {
            Some(domain) => format!("{}: {} ({domain})", job.agent, activity(job.role)),
            None => format!("{}: {}", job.agent, activity(job.role)),
        },
        Effect::EndProcess { identity } => format!("stopping process {}", identity.child.pid),
        Effect::CommitWork { .. } => "committing changes".to_owned(),
        Effect::ReadDiff { .. } => "reading the diff".to_owned(),
        Effect::OnForge { pr, act, .. } => on_forge(*pr, act),
        Effect::WriteFile { path, .. } => format!("writing {path}"),
        Effect::ReadFile { path, .. } => format!("reading {path}"),
        Effect::Push { branch, remote, .. } => format!("pushing {branch} to {remote}"),
        Effect::OpenPullRequest { branch, base, .. } => {
            format!("opening a pull request from {branch} to {base}")
        }
        Effect::Integrate { from, when, .. } => match when {
            MergeWhen::Always => format!("merging {from}"),
            MergeWhen::Conflicting => format!("checking for conflicts with {from}"),
        },
        Effect::ConcludeMerge { from, .. } => format!("committing the merge of {from}"),
        Effect::RollBack { to, .. } => format!("putting the branch back to {to}"),
        Effect::Verify { head, base } => format!("verifying {head} for {base}"),
        Effect::ToRun { run, message } => match message {
            RunMessage::StartRun { .. } => format!("starting run {run}"),
            RunMessage::AskRun { .. } => format!("asking run {run}"),
            RunMessage::StopRun => format!("stopping run {run}"),
            RunMessage::ReportToParent { .. } => format!("reporting to run {run}"),
        },
        Effect::RemoveSandbox { sandbox } => format!("removing sandbox {sandbox}"),
    }
}

fn on_forge(pr: PrNumber, act: &ForgeAct) -> String {
    match act {
        ForgeAct::Poll { .. } => format!("polling #{pr}"),
        ForgeAct::React { comment } => format!("acknowledging comment {} on #{pr}", comment.id),
        ForgeAct::PostReview { body, .. } | ForgeAct::PostComment { body } => {
            format!("posting on #{pr}: {}", cut(body))
        }
        ForgeAct::Reply { to, .. } => format!("replying to comment {} on #{pr}", to.id),
        ForgeAct::ResolveThread { comment } => format!("resolving comment {}", comment.id),
        ForgeAct::UpdateBody { .. } => format!("updating the description of #{pr}"),
        ForgeAct::MarkReady => format!("marking #{pr} as ready for review"),
        ForgeAct::Merge { .. } => format!("merging #{pr}"),
        ForgeAct::SetStatus { description, .. } => {
            format!("setting the commit status: {description}")
        }
    }
}

fn activity(role: Role) -> &'static str {
    match role {
        Role::Namer => "naming the branch",
        Role::Planner => "planning",
        Role::Coder => "coding",
        Role::Reviewer => "reviewing",
        Role::Fixer => "fixing",
        Role::Validator => "validating",
    }
}

fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("[{:02}:{:02}]", seconds / 60, seconds % 60)
}

/// The first line of a text, cut to `LONGEST`.
fn cut(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_of_an_agent_are_cut_to_one_line() {
        assert_eq!(cut("  one\ntwo"), "one");
        assert_eq!(cut(&"é".repeat(200)).chars().count(), LONGEST);
        assert_eq!(cut(""), "");
    }
}
