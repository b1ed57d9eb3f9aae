//! `notify.command`: the user's own program, which receives what the user should know immediately.

use crate::Environment;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeakPolicy, ProcessReport};
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, Containment, Discard, ProcessRunner, Stdin};
use std::time::Duration;

/// How long the program may take.
pub const NOTIFY_DEADLINE: Duration = Duration::from_secs(30);
/// The maximum size of its output.
const OUTPUT_BYTES: u64 = 1 << 20;
/// How many bytes at the end of its error output are kept, to name its error.
const TAIL_BYTES: u64 = 4 << 10;
/// The maximum number of characters of its error in a message.
const LONGEST_ERROR: usize = 200;

/// The user's own program. It gets the user's environment and is not confined, like
/// `forge.token_command`.
pub struct NotifyCommand<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// The user's environment.
    pub environment: &'a Environment,
    /// The runner that starts the program.
    pub runner: &'a dyn ProcessRunner,
    /// How long it may take.
    pub deadline: Duration,
}

impl NotifyCommand<'_> {
    /// Runs the program to its end with this document on its standard input.
    pub fn call(&self, document: Vec<u8>, cancel: &CancelToken) -> Result<(), Problem> {
        let Some((program, args)) = self.command.split_first() else {
            return Ok(());
        };
        let mut spec = CommandSpec::new(program, "/").args(args);
        for (name, value) in self.environment.iter() {
            spec = spec.env(name, value);
        }
        spec.stdin = Stdin::Bytes(document);
        spec.containment = Containment::Light;
        spec.leaks = LeakPolicy::Kill;
        spec.limits.wall = self.deadline;
        spec.limits.grace = Duration::from_secs(1);
        spec.limits.drain = Duration::from_millis(100);
        spec.limits.output_bytes = OUTPUT_BYTES;
        spec.limits.tail_bytes = TAIL_BYTES;
        let report = self
            .runner
            .run(&spec, cancel, &mut |_| Ok(()), &mut Discard);
        let report = report.map_err(|problem| failed(&problem.message))?;
        match &report.end {
            end if end.is_success() => Ok(()),
            End::TimedOut { .. } => Err(Problem::new(
                Kind::NotifyTimedOut,
                format!(
                    "`notify.command` took longer than {}s; notices that waited for it are dropped",
                    self.deadline.as_secs()
                ),
            )),
            End::OutputLimit => Err(failed("it printed more than 1 MiB")),
            End::Exited { code } => Err(failed(&format!("exit code {code}{}", said(&report)))),
            End::Signalled { signal } => Err(failed(&format!("signal {signal} ended it"))),
            End::Aborted => Err(failed("it was stopped")),
            End::Infra { message } => Err(failed(message)),
            End::LeakedProcesses { .. }
            | End::MemoryLimit
            | End::ProcessLimit
            | End::DiskLimit { .. } => Err(failed("it reached a limit")),
        }
    }
}

/// The last non-empty line of its error output.
fn said(report: &ProcessReport) -> String {
    let tail = String::from_utf8_lossy(&report.stderr.tail);
    let last = tail.lines().map(str::trim).rfind(|line| !line.is_empty());
    let clean = last.map(|line| line.chars().filter(|c| !c.is_control()));
    let clean: Option<String> = clean.map(|chars| chars.take(LONGEST_ERROR).collect());
    clean.map_or_else(String::new, |line| format!(", {line}"))
}

fn failed(why: &str) -> Problem {
    Problem::new(
        Kind::NotifyFailed,
        format!("`notify.command` failed: {why}"),
    )
    .hint("run the command yourself: it reads one JSON document on standard input")
}
