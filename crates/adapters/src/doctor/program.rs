//! Finds programs and their versions.

use super::Doctor;
use crate::environment::{HOME, PATH, XDG_CONFIG_HOME};
use drive_core::process::{End, Limits};
use drive_engine::ports::{Collect, CommandSpec, Containment};
use rustix::fs::{Access, access};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that needs longer than this to print its version has a problem.
const PATIENCE: Duration = Duration::from_secs(20);

/// More bytes than any version output.
const MAX_OUTPUT: usize = 16 << 10;

/// A version, major first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32);

impl Doctor<'_> {
    /// The path of a program, given as a path or as a name in `PATH`.
    pub(super) fn find(&self, program: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        if program.contains('/') {
            return Some(self.folder.join(program)).filter(is_program);
        }
        let folders = self.environment.get(PATH)?;
        std::env::split_paths(folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(is_program)
    }

    /// The output of a program that succeeds in time.
    pub(super) fn ask(&self, program: &Path, args: &[&str]) -> Option<String> {
        let mut spec = CommandSpec::new(program, "/").args(args.iter().map(OsString::from));
        spec.containment = Containment::Light;
        spec.env = self.plain_environment();
        spec.limits = Limits {
            wall: PATIENCE,
            output_bytes: MAX_OUTPUT as u64 * 4,
            ..Limits::default()
        };
        let mut output = Collect::new(MAX_OUTPUT);
        let report = self
            .runner
            .run(&spec, self.cancel, &mut |_| Ok(()), &mut output)
            .ok()?;
        let fine = report.end == (End::Exited { code: 0 });
        fine.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// An environment that is just enough to start a program: without secrets, git variables and locale.
    fn plain_environment(&self) -> Vec<(OsString, OsString)> {
        let kept = [PATH, HOME, XDG_CONFIG_HOME]
            .into_iter()
            .filter_map(|name| {
                let value = self.environment.get(name)?;
                Some((OsString::from(name), value.to_owned()))
            });
        let fixed = [("LC_ALL", "C"), ("NO_COLOR", "1")];
        let fixed = fixed.map(|(name, value)| (OsString::from(name), OsStr::new(value).to_owned()));
        kept.chain(fixed).collect()
    }
}

/// The first version in a text, as written.
pub(super) fn version_text(output: &str) -> Option<&str> {
    output
        .split_whitespace()
        .map(|word| word.trim_start_matches('v'))
        .find(|word| version(word).is_some())
}

/// Parses a version.
pub(super) fn version(text: &str) -> Option<Version> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some(Version(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        let table = [
            ("git version 2.47.3\n", Some("2.47.3")),
            (
                "gh version 2.63.2 (2024-12-05)\nhttps://…\n",
                Some("2.63.2"),
            ),
            ("v20.18.1\n", Some("20.18.1")),
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("no version here\n", None),
            ("", None),
        ];
        for (output, expected) in table {
            assert_eq!(version_text(output), expected, "{output}");
        }
        assert!(version("2.9.1").unwrap() < version("2.38").unwrap());
    }
}
