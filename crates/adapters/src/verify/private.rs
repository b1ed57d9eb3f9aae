//! Paths that no stage may read: a candidate is untrusted code and could send what it reads over
//! the network.

use std::path::{Path, PathBuf};

/// Below the user's home.
const IN_HOME: [&str; 21] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/infinite-improbability-drive",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
];

/// In the state directory, beside the workspace itself.
const IN_STATE: [&str; 5] = [
    "drive.sqlite3",
    "drive.sqlite3-shm",
    "drive.sqlite3-wal",
    "logs",
    "worktrees",
];

/// The private paths that exist.
pub(super) fn hidden(home: Option<&Path>, state: &Path) -> Vec<PathBuf> {
    let in_home = home
        .into_iter()
        .flat_map(|home| IN_HOME.iter().map(move |name| home.join(name)));
    let in_state = IN_STATE.iter().map(|name| state.join(name));
    in_home
        .chain(in_state)
        .filter(|path| path.exists())
        .collect()
}
