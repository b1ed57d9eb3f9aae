//! Paths that no stage may read, even inside a visible folder: a candidate is untrusted code, and
//! could send what it reads over the network.

use std::path::{Path, PathBuf};

/// Files with credentials inside the folders of tool chains, relative to `CARGO_HOME` and the like.
const IN_TOOLCHAINS: [&str; 2] = ["credentials", "credentials.toml"];

/// The home, the state directory, and credentials in the folders of tool chains.
pub(super) fn hidden(home: Option<&Path>, state: &Path, toolchains: &[PathBuf]) -> Vec<PathBuf> {
    let passwords = toolchains
        .iter()
        .flat_map(|folder| IN_TOOLCHAINS.iter().map(move |name| folder.join(name)));
    let whole = home.into_iter().chain([state]).map(Path::to_path_buf);
    whole
        .chain(passwords.filter(|path| path.exists()))
        .collect()
}
