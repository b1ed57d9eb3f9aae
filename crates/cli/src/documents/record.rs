//! The record of a run's agents in `drive.run/1`.

use super::value::{Moment, Sha};
use drive_core::forge::trust::Reason;
use drive_core::forge::{self, Surface};
use drive_core::ids::CommentId;
use drive_core::{agent, review, run};
use schemars::JsonSchema;
use serde::Serialize;

/// The record of a run's agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordDocument {
    /// The folder they worked in.
    sandbox: Option<String>,
    /// Every job of every agent, in order.
    jobs: Vec<JobDocument>,
    /// Every review, in order.
    reviews: Vec<ReviewDocument>,
    /// Number of security findings of each severity, each counted once.
    security_findings: run::SeverityTotals,
    /// The outcome of each finding of a reviewer.
    remarks: Vec<RemarkDocument>,
    /// Changes of each fixer's round beyond its findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<RoundDocument>,
    /// Comments that started no work.
    ignored: Vec<IgnoredDocument>,
}

/// Changes of a fixer's round beyond its findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoundDocument {
    /// The round's number, from 1.
    number: u32,
    /// The commit that it left.
    head: Option<Sha>,
    /// Changed places that no finding or comment of the round names. Absent too where one of them
    /// names no place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outside: Vec<review::ChangedPlace>,
    /// Number of places that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One job of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct JobDocument {
    /// The agent's name in the settings.
    agent: String,
    role: agent::Role,
    /// The command that started it, without secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    round: u32,
    /// The domain of a review.
    domain: Option<String>,
    started_at: Moment,
    /// Null while it works.
    ended_at: Option<Moment>,
    /// Why it failed; null when it did not.
    failure: Option<String>,
    usage: TokenUsage,
    /// Cost in millionths of a dollar, where the agent reports it.
    cost: Option<u64>,
    /// Commands it ran, without secrets.
    commands: Vec<String>,
    /// Permissions it asked for.
    permissions: Vec<PermissionDocument>,
}

/// Tokens. Each is counted in exactly one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TokenUsage {
    /// Read by the model for the first time.
    input: u64,
    /// Read again from its cache.
    cached: u64,
    /// Written by the model, thinking included.
    output: u64,
}

/// A permission an agent asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionDocument {
    tool: String,
    granted: bool,
}

/// One review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReviewDocument {
    /// The domain; null for a review of the whole change.
    domain: Option<review::Domain>,
    /// Review number within the domain, from 1.
    round: u32,
    /// Null when the reviewer gave none.
    verdict: Option<agent::answer::Verdict>,
    /// Why the review gave no verdict.
    failure: Option<String>,
    suggestions: Vec<SuggestionDocument>,
    /// The commit that was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<Sha>,
    /// Number of its findings that were touched afterwards; absent before the first round after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<review::Resolution>,
}

/// One finding of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SuggestionDocument {
    file: Option<String>,
    line: Option<u64>,
    /// The last line, if the finding is about several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// The problem that the reviewer found.
    issue: String,
    /// The reviewer's suggestion.
    suggestion: Option<String>,
    /// Code that replaces exactly these lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
    /// The reviewer's evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    severity: agent::answer::Severity,
    /// The reviewer's confidence, in percent.
    confidence: agent::answer::Confidence,
    /// Whether it existed before the change; such a finding does not block a merge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pre_existing: bool,
    /// The reason why a second agent says that it is wrong; such a finding does not block a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    refuted: Option<String>,
}

/// The outcome of one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RemarkDocument {
    /// The comment with the finding; null if it was not posted.
    comment: Option<CommentLocation>,
    file: Option<String>,
    line: Option<u64>,
    /// The commit that answers it.
    commit: Option<Sha>,
    note: String,
    resolved: bool,
    /// The fixer's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<run::FixerResult>,
    /// The review it is from; absent for what a person wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<run::ReviewOf>,
    /// The reviewer's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A comment that started no work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IgnoredDocument {
    comment: CommentLocation,
    /// The login of its author; null for a deleted account.
    author: Option<String>,
    reason: Reason,
}

