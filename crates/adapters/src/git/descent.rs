//! Whether the commits that come out of a sandbox build on those that it began with.

use super::Answer;
use super::take::{Take, Waiting};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};

impl Take<'_> {
    /// Whether a listing of new commits with their parents shows that the newest builds on what is
    /// known. One without new commits adds nothing.
    pub(super) fn builds_on_known(&self, listing: &Answer) -> bool {
        let text = String::from_utf8_lossy(&listing.stdout);
        let is_known = |parent: &str| self.since.iter().any(|known| known.as_str() == parent);
        text.is_empty()
            || text
                .lines()
                .any(|line| line.split(' ').skip(1).any(is_known))
    }

    /// A branch may be moved back and built on anew, but not below what the sandbox began with: that
    /// would drop commits of others from it.
    pub(super) fn check_descent(
        &self,
        waiting: Option<&Waiting>,
        commit: &CommitSha,
    ) -> Result<(), Problem> {
        let known = self.since.iter();
        // The base comes first: drive's own last commit may have been replaced by an amended one.
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
