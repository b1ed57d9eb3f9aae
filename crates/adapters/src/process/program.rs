//! Finds a program, with an error that names it.

use drive_core::problem::{Kind, Problem};
use drive_engine::ports::CommandSpec;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file to execute. A name without a slash is searched in the absolute folders of the child's
/// `PATH`; a relative path is relative to the child's folder.
pub(super) fn resolve(spec: &CommandSpec) -> Result<PathBuf, Problem> {
    require_folder(&spec.cwd)?;
    let name = spec.program.as_os_str();
    if name.is_empty() {
        return Err(Problem::new(Kind::EmptyCommand, "the command is empty"));
    }
    if name.as_bytes().contains(&b'/') {
        let path = spec.cwd.join(name);
        return match judge(&path) {
            Found::Executable => Ok(path),
            Found::NotExecutable => Err(not_executable(&path)),
            Found::Nothing => Err(not_found(name, "no such file")),
        };
    }
    let path = spec.env.iter().rev().find(|(key, _)| key == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, value)| value);
    let mut other = None;
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(name);
        match judge(&candidate) {
            Found::Executable => return Ok(candidate),
            Found::NotExecutable => other = other.or(Some(candidate)),
            Found::Nothing => {}
        }
    }
    match other {
        Some(path) => Err(not_executable(&path)),
        None => Err(not_found(name, "not in any folder of `PATH`")),
    }
}

fn require_folder(cwd: &Path) -> Result<(), Problem> {
    if cwd.is_dir() {
        return Ok(());
    }
    Err(Problem::new(
        Kind::WorkingFolderMissing,
        format!("working directory `{}` does not exist", cwd.display()),
    )
    .hint("check that it is a folder and was not removed"))
}

enum Found {
    Executable,
    NotExecutable,
    Nothing,
}

fn judge(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => Found::Executable,
            Err(_) => Found::NotExecutable,
        },
        Ok(_) => Found::NotExecutable,
        Err(_) => Found::Nothing,
    }
}

fn not_found(name: &OsStr, why: &str) -> Problem {
    Problem::new(
        Kind::CommandNotFound,
        format!("command `{}` was not found", name.display()),
    )
    .cause(why)
    .hint("install it, or use its full path")
}

fn not_executable(path: &Path) -> Problem {
    Problem::new(
        Kind::CommandNotExecutable,
        format!("`{}` is not executable", path.display()),
    )
    .hint(format!(
        "run `chmod +x {}` if it is a program",
        path.display()
    ))
}

/// The problem of a file that the kernel refused to execute.
pub(super) fn refused(path: &Path, error: &io::Error) -> Problem {
    let problem = match error.raw_os_error() {
        Some(libc::ENOENT) => Problem::new(
            Kind::CommandNotFound,
            format!("`{}` or its interpreter does not exist", path.display()),
        )
        .hint("check the first line of the script, and the program's loader"),
        Some(libc::EACCES) => not_executable(path),
        Some(_) | None => Problem::new(
            Kind::ProcessNotStarted,
            format!("cannot start `{}`", path.display()),
        ),
    };
    problem.cause(error.to_string())
}