/// A comment: its surface and its id there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommentLocation {
    surface: Surface,
    id: CommentId,
}

impl From<&run::Record> for RecordDocument {
    fn from(record: &run::Record) -> Self {
        Self {
            sandbox: record.sandbox.clone(),
            jobs: record.jobs.iter().map(JobDocument::from).collect(),
            reviews: record.reviews.iter().map(ReviewDocument::from).collect(),
            security_findings: record.security_findings(),
            remarks: record.remarks.iter().map(RemarkDocument::from).collect(),
            rounds: record.rounds.iter().map(RoundDocument::from).collect(),
            ignored: record.ignored.iter().map(IgnoredDocument::from).collect(),
        }
    }
}

impl From<&run::JobRecord> for JobDocument {
    fn from(job: &run::JobRecord) -> Self {
        let permission = |permission: &run::PermissionRecord| PermissionDocument {
            tool: permission.tool.clone(),
            granted: permission.granted,
        };
        Self {
            agent: job.agent.clone(),
            role: job.role,
            argv: job.argv.clone(),
            round: job.round,
            domain: job.domain.clone(),
            started_at: job.started_at.into(),
            ended_at: job.ended_at.map(Moment::from),
            failure: job.failure.clone(),
            usage: TokenUsage {
                input: job.usage.input,
                cached: job.usage.cached,
                output: job.usage.output,
            },
            cost: job.cost.map(agent::Cost::micro_usd),
            commands: job.commands.clone(),
            permissions: job.permissions.iter().map(permission).collect(),
        }
    }
}

impl From<&agent::answer::Finding> for SuggestionDocument {
    fn from(one: &agent::answer::Finding) -> Self {
        Self {
            file: one.file.clone(),
            line: one.line,
            end_line: one.end_line,
            issue: one.issue.clone(),
            suggestion: one.suggestion.clone(),
            replacement: one.replacement.clone(),
            evidence: one.evidence.clone(),
            severity: one.severity,
            confidence: one.confidence,
            pre_existing: one.pre_existing,
            refuted: one.refuted.clone(),
        }
    }
}

/// A finding that blocks a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenFindingDocument {
    /// The domain; null for a review of the whole change.
    domain: Option<review::Domain>,
    #[serde(flatten)]
    finding: SuggestionDocument,
}

impl OpenFindingDocument {
    /// All that stand against the merge of a run's work.
    pub(super) fn of(run: &run::Run) -> Vec<Self> {
        let open = run::open_findings(run).into_iter();
        open.map(|(domain, finding)| Self {
            domain: domain.cloned(),
            finding: finding.into(),
        })
        .collect()
    }
}

impl From<&run::ReviewRecord> for ReviewDocument {
    fn from(review: &run::ReviewRecord) -> Self {
        Self {
            domain: review.domain.clone(),
            round: review.round,
            verdict: review.verdict,
            failure: review.failure.clone(),
            suggestions: review
                .findings
                .iter()
                .map(SuggestionDocument::from)
                .collect(),
            head: review.head.as_ref().map(Sha::new),
            resolution: review.resolution,
        }
    }
}

impl From<&run::RemarkRecord> for RemarkDocument {
    fn from(remark: &run::RemarkRecord) -> Self {
        Self {
            comment: remark.comment.map(CommentLocation::from),
            file: remark.file.clone(),
            line: remark.line,
            commit: remark.commit.as_ref().map(Sha::new),
            note: remark.note.clone(),
            resolved: remark.resolved,
            action: remark.action,
            review: remark.review.clone(),
            text: remark.text.clone(),
        }
    }
}

impl From<&run::RoundRecord> for RoundDocument {
    fn from(round: &run::RoundRecord) -> Self {
        Self {
            number: round.number,
            head: round.head.as_ref().map(Sha::new),
            outside: round.outside.clone(),
            more: round.more,
        }
    }
}

