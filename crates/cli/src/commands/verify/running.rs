//! The verifications that run now: each worker tells in a file of its own what it does.

use super::request::WorkerRequest;
use crate::app::App;
use crate::documents::RunningVerification;
use drive_adapters::files;
use drive_adapters::process::ThisProcess;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use drive_engine::lease::Whoami;
use drive_engine::ports::{Liveness, Owner};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder of the files, in the state directory.
const FOLDER: &str = "running-verifications";
/// How long a verification that is asked to stop may take to clean up.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A verification that runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Running {
    pub(crate) run: RunId,
    /// Its worker.
    owner: Owner,
    /// What is verified, as it was asked for.
    pub(crate) what: String,
    pub(crate) started_at: Timestamp,
    /// What it does, in the words of its progress.
    pub(crate) stage: String,
    pub(crate) stage_since: Timestamp,
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        self.owner.process.pid
    }

    /// What is published of it.
    pub(crate) fn document(&self) -> RunningVerification {
        RunningVerification {
            run_id: self.run.to_string(),
            pid: self.pid(),
            what: self.what.clone(),
            started_at: self.started_at.into(),
            stage: self.stage.clone(),
            stage_since: self.stage_since.into(),
        }
    }

    /// Asks it to stop, and waits until it has cleaned up.
    pub(crate) fn stop(&self, app: &App) -> Result<(), Problem> {
        let whoami = ThisProcess::load();
        let pid = rustix::process::Pid::from_raw(self.pid());
        // Only of a process that is proven to be the worker.
        match (whoami.liveness(&self.owner), pid) {
            (Liveness::Alive, Some(pid)) => {
                let asked = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                asked.map_err(|error| self.not_stopped().because(error))?;
            }
            (Liveness::Dead, _) => return Ok(()),
            (Liveness::Alive | Liveness::Unknown, _) => {
                return Err(self.not_stopped().hint(format!(
                    "it runs on machine `{}`; stop it there",
                    self.owner.machine
                )));
            }
        }
        let until = Instant::now() + PATIENCE;
        while whoami.liveness(&self.owner) != Liveness::Dead {
            if Instant::now() >= until || app.cancel()?.asked().is_some() {
                return Err(self
                    .not_stopped()
                    .hint("it was asked to; `drive runs list` shows whether it still runs"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn not_stopped(&self) -> Problem {
        let (run, pid) = (&self.run, self.pid());
        Problem::new(
            Kind::RunOwned,
            format!("verification `{run}` (process {pid}) has not stopped"),
        )
    }
}

/// Tells that this process verifies, as long as it lives.
pub(super) struct Beacon {
    path: PathBuf,
    told: Running,
}

impl Beacon {
    /// From now on the verification is listed. Where that cannot be written it runs all the same.
    pub(super) fn light(app: &App, request: &WorkerRequest) -> Result<Self, Problem> {
        let folder = app.state_dir()?.path().join(FOLDER);
        let _ = std::fs::create_dir_all(&folder);
        let now = app.now();
        let what = match &request.base {
            Some(base) if !request.judges.head_only => {
                format!("{} into {base}", request.revision)
            }
            Some(_) | None => request.revision.clone(),
        };
        let beacon = Self {
            path: path_in(&folder, &request.run),
            told: Running {
                run: request.run.clone(),
                owner: ThisProcess::load().owner(),
                what,
                started_at: now,
                stage: "starting".to_owned(),
                stage_since: now,
            },
        };
        beacon.write();
        Ok(beacon)
    }

    /// It does something else now.
    pub(super) fn tell(&mut self, stage: &str, now: Timestamp) {
        stage.clone_into(&mut self.told.stage);
        self.told.stage_since = now;
        self.write();
    }

    fn write(&self) {
        if let Ok(text) = serde_json::to_vec(&self.told) {
            let _ = files::replace(&self.path, &text);
        }
    }
}

impl Drop for Beacon {
    fn drop(&mut self) {
        let _ = files::remove_file(&self.path);
    }
}

fn path_in(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}.json"))
}

/// The verifications that run now, the newest first. What a killed worker left is removed.
pub(crate) fn running(app: &App) -> Result<Vec<Running>, Problem> {
    let folder = app.state_dir()?.path().join(FOLDER);
    Ok(read(&folder, &ThisProcess::load()))
}

fn read(folder: &Path, whoami: &dyn Whoami) -> Vec<Running> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.path();
        let Ok(text) = std::fs::read(&path) else {
            continue;
        };
        // What is just being written has another name.
        let Ok(one) = serde_json::from_slice::<Running>(&text) else {
            continue;
        };
        if whoami.liveness(&one.owner) == Liveness::Dead {
            let _ = files::remove_file(&path);
        } else if path == path_in(folder, &one.run) {
            all.push(one);
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.started_at));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_whose_worker_died_is_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let whoami = ThisProcess::load();
        let lives = Running {
            run: RunId::new("r2"),
            owner: whoami.owner(),
            what: "HEAD into main".to_owned(),
            started_at: Timestamp::UNIX_EPOCH,
            stage: "compile".to_owned(),
            stage_since: Timestamp::UNIX_EPOCH,
        };
        let mut dead = lives.clone();
        dead.run = RunId::new("r1");
        // This process has another start than the one that is told.
        dead.owner.process.start_ticks += 1;
        for one in [&lives, &dead] {
            let text = serde_json::to_vec(one).unwrap();
            files::replace(&path_in(folder.path(), &one.run), &text).unwrap();
        }
        files::replace(&folder.path().join("torn"), b"{").unwrap();
        assert_eq!(read(folder.path(), &whoami), [lives]);
        assert!(!path_in(folder.path(), &dead.run).exists());
    }
}
