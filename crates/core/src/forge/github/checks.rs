//! Parsers of check runs, statuses, annotations, jobs and the rules of a branch.

use super::lenient;
use crate::forge::checks::{Annotation, Check, CheckSource, CheckState};
use crate::verify::text::one_line;
use serde::{Deserialize, Serialize};

/// The longest summary of a check, in characters.
const SUMMARY_CHARS: usize = 300;

/// The app that reports the check runs of GitHub Actions.
const ACTIONS: &str = "github-actions";

#[derive(Clone, Debug, Default, Deserialize)]
struct Output {
    #[serde(default, deserialize_with = "lenient")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    summary: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    annotations_count: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct App {
    #[serde(default, deserialize_with = "lenient")]
    slug: Option<String>,
}

/// A check run.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckRun {
    id: u64,
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    status: String,
    #[serde(default, deserialize_with = "lenient")]
    conclusion: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    details_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    html_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    external_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    output: Output,
    #[serde(default, deserialize_with = "lenient")]
    app: App,
}

/// A parsed check run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRead {
    /// GitHub's id.
    pub id: u64,
    /// The check, without details of a failure.
    pub check: Check,
    /// The id that the check's author assigned.
    pub external_id: Option<String>,
    /// The number of its annotations.
    pub annotations: u64,
    /// The GitHub Actions job that it reports.
    pub job: Option<u64>,
}

impl CheckRun {
    /// Parses the check run.
    pub fn into_read(self) -> RunRead {
        let is_actions = self.app.slug.as_deref() == Some(ACTIONS);
        // A job has the same id as its check run, unless the address names another one.
        let named = self.details_url.as_deref().and_then(job_of);
        let summary = self.output.title.or(self.output.summary);
        RunRead {
            id: self.id,
            check: Check {
                name: self.name,
                source: CheckSource::CheckRun,
                state: CheckState::of_run(&self.status, self.conclusion.as_deref()),
                required: false,
                url: self.html_url.or(self.details_url),
                summary: summary.and_then(short),
                failure: None,
            },
            external_id: self.external_id.filter(|id| !id.is_empty()),
            annotations: self.output.annotations_count,
            job: is_actions.then_some(named.unwrap_or(self.id)),
        }
    }
}

/// The number after `/job/` in the address of a job.
fn job_of(url: &str) -> Option<u64> {
    let (_, tail) = url.split_once("/job/")?;
    let end = tail.find(|c: char| !c.is_ascii_digit());
    tail[..end.unwrap_or(tail.len())].parse().ok()
}

fn short(text: String) -> Option<String> {
    let text: String = one_line(&text).chars().take(SUMMARY_CHARS).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// A commit status.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    context: String,
    #[serde(default, deserialize_with = "lenient")]
    state: String,
    #[serde(default, deserialize_with = "lenient")]
    description: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    target_url: Option<String>,
}

impl Status {
    /// The status as a check.
    pub fn into_check(self) -> Check {
        Check {
            name: self.context,
            source: CheckSource::Status,
            state: CheckState::of_status(&self.state),
            required: false,
            url: self.target_url.filter(|url| !url.is_empty()),
            summary: self.description.and_then(short),
            failure: None,
        }
    }
}

/// An annotation of a check run.
#[derive(Clone, Debug, Deserialize)]
pub struct RunAnnotation {
    #[serde(default, deserialize_with = "lenient")]
    path: String,
    #[serde(default, deserialize_with = "lenient")]
    start_line: u64,
    #[serde(default, deserialize_with = "lenient")]
    annotation_level: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<String>,
}

impl RunAnnotation {
    /// Whether it reports a failure and not a warning.
    pub fn is_failure(&self) -> bool {
        self.annotation_level.as_deref() == Some("failure")
    }

