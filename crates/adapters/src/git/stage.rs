//! Stages the work in a working tree.

use super::{Answer, Call, Status};
use drive_core::Problem;
use drive_core::phase::{STATE_FILE, STATE_FOLDER};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Stages everything that a status found, inside and outside of a sparse checkout, except files
/// that are nobody's work. Any exit code is an answer.
pub(crate) fn stage<'a>(status: &Status, call: impl Fn() -> Call<'a>) -> Result<Answer, Problem> {
    let add = |what: &str| {
        let add = call().args(["add", what, "--sparse", "--", ":/"]);
        // An ignore file in the work may override git's own exclude file.
        add.args(excluded(&Path::new(STATE_FOLDER).join(STATE_FILE)))
            .run()
    };
    if !status.has_others {
        return add("--all");
    }
    let answer = add("--update")?;
    if answer.code != 0 || status.untracked.is_empty() {
        return Ok(answer);
    }
    // The names are passed one by one: patterns that exclude thousands of files would be compared
    // with every file.
    let mut names = Vec::new();
    for path in &status.untracked {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(0);
    }
    call()
        .args(["update-index", "--add", "--replace", "-z", "--stdin"])
        .stdin(names)
        .run()
}

/// Pathspecs that exclude one path with everything below it.
///
/// `git add` refuses a pathspec that names an ignored path literally, even to leave it out, so the
/// name is given as a pattern that matches only itself.
fn excluded(path: &Path) -> [OsString; 2] {
    let mut pattern = b":(exclude,top,glob)".to_vec();
    let mut is_pattern = false;
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'*' | b'?' | b'[' | b'\\' => pattern.extend([b'\\', byte]),
            byte if !is_pattern && (byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) => {
                pattern.extend([b'[', byte, b']']);
                is_pattern = true;
            }
            byte => pattern.push(byte),
        }
    }
    let below = [pattern.as_slice(), b"/**"].concat();
    [pattern, below].map(OsString::from_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_left_out_by_a_pattern_that_matches_only_itself() {
        let specs = |path: &str| excluded(Path::new(path)).map(|one| one.into_string().unwrap());
        assert_eq!(
            specs("target"),
            [
                ":(exclude,top,glob)[t]arget",
                ":(exclude,top,glob)[t]arget/**"
            ]
        );
        assert_eq!(
            specs("*we?rd [x]/f"),
            [
                r":(exclude,top,glob)\*[w]e\?rd \[x]/f",
                r":(exclude,top,glob)\*[w]e\?rd \[x]/f/**"
            ]
        );
    }
}
