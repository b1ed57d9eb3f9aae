//! Chooses the settings for a verification: the base's, unless the user trusts others.

use super::request::WorkerRequest;
use crate::app::App;
use drive_adapters::git::Git;
use drive_adapters::settings::{SettingsAt, load_at};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::settings::Effective;
use drive_core::verify::RulesFrom;
use drive_engine::ports::{Place, VersionControl};
use std::path::{Path, PathBuf};

/// The settings of one verification.
pub(super) struct Ruling {
    pub(super) effective: Effective,
    pub(super) from: RulesFrom,
    /// The repository's settings file, which is protected like `drive.toml`.
    pub(super) file: Option<String>,
    /// Notes about the settings, for the report.
    pub(super) notes: Vec<String>,
    /// The base, pinned to the commit whose rules count.
    pub(super) base: Option<String>,
    /// The candidate; `None` if the revision is unknown.
    pub(super) head: Option<CommitSha>,
    /// The repository.
    pub(super) repo: PathBuf,
}

impl Ruling {
    /// Reads the settings for the verification of `request`.
    pub(super) fn read(app: &App, request: &WorkerRequest) -> Result<Self, Problem> {
        let found = Found::look(app, request)?;
        let is_trusted = request.judges.trusting_rules;
        if is_trusted && found.is_checked_out() {
            return Ok(Self {
                effective: app.settings()?.clone(),
                from: RulesFrom::WorkingCopy,
                file: app.settings_paths()?.repository_file(),
                notes: vec!["rules come from your checkout (`--trust-candidate-rules`)".to_owned()],
                base: found.base(),
                head: found.head,
                repo: found.repo,
            });
        }
        let commit = if is_trusted {
            found.head.clone()
        } else {
            match &request.rules {
                Some(rules) => Some(rules.clone()),
                None => found.rules_commit()?,
            }
        };
        let paths = app.settings_paths()?;
        let read = load_at(&found.git, &found.repo, &paths, commit.as_ref())?;
        let file = paths.repository_file();
        let notes = if file.is_none() {
            let named = app
                .global()
                .config
                .as_deref()
                .unwrap_or(Path::new("your own file"));
            let named = named.display();
            vec![format!(
                "rules come from `{named}` and your own settings, not from the repository"
            )]
        } else if is_trusted {
            vec!["rules come from the commit itself (`--trust-candidate-rules`)".to_owned()]
        } else {
            let own = found.named_base.is_none() && commit.is_some() && commit == found.head;
            let own = own.then(|| {
                "this commit's own rules were used; pass `--base REV` to use those of REV"
                    .to_owned()
            });
            not_counted(&read, commit.as_ref())
                .into_iter()
                .chain(own)
                .collect()
        };
        Ok(Self {
            from: match &commit {
                Some(commit) if file.is_some() => RulesFrom::Commit(commit.clone()),
                Some(_) | None => RulesFrom::OwnSettings,
            },
            file,
            effective: read.effective,
            notes,
            base: found.base(),
            head: found.head,
            repo: found.repo,
        })
    }
}

/// The commits of the request. The verifier reports one that does not exist.
struct Found {
    git: Git,
    repo: PathBuf,
    named_base: Option<String>,
    base: Option<CommitSha>,
    head: Option<CommitSha>,
}

impl Found {
    fn look(app: &App, request: &WorkerRequest) -> Result<Self, Problem> {
        let git = Git::new(app.runner().clone(), app.environment());
        let found = git.discover(&app.start_dir()?)?;
        let repo = found.top.unwrap_or(found.common_dir);
        let resolve = |revision: &str| resolved(&git, &repo, revision);
        let base = request.base.as_deref().map(resolve).transpose()?;
        Ok(Self {
            base: base.flatten(),
            head: resolve(&request.revision)?,
            named_base: request.base.clone(),
            git,
            repo,
        })
    }

    /// The commit whose rules count unless the candidate is trusted: the base, else the main branch.
    fn rules_commit(&self) -> Result<Option<CommitSha>, Problem> {
        match &self.named_base {
            Some(_) => Ok(self.base.clone()),
            None => self.git.main_tip(&self.repo),
        }
    }

    /// Whether the candidate is the caller's checked-out commit.
    fn is_checked_out(&self) -> bool {
        let here = resolved(&self.git, &self.repo, "HEAD");
        here.is_ok_and(|here| here.is_some() && here == self.head)
    }

    /// The id of the base, so that it cannot move between reading the rules and the verification.
    fn base(&self) -> Option<String> {
        let id = self.base.as_ref().map(ToString::to_string);
        id.or_else(|| self.named_base.clone())
    }
}

/// The commit of a revision; `None` if it is unknown, which the verifier reports.
fn resolved(git: &Git, repo: &Path, revision: &str) -> Result<Option<CommitSha>, Problem> {
    match git.resolve(Place::Checkout(repo), revision) {
        Ok(commit) => Ok(Some(commit)),
        Err(problem) if problem.kind == Kind::UnknownRevision => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// A note about a settings file in the checkout that differs from the one in effect.
fn not_counted(read: &SettingsAt, commit: Option<&CommitSha>) -> Option<String> {
    let file = read.differs.as_ref()?;
    let used = match commit {
        Some(commit) if read.has_file => format!("rules come from {}", commit.short()),
        Some(commit) => format!("{} has no such file", commit.short()),
        None => "no main branch was found".to_owned(),
    };
    Some(format!(
        "ignored `{file}` in your checkout: {used} (use yours with `--trust-candidate-rules`)"
    ))
}
