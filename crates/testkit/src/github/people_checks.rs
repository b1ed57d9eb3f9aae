//! Actions of people and apps that run checks and make rules.

use super::Simulator;
use super::git::Merge;
use super::landing::{Landing, Run};
use super::state::Status;

/// A check run as its app reports it.
#[derive(Clone, Debug, Default)]
pub struct SimCheckRun {
    /// The check's name.
    pub name: String,
    /// Its status, as GitHub names it.
    pub status: String,
    /// Its result, as GitHub names it.
    pub conclusion: Option<String>,
    /// Its result in one line.
    pub title: Option<String>,
    /// Path, line, level and message of each annotation.
    pub annotations: Vec<(String, u64, String, String)>,
    /// The step of its job that failed.
    pub failed_step: Option<String>,
    /// The log of its job.
    pub log: Option<String>,
}

impl SimCheckRun {
    /// A check run that has ended.
    pub fn ended(name: &str, conclusion: &str) -> Self {
        Self {
            name: name.to_owned(),
            status: "completed".to_owned(),
            conclusion: Some(conclusion.to_owned()),
            ..Self::default()
        }
    }

    /// A check run that has not ended yet.
    pub fn open(name: &str, status: &str) -> Self {
        Self {
            name: name.to_owned(),
            status: status.to_owned(),
            ..Self::default()
        }
    }
}

impl Simulator {
    /// Reports a check run as GitHub Actions; it replaces one of the same name and commit.
    pub fn set_check_run(&self, repo: &str, sha: &str, run: &SimCheckRun) -> u64 {
        let mut service = self.lock();
        let (id, at) = (service.world.fresh_id(), service.world.now());
        let run = Run {
            id,
            sha: sha.to_owned(),
            name: run.name.clone(),
            status: run.status.clone(),
            conclusion: run.conclusion.clone(),
            title: run.title.clone(),
            summary: None,
            external_id: None,
            details_url: None,
            app: "github-actions".to_owned(),
            annotations: run.annotations.clone(),
            failed_step: run.failed_step.clone(),
            log: run.log.clone(),
            at,
        };
        if let Some(repo) = service.world.repos.get_mut(repo) {
            let runs = &mut repo.landing.runs;
            runs.retain(|old| old.sha != run.sha || old.name != run.name);
            runs.push(run);
        }
        id
    }

    /// Sets a commit status.
    pub fn set_status(&self, repo: &str, by: &str, sha: &str, context: &str, state: &str) {
        let mut service = self.lock();
        service.world.ensure_user(by);
        let status = Status {
            id: 0,
            sha: sha.to_owned(),
            context: context.to_owned(),
            state: state.to_owned(),
            description: Some(format!("{context} says {state}")),
            target_url: None,
            by: by.to_owned(),
            at: service.world.now(),
        };
        let set = service.world.set_status(repo, status);
        assert!(set.is_ok(), "no status was set in {repo}");
    }

    /// Makes the protection of every branch require these checks.
    pub fn protect_checks(&self, repo: &str, names: &[&str]) {
        self.rule(repo, |rules| rules.protected = owned(names));
    }

    /// Makes a ruleset require these checks.
    pub fn rule_checks(&self, repo: &str, names: &[&str]) {
        self.rule(repo, |rules| rules.ruled = owned(names));
    }

    /// Makes a ruleset refuse merge commits.
    pub fn require_linear_history(&self, repo: &str) {
        self.rule(repo, |rules| rules.linear_history = true);
    }

    /// Makes a ruleset allow merges only by the merge queue.
    pub fn require_merge_queue(&self, repo: &str) {
        self.rule(repo, |rules| rules.merge_queue = true);
    }

    /// Enables only these merge methods.
    pub fn allow_merge_methods(&self, repo: &str, methods: &[&str]) {
        let methods = owned(methods).into_iter().collect();
        self.rule(repo, |rules| rules.methods = methods);
    }

    /// Makes an account a GitHub App, so that it may write check runs.
    pub fn make_app(&self, repo: &str, login: &str) {
        self.rule(repo, |rules| {
            rules.apps.insert(login.to_owned());
        });
    }

    /// Removes rulesets from the repository's plan.
    pub fn take_rulesets(&self, repo: &str) {
        self.rule(repo, |rules| rules.lacks_rulesets = true);
    }

    /// Forbids reading the logs of jobs.
    pub fn hide_logs(&self, repo: &str) {
        self.rule(repo, |rules| rules.hides_logs = true);
    }

    /// The pull requests in the merge queue.
    pub fn merge_queue(&self, repo: &str) -> Vec<u64> {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        repo.map(|repo| repo.landing.queue.keys().copied().collect())
            .unwrap_or_default()
    }

    /// The merge queue takes out all that wait in it: their checks failed there.
    pub fn fail_merge_queue(&self, repo: &str) {
        self.rule(repo, |rules| rules.queue.clear());
    }

    /// Merges all pull requests in the merge queue.
    pub fn run_merge_queue(&self, repo: &str) {
        for pr in self.merge_queue(repo) {
            let mut service = self.lock();
            if let Some(repo) = service.world.repos.get_mut(repo) {
                repo.landing.queue.remove(&pr);
            }
            let by = super::LOGIN;
            let merged = service.world.merge(repo, pr, by, None, Merge::Commit);
            assert!(merged.is_ok(), "pull request {pr} was not merged");
        }
    }

    /// Name, status, conclusion and number of annotations of the check runs of a commit.
    pub fn check_runs(
        &self,
        repo: &str,
        sha: &str,
    ) -> Vec<(String, String, Option<String>, usize)> {
        let service = self.lock();
        let runs = service.world.repos.get(repo).map(|repo| &repo.landing.runs);
        let runs = runs.into_iter().flatten().filter(|run| run.sha == sha);
        runs.map(|run| {
            let count = run.annotations.len();
            (
                run.name.clone(),
                run.status.clone(),
                run.conclusion.clone(),
                count,
            )
        })
        .collect()
    }

    /// The links of the statuses and check runs of a commit, oldest first.
    pub fn check_links(&self, repo: &str, sha: &str) -> Vec<Option<String>> {
        let service = self.lock();
        let Some(repo) = service.world.repos.get(repo) else {
            return Vec::new();
        };
        let statuses = repo.statuses.iter().filter(|status| status.sha == sha);
        let runs = repo.landing.runs.iter().filter(|run| run.sha == sha);
        let statuses = statuses.map(|status| status.target_url.clone());
        statuses
            .chain(runs.map(|run| run.details_url.clone()))
            .collect()
    }

    fn rule(&self, repo: &str, change: impl FnOnce(&mut Landing)) {
        if let Some(repo) = self.lock().world.repos.get_mut(repo) {
            change(&mut repo.landing);
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
