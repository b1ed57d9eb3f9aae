//! Everything besides commits and rules that affects the result of stages, as one text.
//!
//! Files are identified by size, times and path, not by content, because every write changes the
//! times. Files that package managers fetch and verify by checksum are left out.

use super::environment;
use crate::Environment;
use crate::environment::{HOME, PATH};
use crate::tool_paths;
use drive_core::verify::Rules;
use rustix::process::Resource;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files in which the system's package managers record installed packages. They are the only
/// writers below [`SYSTEM`].
const INSTALLED: [&str; 6] = [
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/etc/ld.so.cache",
    "/proc/sys/kernel/osrelease",
];
/// Folders whose contents only the system's package manager changes.
const SYSTEM: [&str; 4] = ["/usr/lib", "/usr/lib64", "/usr/libexec", "/lib"];
/// Git settings in the home that affect a checkout.
const GIT_SETTINGS: [&str; 3] = [".gitconfig", ".config/git/config", ".config/git/attributes"];
/// Git settings in the repository.
const OWN_GIT_SETTINGS: [&str; 6] = [
    "config",
    "config.worktree",
    "info/attributes",
    "info/exclude",
    "packed-refs",
    "shallow",
];
/// Texts in git settings that refer to further files.
const LEADS_ON: [&str; 3] = ["[include", "attributesfile", "excludesfile"];
/// Drive's own refs, which change with its work.
const OWN_REFS: &str = "drive";
/// Folders of tool chains with files that are fetched and verified by checksum, or derived.
const FETCHED: [&str; 4] = ["registry", "git", "downloads", "tmp"];
/// The folder in which Python stores derived files.
const DERIVED: &str = "__pycache__";
/// The folder below the home in which Maven stores local builds.
const BUILT_HERE: [&str; 1] = [".m2/repository"];
/// The maximum number of entries that are visited.
const MOST: usize = 500_000;

/// The surroundings of a verification's stages; `None` if they cannot be determined. `repository`
/// is the git folder of the checkout `top`.
pub(super) fn of(
    environment: &Environment,
    top: &Path,
    repository: &Path,
    rules: &Rules,
) -> Option<String> {
    let has_pattern = |name: &String| name.contains(['*', '?', '[', '{']);
    if !rules.copy.is_empty() || rules.seed.iter().any(has_pattern) {
        // The files of `bring` are known only after they were copied.
        return None;
    }
    let mut sum = Sum::default();
    sum.add(env!("CARGO_PKG_VERSION").as_bytes());
    sum.file(&std::env::current_exe().ok()?);
    sum.add(&rustix::process::geteuid().as_raw().to_le_bytes());
    sum.add(repository.as_os_str().as_bytes());
    for file in OWN_GIT_SETTINGS {
        sum.git_settings(&repository.join(file))?;
    }
    for refs in entries(&repository.join("refs")) {
        if !refs.ends_with(OWN_REFS) {
            sum.tree(&refs, &[])?;
        }
    }
    for limit in [Resource::Nofile, Resource::Stack, Resource::Nproc] {
        let current = rustix::process::getrlimit(limit).current;
        sum.add(&current.unwrap_or(u64::MAX).to_le_bytes());
    }
    let processors = std::thread::available_parallelism();
    sum.add(&processors.map_or(0, NonZero::get).to_le_bytes());
    let pairs = environment::stage(environment, Path::new("/"));
    for (name, value) in &pairs {
        sum.pair(name, value);
    }
    for (name, value) in environment::passed(environment, rules) {
        sum.pair(&name, &value);
    }
    for file in environment::certificates(&pairs) {
        sum.tree(&file, &[])?;
    }
    let home = environment.absolute_path(HOME);
    let search = environment.get(PATH).unwrap_or_default();
    for path in tool_paths::of_search_path(search, home.as_deref()) {
        if !SYSTEM.iter().any(|system| path == Path::new(system)) {
            sum.tree(&path, &[])?;
        }
    }
    for chain in environment::toolchains(&pairs) {
        sum.tree(&chain, &FETCHED)?;
    }
    for file in INSTALLED {
        sum.file(Path::new(file));
    }
    sum.git_settings(Path::new("/etc/gitconfig"))?;
    if let Some(folder) = environment.absolute_path("XDG_CONFIG_HOME") {
        sum.git_settings(&folder.join("git/config"))?;
        sum.file(&folder.join("git/attributes"));
    }
    if let Some(home) = &home {
        for file in GIT_SETTINGS {
            sum.git_settings(&home.join(file))?;
        }
        for folder in BUILT_HERE {
            sum.tree(&home.join(folder), &[])?;
        }
    }
    for seed in &rules.seed {
        sum.tree(&top.join(seed), &[])?;
    }
    Some(sum.finish())
}

