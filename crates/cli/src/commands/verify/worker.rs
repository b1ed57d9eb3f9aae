//! The worker process that verifies.

use super::request::{WorkerAnswer, WorkerRequest};
use super::ruling::Ruling;
use super::running::Beacon;
use super::world::World;
use crate::app::App;
use drive_core::problem::{Kind, Problem};
use drive_core::run::ContractCheck;
use drive_core::verify::Rules;
use drive_engine::cancel::Urgency;
use drive_engine::verify::{Helpers, VerifyRequest};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;

/// The first argument that makes the program act as the worker.
pub(super) const WORKER: &str = "__verify-worker";

/// The maximum size of a list of checks.
const CHECKS_BYTES: u64 = 64 << 20;

/// Drive's own program, even if its file was replaced since the start.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Runs the worker if the arguments ask for it: `__verify-worker JSON` and paths.
pub(crate) fn worker_if_asked(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)? != OsStr::new(WORKER) {
        return None;
    }
    let answer = match WorkerRequest::read(&arguments[2..]) {
        Some(request) => answer(&request).unwrap_or_else(WorkerAnswer::problem),
        None => WorkerAnswer::problem(Problem::new(Kind::Bug, "the worker was called wrongly")),
    };
    let written = serde_json::to_vec(&answer)
        .map_err(std::io::Error::other)
        .and_then(|text| std::io::stdout().write_all(&text));
    Some(match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// A glob for exactly this path.
fn escaped(path: &str) -> String {
    let escape = |letter: char| match letter {
        '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\' => format!("\\{letter}"),
        _ => letter.to_string(),
    };
    path.chars().map(escape).collect()
}

fn answer(request: &WorkerRequest) -> Result<WorkerAnswer, Problem> {
    let app = App::new(request.global());
    let ruling = Ruling::read(&app, request)?;
    let settings = &ruling.effective.settings;
    let mut rules = Rules::from_settings(settings);
    // The last glob decides, so no setting can exempt the file that contains the rules.
    rules.protected.extend(ruling.file.as_deref().map(escaped));
    for widened in ruling.effective.widened.iter() {
        if widened.agent.is_none() {
            app.output().warn(&widened.message);
        }
    }
    let world = World::open(&app, settings)?;
    let cancel = app.cancel()?.clone();
    let checks = request.is_check.then(read_checks).transpose()?;
    let on_orphaned = cancel.clone();
    std::thread::spawn(move || {
        // The caller keeps the other end open as long as it lives.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        on_orphaned.cancel(Urgency::Graceful);
    });
    let verify = VerifyRequest {
        run: request.run.clone(),
        repo: world.repo.clone(),
        revision: request.revision.clone(),
        base: ruling.base,
        head_only: request.judges.head_only,
        rules,
        rules_from: ruling.from,
        notes: ruling.notes,
        helpers: Helpers {
            startup: vec![OWN_PROGRAM.into(), drive_adapters::verify::STARTUP.into()],
            services: vec![OWN_PROGRAM.into(), drive_adapters::verify::SERVICES.into()],
        },
        fresh: request.judges.fresh,
    };
    let verifier = world.verifier();
    let mut beacon = Beacon::light(&app, request)?;
    let mut progress = |line: &str| {
        beacon.tell(line, app.now());
        app.output().narrate(line);
    };
    if let Some(checks) = checks {
        let receipts = verifier.check(&verify, &checks, &cancel, &mut progress)?;
        return Ok(WorkerAnswer {
            report: None,
            problem: None,
            receipts: Some(receipts),
        });
    }
    let verified = verifier.verify(&verify, &cancel, &mut progress);
    Ok(WorkerAnswer {
        report: Some(verified.report),
        problem: verified.problem,
        receipts: None,
    })
}

/// Reads the checks, which the caller writes as one line before it goes silent.
fn read_checks() -> Result<Vec<ContractCheck>, Problem> {
    let mut line = Vec::new();
    let input = std::io::stdin().lock().take(CHECKS_BYTES);
    let read = BufReader::new(input).read_until(b'\n', &mut line);
    read.and_then(|_| serde_json::from_slice(&line).map_err(std::io::Error::other))
        .map_err(|error| Problem::new(Kind::Bug, "the worker was given no checks").because(error))
}
