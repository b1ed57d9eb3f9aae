use super::files::{make_private, unusable, write_private};
use crate::files::remove_tree;
use drive_core::Problem;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The folders of one run of an agent.
#[derive(Clone, Debug)]
pub(super) struct AgentFolders {
    /// All of them, and the log.
    pub(super) scratch: PathBuf,
    /// What the agent takes for its home.
    pub(super) home: PathBuf,
    /// What it takes for the temporary folder.
    pub(super) tmp: PathBuf,
    /// Folders of the real home it may write: its own settings and what the settings name.
    pub(super) passed: Vec<PathBuf>,
    /// Folders of the real home it may read: toolchains.
    pub(super) tools: Vec<PathBuf>,
}

/// How an entry of the real home is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// As it is: a folder by a link, a file by a copy. Agents replace their files, and would
    /// replace a link to one.
    Whole(&'a str),
    /// A folder of its own with links to everything in it but this one file.
    Without(&'a str, &'a str),
}

impl<'a> Entry<'a> {
    fn name(self) -> &'a str {
        match self {
            Entry::Whole(name) | Entry::Without(name, _) => name,
        }
    }
}

/// The private home below a scratch folder.
const HOME: &str = "home";
/// The temporary folder below a scratch folder.
const TMP: &str = "tmp";

/// Toolchains people keep in their home. None of these holds a login.
const TOOLS: [&str; 9] = [
    ".rustup",
    ".cargo/bin",
    ".nvm",
    ".volta",
    ".pyenv",
    ".local/bin",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
];

/// The largest settings file that is copied.
const MAX_COPY: u64 = 16 * 1024 * 1024;

/// Makes a home that holds nothing of the real one but what the agent may use.
pub(super) fn prepare(
    scratch: &Path,
    real_home: Option<&Path>,
    entries: &[Entry<'_>],
) -> Result<AgentFolders, Problem> {
    let mut folders = AgentFolders {
        scratch: scratch.to_path_buf(),
        home: scratch.join(HOME),
        tmp: scratch.join(TMP),
        passed: Vec::new(),
        tools: Vec::new(),
    };
    make_private(&folders.home)?;
    make_private(&folders.tmp)?;
    let Some(real_home) = real_home.filter(|home| *home != Path::new("/")) else {
        return Ok(folders);
    };
    for entry in entries {
        let real = real_home.join(entry.name());
        let private = folders.home.join(entry.name());
        if real.is_dir() {
            match entry {
                Entry::Whole(_) => link(&real, &private)?,
                Entry::Without(_, file) => spread(&real, &private, file)?,
            }
            folders.passed.push(real);
        } else if real.is_file() {
            copy(&real, &private)?;
        }
    }
    for entry in TOOLS {
        let real = real_home.join(entry);
        if real.is_dir() && !entries.iter().any(|known| known.name() == entry) {
            link(&real, &folders.home.join(entry))?;
            folders.tools.push(real);
        }
    }
    Ok(folders)
}

/// Removes the private homes and temporary folders that agents left in a folder and in those right
/// below it: they may hold copies of logins. Links in them are removed, what they point at stays.
/// What cannot be removed stays readable for its owner only.
pub fn discard_homes(folder: &Path) {
    let discard = |scratch: &Path| {
        for name in [HOME, TMP] {
            let _ = remove_tree(&scratch.join(name));
        }
    };
    discard(folder);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        discard(&entry.path());
    }
}

fn link(real: &Path, private: &Path) -> Result<(), Problem> {
    if let Some(parent) = private.parent() {
        make_private(parent)?;
    }
    match std::fs::read_link(private) {
        Ok(target) if target == real => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    symlink(real, private).map_err(|error| unusable(private).because(error))
}

fn spread(real: &Path, private: &Path, except: &str) -> Result<(), Problem> {
    make_private(private)?;
    let entries = std::fs::read_dir(real).map_err(|error| unusable(real).because(error))?;
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name() != except)
    {
        link(&entry.path(), &private.join(entry.file_name()))?;
    }
    Ok(())
}