#[derive(Default)]
struct Sum {
    digest: Sha256,
    seen: usize,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes.len().to_le_bytes());
        self.digest.update(bytes);
    }

    fn pair(&mut self, name: &OsString, value: &OsString) {
        self.add(name.as_bytes());
        self.add(value.as_bytes());
    }

    fn file(&mut self, path: &Path) {
        self.seen += 1;
        self.add(path.as_os_str().as_bytes());
        match path.metadata() {
            Ok(metadata) => self.add(&stamp(&metadata)),
            Err(_) => self.add(&[]),
        }
    }

    /// Adds a file of git's settings; `None` if it refers to other files.
    fn git_settings(&mut self, path: &Path) -> Option<()> {
        self.file(path);
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).to_lowercase();
        let leads_on = path.file_name().is_some_and(|name| name != "packed-refs")
            && LEADS_ON.iter().any(|sign| text.contains(sign));
        (!leads_on).then_some(())
    }

    /// Adds a file, or everything in a folder except its direct children named in `without`; `None`
    /// if that is too much. Links below it are not followed.
    fn tree(&mut self, path: &Path, without: &[&str]) -> Option<()> {
        self.file(path);
        for entry in entries(path) {
            let name = entry.file_name().unwrap_or_default();
            if name == OsStr::new(DERIVED) || without.iter().any(|one| name == OsStr::new(one)) {
                continue;
            }
            if self.seen >= MOST {
                return None;
            }
            if entry.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                self.tree(&entry, &[])?;
            } else {
                self.file(&entry);
            }
        }
        Some(())
    }

    fn finish(self) -> String {
        let sum = self.digest.finalize();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn stamp(metadata: &Metadata) -> [u8; 56] {
    let mut stamp = [0; 56];
    // The size of a folder depends on its file system.
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    let numbers = [
        size,
        metadata.ino(),
        u64::from(metadata.mode()),
        metadata.mtime().cast_unsigned(),
        metadata.mtime_nsec().cast_unsigned(),
        metadata.ctime().cast_unsigned(),
        metadata.ctime_nsec().cast_unsigned(),
    ];
    for (place, number) in stamp.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    stamp
}

/// The entries of a folder in a fixed order; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn whatever_a_stage_can_meet_makes_another_text_when_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let path = at("tools/bin");
        let text = |more: &[(&str, &str)], rules: &Rules| {
            let home = at("home");
            let pairs = [
                ("PATH", path.to_str().unwrap()),
                ("HOME", home.to_str().unwrap()),
            ];
            let environment = Environment::from_pairs(pairs.iter().chain(more).copied());
            of(&environment, &at("top"), &at("top/.git"), rules)
        };
        let rules = Rules::default();
        let files = [
            "tools/bin/tool",
            "tools/bin/sub/tool",
            "tools/lib/python3/site-packages/a/b.py",
            "tools/libexec/part",
            "tools/pyvenv.cfg",
            "home/.cargo/config.toml",
            "home/.rustup/toolchains/x/bin/rustc",
            "home/.gitconfig",
            "home/.m2/repository/a/b.jar",
            "top/node_modules/a/lib/deep/index.js",
            "top/node_modules/.pnpm/x/index.js",
            "top/node_modules/git/index.js",
            "top/.git/config",
            "top/.git/info/attributes",
            "top/.git/info/exclude",
            "top/.git/refs/remotes/origin/main",
            "top/.git/refs/tags/v1",
        ];
        for file in files {
            write(&at(file), "one");
        }
        let mut last = text(&[], &rules).unwrap();
        assert_eq!(text(&[], &rules), Some(last.clone()));
        for file in files {
            // Overwritten in place, with the same length.
            write(&at(file), "two");
            let next = text(&[], &rules).unwrap();
            assert_ne!(next, last, "{file}");
            last = next;
        }
        let java = [("JAVA_HOME", "/opt/j")];
        assert_ne!(text(&java, &rules), Some(last.clone()));
        write(&at("top/.git/refs/drive/pin"), "x");
        assert_eq!(text(&[], &rules), Some(last.clone()), "drive's own");
        // Files that no stage sees, or that are verified by checksum.
        assert_eq!(text(&[("SOME", "x")], &rules), Some(last.clone()));
        write(&at("home/.cargo/registry/cache/a.crate"), "x");
        write(&at("home/.npmrc"), "x");
        // The write also changed the folder itself, which is recorded only once.
        let now = text(&[], &rules);
        write(&at("home/.cargo/registry/cache/b.crate"), "x");
        assert_eq!(text(&[], &rules), now);
        write(&at("home/.gitconfig"), "[include]\npath = elsewhere\n");
        assert_eq!(text(&[], &rules), None, "settings that are elsewhere");
    }

    #[test]
    fn copied_files_and_patterns_cannot_be_told() {
        let environment = Environment::from_pairs([("PATH", "/nonexistent")]);
        let text = |rules: &Rules| of(&environment, Path::new("/n"), Path::new("/n"), rules);
        assert!(text(&Rules::default()).is_some());
        let copies = Rules {
            copy: vec![".env".to_owned()],
            ..Rules::default()
        };
        let seeds = Rules {
            seed: vec!["*/node_modules".to_owned()],
            ..Rules::default()
        };
        assert_eq!(text(&copies), None);
        assert_eq!(text(&seeds), None);
    }
}
