//! `drive.kept/1`.

use super::value::{Moment, Sha};
use drive_core::ids::BranchName;
use drive_core::sandbox::{InProgress, KeptWork};
use schemars::JsonSchema;
use serde::Serialize;

/// Work saved from sandboxes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", untagged)]
pub(crate) enum KeptDocument {
    /// `drive kept list`, oldest first.
    List { kept: Vec<KeptWorkDocument> },
    /// `drive kept restore`.
    Restored {
        restored: KeptWorkDocument,
        /// The branch that was made.
        branch: BranchName,
    },
    /// `drive kept drop`.
    Dropped { dropped: KeptWorkDocument },
}

/// Work saved from one sandbox.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptWorkDocument {
    #[schemars(regex(pattern = "^refs/drive/kept/"))]
    reference: String,
    /// The commit the ref points at.
    sha: Sha,
    /// The run it was saved from.
    run: String,
    kept_at: Moment,
    /// The branch that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<BranchName>,
    /// Files that were changed or untracked.
    dirty_files: u32,
    /// Commits that no remote, no tag and no other branch had.
    unpushed_commits: u32,
    /// The git operation that was not finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_progress: Option<InProgress>,
}

impl From<&KeptWork> for KeptWorkDocument {
    fn from(work: &KeptWork) -> Self {
        let about = &work.about;
        Self {
            reference: work.reference.clone(),
            sha: Sha::new(&work.sha),
            run: about.run.to_string(),
            kept_at: about.kept_at.into(),
            branch: about.branch.clone(),
            dirty_files: about.dirty_files,
            unpushed_commits: about.unpushed_commits,
            in_progress: about.in_progress,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::ids::{CommitSha, RunId};
    use drive_core::sandbox::KeptAbout;
    use serde_json::to_value;

    #[test]
    fn saved_work_is_published_as_it_is_stored() {
        let work = KeptWork {
            reference: "refs/drive/kept/r1/1".to_owned(),
            sha: CommitSha::new("a".repeat(40)),
            about: KeptAbout {
                run: RunId::new("r1"),
                kept_at: "2026-01-02T03:04:05Z".parse().unwrap(),
                branch: Some(BranchName::parse("work").unwrap()),
                dirty_files: 1,
                unpushed_commits: 2,
                in_progress: Some(InProgress::Rebase),
            },
        };
        let mut bare = work.clone();
        bare.about.branch = None;
        bare.about.in_progress = None;
        for work in [work, bare] {
            assert_eq!(
                to_value(KeptWorkDocument::from(&work)).unwrap(),
                to_value(&work).unwrap()
            );
        }
    }
}
