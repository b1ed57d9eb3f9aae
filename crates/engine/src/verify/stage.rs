//! Runs one stage of a verification and classifies its result.

use super::ports::Workspaces;
use super::{Helpers, StageEnv};
use crate::CancelToken;
use crate::ports::{CommandSpec, OutputSink, ProcessRunner};
use drive_core::agent::{Redactor, Secrets};
use drive_core::network::Refused;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, Layer, ProcessReport, Stream, StreamReport};
use drive_core::verify::{
    Judgement, Observation, SERVICE_FAILED, SERVICE_PREFIX, SERVICE_WAITING, SMOKE_PREFIX, Service,
    Stage, StageCommand, StageName, StageResource, StageStatus, StageTests, TestScan, TestTotals,
    TestsRan, Turn, failed_tests, judge, passed_secrets, text, unstarted, wanted,
};
use serde::Serialize;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;
use std::thread::ScopedJoinHandle;

pub(super) struct StageRunner<'a> {
    pub(super) runner: &'a dyn ProcessRunner,
    pub(super) workspaces: &'a dyn Workspaces,
    pub(super) stage_env: &'a StageEnv,
    pub(super) helpers: &'a Helpers,
    pub(super) cancel: &'a CancelToken,
}

impl StageRunner<'_> {
    /// Runs one stage to its end.
    pub(super) fn run(&self, turn: &Turn) -> RanStage {
        self.judge(turn, self.execute(turn), &[])
    }

    /// Runs a command to its end without judging it; a problem means that it did not start.
    pub(super) fn start(&self, turn: &Turn) -> Result<ProcessReport, Problem> {
        let spec = self.spec(turn)?;
        let mut output = crate::ports::Discard;
        self.runner
            .run(&spec, self.cancel, &mut |_| Ok(()), &mut output)
    }

    /// The kept end of a stream as text, with secrets redacted.
    pub(super) fn shown(&self, stream: &StreamReport) -> String {
        let bound = self.stage_env.rules.tail_bytes;
        shown(stream, bound, self.secrets().as_ref())
    }

    /// Runs independent stages at the same time. They are judged after all of them ended, because
    /// they share a tree.
    pub(super) fn run_together(&self, turns: &[Turn]) -> Vec<RanStage> {
        if let [turn] = turns {
            return vec![self.run(turn)];
        }
        let executed: Vec<Executed> = std::thread::scope(|threads| {
            let start = |turn| threads.spawn(move || self.execute(turn));
            let running: Vec<_> = turns.iter().map(start).collect();
            let join = |one: ScopedJoinHandle<'_, Executed>| {
                one.join().unwrap_or_else(|_| {
                    let what = "the thread of a stage panicked";
                    Executed::NotStarted(Problem::new(Kind::Bug, what))
                })
            };
            running.into_iter().map(join).collect()
        });
        let judged = turns.iter().zip(executed).map(|(turn, executed)| {
            let others = turns.iter().filter(|other| *other != turn);
            let others: Vec<&str> = others.map(|other| other.command.dir.as_str()).collect();
            self.judge(turn, executed, &others)
        });
        judged.collect()
    }

    fn execute(&self, turn: &Turn) -> Executed {
        let mut scan = Scan {
            tests: TestScan::of(&turn.command.argv),
            refused: Vec::new(),
            wanted: turn.name == StageName::TargetedTests,
        };
        let spec = match self.spec(turn) {
            Ok(spec) => spec,
            Err(problem) => return Executed::NotStarted(problem),
        };
        let ran = self
            .runner
            .run(&spec, self.cancel, &mut |_| Ok(()), &mut scan);
        Executed::Ran(Box::new((spec, ran, scan)))
    }

    /// Judges a stage. `others` are the folders of stages that ran at the same time.
    fn judge(&self, turn: &Turn, executed: Executed, others: &[&str]) -> RanStage {
        let refused = |problem: &Problem, hosts| RanStage {
            stage: self.refused(turn, problem),
            layers: Vec::new(),
            hosts,
        };
        let (spec, ran, scan) = match executed {
            Executed::NotStarted(problem) => return refused(&problem, Vec::new()),
            Executed::Ran(ran) => *ran,
        };
        let rules = &self.stage_env.rules;
        let network = turn.command.network.unwrap_or(rules.network);
        let hosts = scan.refused.iter();
        let hosts = hosts.map(|refused| wanted(refused, network, rules.has_route(&turn.route)));
        let hosts = match self.secrets() {
            Some(secrets) => hosts.map(|host| secrets.redact(&host)).collect(),
            None => hosts.collect(),
        };
        match ran {
            Ok(mut report) => RanStage {
                layers: std::mem::take(&mut report.layers),
                stage: self.judged(
                    turn,
                    &spec,
                    report,
                    scan.tests.totals(&turn.command.members),
                    others,
                ),
                hosts,
            },
            Err(problem) => refused(&problem, hosts),
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
        if !command.dir.is_empty() {
            // A project in its own folder may run at the same time as another, and two stages
            // cannot share a layer.
            let own = format!("of-{}", command.dir.replace('+', "++").replace('/', "+"));
            let layered = spec.isolation.layered.iter_mut();
            layered.for_each(|folder| folder.layer.push(&own));
        }
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

    /// The variables that this command gets from the user's environment.
    fn passed(&self, command: &StageCommand) -> impl Iterator<Item = &(OsString, OsString)> {
        let all = self.stage_env.workspace.passed.iter();
        all.filter(|(name, _)| command.pass_env.iter().any(|one| name == one.as_str()))
    }

    /// The secret values of all routes: a value that one command gets, another may read from a file.
    fn secrets(&self) -> Option<Secrets> {
        let passed = self.stage_env.workspace.passed.iter();
        let passed: Vec<(Cow<'_, str>, Cow<'_, str>)> = passed
            .map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        passed_secrets(passed.iter().map(|(name, value)| (&**name, &**value)))
    }

    /// The services, with their programs resolved.
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
        totals: TestTotals,
        others: &[&str],
    ) -> Stage {
        let is_of_others = |path: &String| {
            others.iter().any(|dir| {
                let rest = path.strip_prefix(dir);
                rest.is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let (tampered, lost) = match self.workspaces.altered(&self.stage_env.workspace) {
            Ok(mut paths) => {
                paths.retain(|path| !is_of_others(path));
                (paths, None)
            }
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let end = match lost {
            // A tree that cannot be checked cannot be trusted.
            Some(problem) => End::Infra {
                message: problem.to_string(),
            },
            None => report.end.clone(),
        };
        let secrets = self.secrets();
        let tail = |stream: &StreamReport| {
            shown(stream, self.stage_env.rules.tail_bytes, secrets.as_ref())
        };
        let stderr_tail = tail(&report.stderr);
        let not_ready = not_ready(turn, &report.end, &stderr_tail);
        let judgement = judge(
            turn.name,
            &Observation {
                end,
                tampered,
                tests: totals.ran,
                untested: totals.untested,
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
        let ran = match totals.ran {
            TestsRan::None => Some(0),
            TestsRan::Some(ran) => Some(ran),
            TestsRan::Unknown | TestsRan::CutShort => None,
        };
        let counted = turn.name == StageName::TargetedTests;
        stage.tests = ran.filter(|_| counted).map(|ran| StageTests {
            ran,
            failed: totals.failed,
        });
        if stage.status == StageStatus::Fail && stage.name == StageName::TargetedTests {
            let output = format!("{}\n{}", stage.stdout_tail, stage.stderr_tail);
            let services = turn.command.services.iter();
            let services: Vec<String> = services.map(|one| format!("[{}] ", one.name)).collect();
            let own = output
                .lines()
                .filter(|line| !services.iter().any(|prefix| line.starts_with(prefix)));
            // The path is removed, because the base has another folder.
            let root = format!("{}/", self.stage_env.workspace.path.display());
            let names = failed_tests(&own.collect::<Vec<_>>().join("\n"));
            let names = names.iter().map(|name| name.replace(&root, ""));
            stage.failed_tests = names.collect();
        }
        stage
    }

    /// A stage whose command never started.
    fn refused(&self, turn: &Turn, problem: &Problem) -> Stage {
        let program = turn.command.argv.first().map(String::as_str);
        let observation = Observation {
            end: unstarted(program, problem),
            tampered: Vec::new(),
            tests: TestsRan::Unknown,
            untested: Vec::new(),
            timeout: turn.within,
            not_ready: Some(problem.to_string()),
        };
        blank(turn, judge(turn.name, &observation))
    }
}

/// A stage that came to its end.
pub(super) struct RanStage {
    pub(super) stage: Stage,
    /// The layers of isolation that it ran under.
    pub(super) layers: Vec<Layer>,
    /// The hosts that it tried to reach, as text.
    pub(super) hosts: Vec<String>,
}

/// A command that ended, or did not start.
enum Executed {
    NotStarted(Problem),
    Ran(Box<(CommandSpec, Result<ProcessReport, Problem>, Scan)>),
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

/// The tail as text, with secrets redacted; replacement characters must not make it exceed the limit.
fn shown(stream: &StreamReport, bound: u64, secrets: Option<&Secrets>) -> String {
    let mut bytes = stream.tail.as_slice();
    let text = match secrets {
        Some(secrets) => {
            if stream.truncated_bytes() > 0 {
                // The rest of a cut line may be the end of a secret.
                let line = bytes.iter().position(|byte| *byte == b'\n');
                bytes = line.map_or(&[], |end| &bytes[end + 1..]);
            }
            let mut redactor = Redactor::new(secrets.clone());
            let mut clean = redactor.push(bytes);
            clean.extend(redactor.finish());
            // Secrets are redacted again, because unprintable characters may have split one.
            secrets.redact(&text::printable(&clean))
        }
        None => text::printable(bytes),
    };
    let bound = usize::try_from(bound).unwrap_or(usize::MAX);
    text::tail(&text, bound).to_owned()
}

/// Why a program did not become ready: a service, or the one that a startup smoke test starts.
fn not_ready(turn: &Turn, end: &End, stderr: &str) -> Option<String> {
    let failed = End::Exited {
        code: SERVICE_FAILED,
    };
    if !turn.command.services.is_empty() {
        if *end == failed {
            return last_reason(stderr, SERVICE_PREFIX).map(|why| format!("{SERVICE_PREFIX}{why}"));
        }
        // While a service is waited for, nothing else prints.
        let last = stderr.lines().next_back();
        let waiting = last.and_then(|line| line.strip_prefix(SERVICE_WAITING));
        if let (End::TimedOut { .. }, Some(service)) = (end, waiting) {
            return Some(format!("{SERVICE_PREFIX}{service}"));
        }
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

/// Makes a helper start the command.
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
