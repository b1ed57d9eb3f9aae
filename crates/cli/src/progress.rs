//! What a run does, as a person watches it: one live line on a terminal, plain lines elsewhere.

use crate::output::Output;
use drive_core::agent::{AgentEvent, Cost, Usage};
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

/// How often the clock on the terminal is brought up to date.
const TICK: Duration = Duration::from_secs(1);
/// The longest line an agent's words are cut to.
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
    /// What the agent does now; nothing while no agent works.
    now: Option<String>,
    /// What the run waited for when it was last said.
    waits: Option<String>,
    /// How many warnings of each run were said, or were there before.
    warnings: BTreeMap<RunId, usize>,
    /// What agents warned of.
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

    /// Does `work` while the clock on the terminal goes on, also when the agent is silent. Whoever
    /// asks for a stop is told that it was heard, and `what_stops`.
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
                            "{} {what_stops}; once more stops at once",
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

    /// What the agent does now, with elapsed time, tokens and cost.
    fn now(&self, what: &str) {
        self.seen().now = Some(cut(what));
        if let Some(line) = self.line() {
            self.output.live(&line);
        }
    }

    /// Says what is new of what a person should know.
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
        match is_routine(effect) {
            true => self.output.detail(line),
            false => {
                self.seen().waits = None;
                self.output.narrate(line);
            }
        }
    }

    /// Prints what a phase waits for, once for each thing, and new warnings of a cruise.
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
                // An answer in a fence is for drive, not for people.
                let said = text.lines().find(|line| !line.trim().is_empty());
                if let Some(said) = said.filter(|line| !line.starts_with("```")) {
                    self.now(said);
                }
            }
            AgentEvent::Waiting { wait } => {
                self.output.warn(format_args!("the agent waits: {wait}"))
            }
            AgentEvent::PermissionAsked { request } => {
                self.output.narrate(format_args!(
                    "the agent asks for {} ({})",
                    request.tool, request.detail
                ));
            }
            AgentEvent::Warning { message } => {
                self.seen().warned.insert(message.clone());
                self.output.warn(message);
            }
            AgentEvent::Launched { argv } => {
                self.output
                    .detail(format_args!("the agent is started as {}", argv.join(" ")));
            }
            AgentEvent::Started { model, .. } => {
                let model = model.as_deref().unwrap_or("its own default");
                self.output
                    .detail(format_args!("the agent uses the model {model}"));
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

/// What happens again and again while nothing happens.
fn is_routine(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OnForge {
            act: ForgeAct::Poll { .. } | ForgeAct::React { .. },
            ..
        }
    )
}

fn intention(effect: &Effect) -> String {
    match effect {
        Effect::ChooseBranch { wanted, .. } => format!("choosing a branch like {wanted}"),
        Effect::CreateSandbox { spec } => format!("making sandbox {}", spec.id),
        Effect::RunAgent { job, .. } => match &job.domain {
            Some(domain) => format!("{} works as {} ({domain})", job.agent, job.role),
            None => format!("{} works as {}", job.agent, job.role),
        },
        Effect::EndProcess { identity } => format!("ending process {}", identity.child.pid),
        Effect::CommitWork { .. } => "committing what is left".to_owned(),
        Effect::ReadDiff { .. } => "reading the change".to_owned(),
        Effect::OnForge { pr, act, .. } => on_forge(*pr, act),
        Effect::WriteFile { path, .. } => format!("writing {path}"),
        Effect::ReadFile { path, .. } => format!("reading {path}"),
        Effect::Push { branch, remote, .. } => format!("pushing {branch} to {remote}"),
        Effect::OpenPullRequest { branch, base, .. } => {
            format!("opening a pull request from {branch} to {base}")
        }
        Effect::Integrate { from, when, .. } => match when {
            MergeWhen::Always => format!("merging {from}"),
            MergeWhen::Conflicting => format!("seeing whether {from} can still be merged"),
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
        ForgeAct::React { comment } => format!("comment {} on #{pr} was seen", comment.id),
        ForgeAct::PostReview { body, .. } | ForgeAct::PostComment { body } => {
            format!("posting on #{pr}: {}", cut(body))
        }
        ForgeAct::Reply { to, .. } => format!("answering comment {} on #{pr}", to.id),
        ForgeAct::ResolveThread { comment } => format!("resolving comment {}", comment.id),
        ForgeAct::UpdateBody { .. } => format!("updating the description of #{pr}"),
        ForgeAct::MarkReady => format!("marking #{pr} as ready"),
        ForgeAct::Merge { .. } => format!("merging #{pr}"),
        ForgeAct::SetStatus { description, .. } => format!("setting the status: {description}"),
    }
}

fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("[{:02}:{:02}]", seconds / 60, seconds % 60)
}

/// The first line of a text, as much of it as fits.
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
