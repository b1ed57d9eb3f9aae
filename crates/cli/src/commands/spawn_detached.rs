//! `drive spawn --detach` and `drive spawn-team --detach`: hands a checked run to a process of its own.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{RunDocument, path_text};
use crate::wiring::Wiring;
use drive_adapters::{detached, files};
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::Run;
use drive_engine::ports::Store;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// The task, in the folder of the run.
const TASK: &str = "task.md";
/// What the process says, in the folder of the run.
const LOG: &str = "owner.log";
/// How long the process may take until its run is in the journal: it checks the agents once more.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How much of its log an error shows.
const TAIL: usize = 2000;

/// The id that the process which detached this one has given away.
pub(super) fn handed_over(id: &str) -> Result<RunId, Problem> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '-';
    if id.starts_with('r') && id.chars().all(is_plain) {
        return Ok(RunId::new(id));
    }
    Err(Problem::new(
        Kind::Usage,
        format!("`{id}` is not the id of a run"),
    ))
}

/// Starts a process that executes the run, and returns once the journal has it. `arguments` are the
/// command and its options without the task, which the process reads from its standard input.
pub(super) fn detach(
    app: &App,
    wiring: &Wiring,
    id: &RunId,
    task: &str,
    arguments: Vec<OsString>,
) -> Outcome {
    let folder = wiring.runs_dir.join(id.as_str());
    let (input, log) = (folder.join(TASK), folder.join(LOG));
    let unwritten = |error: std::io::Error| not_detached().because(error);
    std::fs::create_dir_all(&folder).map_err(unwritten)?;
    files::replace(&input, task.as_bytes()).map_err(unwritten)?;
    let mut all: Vec<OsString> = vec!["--repo".into(), app.start_dir()?.into()];
    if let Some(config) = &app.global().config {
        all.extend(["--config".into(), config.clone().into()]);
    }
    all.extend(arguments);
    all.extend(["--detached-as".into(), id.as_str().into(), "-".into()]);
    let pid = detached::start_reading(&all, &log, &input)?;
    let run = until_begun(app, wiring, id, pid, &log)?;
    let text = format!(
        "run {id} continues in the background as process {pid}\n\
         follow it with `drive runs logs -f {id}`, see how it stands with `drive runs show {id}`, stop it \
         with `drive runs stop {id}`\n"
    );
    let document = RunDocument {
        pid: Some(pid),
        owner_log: Some(path_text(&log)),
        ..RunDocument::new(&run, None)
    };
    Answer::new(&document, text)
}

/// Waits until the run has begun. A process that ends before says why in its log.
fn until_begun(
    app: &App,
    wiring: &Wiring,
    id: &RunId,
    pid: u32,
    log: &Path,
) -> Result<Run, Problem> {
    let child = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let until = Instant::now() + PATIENCE;
    loop {
        // The end is looked for first: a short run may begin and end between two looks.
        let ended = waitpid(child, WaitOptions::NOHANG).is_ok_and(|ended| ended.is_some());
        if let Some(run) = wiring.store.load(id)? {
            return Ok(run);
        }
        if ended {
            return Err(not_detached().cause(tail(log)));
        }
        if Instant::now() >= until || app.cancel()?.asked().is_some() {
            return Err(not_detached().cause(tail(log)).hint(format!(
                "its process {pid} still runs; see its log `{}`",
                log.display()
            )));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn not_detached() -> Problem {
    Problem::new(Kind::NotDetached, "the run did not begin in the background")
        .hint("start it without `--detach` to see why")
}

fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let from = text.len().saturating_sub(TAIL);
    String::from_utf8_lossy(&text[from..]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::handed_over;

    #[test]
    fn only_a_plain_id_is_taken_over() {
        assert!(handed_over("r20261118-0942-k3f9a").is_ok());
        for id in ["", "r/../x", "../r", "r1+t", "x1"] {
            assert!(handed_over(id).is_err(), "{id}");
        }
    }
}
