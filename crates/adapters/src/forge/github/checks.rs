//! Check runs and statuses of a commit, and the requirements of a base.

use super::client::Client;
use super::endpoint::encode;
use super::lists::Reading;
use super::read_checks as read;
use drive_core::forge::checks::{CheckState, Gate, gate};
use drive_core::forge::github::checks::{BranchDemands, RunRead};
use drive_core::forge::{Check, Checks};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};

/// For how many failed check runs details are read.
const DETAILED: usize = 5;

impl Client {
    /// Reads the checks of a head. Only changes are read, unless the result would let the head
    /// land: a forge that wrongly reports no change must not hide a failure.
    pub(super) fn checks(&self, pr: PrNumber, head: &CommitSha) -> Result<Checks, Problem> {
        let base = self.details(pr)?.pull_request.base;
        let reading = Reading::conditional(self);
        let checks = self.read_checks(&reading, head, &base)?;
        if gate(&checks) == Gate::Green && reading.used_kept() {
            return self.read_checks(&Reading::anew(self), head, &base);
        }
        Ok(checks)
    }

    fn read_checks(
        &self,
        reading: &Reading<'_>,
        head: &CommitSha,
        base: &BranchName,
    ) -> Result<Checks, Problem> {
        let demands = self.branch_demands(reading, base)?;
        let runs = self.check_runs(reading, head)?;
        // The first page is named explicitly, because setting a status reads the same list in another way.
        let statuses = self.endpoint.rest(&format!(
            "commits/{}/status?per_page=100&page=1",
            encode(head)
        ));
        let mut checks =
            reading.list(("statuses", &statuses), read::statuses, |status: &Check| {
                status.name.clone()
            })?;
        let mut detailed = 0;
        for run in runs {
            let mut check = run.check.clone();
            let wants_details = check.state == CheckState::Failed && !check.is_own();
            if wants_details && detailed < DETAILED {
                detailed += 1;
                check.failure = Some(self.failure(&run)?);
            }
            checks.push(check);
        }
        Ok(Checks::new(head.clone(), checks, demands.checks))
    }

    pub(super) fn check_runs(
        &self,
        reading: &Reading<'_>,
        head: &CommitSha,
    ) -> Result<Vec<RunRead>, Problem> {
        let url = self.endpoint.rest(&format!(
            "commits/{}/check-runs?filter=latest&per_page=100",
            encode(head)
        ));
        let runs = reading.list(("check runs", &url), read::check_runs, |run: &RunRead| {
            run.id
        });
        runs.map_err(|problem| {
            if problem.kind == Kind::ForgeForbidden {
                problem.hint("give the token read access to checks")
            } else {
                problem
            }
        })
    }

    /// The requirements of rulesets and of the branch's protection. An older server has no rulesets.
    pub(super) fn branch_demands(
        &self,
        reading: &Reading<'_>,
        branch: &BranchName,
    ) -> Result<BranchDemands, Problem> {
        let name = encode(branch);
        let rules = self
            .endpoint
            .rest(&format!("rules/branches/{name}?per_page=100"));
        let rules = match reading.pages(&rules, read::rules) {
            Ok(found) => found.unwrap_or_default(),
            Err(problem) if is_beyond_plan(&problem) => Vec::new(),
            Err(problem) => return Err(problem),
        };
        let url = self.endpoint.rest(&format!("branches/{name}"));
        let protection = reading.get(&url, read::branch)?.ok_or_else(|| {
            Problem::new(
                Kind::BranchNotFound,
                format!("branch `{branch}` not found in `{}`", self.repo()),
            )
            .hint("check the base of the pull request")
        })?;
        Ok(rules.into_iter().fold(protection.value, BranchDemands::and))
    }
}

/// Whether the plan of a private repository does not include rulesets, so that there can be none.
fn is_beyond_plan(problem: &Problem) -> bool {
    let mut causes = problem.causes.iter();
    problem.kind == Kind::ForgeForbidden && causes.any(|cause| cause.contains("Upgrade to GitHub"))
}