impl From<&run::IgnoredComment> for IgnoredDocument {
    fn from(ignored: &run::IgnoredComment) -> Self {
        Self {
            comment: ignored.comment.into(),
            author: ignored.author.clone(),
            reason: ignored.reason,
        }
    }
}

impl From<forge::CommentRef> for CommentLocation {
    fn from(comment: forge::CommentRef) -> Self {
        Self {
            surface: comment.surface,
            id: comment.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::ids::CommitSha;
    use drive_core::review::Domain;
    use drive_core::run::{
        FixerResult, JobRecord, PermissionRecord, Record, RemarkRecord, ReviewOf, ReviewRecord,
    };

    #[test]
    fn a_record_is_published_as_it_is_stored() {
        let comment = forge::CommentRef {
            surface: Surface::Inline,
            id: CommentId::new(7),
        };
        let job = JobRecord {
            agent: "claude".to_owned(),
            role: agent::Role::Coder,
            argv: vec!["claude".to_owned()],
            round: 1,
            domain: Some("Security".to_owned()),
            effect: None,
            started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            ended_at: Some("2026-01-02T03:04:06Z".parse().unwrap()),
            failure: Some("it failed".to_owned()),
            usage: agent::Usage {
                input: 1,
                cached: 2,
                output: 3,
            },
            cost: Some(agent::Cost::from_micro_usd(4)),
            commands: vec!["ls".to_owned()],
            permissions: vec![PermissionRecord {
                tool: "write".to_owned(),
                granted: false,
            }],
        };
        let review = ReviewRecord {
            domain: Some(review::Domain::Security),
            round: 2,
            verdict: Some(agent::answer::Verdict::NeedsChanges),
            failure: Some("none".to_owned()),
            findings: vec![agent::answer::Finding {
                file: Some("a.rs".to_owned()),
                line: Some(3),
                issue: "wrong".to_owned(),
                suggestion: Some("right".to_owned()),
                evidence: None,
                severity: agent::answer::Severity::Major,
                confidence: agent::answer::Confidence::CERTAIN,
                refuted: None,
                pre_existing: false,
                end_line: None,
                replacement: None,
            }],
            head: Some(CommitSha::new("a".repeat(40))),
            resolution: Some(review::Resolution {
                findings: 1,
                resolved: 1,
            }),
        };
        let record = Record {
            sandbox: Some("/sandbox".to_owned()),
            jobs: vec![
                JobRecord {
                    argv: Vec::new(),
                    ended_at: None,
                    cost: None,
                    ..job.clone()
                },
                job,
            ],
            reviews: vec![
                ReviewRecord {
                    head: None,
                    resolution: None,
                    ..review.clone()
                },
                review,
            ],
            remarks: vec![RemarkRecord {
                comment: Some(comment),
                file: Some("a.rs".to_owned()),
                line: Some(3),
                commit: Some(CommitSha::new("b".repeat(40))),
                note: "done".to_owned(),
                resolved: true,
                action: Some(FixerResult::Fixed),
                review: Some(ReviewOf {
                    domain: Some(Domain::Security),
                    round: 2,
                }),
                text: Some("it panics".to_owned()),
            }],
            rounds: vec![run::RoundRecord {
                number: 1,
                head: Some(CommitSha::new("b".repeat(40))),
                outside: vec![review::ChangedPlace {
                    file: "b.rs".to_owned(),
                    line: Some(4),
                    lines: 2,
                }],
                more: 1,
            }],
            ignored: vec![run::IgnoredComment {
                comment,
                author: Some("mallory".to_owned()),
                reason: Reason::NoWritePermission,
            }],
        };
        let mut published = serde_json::to_value(RecordDocument::from(&record)).unwrap();
        let counted = published
            .as_object_mut()
            .unwrap()
            .remove("securityFindings");
        assert_eq!(counted.unwrap()["major"], 1);
        assert_eq!(published, serde_json::to_value(&record).unwrap());
    }
}
