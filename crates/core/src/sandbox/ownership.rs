//! Decides from several facts whether a sandbox may be removed.

use super::Lifetime;
use serde::{Deserialize, Serialize};

/// The result of a check. A failed check is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe<T> {
    /// The thing exists.
    Found(T),
    /// The thing does not exist, for certain.
    Absent,
    /// The check failed, with the reason.
    Failed(String),
}

impl<T> Probe<T> {
    /// The found thing; `None` if nothing was found or the check failed.
    pub fn found(self) -> Option<T> {
        match self {
            Probe::Found(found) => Some(found),
            Probe::Absent | Probe::Failed(_) => None,
        }
    }
}

/// The stage of a sandbox in its ownership record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It is being created and contains no work yet.
    Creating,
    /// It is in use.
    Ready,
    /// It was moved aside; its work is not saved yet.
    Removing,
    /// Its work is saved; only remains are left.
    Kept,
}

/// The contents of the ownership record outside the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFact {
    /// The folder's identity on disk when it was created; `None` before.
    pub folder: Option<String>,
    /// When the sandbox is removed.
    pub lifetime: Lifetime,
    /// The stage of its lifecycle.
    pub stage: Stage,
    /// Whether the recorded folder is inside the directory of sandboxes.
    pub inside_root: bool,
}

/// The state of the run that a sandbox belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// Its process is alive.
    Alive,
    /// Its process is proven to be dead.
    Dead,
    /// The state cannot be determined.
    Unknown,
}

/// All facts on which a removal is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record in the state directory.
    pub record: Probe<RecordFact>,
    /// The identity of the folder on disk, or of its remains in the trash.
    pub folder: Probe<String>,
}

/// Who requests the removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The owner, or a person by command.
    Command,
    /// A sweep after a crash, with the state of the owner.
    Sweep(OwnerState),
}

/// The decision about a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Save the work, then remove.
    Remove,
    /// Undo its creation, because it contains no work.
    Undo,
    /// Remove only the record, because the folder is gone.
    Forget,
    /// The sandbox must not be touched.
    Refuse(Refusal),
}

/// Why a sandbox is not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Refusal {
    /// Drive has no record of it.
    NotOurs,
    /// Another folder is in its place.
    SomebodyElses,
    /// The record points outside of every sandbox directory.
    OutsideRoot,
    /// A check failed, which proves nothing.
    CannotTell(String),
    /// It is only removed on request.
    Persistent,
    /// Its run is alive.
    OwnerAlive,
    /// Its run may be alive.
    OwnerUnknown,
}

/// Decides on a removal, from all facts.
pub fn may_remove(evidence: &Evidence, asker: Asker) -> Verdict {
    let record = match &evidence.record {
        Probe::Found(record) => record,
        Probe::Absent => return Verdict::Refuse(Refusal::NotOurs),
        Probe::Failed(why) => return Verdict::Refuse(Refusal::CannotTell(why.clone())),
    };
    if !record.inside_root {
        return Verdict::Refuse(Refusal::OutsideRoot);
    }
    if let Some(refusal) = refused_to(asker, record) {
        return Verdict::Refuse(refusal);
    }
    match (&evidence.folder, &record.folder) {
        (Probe::Failed(why), _) => Verdict::Refuse(Refusal::CannotTell(why.clone())),
        (Probe::Absent, _) if record.stage == Stage::Creating => Verdict::Undo,
        (Probe::Absent, _) => Verdict::Forget,
        // The folder's identity is recorded after its creation, so it may be unknown in between.
        (Probe::Found(_), None) if record.stage == Stage::Creating => Verdict::Undo,
        (Probe::Found(found), Some(known)) if found == known => proven(record.stage),
        (Probe::Found(_), _) => Verdict::Refuse(Refusal::SomebodyElses),
    }
}

fn refused_to(asker: Asker, record: &RecordFact) -> Option<Refusal> {
    match asker {
        Asker::Command => None,
        Asker::Sweep(OwnerState::Alive) => Some(Refusal::OwnerAlive),
        Asker::Sweep(OwnerState::Unknown) => Some(Refusal::OwnerUnknown),
        Asker::Sweep(OwnerState::Dead) => match (record.lifetime, record.stage) {
            (Lifetime::Persistent, Stage::Ready) => Some(Refusal::Persistent),
            // It was only half created or removed, because a crash interrupted a command.
            (Lifetime::Persistent, Stage::Creating | Stage::Removing | Stage::Kept)
            | (
                Lifetime::Transient | Lifetime::Disposable,
                Stage::Creating | Stage::Ready | Stage::Removing | Stage::Kept,
            ) => None,
        },
    }
}

