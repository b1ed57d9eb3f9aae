//! Finds what a crash left unfinished and finishes it.

use super::evidence::gather;
use super::lock::FileLock;
use super::remove;
use super::sandboxes::GitSandboxes;
use crate::git;
use drive_core::Problem;
use drive_core::ids::{RunId, SandboxId};
use drive_core::sandbox::{Asker, OwnerState, Probe, Verdict, may_remove};
use drive_engine::ports::{Left, SweepReport, Swept, WhyLeft};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) fn sweep(
    all: &GitSandboxes,
    owner: &dyn Fn(&RunId) -> OwnerState,
) -> Result<SweepReport, Problem> {
    let mut report = SweepReport::default();
    let ids = all.records.ids()?;
    let records = ids.iter().filter_map(|id| all.records.load(id).found());
    let repositories: BTreeSet<PathBuf> = records.map(|record| record.sandbox.git_dir).collect();
    for repository in repositories {
        git::sweep_takes(&repository);
    }
    for id in ids {
        match sweep_one(all, &id, owner) {
            Ok(Some(swept)) => report.removed.push(swept),
            Ok(None) => {}
            Err(why) => report.left.push(Left { id, why }),
        }
    }
    report.trash = all.trash.empty();
    Ok(report)
}

fn sweep_one(
    all: &GitSandboxes,
    id: &SandboxId,
    owner: &dyn Fn(&RunId) -> OwnerState,
) -> Result<Option<Swept>, WhyLeft> {
    drive_core::sandbox::check_folder_name(id).map_err(WhyLeft::Failed)?;
    let lock = FileLock::try_acquire(&all.sandbox_lock(id), "being swept");
    let Some(_lock) = lock.map_err(WhyLeft::Failed)? else {
        return Err(WhyLeft::Busy);
    };
    let loaded = all.records.load(id);
    let alive = match &loaded {
        Probe::Found(record) => owner(&record.sandbox.run),
        Probe::Absent => return Ok(None),
        Probe::Failed(_) => OwnerState::Unknown,
    };
    let verdict = may_remove(&gather(all, &loaded), Asker::Sweep(alive));
    let record = match (verdict, loaded) {
        (Verdict::Refuse(refusal), _) => return Err(WhyLeft::Refused(refusal)),
        (_, Probe::Absent | Probe::Failed(_)) => return Ok(None),
        (Verdict::Undo, Probe::Found(record)) => {
            remove::undo(all, &record).map_err(WhyLeft::Failed)?;
            return Ok(Some(Swept {
                id: id.clone(),
                run: record.sandbox.run,
                kept: None,
            }));
        }
        (Verdict::Remove | Verdict::Forget, Probe::Found(record)) => record,
    };
    let run = record.sandbox.run.clone();
    let kept = remove::settle_locked(all, record).map_err(WhyLeft::Failed)?;
    Ok(Some(Swept {
        id: id.clone(),
        run,
        kept,
    }))
}
