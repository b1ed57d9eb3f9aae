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
    /// The layers over the caches it uses.
    pub(super) layers: PathBuf,
    /// Folders of the real home it may write: those that the settings name.
    pub(super) passed: Vec<PathBuf>,
    /// Folders of the real home it may read: toolchains.
    pub(super) tools: Vec<PathBuf>,
}

/// The private home below a scratch folder.
const HOME: &str = "home";
/// The layers over caches below a scratch folder.
const LAYERS: &str = "layers";
/// The temporary folder below a scratch folder.
const TMP: &str = "tmp";

/// Toolchains people keep in their home. None of these holds a login.
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

/// What a shim reads to know which program it stands for, by the name of the shim's own program.
/// Settings of mise can hold variables, so nobody else gets them.
const SHIM_FILES: [(&str, &str); 3] = [
    ("mise", ".config/mise"),
    ("asdf", ".tool-versions"),
    ("asdf", ".asdfrc"),
];

/// Folders whose files steer later runs of the programs they belong to, and hold logins: never
/// shown, only copied.
const COPIED: [&str; 3] = [".claude", ".codex", ".gemini"];

/// The most that is copied into one home.
const MAX_COPY: u64 = 64 * 1024 * 1024;
/// The most files and folders that are copied into one home.
const MAX_COPIES: usize = 10_000;

/// What of the real home is wanted in a private one.
pub(super) struct Wanted<'a> {
    pub(super) real_home: Option<&'a Path>,
    /// Entries that the settings name.
    pub(super) entries: &'a [String],
    /// The program to start, wherever links lead.
    pub(super) program: Option<&'a Path>,
    /// Whether the home of the conversation before is used again.
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

/// Makes a home that holds nothing of the real one but what the agent may use.
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
        // A dotfile is often a link into another folder, and it is that one which must be visible.
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
        // It is there already where the settings name it, or a folder above it.
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
        // asdf's shims are scripts in a folder of its own.
        let folder = format!(".{manager}/shims");
        is_shim || real.parent().is_some_and(|parent| parent.ends_with(folder))
    };
    let all = SHIM_FILES.into_iter();
    all.filter_map(move |(manager, file)| belongs(manager).then_some(file))
}

/// Removes the private homes, temporary folders and changes of caches that agents left in a folder and in those right
/// below it: they may hold copies of logins. Links in them are removed, what they point at stays.
/// What cannot be removed stays readable for its owner only.
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

/// Copies within limits. Links are followed: they are the user's own.
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
            // Another run may have left this.
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
        // Agents make folders nobody may enter, too.
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
