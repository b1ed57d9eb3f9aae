//! Checks that the commits taken from a sandbox build on those that it began with.

use super::Answer;
use super::take::{Take, Waiting};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};

impl Take<'_> {
    /// Whether a list of new commits with their parents shows that the newest one builds on a known
    /// commit. An empty list adds nothing.
    pub(super) fn builds_on_known(&self, listing: &Answer) -> bool {
        let text = String::from_utf8_lossy(&listing.stdout);
        let is_known = |parent: &str| self.since.iter().any(|known| known.as_str() == parent);
        text.is_empty()
            || text
                .lines()
                .any(|line| line.split(' ').skip(1).any(is_known))
    }

    /// Fails unless the new commits build on a known one. An agent may move a branch back and build on it
    /// again, but not below the sandbox's first commit: that would drop other people's commits.
    pub(super) fn check_descent(
        &self,
        waiting: Option<&Waiting>,
        commit: &CommitSha,
    ) -> Result<(), Problem> {
        let known = self.since.iter();
        // The base is checked first: an amended commit may have replaced drive's own last one.
        for known in known {
            let call = self.checking(waiting);
            let ancestry = ["merge-base", "--is-ancestor", known.as_str()];
            if call.args(ancestry).arg(commit.as_str()).yes()? {
                return Ok(());
            }
        }
        let base = self.since.first().map_or("its base", CommitSha::as_str);
        let call = self.checking(waiting).args(["merge-base", base, commit]);
        let what = match call.optional_line()? {
            Some(_) => "existing commits",
            None => "the whole history",
        };
        Err(Problem::new(
            Kind::HistoryUnrelated,
            format!("the agent rewrote {what}: {commit} does not contain {base}"),
        )
        .hint("its work is saved when the sandbox is removed: `drive kept list`"))
    }
}
