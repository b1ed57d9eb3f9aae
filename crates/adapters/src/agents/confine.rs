use super::home::AgentFolders;
use drive_core::agent::{Access, Role};
use drive_engine::ports::{Isolation, IsolationMode, NetworkAccess, Writes};
use std::path::{Path, PathBuf};

/// How many object folders are looked at, since they may lend to each other in a circle.
const MOST_BORROWED: usize = 20;

/// What the isolation of one run is made from.
pub(super) struct Confined<'a> {
    pub(super) role: Role,
    pub(super) mode: IsolationMode,
    pub(super) sandbox: &'a Path,
    pub(super) git_dir: Option<&'a Path>,
    pub(super) real_home: Option<&'a Path>,
    pub(super) state: &'a Path,
    pub(super) folders: &'a AgentFolders,
    /// What it must be able to read wherever it is: its program, its prompt, its input.
    pub(super) readable: Vec<PathBuf>,
    /// Files of its own settings that steer later runs.
    pub(super) settings: Vec<PathBuf>,
}

/// What the kernel lets an agent touch.
///
/// A reader writes its private folders and its own settings folder; a writer also the sandbox, and
/// of the repository only what a commit needs. Nothing else exists but the system and what is shown.
pub(super) fn isolation(confined: &Confined<'_>) -> Isolation {
    let folders = confined.folders;
    let required = match confined.mode {
        IsolationMode::Off => {
            return Isolation {
                tmp: Some(folders.tmp.clone()),
                ..Isolation::default()
            };
        }
        IsolationMode::Auto => false,
        IsolationMode::Require => true,
    };
    let mut writes = vec![folders.home.clone()];
    writes.extend(folders.passed.iter().cloned());
    let mut protected = confined.settings.clone();
    match confined.role.access() {
        Access::ReadOnly => protected.push(confined.sandbox.to_path_buf()),
        Access::Write => {
            writes.push(confined.sandbox.to_path_buf());
            writes.extend(repository_writes(confined.sandbox, confined.git_dir));
            protected.extend(confined.git_dir.into_iter().flat_map(own_refs));
        }
    }
    protected.extend(repository_guards(confined.sandbox, confined.git_dir));
    let mut shown = confined.readable.clone();
    shown.extend(folders.tools.iter().cloned());
    shown.extend(confined.git_dir.into_iter().flat_map(repository_reads));
    Isolation {
        writes: Writes::Only(writes),
        tmp: Some(folders.tmp.clone()),
        protected,
        hidden: hidden(confined.real_home, confined.state),
        shown,
        network: NetworkAccess::Open,
        required,
    }
}

/// The home and the state directory, wherever they are.
fn hidden(home: Option<&Path>, state: &Path) -> Vec<PathBuf> {
    home.into_iter()
        .chain([state])
        .map(Path::to_path_buf)
        .collect()
}

/// The repository's folder, and the object folders it borrows from.
pub(crate) fn repository_reads(git_dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![git_dir.to_path_buf()];
    let mut at = 0;
    while let Some(folder) = all.get(at).filter(|_| at < MOST_BORROWED).cloned() {
        let objects = if at == 0 {
            folder.join("objects")
        } else {
            folder
        };
        let lenders = std::fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
        let lenders = lenders
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        all.extend(lenders.map(|line| objects.join(line)));
        at += 1;
    }
    all
}

/// What a commit in a worktree writes: objects, references, their logs, and the worktree's own
/// folder. The rest of the repository's folder stays as it is.
fn repository_writes(sandbox: &Path, git_dir: Option<&Path>) -> Vec<PathBuf> {
    let Some(git_dir) = git_dir.filter(|dir| !dir.starts_with(sandbox)) else {
        return Vec::new();
    };
    let shared = ["objects", "refs", "logs", "reftable"].map(|name| git_dir.join(name));
    shared
        .into_iter()
        .filter(|path| path.is_dir())
        .chain(worktree_dir(sandbox, git_dir))
        .collect()
}

/// What could make git run something, or look somewhere else, when drive calls it later.
fn repository_guards(sandbox: &Path, git_dir: Option<&Path>) -> Vec<PathBuf> {
    let mut guards = Vec::new();
    if let Some(git_dir) = git_dir {
        guards
            .extend(["hooks", "config", "config.worktree", "info"].map(|name| git_dir.join(name)));
        if let Some(own) = worktree_dir(sandbox, git_dir) {
            guards.extend(["commondir", "gitdir", "config.worktree"].map(|name| own.join(name)));
        }
    }
    let link = sandbox.join(".git");
    if link.is_file() {
        guards.push(link);
    }
    guards.retain(|path| path.exists());
    guards
}

