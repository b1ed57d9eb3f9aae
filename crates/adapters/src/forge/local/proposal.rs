//! Opens a pull request with defaults for everything that a person does not specify.

use super::LocalForge;
use crate::git::usual_bases;
use drive_core::ids::BranchName;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::NewPullRequest;

/// A person's wishes for a pull request. The rest is read from git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The branch with the work.
    pub branch: BranchName,
    /// The base branch; `None` uses the remote's default branch, `main` or `master`.
    pub base: Option<BranchName>,
    /// Its title; `None` uses the subject of the newest commit.
    pub title: Option<String>,
    /// The description.
    pub body: String,
    /// Whether it opens as a draft.
    pub draft: bool,
}

impl LocalForge {
    /// Fills in what a wish leaves out.
    pub fn propose(&self, wish: &Wish) -> Result<NewPullRequest, Problem> {
        let branch = wish.branch.clone();
        let base = match &wish.base {
            Some(base) => base.clone(),
            None => self.usual_base(&branch)?,
        };
        let title = match wish.title.as_deref().map(str::trim) {
            Some(title) if !title.is_empty() => title.to_owned(),
            Some(_) | None => self.subject(&branch)?,
        };
        Ok(NewPullRequest {
            title,
            base,
            body: wish.body.clone(),
            branch,
            draft: wish.draft,
        })
    }

    /// Refuses a pull request without new commits, or whose history is unrelated to its base.
    pub(super) fn require_commits(
        &self,
        new: &NewPullRequest,
        head: &str,
        base: &str,
    ) -> Result<(), Problem> {
        let (branch, target) = (&new.branch, &new.base);
        match self.meeting(base, head)? {
            Some(common) if common == head => Err(Problem::new(
                Kind::NoCommits,
                format!("`{branch}` has no commits beyond `{target}`"),
            )
            .hint("commit something on it first")),
            Some(_) => Ok(()),
            None => Err(Problem::new(
                Kind::HistoryUnrelated,
                format!("`{branch}` shares no commit with `{target}`"),
            )
            .hint(format!("rebuild it from `{target}` with `git cherry-pick`"))),
        }
    }

    fn usual_base(&self, branch: &BranchName) -> Result<BranchName, Problem> {
        let names = usual_bases(self.objects())?;
        for base in names.iter().filter_map(|name| BranchName::parse(name).ok()) {
            if base != *branch && self.tip(&base)?.is_some() {
                return Ok(base);
            }
        }
        Err(Problem::new(
            Kind::BaseUnknown,
            format!("cannot determine the base of `{branch}`"),
        )
        .hint("pass `--base BRANCH`"))
    }

    fn subject(&self, branch: &BranchName) -> Result<String, Problem> {
        let head = self.require_branch(branch)?;
        let subject = self
            .objects()
            .args(["log", "-1", "--no-show-signature", "--format=%s", &head])
            .line()?;
        Ok(if subject.is_empty() {
            branch.to_string()
        } else {
            subject
        })
    }
}