fn proven(stage: Stage) -> Verdict {
    match stage {
        Stage::Creating => Verdict::Undo,
        Stage::Ready | Stage::Removing | Stage::Kept => Verdict::Remove,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(lifetime: Lifetime, stage: Stage) -> Probe<RecordFact> {
        Probe::Found(RecordFact {
            folder: Some("f".into()),
            lifetime,
            stage,
            inside_root: true,
        })
    }

    fn proven_evidence(lifetime: Lifetime, stage: Stage) -> Evidence {
        Evidence {
            record: record(lifetime, stage),
            folder: Probe::Found("f".into()),
        }
    }

    #[test]
    fn a_command_removes_what_record_and_folder_prove_ours() {
        for lifetime in [
            Lifetime::Transient,
            Lifetime::Persistent,
            Lifetime::Disposable,
        ] {
            let table = [
                (Stage::Creating, Verdict::Undo),
                (Stage::Ready, Verdict::Remove),
                (Stage::Removing, Verdict::Remove),
                (Stage::Kept, Verdict::Remove),
            ];
            for (stage, verdict) in table {
                let evidence = proven_evidence(lifetime, stage);
                assert_eq!(may_remove(&evidence, Asker::Command), verdict);
            }
        }
    }

    #[test]
    fn a_sweep_leaves_live_unknown_and_persistent_ones_alone() {
        let ready = |lifetime| proven_evidence(lifetime, Stage::Ready);
        let table = [
            (
                Lifetime::Transient,
                OwnerState::Alive,
                Verdict::Refuse(Refusal::OwnerAlive),
            ),
            (
                Lifetime::Transient,
                OwnerState::Unknown,
                Verdict::Refuse(Refusal::OwnerUnknown),
            ),
            (Lifetime::Transient, OwnerState::Dead, Verdict::Remove),
            (
                Lifetime::Persistent,
                OwnerState::Alive,
                Verdict::Refuse(Refusal::OwnerAlive),
            ),
            (
                Lifetime::Persistent,
                OwnerState::Dead,
                Verdict::Refuse(Refusal::Persistent),
            ),
        ];
        for (lifetime, owner, verdict) in table {
            assert_eq!(may_remove(&ready(lifetime), Asker::Sweep(owner)), verdict);
        }
    }

    #[test]
    fn one_failed_probe_proves_no_death() {
        let good = proven_evidence(Lifetime::Transient, Stage::Ready);
        let cannot = Verdict::Refuse(Refusal::CannotTell("io".into()));
        let failed_record = Evidence {
            record: Probe::Failed("io".into()),
            ..good.clone()
        };
        let failed_folder = Evidence {
            folder: Probe::Failed("io".into()),
            ..good
        };
        for evidence in [failed_record, failed_folder] {
            assert_eq!(may_remove(&evidence, Asker::Command), cannot);
            assert_eq!(
                may_remove(&evidence, Asker::Sweep(OwnerState::Dead)),
                cannot
            );
        }
    }

    #[test]
    fn a_folder_in_the_place_of_ours_is_never_ours_to_remove() {
        let mut evidence = proven_evidence(Lifetime::Transient, Stage::Ready);
        evidence.folder = Probe::Found("other".into());
        assert_eq!(
            may_remove(&evidence, Asker::Command),
            Verdict::Refuse(Refusal::SomebodyElses)
        );
        evidence.record = Probe::Absent;
        assert_eq!(
            may_remove(&evidence, Asker::Command),
            Verdict::Refuse(Refusal::NotOurs)
        );
    }

    #[test]
    fn a_record_that_points_elsewhere_is_not_followed() {
        let mut evidence = proven_evidence(Lifetime::Transient, Stage::Ready);
        evidence.record = Probe::Found(RecordFact {
            folder: Some("f".into()),
            lifetime: Lifetime::Transient,
            stage: Stage::Ready,
            inside_root: false,
        });
        assert_eq!(
            may_remove(&evidence, Asker::Command),
            Verdict::Refuse(Refusal::OutsideRoot)
        );
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_is_half_made_undone() {
        let gone = |stage| Evidence {
            record: record(Lifetime::Transient, stage),
            folder: Probe::Absent,
        };
        let table = [
            (Stage::Creating, Verdict::Undo),
            (Stage::Ready, Verdict::Forget),
            (Stage::Removing, Verdict::Forget),
            (Stage::Kept, Verdict::Forget),
        ];
        for (stage, verdict) in table {
            assert_eq!(
                may_remove(&gone(stage), Asker::Sweep(OwnerState::Dead)),
                verdict
            );
        }
    }

    #[test]
    fn a_folder_that_is_made_and_not_yet_recorded_is_undone() {
        let record = RecordFact {
            folder: None,
            lifetime: Lifetime::Transient,
            stage: Stage::Creating,
            inside_root: true,
        };
        let evidence = Evidence {
            record: Probe::Found(record),
            folder: Probe::Found("f".into()),
        };
        assert_eq!(may_remove(&evidence, Asker::Command), Verdict::Undo);
    }
}
