use super::home::AgentFolders;
use crate::git::object_folders;
use drive_core::agent::{Access, AgentNetwork, Role};
use drive_core::network::Reach;
use drive_engine::ports::{Isolation, IsolationMode, LayeredFolder, NetworkAccess, Writes};
use std::path::{Path, PathBuf};

/// The facts that decide the isolation of one run.
pub(super) struct Confined<'a> {
    pub(super) role: Role,
    pub(super) mode: IsolationMode,
    /// Its working folder; `None` for a program that only prints its version.
    pub(super) sandbox: Option<&'a Path>,
    pub(super) git_dir: Option<&'a Path>,
    pub(super) real_home: Option<&'a Path>,
    pub(super) state: &'a Path,
    /// Files in the sandbox that it may not write, relative to it.
    pub(super) held: &'a [PathBuf],
    /// Files with keys, which are hidden everywhere.
    pub(super) keys: &'a [PathBuf],
    pub(super) folders: &'a AgentFolders,
    /// Paths that it must be able to read: its program, its prompt, its input.
    pub(super) readable: Vec<PathBuf>,
    /// The caches that it works with.
    pub(super) layered: Vec<LayeredFolder>,
    pub(super) network: AgentNetwork,
    /// The hosts that it may reach by name.
    pub(super) reach: Reach,
}

/// The isolation that the kernel enforces on an agent.
///
/// A reader writes its private folders and what `home` names; a writer also the sandbox, with the
/// repository in it. It sees nothing else but the system and the paths shown to it; of the user's
/// repository, that is the objects.
pub(super) fn isolation(confined: &Confined<'_>) -> Isolation {
    let folders = confined.folders;
    let (network, reach) = match confined.network {
        AgentNetwork::Off => (NetworkAccess::Off, Reach::default()),
        AgentNetwork::Allow => (NetworkAccess::Off, confined.reach.clone()),
        AgentNetwork::Open => (NetworkAccess::Open, Reach::default()),
    };
    let required = match confined.mode {
        IsolationMode::Off => {
            return Isolation {
                tmp: Some(folders.tmp.clone()),
                // Hosts can only be reached by name in a root file system of its own.
                network: if reach.is_nothing() {
                    network
                } else {
                    NetworkAccess::Open
                },
                ..Isolation::default()
            };
        }
        IsolationMode::Auto => false,
        IsolationMode::Require => true,
    };
    let mut writes = vec![folders.home.clone()];
    writes.extend(folders.passed.iter().cloned());
    // They stay protected even if a folder above them is writable, such as `.cargo`.
    let mut protected = folders.tools.clone();
    let sandbox = confined.sandbox.map(Path::to_path_buf);
    match confined.role.access() {
        Access::ReadOnly => protected.extend(sandbox),
        Access::Write => {
            let held = sandbox.iter().flat_map(|sandbox| {
                let held = confined.held.iter();
                held.filter_map(|path| plainly_inside(sandbox, path))
            });
            protected.extend(held);
            writes.extend(sandbox);
        }
    }
    let mut shown = confined.readable.clone();
    shown.extend(folders.tools.iter().cloned());
    shown.extend(confined.git_dir.into_iter().flat_map(object_folders));
    Isolation {
        writes: Writes::Only(writes),
        tmp: Some(folders.tmp.clone()),
        protected,
        hidden: hidden(confined.real_home, confined.state, confined.keys),
        shown,
        layered: confined.layered.clone(),
        network,
        reach,
        reports_names: false,
        required,
    }
}

/// A path in the sandbox, if no link leads out of it: a protected path is also made visible.
fn plainly_inside(sandbox: &Path, path: &Path) -> Option<PathBuf> {
    let sandbox = sandbox.canonicalize().ok()?;
    let wanted: PathBuf = sandbox.join(path).components().collect();
    let real = wanted.canonicalize().ok()?;
    (real == wanted && real != sandbox && real.starts_with(&sandbox)).then_some(real)
}

/// The home, the state directory and keys, which are always hidden.
fn hidden(home: Option<&Path>, state: &Path, keys: &[PathBuf]) -> Vec<PathBuf> {
    home.into_iter()
        .chain([state])
        .chain(keys.iter().map(PathBuf::as_path))
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        root: PathBuf,
        folders: AgentFolders,
        _guard: tempfile::TempDir,
    }

    fn place() -> Place {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap();
        for folder in ["home/.claude", "home/repo/.git/objects", "box"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let folders = AgentFolders {
            scratch: root.join("run"),
            home: root.join("run/home"),
            tmp: root.join("run/tmp"),
            layers: root.join("run/layers"),
            passed: vec![root.join("home/.claude")],
            tools: vec![root.join("home/.rustup")],
        };
        Place {
            root,
            folders,
            _guard: guard,
        }
    }

    fn cache() -> LayeredFolder {
        LayeredFolder {
            lower: "/home/me/.cargo/registry".into(),
            at: "/run/home/.cargo/registry".into(),
            layer: "/run/layers/registry".into(),
            is_useful_read_only: true,
        }
    }

    fn reach() -> Reach {
        Reach {
            hosts: vec![drive_core::network::AllowedHost::public("pypi.org")],
            proxy: None,
        }
    }

    fn confine(place: &Place, role: Role, mode: IsolationMode) -> Isolation {
        let (sandbox, git, home, state) = (
            place.root.join("box"),
            place.root.join("home/repo/.git"),
            place.root.join("home"),
            place.root.join("state"),
        );
        isolation(&Confined {
            role,
            mode,
            sandbox: Some(&sandbox),
            git_dir: Some(&git),
            real_home: Some(&home),
            state: &state,
            held: &[],
            keys: &[place.root.join("app.pem")],
            folders: &place.folders,
            readable: vec![place.root.join("tool")],
            layered: vec![cache()],
            network: AgentNetwork::Allow,
            reach: reach(),
        })
    }

    #[test]
    fn a_writer_gets_the_sandbox_and_sees_the_objects_of_the_repository() {
        let place = place();
        let at = |name: &str| place.root.join(name);
        assert_eq!(
            confine(&place, Role::Coder, IsolationMode::Require),
            Isolation {
                writes: Writes::Only(vec![at("run/home"), at("home/.claude"), at("box"),]),
                tmp: Some(at("run/tmp")),
                protected: vec![at("home/.rustup")],
                hidden: vec![at("home"), at("state"), at("app.pem")],
                shown: vec![at("tool"), at("home/.rustup"), at("home/repo/.git/objects")],
                layered: vec![cache()],
                network: NetworkAccess::Off,
                reach: reach(),
                reports_names: false,
                required: true,
            }
        );
    }

    #[test]
    fn a_reader_may_not_write_the_sandbox_nor_the_repository() {
        let place = place();
        let isolation = confine(&place, Role::Reviewer, IsolationMode::Auto);
        assert_eq!(
            isolation.writes,
            Writes::Only(vec![
                place.root.join("run/home"),
                place.root.join("home/.claude")
            ])
        );
        assert!(isolation.protected.contains(&place.root.join("box")));
    }
}
