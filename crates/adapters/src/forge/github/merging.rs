//! Merging, as the repository and the rules of its base allow.

use super::client::{Act, Client, Written};
use super::lists::Reading;
use super::pulls::readable;
use super::read;
use super::refusal::{message, refused};
use drive_core::forge::PrState;
use drive_core::forge::github::checks::BranchDemands;
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{GoAhead, MergeOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use ureq::http::Method;

/// The merge methods in order of preference: a merge commit keeps the verified commit.
const METHODS: [&str; 3] = ["merge", "squash", "rebase"];

const ENQUEUE: &str = "mutation($input: EnqueuePullRequestInput!) { \
    enqueuePullRequest(input: $input) { mergeQueueEntry { id } } }";

const QUEUED: &str = "query($owner: String!, $name: String!, $number: Int!) { \
    repository(owner: $owner, name: $name) { \
    pullRequest(number: $number) { isInMergeQueue headRefOid } } }";

/// How a branch takes pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaysToMerge {
    /// The merge methods that may work, the preferred one first.
    pub methods: Vec<&'static str>,
    /// Whether only a merge queue merges.
    pub queue: bool,
}

/// The merge methods that a repository enables. GitHub reports them only to users who may push.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AllowedMethods {
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
}

impl AllowedMethods {
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let repository: Map<String, Value> = serde_json::from_slice(body)?;
        let is_allowed = |field: &str| repository.get(field).and_then(Value::as_bool);
        Ok(Self {
            allow_merge_commit: is_allowed("allow_merge_commit"),
            allow_squash_merge: is_allowed("allow_squash_merge"),
            allow_rebase_merge: is_allowed("allow_rebase_merge"),
        })
    }

    /// The methods that may work, in order of preference.
    fn within(&self, demands: &BranchDemands) -> Vec<&'static str> {
        let switched_on = |method: &str| match method {
            "merge" => self.allow_merge_commit != Some(false) && !demands.linear_history,
            "squash" => self.allow_squash_merge != Some(false),
            _ => self.allow_rebase_merge != Some(false),
        };
        let is_left = |method: &str| {
            demands.methods.is_empty() || demands.methods.iter().any(|one| one == method)
        };
        let mut methods = METHODS.to_vec();
        methods.retain(|method| switched_on(method) && is_left(method));
        methods
    }
}

impl Client {
    /// How a branch takes changes, as far as its rules and the repository's settings tell: the merge
    /// methods, the preferred one first, and whether a merge queue merges.
    pub(super) fn ways_to_merge(&self, base: &BranchName) -> Result<WaysToMerge, Problem> {
        let reading = Reading::conditional(self);
        let demands = self.branch_demands(&reading, base)?;
        Ok(WaysToMerge {
            methods: self.allowed_methods(&reading)?.within(&demands),
            queue: demands.merge_queue,
        })
    }

    /// Merges without GitHub's auto-merge, which would also merge a commit that is pushed later.
    pub(super) fn merge(
        &self,
        pr: PrNumber,
        expected: &CommitSha,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        if let Some(merged) = self.merged(pr)? {
            return Ok(merged);
        }
        let base = self.details(pr)?.pull_request.base;
        let reading = Reading::conditional(self);
        let demands = match self.branch_demands(&reading, &base) {
            Ok(demands) => demands,
            Err(gone) if gone.kind == Kind::BranchNotFound => {
                return Ok(MergeOutcome::Refused {
                    reason: gone.message,
                });
            }
            Err(problem) => return Err(problem),
        };
        if demands.merge_queue {
            return self.enqueue(pr, expected, go_ahead);
        }
        let mut outcome = MergeOutcome::Refused {
            reason: format!(
                "the rules of `{base}` and the settings of `{}` allow no common merge method",
                self.repo()
            ),
        };
        for method in self.allowed_methods(&reading)?.within(&demands) {
            outcome = self.merge_by(pr, (expected, method), go_ahead)?;
            match &outcome {
                MergeOutcome::Refused { reason } if reason.contains("not allowed") => {}
                // Readers cannot see the merge queue of a protected branch.
                MergeOutcome::Refused { reason } if reason.contains("merge queue") => {
                    return self.enqueue(pr, expected, go_ahead);
                }
                MergeOutcome::Refused { .. }
                | MergeOutcome::Merged { .. }
                | MergeOutcome::Queued
                | MergeOutcome::HeadMoved
                | MergeOutcome::BaseMoved
                | MergeOutcome::Stopped => return Ok(outcome),
            }
        }
        Ok(outcome)
    }

    fn allowed_methods(&self, reading: &Reading<'_>) -> Result<AllowedMethods, Problem> {
        let url = self.endpoint.rest("");
        let page = reading.get(url.trim_end_matches('/'), AllowedMethods::read)?;
        Ok(page.map(|page| page.value).unwrap_or_default())
    }

