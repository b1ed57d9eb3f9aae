//! Collects the evidence needed before a sandbox is removed.

use super::record::{Record, folder_id};
use super::sandboxes::GitSandboxes;
use drive_core::ids::SandboxId;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{Evidence, Probe, Refusal};

pub(super) fn gather(all: &GitSandboxes, loaded: &Probe<Record>) -> Evidence {
    let record = match loaded {
        Probe::Found(record) => record,
        Probe::Absent => {
            return Evidence {
                record: Probe::Absent,
                folder: Probe::Absent,
            };
        }
        Probe::Failed(why) => {
            return Evidence {
                record: Probe::Failed(why.clone()),
                folder: Probe::Absent,
            };
        }
    };
    Evidence {
        record: Probe::Found(record.fact()),
        folder: folder_id(&all.folder_of(record)),
    }
}

/// The problem of a refusal, in words for the person who asked for the removal.
pub(super) fn refused(id: &SandboxId, refusal: &Refusal) -> Problem {
    let (kind, why) = match refusal {
        Refusal::NotOurs => (Kind::SandboxNotOurs, "drive has no record of it".to_owned()),
        Refusal::SomebodyElses => (
            Kind::SandboxNotOurs,
            "another folder has taken its place".to_owned(),
        ),
        Refusal::OutsideRoot => (
            Kind::SandboxNotOurs,
            "its record points outside the sandbox folder".to_owned(),
        ),
        Refusal::CannotTell(why) => (
            Kind::SandboxUnclear,
            format!("its owner cannot be determined: {why}"),
        ),
        Refusal::Persistent => (
            Kind::SandboxPersistent,
            "it is only removed on request".to_owned(),
        ),
        Refusal::OwnerAlive => (Kind::SandboxInUse, "its run is active".to_owned()),
        Refusal::OwnerUnknown => (Kind::SandboxInUse, "its run may be active".to_owned()),
    };
    Problem::new(kind, format!("sandbox `{id}` is not removed: {why}"))
        .hint("check it, and remove it by hand if it is not needed")
}
