//! Commits as they are stored. Git decodes a commit by its header before printing it, and a header
//! can name an encoding that loses the whole message.

use super::Call;
use drive_core::problem::{Kind, Problem};

/// The commits named on each line of `names`, each with its id.
pub(super) fn raw_commits(
    call: Call<'_>,
    names: impl Into<Vec<u8>>,
) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let names = names.into();
    let count = names.iter().filter(|byte| **byte == b'\n').count();
    let answer = call.args(["cat-file", "--batch"]).stdin(names).ok()?;
    let mut commits = Vec::with_capacity(count);
    let mut rest = answer.stdout.as_slice();
    while let Some((sha, commit, after)) = first(rest) {
        commits.push((sha, commit.to_vec()));
        rest = after;
    }
    if !rest.is_empty() || commits.len() != count {
        return Err(Problem::new(
            Kind::GitFailed,
            "`git cat-file` did not show every commit",
        ));
    }
    Ok(commits)
}

/// The first commit of an answer, and the rest.
fn first(answer: &[u8]) -> Option<(String, &[u8], &[u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let about = std::str::from_utf8(&answer[..end]).ok()?;
    let (sha, size) = about.split_once(" commit ")?;
    let (commit, after) = answer[end + 1..].split_at_checked(size.parse().ok()?)?;
    Some((sha.to_owned(), commit, after.strip_prefix(b"\n")?))
}

/// The header of a commit, with its last line end, and the message.
pub(super) fn parts(commit: &[u8]) -> (&[u8], &[u8]) {
    match commit.windows(2).position(|pair| pair == b"\n\n") {
        Some(end) => (&commit[..end + 1], &commit[end + 2..]),
        None => (commit, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_by_its_size_and_what_is_none_ends_the_answer() {
        let answer = b"aa commit 5\na\n\nb\n\nbb commit 1\nx\ncc missing\n";
        let (sha, commit, after) = first(answer).unwrap();
        assert_eq!((sha.as_str(), commit), ("aa", &b"a\n\nb\n"[..]));
        let (sha, commit, after) = first(after).unwrap();
        assert_eq!((sha.as_str(), commit), ("bb", &b"x"[..]));
        assert_eq!(first(after), None);
        assert_eq!(first(b"aa commit 9\nx\n"), None);
    }

    #[test]
    fn the_message_begins_after_the_first_empty_line() {
        assert_eq!(
            parts(b"tree x\n\none\n\ntwo\n"),
            (&b"tree x\n"[..], &b"one\n\ntwo\n"[..])
        );
        assert_eq!(parts(b"tree x\n"), (&b"tree x\n"[..], &b""[..]));
    }
}
