use super::files::{make_private, unusable, write_private};
use crate::files::remove_tree;
use drive_core::Problem;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The folders of one run of an agent.
#[derive(Clone, Debug)]
pub(super) struct AgentFolders {
    /// The parent of these folders and of the log.
    pub(super) scratch: PathBuf,
    /// The agent's home directory.
    pub(super) home: PathBuf,
    /// The agent's temporary directory.
    pub(super) tmp: PathBuf,
    /// The layers on top of the caches that it uses.
    pub(super) layers: PathBuf,
    /// Folders of the real home that it may write: the ones in the settings.
    pub(super) passed: Vec<PathBuf>,
    /// Folders of the real home that it may read: toolchains.
    pub(super) tools: Vec<PathBuf>,
}

/// The name of the private home in a scratch folder.
const HOME: &str = "home";
/// The name of the folder for cache layers in a scratch folder.
const LAYERS: &str = "layers";
/// The name of the temporary folder in a scratch folder.
const TMP: &str = "tmp";

/// Toolchains that people install in their home. None of these contains a login.
const TOOLS: [&str; 11] = [
    ".rustup",
    ".cargo/bin",
    ".nvm",
    ".volta",
    ".pyenv",
    ".asdf",
    ".local/share/mise",
    ".local/bin",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
];

/// The files that a shim reads to find its program, by the name of the shim's own program. Settings
/// of mise can contain variables, so no other program gets them.
const SHIM_FILES: [(&str, &str); 3] = [
    ("mise", ".config/mise"),
    ("asdf", ".tool-versions"),
    ("asdf", ".asdfrc"),
];

/// Folders that contain logins, and files that control later runs of their programs. They are never
/// shown, only copied.
const COPIED: [&str; 3] = [".claude", ".codex", ".gemini"];

/// How many bytes are copied into one home at most.
const MAX_COPY: u64 = 64 * 1024 * 1024;
/// How many files and folders are copied into one home at most.
const MAX_COPIES: usize = 10_000;

/// The parts of the real home that a private one needs.
pub(super) struct Wanted<'a> {
    pub(super) real_home: Option<&'a Path>,
    /// The entries in the settings.
    pub(super) entries: &'a [String],
    /// The program to start, with links resolved.
    pub(super) program: Option<&'a Path>,
    /// Whether the home of the previous conversation is used again.
    pub(super) keep: bool,
}

impl Wanted<'_> {
    /// An empty home.
    pub(super) fn nothing() -> Self {
        Self {
            real_home: None,
            entries: &[],
            program: None,
            keep: false,
        }
    }
}

/// Creates a home that contains only the parts of the real one that the agent may use.
pub(super) fn prepare(scratch: &Path, wanted: &Wanted<'_>) -> Result<AgentFolders, Problem> {
    let mut folders = AgentFolders {
        scratch: scratch.to_path_buf(),
        home: scratch.join(HOME),
        tmp: scratch.join(TMP),
        layers: scratch.join(LAYERS),
        passed: Vec::new(),
        tools: Vec::new(),
    };
    if !wanted.keep {
        for old in [&folders.home, &folders.layers] {
            remove_tree(old).map_err(|error| unusable(old).because(error))?;
        }
    }
    make_private(&folders.home)?;
    make_private(&folders.tmp)?;
    let Some(real_home) = wanted.real_home.filter(|home| *home != Path::new("/")) else {
        return Ok(folders);
    };
    let mut copier = Copier::default();
    for entry in wanted.entries {
        // A dotfile is often a link into another folder, which must then be visible.
        let Ok(real) = real_home.join(entry).canonicalize() else {
            continue;
        };
        let private = folders.home.join(entry);
        let is_copied = COPIED.iter().any(|name| Path::new(entry).starts_with(name));
        if real.is_dir() && !is_copied {
            link(&real, &private)?;
            folders.passed.push(real);
        } else {
            copier.copy(&real, &private)?;
        }
    }
    let of_shim = shim_files(wanted.program);
    for entry in TOOLS.into_iter().chain(of_shim) {
        let real = real_home.join(entry);
        if !real.exists() {
            continue;
        }
        let private = folders.home.join(entry);
        // It exists already if the settings name it or a folder above it.
        if !private.exists() {
            link(&real, &private)?;
        }
        folders.tools.push(real);
    }
    Ok(folders)
}

