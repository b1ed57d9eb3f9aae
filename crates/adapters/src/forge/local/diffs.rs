//! Changed lines of a pull request, and the current position of commented lines.

use super::LocalForge;
use super::pulls::PullRow;
use drive_core::Problem;
use drive_core::forge::inline::{FileDiff, follow_line, hunk_up_to, parse_diff};
use drive_core::forge::{Comment, LineOrigin, Surface};
use drive_core::ids::{CommitSha, PrNumber};
use std::collections::{BTreeMap, BTreeSet};

/// The arguments for a diff in the only form that the parser knows, whatever the user's settings.
const FORM: [&str; 7] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--inter-hunk-context=0",
];

impl LocalForge {
    /// The changes of a pull request at a commit, compared with where it left its base.
    pub(super) fn changes(&self, row: &PullRow, head: &str) -> Result<Vec<FileDiff>, Problem> {
        let answer = self
            .contents()
            .args(FORM)
            .args(["--unified=3", "--find-renames"])
            .arg(format!("{}...{head}", row.base_sha))
            .arg("--")
            .ok()?;
        Ok(parse_diff(&String::from_utf8_lossy(&answer.stdout)))
    }

    /// Updates each inline comment to the line where its text is in the head; a comment on a
    /// changed line gets no line.
    pub(super) fn follow_lines(&self, comments: &mut [Comment]) -> Result<(), Problem> {
        let numbers: BTreeSet<PrNumber> = comments.iter().map(|comment| comment.pr).collect();
        let mut heads = BTreeMap::new();
        for number in numbers {
            heads.insert(number, self.require_pull(number)?.head_sha);
        }
        let mut shown: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut diffs: BTreeMap<(CommitSha, CommitSha), Option<Vec<FileDiff>>> = BTreeMap::new();
        for comment in comments.iter_mut() {
            let (Surface::Inline, Some(line), Some(path), Some(commit), Some(head)) = (
                comment.key.surface,
                comment.line,
                comment.path.as_deref(),
                comment.commit.as_ref(),
                heads.get(&comment.pr),
            ) else {
                continue;
            };
            let place = (commit.to_string(), path.to_owned());
            let text = match shown.get(&place) {
                Some(text) => text,
                None => {
                    let text = self.file_diff(comment.pr, commit, path)?;
                    shown.entry(place).or_insert(text)
                }
            };
            comment.origin = Some(LineOrigin::new(
                None,
                line,
                hunk_up_to(text, line).as_deref(),
            ));
            if commit == head {
                continue;
            }
            let between = (commit.clone(), head.clone());
            let diff = match diffs.get(&between) {
                Some(diff) => diff,
                None => {
                    let diff = self.between(commit, head)?;
                    diffs.entry(between).or_insert(diff)
                }
            };
            comment.line = match diff {
                Some(files) => line_now(files, path, line),
                None => None,
            };
        }
        Ok(())
    }

    /// The changes of a pull request to a file at a commit, as text; empty if the commit is gone.
    fn file_diff(&self, pr: PrNumber, commit: &str, path: &str) -> Result<String, Problem> {
        let base = self.require_pull(pr)?.base_sha;
        let answer = self
            .contents()
            .args(FORM)
            .args(["--unified=3", "--no-renames"])
            .arg(format!("{base}...{commit}"))
            .arg("--")
            .arg(format!(":(top,literal){path}"))
            .run()?;
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }

    /// The changes between two commits; `None` if one of them is gone.
    fn between(&self, from: &str, to: &str) -> Result<Option<Vec<FileDiff>>, Problem> {
        let answer = self
            .contents()
            .args(FORM)
            .args(["--unified=0", "--no-renames", from, to, "--"])
            .run()?;
        let diff = || parse_diff(&String::from_utf8_lossy(&answer.stdout));
        Ok((answer.code == 0).then(diff))
    }
}

fn line_now(files: &[FileDiff], path: &str, line: u64) -> Option<u64> {
    match files
        .iter()
        .find(|file| file.old_path.as_deref() == Some(path))
    {
        Some(file) => follow_line(&file.hunks, line),
        None => Some(line),
    }
}