/// Drive's own refs, and their logs: work that is kept is nobody's to delete. The folder is missing
/// where git has packed them, and only what is there can be protected.
fn own_refs(git_dir: &Path) -> Vec<PathBuf> {
    let refs = git_dir.join("refs");
    if refs.join("heads").is_dir() {
        let _ = std::fs::create_dir(refs.join("drive"));
    }
    let mut own = vec![refs.join("drive"), git_dir.join("logs/refs/drive")];
    own.retain(|path| path.is_dir());
    own
}

/// The worktree's own folder, as its `.git` file names it; believed only inside the repository.
fn worktree_dir(sandbox: &Path, git_dir: &Path) -> Option<PathBuf> {
    let link = std::fs::read_to_string(sandbox.join(".git")).ok()?;
    let named = PathBuf::from(link.strip_prefix("gitdir:")?.trim());
    let own = sandbox.join(named).canonicalize().ok()?;
    let worktrees = git_dir.canonicalize().ok()?.join("worktrees");
    own.starts_with(worktrees).then_some(own)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
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
        for folder in [
            "home/.claude",
            "home/repo/.git/objects",
            "home/repo/.git/refs/heads",
            "home/repo/.git/hooks",
            "home/repo/.git/worktrees/box",
            "box",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("home/repo/.git/config"), "").unwrap();
        std::fs::write(root.join("home/repo/.git/worktrees/box/gitdir"), "").unwrap();
        let own = root.join("home/repo/.git/worktrees/box");
        std::fs::write(
            root.join("box/.git"),
            format!("gitdir: {}\n", own.display()),
        )
        .unwrap();
        let folders = AgentFolders {
            scratch: root.join("run"),
            home: root.join("run/home"),
            tmp: root.join("run/tmp"),
            passed: vec![root.join("home/.claude")],
            tools: vec![root.join("home/.rustup")],
        };
        Place {
            root,
            folders,
            _guard: guard,
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
            sandbox: &sandbox,
            git_dir: Some(&git),
            real_home: Some(&home),
            state: &state,
            folders: &place.folders,
            readable: vec![place.root.join("tool")],
            settings: Vec::new(),
        })
    }

    #[test]
    fn a_writer_gets_the_sandbox_and_of_the_repository_what_a_commit_needs() {
        let place = place();
        let at = |name: &str| place.root.join(name);
        assert_eq!(
            confine(&place, Role::Coder, IsolationMode::Require),
            Isolation {
                writes: Writes::Only(vec![
                    at("run/home"),
                    at("home/.claude"),
                    at("box"),
                    at("home/repo/.git/objects"),
                    at("home/repo/.git/refs"),
                    at("home/repo/.git/worktrees/box"),
                ]),
                tmp: Some(at("run/tmp")),
                protected: vec![
                    at("home/repo/.git/refs/drive"),
                    at("home/repo/.git/hooks"),
                    at("home/repo/.git/config"),
                    at("home/repo/.git/worktrees/box/gitdir"),
                    at("box/.git"),
                ],
                hidden: vec![at("home"), at("state")],
                shown: vec![at("tool"), at("home/.rustup"), at("home/repo/.git")],
                network: NetworkAccess::Open,
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

    #[test]
    fn object_folders_that_a_repository_borrows_from_can_be_read() {
        let place = place();
        let at = |name: &str| place.root.join(name);
        for folder in ["home/repo/.git/objects/info", "lender/objects/info"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let lend = |folder: &str, to: &str| {
            std::fs::write(at(folder).join("objects/info/alternates"), to).unwrap();
        };
        lend(
            "home/repo/.git",
            &format!("# a lender\n{}\n", at("lender/objects").display()),
        );
        lend("lender", "../../second\n");
        assert_eq!(
            repository_reads(&at("home/repo/.git")),
            [
                at("home/repo/.git"),
                at("lender/objects"),
                at("lender/objects/../../second")
            ]
        );
    }

    #[test]
    fn a_git_file_that_points_out_of_the_repository_is_not_believed() {
        let place = place();
        let elsewhere = place.root.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(
            place.root.join("box/.git"),
            format!("gitdir: {}\n", elsewhere.display()),
        )
        .unwrap();
        match confine(&place, Role::Coder, IsolationMode::Auto).writes {
            Writes::Only(folders) => assert!(!folders.contains(&elsewhere)),
            Writes::Anywhere => panic!("no limit at all"),
        }
    }
}
