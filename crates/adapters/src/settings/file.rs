use drive_core::problem::{Kind, Problem};
use drive_core::settings::Layer;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The maximum size of a settings file: none is larger, and a log that was passed by mistake must
/// not fill the memory.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Reads a file that may be missing.
pub(super) fn load(path: &Path, label: String) -> Result<Option<Layer>, Problem> {
    match open(path) {
        Ok(file) => read(file, label).map(Some),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(unreadable(&label).because(error)),
    }
}

/// Reads a file that the user named.
pub(super) fn require(path: &Path, label: String) -> Result<Layer, Problem> {
    match open(path) {
        Ok(file) => read(file, label),
        Err(error) if is_absent(&error) => Err(Problem::new(
            Kind::SettingsMissing,
            format!("settings file `{label}` does not exist"),
        )
        .hint("check the path given with `--config`")),
        Err(error) => Err(unreadable(&label).because(error)),
    }
}

/// Opens a file without waiting for a writer if it is a named pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn read(file: File, label: String) -> Result<Layer, Problem> {
    let kind = file
        .metadata()
        .map_err(|error| unreadable(&label).because(error))?;
    if kind.is_dir() {
        return Err(unreadable(&label).cause("it is a folder"));
    }
    if !kind.is_file() {
        return Err(unreadable(&label).cause("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&label).because(error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unreadable(&label).cause("it is larger than 1 MiB"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Layer::file(label, text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(unreadable(&label).cause(format!("line {line} is not UTF-8")))
        }
    }
}

fn unreadable(label: &str) -> Problem {
    Problem::new(
        Kind::SettingsUnreadable,
        format!("cannot read the settings file `{label}`"),
    )
    .hint("correct the file, or pass another one with `--config`")
}