    /// Adds exactly this head to the merge queue. A push removes it again.
    fn enqueue(
        &self,
        pr: PrNumber,
        expected: &CommitSha,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        self.once(
            || self.queued(pr, expected),
            || {
                let details = self.details(pr)?;
                let input = json!({
                    "pullRequestId": details.node_id, "expectedHeadOid": expected,
                });
                match self.mutate_if(ENQUEUE, &input, go_ahead) {
                    Ok(None) => Ok(Act::Done(MergeOutcome::Stopped)),
                    Ok(Some(Written::Answered(_))) => Ok(Act::Done(MergeOutcome::Queued)),
                    Ok(Some(Written::Unknown(problem))) => Ok(Act::Unknown(problem)),
                    Err(problem) if problem.kind == Kind::ForgeRejected => {
                        let reason = problem.causes.join("; ");
                        self.why_not_merged(pr, expected, reason).map(Act::Done)
                    }
                    Err(problem) => Err(problem),
                }
            },
        )
    }

    /// The state of a pull request that is in the queue or was merged by it.
    fn queued(&self, pr: PrNumber, expected: &CommitSha) -> Result<Option<MergeOutcome>, Problem> {
        if let Some(merged) = self.merged(pr)? {
            return Ok(Some(merged));
        }
        let is_queued = self.is_queued(pr, expected)?;
        Ok(is_queued.then_some(MergeOutcome::Queued))
    }

    /// Whether exactly this head is in the merge queue.
    pub(super) fn is_queued(&self, pr: PrNumber, expected: &CommitSha) -> Result<bool, Problem> {
        let variables = json!({
            "owner": self.endpoint.owner(), "name": self.endpoint.name(), "number": pr,
        });
        let (data, _) = self.query(QUEUED, &variables)?;
        let pull = &data["repository"]["pullRequest"];
        let is_this = pull["headRefOid"].as_str() == Some(expected.as_str());
        Ok(pull["isInMergeQueue"] == true && is_this)
    }

    fn merge_by(
        &self,
        pr: PrNumber,
        (expected, method): (&CommitSha, &str),
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        let url = self.endpoint.rest(&format!("pulls/{pr}/merge"));
        let body = json!({"sha": expected, "merge_method": method});
        self.once(
            || self.merged(pr),
            || match self.write_if(Method::PUT, &url, &body, go_ahead)? {
                None => Ok(Act::Done(MergeOutcome::Stopped)),
                Some(Written::Answered(reply)) if reply.status == 200 => {
                    let merged = read::merged(&reply.body);
                    let merged = merged.map(|sha| MergeOutcome::Merged { sha });
                    Ok(readable(merged, &self.repo()))
                }
                Some(Written::Answered(reply)) if matches!(reply.status, 405 | 409 | 422) => {
                    let reason = message(&reply);
                    self.why_not_merged(pr, expected, reason).map(Act::Done)
                }
                Some(Written::Answered(reply)) => Err(refused(&reply, &self.repo())),
                Some(Written::Unknown(problem)) => Ok(Act::Unknown(problem)),
            },
        )
    }

    fn merged(&self, pr: PrNumber) -> Result<Option<MergeOutcome>, Problem> {
        let details = self.details(pr)?;
        let merged = details.pull_request.state == PrState::Merged;
        Ok(merged.then_some(MergeOutcome::Merged {
            sha: details.merge_commit_sha,
        }))
    }

    /// The meaning of GitHub's refusal to merge, which its status alone does not show.
    fn why_not_merged(
        &self,
        pr: PrNumber,
        expected: &CommitSha,
        reason: String,
    ) -> Result<MergeOutcome, Problem> {
        let details = self.details(pr)?;
        if details.pull_request.state == PrState::Merged {
            return Ok(MergeOutcome::Merged {
                sha: details.merge_commit_sha,
            });
        }
        if details.pull_request.head_sha != *expected {
            return Ok(MergeOutcome::HeadMoved);
        }
        Ok(MergeOutcome::Refused { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_method_must_be_switched_on_and_left_over_by_the_rules() {
        let allowed = |merge, squash, rebase| AllowedMethods {
            allow_merge_commit: merge,
            allow_squash_merge: squash,
            allow_rebase_merge: rebase,
        };
        let free = BranchDemands::default();
        let linear = BranchDemands {
            linear_history: true,
            ..BranchDemands::default()
        };
        let named = BranchDemands {
            methods: vec!["rebase".to_owned(), "merge".to_owned()],
            ..BranchDemands::default()
        };
        let unknown = allowed(None, None, None);
        assert_eq!(unknown.within(&free), METHODS);
        assert_eq!(unknown.within(&linear), ["squash", "rebase"]);
        assert_eq!(unknown.within(&named), ["merge", "rebase"]);
        let no_merge = allowed(Some(false), Some(true), Some(false));
        assert_eq!(no_merge.within(&free), ["squash"]);
        assert_eq!(no_merge.within(&named), Vec::<&str>::new());
    }
}
