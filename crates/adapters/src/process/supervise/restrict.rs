//! Landlock rules: where the child may write, and which processes it may signal or talk to.

use super::super::wire::Request;
use super::mounts::SHARED_MEMORY;
use super::view::TMP;
use drive_core::process::LayerName;
use drive_engine::ports::Writes;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::io;
use std::path::{Path, PathBuf};

/// Devices without data that nearly every program needs.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Folders that only the tree sees if it has its own root.
const PRIVATE: [&str; 2] = [SHARED_MEMORY, TMP];

/// Device control is not restricted: terminals need it, and it reaches no data outside.
const WRITES: ABI = ABI::V4;

/// Applies the rules to the calling process and all its future children. Returns the missing
/// layers. A root of its own compensates for missing Landlock.
pub(super) fn apply(
    request: &Request,
    has_root: bool,
) -> Result<Vec<(LayerName, String)>, (String, io::Error)> {
    let mut missing = Vec::new();
    rustix::thread::set_no_new_privs(true)
        .map_err(|e| ("give up new privileges".to_owned(), e.into()))?;
    if let Writes::Only(folders) = &request.writes
        && !request.without.contains(&LayerName::WriteScope)
    {
        let private: &[&str] = if has_root { &PRIVATE } else { &[] };
        // Without a root of its own, these would be the shared folders themselves.
        let layered = request.layered.iter().filter(|_| has_root);
        let layered: Vec<&Path> = layered.map(|folder| folder.at.as_path()).collect();
        let private = private.iter().map(Path::new).chain(layered);
        let status = confine_writes(folders, &private.collect::<Vec<_>>())?;
        if status.ruleset == RulesetStatus::NotEnforced && !has_root {
            missing.push((
                LayerName::WriteScope,
                "the kernel has no Landlock".to_owned(),
            ));
        }
    } else if request.is_confined() {
        missing.push((LayerName::WriteScope, "switched off".to_owned()));
    }
    let scopes = [
        (LayerName::SignalScope, Scope::Signal),
        (LayerName::SocketScope, Scope::AbstractUnixSocket),
    ];
    for (layer, scope) in scopes {
        if layer == LayerName::SocketScope && !request.is_confined() {
            continue;
        }
        if request.without.contains(&layer) {
            missing.push((layer, "switched off".to_owned()));
        } else if !confine_to_itself(scope) {
            missing.push((layer, "needs Landlock of Linux 6.12".to_owned()));
        }
    }
    Ok(missing)
}

fn confine_writes(
    folders: &[PathBuf],
    private: &[&Path],
) -> Result<RestrictionStatus, (String, io::Error)> {
    let failed = |error: RulesetError| ("restrict writes".to_owned(), io::Error::other(error));
    let access = AccessFs::from_write(WRITES);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(access)
        .and_then(Ruleset::create)
        .map_err(failed)?;
    for folder in folders {
        let fd = PathFd::new(folder).map_err(|error| {
            let step = format!("allow writing below `{}`", folder.display());
            (step, io::Error::other(error))
        })?;
        rules = rules
            .add_rule(PathBeneath::new(fd, access))
            .map_err(failed)?;
    }
    for path in DEVICES.iter().map(Path::new).chain(private.iter().copied()) {
        if let Ok(fd) = PathFd::new(path) {
            rules = rules
                .add_rule(PathBeneath::new(fd, access))
                .map_err(failed)?;
        }
    }
    rules.restrict_self().map_err(failed)
}

/// Restricts signals or sockets to the tree. Every ruleset, even one about these only, denies moves
/// and links between folders unless a rule allows them, and without that rule no compiler could
/// move its output into place.
fn confine_to_itself(scope: Scope) -> bool {
    let Ok(root) = PathFd::new("/") else {
        return false;
    };
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Refer)
        .and_then(|rules| rules.scope(scope))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rule(PathBeneath::new(root, AccessFs::Refer)))
        .and_then(|rules| rules.restrict_self());
    matches!(status, Ok(status) if status.ruleset == RulesetStatus::FullyEnforced)
}