fn copy(real: &Path, private: &Path) -> Result<(), Problem> {
    let size = std::fs::metadata(real).map_or(0, |meta| meta.len());
    if size > MAX_COPY {
        return Err(unusable(real).cause("it is larger than 16 MiB"));
    }
    let bytes = std::fs::read(real).map_err(|error| unusable(real).because(error))?;
    if let Some(parent) = private.parent() {
        make_private(parent)?;
    }
    write_private(private, &bytes)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_private_home_holds_the_named_entries_and_nothing_else_of_the_real_one() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        std::fs::create_dir_all(real.join(".claude")).unwrap();
        std::fs::create_dir_all(real.join(".ssh")).unwrap();
        std::fs::create_dir_all(real.join(".cargo/bin")).unwrap();
        std::fs::write(real.join(".claude/.credentials.json"), "login").unwrap();
        std::fs::write(real.join(".claude.json"), "state").unwrap();
        std::fs::write(real.join(".cargo/credentials.toml"), "token").unwrap();

        let scratch = root.path().join("run");
        for _ in 0..2 {
            let folders = prepare(
                &scratch,
                Some(&real),
                &[".claude", ".claude.json", ".absent"].map(Entry::Whole),
            )
            .unwrap();
            assert_eq!(folders.passed, [real.join(".claude")]);
            assert_eq!(folders.tools, [real.join(".cargo/bin")]);
            let mut names: Vec<String> = std::fs::read_dir(&folders.home)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, [".cargo", ".claude", ".claude.json"]);
            let read = |name: &str| std::fs::read_to_string(folders.home.join(name));
            assert_eq!(read(".claude/.credentials.json").unwrap(), "login");
            assert_eq!(read(".claude.json").unwrap(), "state");
            assert!(read(".cargo/credentials.toml").is_err());
        }
    }

    #[test]
    fn discarding_removes_copies_and_links_and_nothing_they_point_at() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        std::fs::create_dir_all(real.join(".claude")).unwrap();
        std::fs::write(real.join(".claude/.credentials.json"), "login").unwrap();
        std::fs::write(real.join(".claude.json"), "state").unwrap();
        let scratch = root.path().join("run/agent-1");
        let entries = [".claude", ".claude.json"].map(Entry::Whole);
        let folders = prepare(&scratch, Some(&real), &entries).unwrap();
        std::fs::write(scratch.join("agent.log"), "said").unwrap();
        // Agents make folders nobody may enter, too.
        std::fs::create_dir(folders.tmp.join("odd")).unwrap();
        std::fs::set_permissions(folders.tmp.join("odd"), Permissions::from_mode(0o0)).unwrap();
        for folder in ["run", "run/agent-1"] {
            discard_homes(&root.path().join(folder));
            let left: Vec<_> = std::fs::read_dir(&scratch)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(left, ["agent.log"]);
        }
        let login = std::fs::read_to_string(real.join(".claude/.credentials.json"));
        assert_eq!(login.unwrap(), "login");
    }

    #[test]
    fn what_the_agent_writes_into_a_copied_file_stays_in_the_private_home() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(".claude.json"), "mine").unwrap();
        let scratch = root.path().join("run");
        let folders =
            prepare(&scratch, Some(root.path()), &[Entry::Whole(".claude.json")]).unwrap();
        std::fs::write(folders.home.join(".claude.json"), "changed").unwrap();
        assert_eq!(
            std::fs::read_to_string(root.path().join(".claude.json")).unwrap(),
            "mine"
        );
    }

    #[test]
    fn a_folder_without_one_file_is_linked_entry_by_entry() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real/.gemini");
        std::fs::create_dir_all(real.join("tmp")).unwrap();
        std::fs::write(real.join("oauth.json"), "login").unwrap();
        std::fs::write(real.join("settings.json"), "mine").unwrap();
        let scratch = root.path().join("run");
        let entries = [Entry::Without(".gemini", "settings.json")];
        let folders = prepare(&scratch, Some(&root.path().join("real")), &entries).unwrap();
        let private = folders.home.join(".gemini");
        assert_eq!(
            std::fs::read_to_string(private.join("oauth.json")).unwrap(),
            "login"
        );
        assert!(private.join("tmp").is_dir());
        assert!(!private.join("settings.json").exists());
        assert_eq!(folders.passed, [real]);
    }
}
