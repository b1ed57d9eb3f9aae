//! Landlock rules: where the child may write, and which processes it may signal.

use super::super::wire::Request;
use drive_core::process::LayerName;
use drive_engine::ports::Writes;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::io;
use std::path::Path;

/// Without these, nearly nothing runs: they hold no data.
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

/// Device control is left alone: terminals need it, and no data outside is reached by it.
const WRITES: ABI = ABI::V4;

/// Whether the request names paths that must be held.
pub(super) fn holds_paths(request: &Request) -> bool {
    request.writes != Writes::Anywhere
        || !request.hidden.is_empty()
        || !request.protected.is_empty()
}

/// Puts the calling process, and all it will start, under the rules; what is `private` to it may be
/// written always. Returns what is missing; mounts that are `read_only` make up for Landlock.
pub(super) fn apply(
    request: &Request,
    private: &[&Path],
    read_only: bool,
) -> Result<Vec<(LayerName, String)>, (String, io::Error)> {
    let mut missing = Vec::new();
    rustix::thread::set_no_new_privs(true)
        .map_err(|e| ("give up new privileges".to_owned(), e.into()))?;
    if holds_paths(request) && !request.without.contains(&LayerName::WriteScope) {
        let folders: Vec<&Path> = match &request.writes {
            // The rule changes nothing about writing, but under any such rule the kernel refuses to
            // change mounts: what is hidden stays hidden, from root as well.
            Writes::Anywhere => vec![Path::new("/")],
            Writes::Only(folders) => folders.iter().map(Path::new).collect(),
        };
        let status = confine_writes(&folders, private)?;
        if status.ruleset == RulesetStatus::NotEnforced && !read_only {
            missing.push((
                LayerName::WriteScope,
                "the kernel has no Landlock".to_owned(),
            ));
        }
    } else if request.writes != Writes::Anywhere {
        missing.push((LayerName::WriteScope, "switched off".to_owned()));
    }
    if request.without.contains(&LayerName::SignalScope) {
        missing.push((LayerName::SignalScope, "switched off".to_owned()));
    } else if !confine_signals() {
        missing.push((
            LayerName::SignalScope,
            "needs Landlock of Linux 6.12".to_owned(),
        ));
    }
    Ok(missing)
}

fn confine_writes(
    folders: &[&Path],
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

/// Every ruleset, also one about signals only, denies moves and links between folders unless it
/// allows them by a rule of its own: without that rule no compiler could put its output in place.
fn confine_signals() -> bool {
    let Ok(root) = PathFd::new("/") else {
        return false;
    };
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Refer)
        .and_then(|rules| rules.scope(Scope::Signal))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rule(PathBeneath::new(root, AccessFs::Refer)))
        .and_then(|rules| rules.restrict_self());
    matches!(status, Ok(status) if status.ruleset == RulesetStatus::FullyEnforced)
}
