//! The job of one agent.

use super::outcome::Published;
use super::validation::JudgeCheck;
use crate::agent::answer::AnswerForm;
use crate::agent::{Budget, Role};
use crate::forge::LineOrigin;
use crate::ids::CommitSha;
use crate::prompts::Claimed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One job for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    /// Name of the agent in the settings.
    pub agent: String,
    /// The role that the agent works in.
    pub role: Role,
    /// The round of the run.
    pub round: u32,
    /// The review domain.
    pub domain: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The prompt's contents as data, for `command` agents.
    pub input: JobInput,
    /// The model; `None` for the agent's default.
    pub model: Option<String>,
    /// Longest time without output.
    pub idle: Duration,
    /// Longest run time.
    pub total: Duration,
    /// The agent's limits on tokens and cost.
    pub budget: Budget,
    /// The maximum number of permission requests.
    pub max_escalations: u32,
    /// Files that it may not write, relative to the sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
}

/// The input of a job, as data: the file that `DRIVE_INPUT` names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobInput {
    /// The task of the run.
    pub task: String,
    /// The commit that the work is compared with.
    pub diff_base: Option<CommitSha>,
    /// The pull request, once it is open.
    pub pull_request: Option<Published>,
    /// The comments to act on.
    pub comments: Vec<JobComment>,
    /// Path of the plan, relative to the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_path: Option<String>,
    /// Files with conflicts to resolve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The form of the last message.
    #[serde(default, skip_serializing_if = "AnswerForm::is_free")]
    pub answer: AnswerForm,
    /// The findings to refute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<JobFinding>,
    /// The acceptance entries to judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<JobEntry>,
}

impl JobInput {
    /// Asks for a refutation of these findings.
    pub fn ask_to_refute(&mut self, findings: &[Claimed<'_>]) {
        self.answer = AnswerForm::Refutations;
        self.findings = findings.iter().map(JobFinding::from).collect();
    }

    /// Asks for a judgement of these entries.
    pub fn ask_to_judge(&mut self, entries: &[JudgeCheck]) {
        let one = |entry: &JudgeCheck| JobEntry {
            task: entry.task.to_string(),
            id: entry.id.clone(),
            text: entry.criterion.clone(),
        };
        self.entries = entries.iter().map(one).collect();
    }
}

/// One acceptance entry to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEntry {
    /// The task.
    pub task: String,
    /// The entry's id within its task, which the answer must name.
    pub id: String,
    /// The acceptance criterion.
    pub text: String,
}

/// One finding to refute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobFinding {
    /// The id that the answer must name.
    pub id: String,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The text of the note.
    pub text: String,
}

impl From<&Claimed<'_>> for JobFinding {
    fn from(claim: &Claimed<'_>) -> Self {
        Self {
            id: claim.id.to_owned(),
            file: claim.file.map(str::to_owned),
            line: claim.line,
            text: claim.text.to_owned(),
        }
    }
}

/// One comment to act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobComment {
    /// The id that the answer must name.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// The file it is about.
    pub file: Option<String>,
    /// The line that it is about; null if the line was removed.
    pub line: Option<u64>,
    /// The place where it was written, if that line was removed or the branch has moved on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LineOrigin>,
    /// The comment's text, as its author wrote it.
    pub body: String,
    /// A link for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The commit it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitSha>,
    /// Whether the branch has moved on since that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_older: bool,
}