    /// The annotation; `None` if it has no text.
    pub fn into_annotation(self) -> Option<Annotation> {
        let message = self.message.or(self.title)?;
        Some(Annotation {
            path: self.path,
            line: self.start_line,
            message,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Step {
    #[serde(default, deserialize_with = "lenient")]
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    status: String,
    #[serde(default, deserialize_with = "lenient")]
    conclusion: Option<String>,
}

/// A job of GitHub Actions.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    #[serde(default, deserialize_with = "lenient")]
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    workflow_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    steps: Vec<Step>,
}

impl Job {
    /// The name of the job with its workflow, and its first failed step.
    pub fn into_names(self) -> (String, Option<String>) {
        let mut steps = self.steps.into_iter();
        let failed = steps.find(|step| {
            CheckState::of_run(&step.status, step.conclusion.as_deref()) == CheckState::Failed
        });
        let name = match self.workflow_name {
            Some(workflow) if !workflow.is_empty() => format!("{workflow} / {}", self.name),
            Some(_) | None => self.name,
        };
        (name, failed.map(|step| step.name))
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
struct RequiredCheck {
    #[serde(default, deserialize_with = "lenient")]
    context: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct RuleParameters {
    #[serde(default, deserialize_with = "lenient")]
    required_status_checks: Vec<RequiredCheck>,
    #[serde(default, deserialize_with = "lenient")]
    allowed_merge_methods: Vec<String>,
}

/// One rule of a ruleset for a branch.
#[derive(Clone, Debug, Deserialize)]
pub struct BranchRule {
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(default, deserialize_with = "lenient")]
    parameters: RuleParameters,
}

/// A branch's requirements for merges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchDemands {
    /// The checks that must pass, by name.
    pub checks: Vec<String>,
    /// Whether merge commits are refused.
    pub linear_history: bool,
    /// Whether only a merge queue merges.
    pub merge_queue: bool,
    /// The merge methods that the rules allow; empty if no rule names any.
    pub methods: Vec<String>,
}

impl BranchRule {
    /// The requirements of this rule.
    pub fn into_demands(self) -> BranchDemands {
        let mut demands = BranchDemands::default();
        match self.kind.as_str() {
            "required_status_checks" => {
                let checks = self.parameters.required_status_checks.into_iter();
                let names = checks.map(|check| check.context);
                demands.checks = names.filter(|name| !name.is_empty()).collect();
            }
            "required_linear_history" => demands.linear_history = true,
            "merge_queue" => demands.merge_queue = true,
            "pull_request" => demands.methods = self.parameters.allowed_merge_methods,
            _ => {}
        }
        demands
    }
}

impl BranchDemands {
    /// The requirements of both.
    pub fn and(mut self, other: Self) -> Self {
        self.checks.extend(other.checks);
        self.checks.sort();
        self.checks.dedup();
        self.linear_history |= other.linear_history;
        self.merge_queue |= other.merge_queue;
        if self.methods.is_empty() {
            self.methods = other.methods;
        } else if !other.methods.is_empty() {
            self.methods.retain(|one| other.methods.contains(one));
        }
        self
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
struct RequiredChecks {
    #[serde(default, deserialize_with = "lenient")]
    contexts: Vec<String>,
    #[serde(default, deserialize_with = "lenient")]
    checks: Vec<RequiredCheck>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Protection {
    #[serde(default, deserialize_with = "lenient")]
    required_status_checks: RequiredChecks,
}

/// A branch with its protection, as far as the token can read it.
#[derive(Clone, Debug, Deserialize)]
pub struct Branch {
    #[serde(default, deserialize_with = "lenient")]
    protection: Protection,
}

impl Branch {
    /// The requirements of its protection. To readers, GitHub only reports the required checks.
    pub fn into_demands(self) -> BranchDemands {
        let required = self.protection.required_status_checks;
        let named = required.checks.into_iter().map(|check| check.context);
        let named = named.filter(|name| !name.is_empty());
        let checks = required.contexts.into_iter().chain(named).collect();
        BranchDemands::default().and(BranchDemands {
            checks,
            ..BranchDemands::default()
        })
    }
}

#[cfg(test)]
mod tests;
