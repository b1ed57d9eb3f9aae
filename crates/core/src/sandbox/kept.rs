//! Saved work of a sandbox, with its metadata in a commit message.

use super::InProgress;
use crate::ids::{BranchName, CommitSha, RunId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Work that was saved before a sandbox was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptWork {
    /// The ref, under `refs/drive/kept/`.
    pub reference: String,
    /// The commit it points at.
    pub sha: CommitSha,
    /// The saved work's metadata.
    #[serde(flatten)]
    pub about: KeptAbout,
}

/// The metadata of saved work. It is stored in the trailers of the saving commit, so that a clone
/// of the refs is enough to list and restore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptAbout {
    /// The run it belongs to.
    pub run: RunId,
    /// The time it was saved.
    pub kept_at: Timestamp,
    /// The branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    /// The number of changed or untracked files.
    pub dirty_files: u32,
    /// The number of commits that no remote, no tag and no other branch contained.
    pub unpushed_commits: u32,
    /// The unfinished git operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress: Option<InProgress>,
}

impl KeptAbout {
    /// The complete message of the saving commit.
    pub fn message(&self) -> String {
        let mut out = format!(
            "Work saved from a sandbox of {}\n\nSaved before the sandbox was removed; `drive \
             kept restore` brings it back.\n\n",
            self.run
        );
        for (key, value) in self.trailers() {
            out.push_str(&format!("{key}: {value}\n"));
        }
        out
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            (RUN_TRAILER, self.run.to_string()),
            ("Drive-Kept-At", self.kept_at.to_string()),
            ("Drive-Dirty-Files", self.dirty_files.to_string()),
            ("Drive-Unpushed-Commits", self.unpushed_commits.to_string()),
        ];
        if let Some(branch) = &self.branch {
            all.push(("Drive-Branch", branch.to_string()));
        }
        if let Some(what) = self.in_progress {
            all.push(("Drive-In-Progress", what.name().to_owned()));
        }
        all
    }

    /// Parses the message of a saving commit; `None` for any other message.
    pub fn parse(message: &str) -> Option<Self> {
        let block = message.trim_end().rsplit("\n\n").next()?;
        let value = |key: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
        };
        Some(Self {
            run: RunId::new(value(RUN_TRAILER)?),
            kept_at: value("Drive-Kept-At")?.parse().ok()?,
            branch: value("Drive-Branch").and_then(|name| BranchName::parse(name).ok()),
            dirty_files: value("Drive-Dirty-Files")?.parse().ok()?,
            unpushed_commits: value("Drive-Unpushed-Commits")?.parse().ok()?,
            in_progress: value("Drive-In-Progress").and_then(InProgress::from_name),
        })
    }
}

/// The trailer that names the run of a commit.
pub const RUN_TRAILER: &str = "Drive-Run";

/// The prefix of all refs of saved work.
pub const KEPT_PREFIX: &str = "refs/drive/kept/";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_message_is_written_the_way_every_later_drive_reads_it() {
        let about = KeptAbout {
            run: RunId::new("r20261115-0942-k3f9a"),
            kept_at: Timestamp::from_second(1_790_000_000).unwrap(),
            branch: Some(BranchName::parse("drive/x").unwrap()),
            dirty_files: 2,
            unpushed_commits: 1,
            in_progress: Some(InProgress::Rebase),
        };
        assert_eq!(
            about.message(),
            "Work saved from a sandbox of r20261115-0942-k3f9a\n\n\
             Saved before the sandbox was removed; `drive kept restore` brings it back.\n\n\
             Drive-Run: r20261115-0942-k3f9a\n\
             Drive-Kept-At: 2026-09-21T14:13:20Z\n\
             Drive-Dirty-Files: 2\n\
             Drive-Unpushed-Commits: 1\n\
             Drive-Branch: drive/x\n\
             Drive-In-Progress: rebase\n"
        );
    }

    proptest! {
        #[test]
        fn what_a_message_carries_is_read_back_whole(
            branch in proptest::option::of("[a-z]{1,9}/[a-z]{1,9}"),
            dirty_files: u32,
            unpushed_commits: u32,
            seconds in 0i64..4_000_000_000,
            which in 0usize..6,
        ) {
            let about = KeptAbout {
                run: RunId::new("r20261115-0942-k3f9a"),
                kept_at: Timestamp::from_second(seconds).unwrap(),
                branch: branch.map(|name| BranchName::parse(&name).unwrap()),
                dirty_files,
                unpushed_commits,
                in_progress: InProgress::ALL.get(which).copied(),
            };
            prop_assert_eq!(KeptAbout::parse(&about.message()), Some(about));
        }

        #[test]
        fn any_other_message_is_no_kept_work(text: String) {
            prop_assert_eq!(KeptAbout::parse(&text), None);
        }
    }
}
