//! The object folders of a repository, in the forms that git reads.

use super::answer::path_from;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// How many folders a chain of borrowing repositories may have.
const MOST_FOLDERS: usize = 64;

/// A repository's own objects and those that it borrows, in one flat list, because git follows only
/// a few levels of borrowing.
pub(crate) fn object_folders(git_dir: &Path) -> Vec<PathBuf> {
    let own = git_dir.join("objects");
    let mut all = vec![own.canonicalize().unwrap_or(own)];
    let mut next = 0;
    while let Some(folder) = all.get(next).cloned() {
        next += 1;
        let borrowed = std::fs::read(folder.join("info/alternates")).unwrap_or_default();
        for line in borrowed.split(|byte| *byte == b'\n') {
            let Some(path) = unquoted(line) else {
                continue;
            };
            let Ok(path) = folder.join(path_from(&path)).canonicalize() else {
                continue;
            };
            if path.is_dir() && !all.contains(&path) && all.len() < MOST_FOLDERS {
                all.push(path);
            }
        }
    }
    all
}

/// The list in the form of git's file: one path per line.
pub(crate) fn as_file(folders: &[PathBuf]) -> Vec<u8> {
    let lines = folders
        .iter()
        .map(|folder| [quoted(folder).as_slice(), b"\n"].concat());
    lines.flatten().collect()
}

/// The list in the form of git's variable.
pub(super) fn as_variable(folders: &[PathBuf]) -> OsString {
    let all: Vec<Vec<u8>> = folders.iter().map(|folder| quoted(folder)).collect();
    OsString::from_vec(all.join(&b':'))
}

/// A path in quotes if git would misread the plain one.
fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = bytes
        .iter()
        .all(|byte| !matches!(byte, b'"' | b'#' | b':' | b'\\') && *byte >= b' ');
    if is_plain {
        return bytes.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            byte if *byte < b' ' => out.extend(format!("\\{byte:03o}").into_bytes()),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// A line of the file; `None` if it contains no path.
fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = line.strip_prefix(b"\"") else {
        return (!line.is_empty() && line[0] != b'#').then(|| line.to_vec());
    };
    let mut bytes = inner.strip_suffix(b"\"")?.iter().copied();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            first @ b'0'..=b'3' => {
                let digits = [first, bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
            }
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_read_back_as_it_was_written() {
        for path in ["/a b/objects", "/a:b", "/\"x\"", "#x", "/a\nb", "/a\\b"] {
            let written = quoted(Path::new(path));
            assert_eq!(unquoted(&written), Some(path.as_bytes().to_vec()), "{path}");
            assert!(!written.contains(&b'\n'), "{path}");
        }
        assert_eq!(unquoted(b""), None);
        assert_eq!(unquoted(b"# a comment"), None);
    }

    #[test]
    fn a_chain_of_borrowers_is_one_flat_list_and_a_circle_ends() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = |name: &str| root.join(name).join("objects");
        for name in ["a", "b", "c"] {
            std::fs::create_dir_all(place(name).join("info")).unwrap();
        }
        let borrow = |name: &str, from: &str| {
            std::fs::write(place(name).join("info/alternates"), from).unwrap();
        };
        borrow("a", "../../b/objects\n# no folder\n/nowhere/objects\n");
        borrow("b", &format!("{}\n", place("c").display()));
        borrow("c", "../../a/objects\n");
        assert_eq!(
            object_folders(&root.join("a")),
            [place("a"), place("b"), place("c")]
        );
    }
}
