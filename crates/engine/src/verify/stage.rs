//! Runs one stage of a verification and classifies its result.

use super::StageEnv;
use super::ports::Workspaces;
use crate::CancelToken;
use crate::ports::{CommandSpec, OutputSink, ProcessRunner};
use drive_core::network::Refused;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, Layer, ProcessReport, Stream, StreamReport};
use drive_core::verify::{
    Judgement, Observation, Stage, StageName, StageResource, StageStatus, TestScan, TestsRan, Turn,
    failed_tests, judge, text, wanted,
};
use std::ffi::OsString;

/// The prefix of lines in which the startup helper reports why a program failed.
const SMOKE_PREFIX: &str = "startup smoke: ";

pub(super) struct StageRunner<'a> {
    pub(super) runner: &'a dyn ProcessRunner,
    pub(super) workspaces: &'a dyn Workspaces,
    pub(super) stage_env: &'a StageEnv,
    /// The helper that starts a program, waits until it is ready and ends it: program and arguments.
    pub(super) startup_helper: &'a [OsString],
    pub(super) cancel: &'a CancelToken,
}

impl StageRunner<'_> {
    /// Runs one stage to its end. The layers that held it come along, and which hosts it wanted.
    pub(super) fn run(&self, turn: &Turn) -> (Stage, Vec<Layer>, Vec<String>) {
        let mut scan = Scan {
            tests: TestScan::of(&turn.command.argv),
            refused: Vec::new(),
            wanted: turn.name == StageName::TargetedTests,
        };
        let spec = match self.spec(turn) {
            Ok(spec) => spec,
            Err(problem) => return (self.refused(turn, &problem), Vec::new(), Vec::new()),
        };
        let ran = self
            .runner
            .run(&spec, self.cancel, &mut |_| Ok(()), &mut scan);
        let rules = &self.stage_env.rules;
        let network = turn.command.network.unwrap_or(rules.network);
        let hosts = scan.refused.iter();
        let hosts = hosts.map(|refused| wanted(refused, network, !rules.routes.is_empty()));
        let hosts = hosts.collect();
        match ran {
            Ok(mut report) => {
                let layers = std::mem::take(&mut report.layers);
                let stage = self.judged(turn, &spec, report, scan.tests.finish());
                (stage, layers, hosts)
            }
            Err(problem) => (self.refused(turn, &problem), Vec::new(), hosts),
        }
    }

    fn spec(&self, turn: &Turn) -> Result<CommandSpec, Problem> {
        let command = &turn.command;
        let cwd = self
            .workspaces
            .folder(&self.stage_env.workspace, &command.dir)?;
        let Some((program, args)) = command.argv.split_first() else {
            return Err(Problem::new(
                Kind::EmptyCommand,
                format!("route `{}` has an empty command", turn.route),
            ));
        };
        let program = self
            .workspaces
            .program(&self.stage_env.workspace, &cwd, program)?;
        let mut spec = self.stage_env.command(&program, args, &cwd, turn.within);
        for (name, value) in &command.env {
            spec.env.retain(|(known, _)| known != name.as_str());
            spec.env.push((name.into(), value.into()));
        }
        if let Some(network) = command.network {
            self.stage_env.connect(&mut spec.isolation, network);
        }
        if let Some(ready) = &command.ready {
            let ready = serde_json::to_string(ready).unwrap_or_default();
            let inner: Vec<OsString> = std::iter::once(spec.program).chain(spec.args).collect();
            let (helper, start) = self.startup_helper.split_first().ok_or_else(no_helper)?;
            spec.program = helper.clone();
            spec.args = start.to_vec();
            spec.args
                .extend([OsString::from("--ready"), ready.into(), "--".into()]);
            spec.args.extend(inner);
        }
        Ok(spec)
    }

    fn judged(
        &self,
        turn: &Turn,
        spec: &CommandSpec,
        report: ProcessReport,
        tests: TestsRan,
    ) -> Stage {
        let (tampered, lost) = match self.workspaces.altered(&self.stage_env.workspace) {
            Ok(paths) => (paths, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let end = match lost {
            // A tree that cannot be checked cannot be trusted.
            Some(problem) => End::Infra {
                message: problem.to_string(),
            },
            None => report.end.clone(),
        };
        let stderr_tail = shown(&report.stderr, self.stage_env.rules.tail_bytes);
        let smoke_reason = turn.command.ready.as_ref().map(|ready| {
            last_reason(&stderr_tail).unwrap_or_else(|| format!("not ready: {}", ready.describe()))
        });
        let judgement = judge(
            turn.name,
            &Observation {
                end,
                tampered,
                tests,
                timeout: turn.within,
                smoke_reason,
            },
        );
        let mut stage = blank(turn, judgement);
        stage.cwd = Some(spec.cwd.to_string_lossy().into_owned());
        stage.duration_ms = report.duration_ms;
        stage.stdout_tail = shown(&report.stdout, self.stage_env.rules.tail_bytes);
        stage.stderr_tail = stderr_tail;
        stage.truncated_bytes = report.stdout.truncated_bytes() + report.stderr.truncated_bytes();
        stage.resource = StageResource {
            max_rss_bytes: report.resources.max_rss_bytes.unwrap_or(0),
            cpu_user_micros: report.resources.cpu_user_micros,
            cpu_system_micros: report.resources.cpu_system_micros,
        };
        stage.leaked_processes = report.leaked;
        if stage.status == StageStatus::Fail && stage.name == StageName::TargetedTests {
            let output = format!("{}\n{}", stage.stdout_tail, stage.stderr_tail);
            stage.failed_tests = failed_tests(&output);
        }
        stage
    }

    /// A stage whose command never started.
    fn refused(&self, turn: &Turn, problem: &Problem) -> Stage {
        let observation = Observation {
            end: End::Infra {
                message: problem.to_string(),
            },
            tampered: Vec::new(),
            tests: TestsRan::Unknown,
            timeout: turn.within,
            smoke_reason: None,
        };
        blank(turn, judge(turn.name, &observation))
    }
}

fn blank(turn: &Turn, judgement: Judgement) -> Stage {
    let reason = judgement.reason;
    Stage {
        ended: Some(judgement.ended),
        exit_code: judgement.exit_code,
        signal: judgement.signal,
        reason: reason.map(|reason| text::printable(reason.as_bytes())),
        ..Stage::unrun(turn.name, &turn.route, &turn.command.argv, judgement.status)
    }
}

/// The tail as text; replacement characters must not make it longer than the bound.
fn shown(stream: &StreamReport, bound: u64) -> String {
    let text = text::printable(&stream.tail);
    let bound = usize::try_from(bound).unwrap_or(usize::MAX);
    text::tail(&text, bound).to_owned()
}

fn last_reason(stderr: &str) -> Option<String> {
    let line = stderr
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(SMOKE_PREFIX))?;
    Some(line.to_owned())
}

fn no_helper() -> Problem {
    Problem::new(
        Kind::NoStartupHelper,
        "the helper for startup smoke tests is missing",
    )
}

/// Parses the output of a test runner; other stages are not parsed.
struct Scan {
    tests: TestScan,
    refused: Vec<Refused>,
    wanted: bool,
}

impl OutputSink for Scan {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        self.tests.push(stream, bytes);
    }

    fn refused(&mut self, refused: &Refused) {
        self.refused.push(refused.clone());
    }

    fn wanted(&self) -> bool {
        self.wanted
    }
}
