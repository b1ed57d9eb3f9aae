use super::model::{LONGEST_STATE_FILE, MOST_PENDING, PhaseState, STATE_FILE_VERSION};
use crate::ids::{BranchName, PrNumber, SandboxId};
use crate::problem::{Kind, Problem};
use crate::sandbox::check_folder_name;
use crate::time::Timestamp;
use serde_json::Value;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The maximum length of a link in bytes; one of the local forge contains a path.
const LONGEST_URL: usize = 8192;
/// The maximum length of a path in bytes, which is the kernel's.
const LONGEST_PATH: usize = 4096;
/// The maximum wait in seconds: a century.
const LONGEST_WAIT_SECS: u64 = 100 * 366 * 24 * 3600;
/// The highest plausible number of rounds.
const MOST_ROUNDS: u32 = 1_000_000;
/// The range of plausible times: from 2020 to 2200.
const EARLIEST: i64 = 1_577_836_800;
const LATEST: i64 = 7_258_118_400;

pub(super) fn read(bytes: &[u8]) -> Result<PhaseState, Problem> {
    if bytes.len() > LONGEST_STATE_FILE {
        return Err(damaged(format!(
            "is longer than {LONGEST_STATE_FILE} bytes"
        )));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| damaged("is truncated or not JSON").because(error))?;
    check_version(&value)?;
    check_branches(&value)?;
    let state: PhaseState =
        serde_json::from_value(value).map_err(|error| damaged("is malformed").because(error))?;
    match broken_rule(&state) {
        None => Ok(state),
        Some(rule) => Err(damaged(rule)),
    }
}

fn check_version(value: &Value) -> Result<(), Problem> {
    let Some(version) = value.get("version") else {
        return Err(damaged("has no `version`"));
    };
    match version.as_u64() {
        Some(STATE_FILE_VERSION) => Ok(()),
        Some(newer) if newer > STATE_FILE_VERSION => Err(Problem::new(
            Kind::PhaseStateNewer,
            format!(
                "the state file of the phase has version {newer}; this drive supports \
                 {STATE_FILE_VERSION}"
            ),
        )
        .hint("a newer drive wrote it; use that version")),
        Some(_) | None => Err(damaged("has an unknown `version`")),
    }
}

fn check_branches(value: &Value) -> Result<(), Problem> {
    for field in ["branch_name", "base_branch"] {
        let name = value.get(field).and_then(Value::as_str);
        if name.is_some_and(|name| BranchName::parse(name).is_err()) {
            return Err(damaged(format!("has a `{field}` that git does not allow")));
        }
    }
    Ok(())
}

/// The first rule that the fields break, if any.
fn broken_rule(state: &PhaseState) -> Option<String> {
    let is_time = |at: &Timestamp| (EARLIEST..LATEST).contains(&at.as_second());
    let rules: [(bool, &str); 8] = [
        (
            check_folder_name(&SandboxId::new(state.run_id.as_str())).is_ok(),
            "has an invalid `run_id`",
        ),
        (
            is_safe_path(&state.sandbox_path),
            "has a `sandbox_path` that is not an absolute path",
        ),
        (
            state.pr_url.as_deref().is_none_or(is_link),
            "has a `pr_url` that is not a URL",
        ),
        (
            state.pr_number != Some(PrNumber::new(0)),
            "has an invalid `pr_number`: 0",
        ),
        (
            is_time(&state.last_activity),
            "has an implausible `last_activity`",
        ),
        (
            state.backoff_interval_secs <= LONGEST_WAIT_SECS,
            "has an implausible `backoff_interval_secs`",
        ),
        (
            state.pending_comment_ids.len() <= MOST_PENDING,
            "has too many pending comments",
        ),
        (state.completed_rounds <= MOST_ROUNDS, "has too many rounds"),
    ];
    let broken = rules.into_iter().find(|(holds, _)| !holds);
    broken.map(|(_, rule)| rule.to_owned())
}

/// Whether a path is absolute, not too long, without `..`, and without control characters.
fn is_safe_path(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.len() <= LONGEST_PATH
        && path.is_absolute()
        && !bytes.iter().any(u8::is_ascii_control)
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn is_link(text: &str) -> bool {
    // A link of the local forge contains a path, and paths may contain spaces.
    let is_local = text.starts_with("local://");
    let is_web = ["https://", "http://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    let breaks = |c: char| c.is_control() || (is_web && c.is_whitespace());
    text.len() <= LONGEST_URL && (is_local || is_web) && !text.chars().any(breaks)
}

fn damaged(what: impl AsRef<str>) -> Problem {
    Problem::new(
        Kind::PhaseStateDamaged,
        format!("the state file of the phase {}", what.as_ref()),
    )
    .hint("the file is only a copy; `drive cruise status` shows the stored state")
}
