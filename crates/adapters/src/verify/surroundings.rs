//! Everything besides tree and rules that decides how stages end, as one text.
//!
//! Tools are told apart by their size and the time they were written, not by their content: what
//! replaces a tool changes both. Whoever wants to be deceived can be; a candidate cannot write here.

use super::environment;
use crate::Environment;
use drive_core::verify::Rules;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files in which package managers of the system note what is installed.
const INSTALLED: [&str; 5] = [
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/lib/apk/db/installed",
    "/etc/ld.so.cache",
    "/proc/sys/kernel/osrelease",
];
/// Folders in which packages are installed besides those of the system.
const LIBRARIES: [&str; 2] = ["/usr/local/lib", "/usr/lib"];
const PACKAGES: [&str; 2] = ["dist-packages", "site-packages"];
/// Folders of a tool chain that only hold what was fetched, by its checksum.
const FETCHED: [&str; 3] = ["registry", "git", "mod"];
/// The most entries that are looked at.
const MOST: usize = 200_000;

/// What stages of a verification in the checkout `top` would meet; `None` where it cannot be told.
pub(super) fn of(environment: &Environment, top: &Path, rules: &Rules) -> Option<String> {
    let has_pattern = |name: &String| name.contains(['*', '?', '[', '{']);
    if !rules.copy.is_empty() || rules.seed.iter().any(has_pattern) {
        // Which files that brings is known when they are there.
        return None;
    }
    let mut sum = Sum::default();
    sum.add(env!("CARGO_PKG_VERSION").as_bytes());
    sum.file(&std::env::current_exe().ok()?);
    let pairs = environment::stage(environment, Path::new("/"));
    for (name, value) in &pairs {
        sum.pair(name, value);
    }
    for (name, value) in environment::passed(environment, rules) {
        sum.pair(&name, &value);
    }
    for folder in environment::search_path(environment) {
        sum.folder(&folder, 1)?;
    }
    for chain in environment::toolchains(&pairs) {
        sum.folder(&chain, 2)?;
        for version in entries(&chain.join("versions")) {
            sum.libraries(&version.join("lib"))?;
        }
    }
    for file in INSTALLED {
        sum.file(Path::new(file));
    }
    for folder in LIBRARIES {
        sum.libraries(Path::new(folder))?;
    }
    for seed in &rules.seed {
        sum.folder(&top.join(seed), 2)?;
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

    /// What a folder holds, so many levels deep; `None` where that is too much.
    fn folder(&mut self, folder: &Path, depth: u32) -> Option<()> {
        self.file(folder);
        for entry in entries(folder) {
            let is_fetched = entry.file_name().is_some_and(|name| {
                name.as_bytes().starts_with(b".") || FETCHED.iter().any(|one| name == *one)
            });
            if self.seen >= MOST {
                return None;
            }
            // What a link points to counts, but not what is below it.
            let is_folder = entry.symlink_metadata().is_ok_and(|data| data.is_dir());
            if !is_folder || depth <= 1 {
                self.file(&entry);
            } else if !is_fetched {
                self.folder(&entry, depth - 1)?;
            }
        }
        Some(())
    }

    /// The packages of interpreters in a folder of libraries.
    fn libraries(&mut self, folder: &Path) -> Option<()> {
        for entry in entries(folder) {
            let name = entry.file_name().unwrap_or_default().as_bytes();
            if name == b"node_modules" {
                self.folder(&entry, 2)?;
            } else if name.starts_with(b"python") {
                for packages in PACKAGES {
                    self.folder(&entry.join(packages), 1)?;
                }
            }
        }
        Some(())
    }

    fn finish(self) -> String {
        let sum = self.digest.finalize();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn stamp(metadata: &Metadata) -> [u8; 40] {
    let mut stamp = [0; 40];
    // A folder is as large as its file system likes.
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    let numbers = [
        size,
        metadata.ino(),
        u64::from(metadata.mode()),
        metadata.mtime().cast_unsigned(),
        metadata.mtime_nsec().cast_unsigned(),
    ];
    for (place, number) in stamp.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    stamp
}

/// What is in a folder, in a fixed order; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_a_variable_or_a_seeded_package_that_changes_makes_another_text() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        let modules = dir.path().join("top/node_modules/a");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&modules).unwrap();
        let write = |path: &Path, text: &str| {
            std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes())
                .unwrap();
        };
        write(&bin.join("tool"), "one");
        let mut rules = Rules::default();
        let text = |more: &[(&str, &str)], rules: &Rules| {
            let path = bin.to_str().unwrap();
            let pairs = [("PATH", path), ("HOME", "/nonexistent")];
            let environment = Environment::from_pairs(pairs.iter().chain(more).copied());
            of(&environment, &dir.path().join("top"), rules)
        };
        let first = text(&[], &rules).unwrap();
        assert_eq!(text(&[], &rules), Some(first.clone()));
        assert_eq!(
            text(&[("SOME", "x")], &rules),
            Some(first.clone()),
            "a variable that no stage sees"
        );
        assert_ne!(
            text(&[("JAVA_HOME", "/opt/j")], &rules),
            Some(first.clone())
        );
        write(&bin.join("tool"), "other");
        let second = text(&[], &rules).unwrap();
        assert_ne!(first, second);
        write(&modules.join("index.js"), "x");
        assert_ne!(text(&[], &rules), Some(second.clone()));
        rules.copy = vec![".env".to_owned()];
        assert_eq!(text(&[], &rules), None, "files that are copied");
    }
}
