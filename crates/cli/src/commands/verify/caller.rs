//! The caller: starts the worker process, waits for it, and reports if it dies.

use super::request::{WorkerAnswer, WorkerRequest};
use super::worker::WORKER;
use super::world::World;
use crate::app::App;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::verify::{Reports, Workspaces, lost};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The maximum size of an answer: two tails for each stage, and hundreds of stages.
const ANSWER_BYTES: u64 = 256 << 20;

/// Starts a worker, waits for it, and answers for it if it dies.
pub(super) fn call(
    app: &App,
    request: &WorkerRequest,
    cancel: &CancelToken,
) -> Result<WorkerAnswer, Problem> {
    let started_at = app.now();
    let mut worker = start(app, request)?;
    if let (true, Some(input)) = (request.is_check, &mut worker.stdin) {
        // If the worker does not read them, it has died, which is detected below.
        let _ = serde_json::to_writer(&mut *input, &request.checks)
            .map_err(std::io::Error::other)
            .and_then(|()| input.write_all(b"\n"));
    }
    let pid = i32::try_from(worker.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let _forwarding = cancel.on_cancel(move |_| {
        if let Some(pid) = pid {
            // If the worker is gone already, its answer is on its way.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    });
    let mut text = Vec::new();
    if let Some(out) = worker.stdout.take() {
        // An unreadable answer is detected below.
        let _ = out.take(ANSWER_BYTES).read_to_end(&mut text);
    }
    let status = worker.wait().map_err(|error| {
        Problem::new(Kind::WorkerLost, "cannot wait for the verifier").because(error)
    })?;
    match serde_json::from_slice(&text) {
        Ok(answer) => Ok(answer),
        Err(_) => Ok(in_its_place(app, request, started_at, status)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the worker is drive itself; the limits it sets must not apply to it"
)]
fn start(app: &App, request: &WorkerRequest) -> Result<Child, Problem> {
    let failed = |cause: String| {
        Problem::new(Kind::WorkerNotStarted, "cannot start the verifier").cause(cause)
    };
    let arguments = request
        .arguments()
        .map_err(|error| failed(error.to_string()))?;
    Command::new("/proc/self/exe")
        .arg(WORKER)
        .args(arguments)
        .env_clear()
        .envs(app.environment().iter())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // The terminal's interrupt then only reaches the caller, which passes it on once.
        .process_group(0)
        .spawn()
        .map_err(|error| failed(error.to_string()))
}

/// The answer for a worker that died. Its remains are removed.
fn in_its_place(
    app: &App,
    request: &WorkerRequest,
    started_at: Timestamp,
    status: ExitStatus,
) -> WorkerAnswer {
    let how = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, code) => format!("exit code {}", code.unwrap_or(-1)),
    };
    let mut report = lost(request.run.clone(), started_at, app.now(), &how);
    let cleaned = app
        .settings()
        .and_then(|settings| World::open(app, &settings.settings))
        .and_then(|world| {
            report.notes.extend(world.workspaces.sweep()?);
            world.reports.save(&report)
        });
    if let Err(problem) = cleaned {
        report
            .notes
            .push(format!("cleanup did not finish: {problem}"));
    }
    let reason = report
        .failure
        .as_ref()
        .map(|f| f.reason.clone())
        .unwrap_or_default();
    WorkerAnswer {
        problem: Some(Problem::new(Kind::VerifierDied, reason).hint(
            "run `drive verify` again; `dmesg` shows whether the machine ran out of \
                       memory",
        )),
        report: Some(report),
        receipts: None,
    }
}