fn shim_files(program: Option<&Path>) -> impl Iterator<Item = &'static str> {
    let real = program.and_then(|program| program.canonicalize().ok());
    let belongs = move |manager: &str| {
        let Some(real) = &real else { return false };
        let is_shim = real.file_name().is_some_and(|name| name == manager);
        // asdf's shims are scripts in its own folder.
        let folder = format!(".{manager}/shims");
        is_shim || real.parent().is_some_and(|parent| parent.ends_with(folder))
    };
    let all = SHIM_FILES.into_iter();
    all.filter_map(move |(manager, file)| belongs(manager).then_some(file))
}

/// Removes the private homes, temporary folders and cache layers that agents left in a folder and
/// in those directly below it, because they may contain copies of logins. Links are removed and
/// their targets stay. What cannot be removed stays readable only for its owner.
pub fn discard_homes(folder: &Path) {
    let discard = |scratch: &Path| {
        for name in [HOME, TMP, LAYERS] {
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

/// Copies within limits. It follows links, which are the user's own.
#[derive(Default)]
struct Copier {
    bytes: u64,
    count: usize,
}

impl Copier {
    fn copy(&mut self, real: &Path, private: &Path) -> Result<(), Problem> {
        let Ok(meta) = std::fs::metadata(real) else {
            return Ok(());
        };
        self.count += 1;
        if meta.is_file() {
            self.bytes += meta.len();
        }
        if self.bytes > MAX_COPY || self.count > MAX_COPIES {
            return Err(unusable(real)
                .cause("`home` may hold 64 MiB and 10000 files of `.claude`, `.codex`, `.gemini`")
                .hint("name the parts the agent needs, such as `.claude/skills`"));
        }
        if meta.is_dir() {
            make_private(private)?;
            let entries = std::fs::read_dir(real).map_err(|e| unusable(real).because(e))?;
            for entry in entries.flatten() {
                self.copy(&entry.path(), &private.join(entry.file_name()))?;
            }
        } else if meta.is_file() {
            let bytes = std::fs::read(real).map_err(|error| unusable(real).because(error))?;
            if let Some(parent) = private.parent() {
                make_private(parent)?;
            }
            write_private(private, &bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    struct Real {
        root: tempfile::TempDir,
    }

    impl Real {
        fn new(files: &[&str]) -> Self {
            let real = Self {
                root: tempfile::tempdir().unwrap(),
            };
            for file in files {
                let path = real.home().join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("the user's {file}")).unwrap();
            }
            real
        }

        fn home(&self) -> PathBuf {
            self.root.path().canonicalize().unwrap().join("real")
        }

        fn scratch(&self) -> PathBuf {
            self.root.path().join("run/agent-1")
        }

        fn prepare(&self, entries: &[&str], program: &str) -> AgentFolders {
            let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
            let wanted = Wanted {
                real_home: Some(&self.home()),
                entries: &entries,
                program: Some(&self.home().join(program)),
                keep: false,
            };
            prepare(&self.scratch(), &wanted).unwrap()
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_private_home_holds_the_named_entries_and_nothing_else_of_the_real_one() {
        let real = Real::new(&[
            ".claude/.credentials.json",
            ".claude/skills/a.md",
            ".robot/login",
            ".npmrc",
            ".ssh/id",
            ".cargo/credentials.toml",
            ".cargo/bin/cargo",
        ]);
        for _ in 0..2 {
            let folders = real.prepare(&[".claude/skills", ".robot", ".npmrc", ".absent"], "x");
            assert_eq!(folders.passed, [real.home().join(".robot")]);
            assert_eq!(folders.tools, [real.home().join(".cargo/bin")]);
            assert_eq!(
                names(&folders.home),
                [".cargo", ".claude", ".npmrc", ".robot"]
            );
            assert_eq!(names(&folders.home.join(".claude")), ["skills"]);
            assert_eq!(names(&folders.home.join(".cargo")), ["bin"]);
            // Another run may have left this file.
            std::fs::write(folders.home.join(".claude/settings.json"), "planted").unwrap();
        }
    }

    #[test]
    fn what_an_agent_writes_into_its_programs_folders_and_into_files_stays_in_its_home() {
        let real = Real::new(&[".claude/skills/a.md", ".codex/config.toml", ".npmrc"]);
        let folders = real.prepare(&[".claude", ".codex/config.toml", ".npmrc"], "x");
        for file in [".claude/skills/a.md", ".codex/config.toml", ".npmrc"] {
            let private = folders.home.join(file);
            let text = format!("the user's {file}");
            assert_eq!(std::fs::read_to_string(&private).unwrap(), text);
            std::fs::write(&private, "changed").unwrap();
            let kept = std::fs::read_to_string(real.home().join(file)).unwrap();
            assert_eq!(kept, text);
        }
        assert_eq!(folders.passed, Vec::<PathBuf>::new());
    }

    #[test]
    fn a_folder_with_tools_in_it_can_be_named() {
        let real = Real::new(&[".cargo/bin/cargo", ".cargo/registry/x"]);
        let folders = real.prepare(&[".cargo"], "x");
        assert_eq!(names(&folders.home.join(".cargo")), ["bin", "registry"]);
        assert_eq!(folders.passed, [real.home().join(".cargo")]);
        assert_eq!(folders.tools, [real.home().join(".cargo/bin")]);
    }

    #[test]
    fn a_dotfile_that_is_a_link_is_passed_on_as_what_it_points_at() {
        let real = Real::new(&["dotfiles/tool/config", "dotfiles/npmrc"]);
        symlink("dotfiles/tool", real.home().join(".tool")).unwrap();
        symlink("dotfiles/npmrc", real.home().join(".npmrc")).unwrap();
        let folders = real.prepare(&[".tool", ".npmrc"], "x");
        assert_eq!(folders.passed, [real.home().join("dotfiles/tool")]);
        assert_eq!(names(&folders.home.join(".tool")), ["config"]);
        assert!(folders.home.join(".npmrc").is_file());
    }

    #[test]
    fn the_settings_of_mise_are_shown_to_its_shims_only() {
        let real = Real::new(&[
            ".local/bin/mise",
            ".local/share/mise/shims/other",
            ".config/mise/config.toml",
        ]);
        let shim = ".local/share/mise/shims/claude";
        symlink(real.home().join(".local/bin/mise"), real.home().join(shim)).unwrap();
        let folders = real.prepare(&[], "plain");
        assert!(!folders.home.join(".config").exists());
        let folders = real.prepare(&[], shim);
        assert!(folders.home.join(".config/mise/config.toml").exists());
    }

    #[test]
    fn a_folder_too_large_to_copy_names_what_to_do() {
        let real = Real::new(&[".claude/a"]);
        let file = std::fs::File::create(real.home().join(".claude/projects")).unwrap();
        file.set_len(MAX_COPY + 1).unwrap();
        let wanted = Wanted {
            real_home: Some(&real.home()),
            entries: &[".claude".to_owned()],
            ..Wanted::nothing()
        };
        let problem = prepare(&real.scratch(), &wanted).unwrap_err();
        assert_eq!(
            problem.hint.as_deref(),
            Some("name the parts the agent needs, such as `.claude/skills`")
        );
    }

    #[test]
    fn discarding_removes_copies_and_links_and_nothing_they_point_at() {
        let real = Real::new(&[".robot/login", ".npmrc"]);
        let folders = real.prepare(&[".robot", ".npmrc"], "x");
        let scratch = real.scratch();
        std::fs::write(scratch.join("agent.log"), "said").unwrap();
        // Agents also create folders that nobody may enter.
        std::fs::create_dir(folders.tmp.join("odd")).unwrap();
        std::fs::set_permissions(folders.tmp.join("odd"), Permissions::from_mode(0o0)).unwrap();
        for folder in ["run", "run/agent-1"] {
            discard_homes(&real.root.path().join(folder));
            assert_eq!(names(&scratch), ["agent.log"]);
        }
        let login = std::fs::read_to_string(real.home().join(".robot/login"));
        assert_eq!(login.unwrap(), "the user's .robot/login");
    }
}
