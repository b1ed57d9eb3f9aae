use super::lines::{Line, Lines};
use super::progress::Progress;
use super::{AgentStream, Phase, StreamSetup};
use crate::agent::event::AgentEvent;
use crate::agent::outcome::AgentOutcome;
use crate::agent::usage::Scope;
use crate::process::{End, Stream};

/// Reads the output of any program as text.
///
/// A program has no terminal event, so here, and only here, exit code 0 means success.
pub fn program_stream(setup: StreamSetup) -> Box<dyn AgentStream> {
    let mut progress = Progress::new(setup, Scope::Run, Scope::Run);
    progress.started(None, None);
    Box::new(Program {
        progress,
        stdout: Lines::new(MAX_LINE),
        stderr: Lines::new(MAX_LINE),
    })
}

const MAX_LINE: usize = 1024 * 1024;

struct Program {
    progress: Progress,
    stdout: Lines,
    stderr: Lines,
}

impl AgentStream for Program {
    fn push(&mut self, source: Stream, bytes: &[u8]) -> Vec<AgentEvent> {
        let progress = &mut self.progress;
        match source {
            Stream::Stdout => {
                self.stdout.push(bytes, |line| say(line, progress));
                progress.unfinished_line(self.stdout.unfinished());
            }
            Stream::Stderr => self.stderr.push(bytes, |line| overhear(line, progress)),
        }
        progress.take_events()
    }

    fn outgoing(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn phase(&self) -> Phase {
        self.progress.phase()
    }

    fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome) {
        let progress = &mut self.progress;
        self.stdout.finish(|line| say(line, progress));
        self.stderr.finish(|line| overhear(line, progress));
        if let End::Exited { code: 0 } = end {
            progress.succeed();
        }
        progress.finish(end)
    }
}

fn say(line: Line<'_>, progress: &mut Progress) {
    match line {
        Line::Whole(bytes) => {
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            text.push('\n');
            progress.text_piece(&text);
        }
        Line::TooLong => progress.warn("a line longer than 1 MiB was dropped"),
    }
}

fn overhear(line: Line<'_>, progress: &mut Progress) {
    if let Line::Whole(bytes) = line {
        progress.stderr_line(&String::from_utf8_lossy(bytes));
    }
}
