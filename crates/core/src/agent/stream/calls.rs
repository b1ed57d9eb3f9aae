use super::progress::Progress;
use std::collections::VecDeque;

/// How many calls are remembered until their end is seen.
const REMEMBERED: usize = 256;

/// Tool calls that have not ended. A call is reported once, at its end, because only then is it
/// known whether it was allowed.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<Call>);

/// One call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    /// The agent's own name for it.
    pub(super) id: String,
    /// The tool.
    pub(super) tool: String,
    /// The command line, the file, or one line about it.
    pub(super) summary: String,
    /// What comes of it when it is let through.
    pub(super) effect: CallEffect,
}

/// What a tool does.
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
    /// It was done.
    Done { exit_code: Option<i32> },
    /// It was tried, and did not work out.
    Failed,
    /// It was not let through.
    Refused { reason: &'a str },
}

impl Calls {
    /// A call is made.
    pub(super) fn begun(&mut self, call: Call, progress: &mut Progress) {
        progress.tool(&call.tool, &call.summary);
        self.0.push_back(call);
        if self.0.len() > REMEMBERED
            && let Some(oldest) = self.0.pop_front()
        {
            unfinished(&oldest, progress);
        }
    }

    /// A call has ended. Tells whether it was known.
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

    /// A call whose end is reported by another event.
    pub(super) fn take(&mut self, id: &str) -> Option<Call> {
        let at = self.0.iter().position(|call| call.id == id)?;
        self.0.remove(at)
    }

    /// The agent is gone: what it had begun may have run.
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
