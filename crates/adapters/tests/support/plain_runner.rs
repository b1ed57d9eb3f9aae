//! The smallest runner: starts the child, feeds and drains it, waits.

use drive_core::Problem;
use drive_core::process::{
    End, Layer, Presence, ProcessIdentity, ProcessReport, Resources, StreamReport,
};
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, OutputSink, ProcessRunner, Started, Stdin, Stream};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

pub struct PlainRunner;

impl ProcessRunner for PlainRunner {
    fn run(
        &self,
        spec: &CommandSpec,
        _cancel: &CancelToken,
        _started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        let mut child = Command::new(&spec.program)
            .args(&spec.args)
            .current_dir(&spec.cwd)
            .env_clear()
            .envs(spec.env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Problem::environment("cannotStart", "cannot start").because(error))?;
        let mut stdin = child.stdin.take().unwrap();
        let input = match &spec.stdin {
            Stdin::Bytes(bytes) => bytes.clone(),
            Stdin::Null | Stdin::Channel(_) => Vec::new(),
        };
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let mut err = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut all = Vec::new();
            let _ = err.read_to_end(&mut all);
            all
        });
        let mut out = Vec::new();
        let _ = child.stdout.take().unwrap().read_to_end(&mut out);
        let status = child.wait().unwrap();
        let _ = feeder.join();
        sink.chunk(Stream::Stdout, &out);
        sink.chunk(Stream::Stderr, &errors.join().unwrap());
        Ok(ProcessReport {
            end: match status.code() {
                Some(code) => End::Exited { code },
                None => End::Signalled {
                    signal: status.signal().unwrap_or(0),
                },
            },
            leader: None,
            duration_ms: 0,
            stdout: StreamReport::default(),
            stderr: StreamReport::default(),
            resources: Resources::default(),
            layers: Vec::new(),
            leaked: 0,
        })
    }

    fn inspect(&self, _: &ProcessIdentity) -> Presence {
        Presence::Gone
    }

    fn end(&self, _: &ProcessIdentity) -> Result<u32, Problem> {
        Ok(0)
    }

    fn load_report(&self, _: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
        Ok(None)
    }

    fn probe(&self) -> Vec<Layer> {
        Vec::new()
    }
}
