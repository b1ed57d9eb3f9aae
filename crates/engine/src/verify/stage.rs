//! Runs one stage of a verification and classifies its result.

use super::ports::Workspaces;
use super::{Helpers, StageEnv};
use crate::CancelToken;
use crate::ports::{CommandSpec, OutputSink, ProcessRunner};
use drive_core::agent::Secrets;
use drive_core::network::Refused;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, Layer, ProcessReport, Stream, StreamReport};
use drive_core::verify::{
    Judgement, Observation, SERVICE_FAILED, SERVICE_PREFIX, SMOKE_PREFIX, Service, Stage,
    StageCommand, StageName, StageResource, StageStatus, TestScan, TestsRan, Turn, failed_tests,
    judge, text, wanted,
};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;

pub(super) struct StageRunner<'a> {
    pub(super) runner: &'a dyn ProcessRunner,
    pub(super) workspaces: &'a dyn Workspaces,
    pub(super) stage_env: &'a StageEnv,
    pub(super) helpers: &'a Helpers,
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
        let passed = self.passed(command);
        let own = command.env.iter();
        let own = own.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        for (name, value) in passed.cloned().chain(own) {
            spec.env.retain(|(known, _)| *known != name);
            spec.env.push((name, value));
        }
        if let Some(network) = command.network {
            self.stage_env.connect(&mut spec.isolation, network);
        }
        if let Some(ready) = &command.ready {
            wrap(&mut spec, &self.helpers.startup, "--ready", ready)?;
        }
        if !command.services.is_empty() {
            let services = self.services(command, &cwd)?;
            wrap(&mut spec, &self.helpers.services, "--services", &services)?;
        }
        Ok(spec)
    }

    /// The variables of the user's environment that this command sees.
    fn passed(&self, command: &StageCommand) -> impl Iterator<Item = &(OsString, OsString)> {
        let all = self.stage_env.workspace.passed.iter();
        all.filter(|(name, _)| command.pass_env.iter().any(|one| name == one.as_str()))
    }

    /// The passed values that no report may show.
    fn secrets(&self, command: &StageCommand) -> Option<Secrets> {
        let passed = self.passed(command);
        command
            .secrets_of(passed.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?))))
    }

    /// The services with their programs found.
    fn services(&self, command: &StageCommand, cwd: &Path) -> Result<Vec<Service>, Problem> {
        let mut services = command.services.clone();
        for service in &mut services {
            if let Some(program) = service.argv.first_mut() {
                let workspace = &self.stage_env.workspace;
                *program = self.workspaces.program(workspace, cwd, program)?;
            }
        }
        Ok(services)
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
        let secrets = self.secrets(&turn.command);
        let tail = |stream: &StreamReport| {
            let text = shown(stream, self.stage_env.rules.tail_bytes);
            match &secrets {
                Some(secrets) => secrets.redact(&text),
                None => text,
            }
        };
        let stderr_tail = tail(&report.stderr);
        let not_ready = not_ready(turn, &report.end, &stderr_tail);
        let judgement = judge(
            turn.name,
            &Observation {
                end,
                tampered,
                tests,
                timeout: turn.within,
                not_ready,
            },
        );
        let mut stage = blank(turn, judgement);
        stage.cwd = Some(spec.cwd.to_string_lossy().into_owned());
        stage.duration_ms = report.duration_ms;
        stage.stdout_tail = tail(&report.stdout);
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
            not_ready: None,
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

/// Why a program that must become ready did not: a service, or the one a startup smoke test starts.
fn not_ready(turn: &Turn, end: &End, stderr: &str) -> Option<String> {
    let failed = End::Exited {
        code: SERVICE_FAILED,
    };
    if !turn.command.services.is_empty() && *end == failed {
        return last_reason(stderr, SERVICE_PREFIX).map(|why| format!("{SERVICE_PREFIX}{why}"));
    }
    let ready = turn.command.ready.as_ref()?;
    let reason = last_reason(stderr, SMOKE_PREFIX);
    Some(reason.unwrap_or_else(|| format!("not ready: {}", ready.describe())))
}

fn last_reason(stderr: &str, prefix: &str) -> Option<String> {
    let mut lines = stderr.lines().rev();
    let line = lines.find_map(|line| line.strip_prefix(prefix))?;
    Some(line.to_owned())
}

/// Has a helper start the command.
fn wrap(
    spec: &mut CommandSpec,
    helper: &[OsString],
    flag: &str,
    value: &impl Serialize,
) -> Result<(), Problem> {
    let (program, start) = helper.split_first().ok_or_else(|| {
        Problem::new(
            Kind::NoStartupHelper,
            "the helper that starts programs is missing",
        )
    })?;
    let value = serde_json::to_string(value).map_err(|error| {
        Problem::new(Kind::Bug, "cannot tell the helper what to start").because(error)
    })?;
    let inner = std::mem::replace(&mut spec.program, program.clone());
    let inner = std::iter::once(inner).chain(std::mem::take(&mut spec.args));
    let told = [OsString::from(flag), value.into(), "--".into()];
    spec.args = start.iter().cloned().chain(told).chain(inner).collect();
    Ok(())
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
