use super::progress::Progress;
use std::collections::VecDeque;

/// How many calls are tracked until they end.
const REMEMBERED: usize = 256;

/// Tool calls that have not ended. A call is reported once, at its end, because only then is it
/// known whether it was allowed.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<Call>);

/// A tool call.
#[derive(Debug)]
pub(super) struct Call {
    /// The agent's own id of the call.
    pub(super) id: String,
    /// The tool.
    pub(super) tool: String,
    /// The command line, the file, or a summary in one line.
    pub(super) summary: String,
    /// The event to report when it is allowed.
    pub(super) effect: CallEffect,
}

/// The effect of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEffect {
    /// It runs a command.
    Command,
    /// It changes a file.
    FileChange,
    /// Something else.
    Other,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd<'a> {
    /// It was executed.
    Done { exit_code: Option<i32> },
    /// It was executed and failed.
    Failed,
    /// It was refused.
    Refused { reason: &'a str },
}

impl Calls {
    /// Handles the start of a call.
    pub(super) fn begun(&mut self, call: Call, progress: &mut Progress) {
        progress.tool(&call.tool, &call.summary);
        self.0.push_back(call);
        if self.0.len() > REMEMBERED
            && let Some(oldest) = self.0.pop_front()
        {
            unfinished(&oldest, progress);
        }
    }

    /// Handles the end of a call. Returns whether the call was known.
    pub(super) fn ended(&mut self, id: &str, end: CallEnd<'_>, progress: &mut Progress) -> bool {
        let Some(call) = self.take(id) else {
            return false;
        };
        let summary = &call.summary;
        match (call.effect, end) {
            (_, CallEnd::Refused { reason }) => progress.denied(&call.tool, summary, reason),
            (CallEffect::Command, CallEnd::Done { exit_code }) => {
                progress.command(summary, exit_code);
            }
            (CallEffect::Command, CallEnd::Failed) => progress.command(summary, None),
            (CallEffect::FileChange, CallEnd::Done { .. }) => progress.file_change(summary),
            (CallEffect::FileChange, CallEnd::Failed) | (CallEffect::Other, _) => {}
        }
        true
    }

    /// Removes a call whose end another event reports.
    pub(super) fn take(&mut self, id: &str) -> Option<Call> {
        let at = self.0.iter().position(|call| call.id == id)?;
        self.0.remove(at)
    }

    /// Ends all calls after the agent has exited: they may have run.
    pub(super) fn end_all(&mut self, progress: &mut Progress) {
        for call in std::mem::take(&mut self.0) {
            unfinished(&call, progress);
        }
    }
}

fn unfinished(call: &Call, progress: &mut Progress) {
    match call.effect {
        CallEffect::Command => progress.command(&call.summary, None),
        CallEffect::FileChange | CallEffect::Other => {}
    }
}
