//! Cruises: `drive.cruises/1`, `drive.cruise/1`, `drive.asked/1` and `drive.resumed/1`.

use super::error::Failure;
use super::record::{CommentLocation, IgnoredDocument};
use super::run::{RunStatus, RunSummary};
use super::value::{Moment, Sha};
use drive_core::agent::answer::Verdict;
use drive_core::forge::Aside;
use drive_core::ids::{BranchName, PrNumber};
use drive_core::phase::PhaseName;
use drive_core::run::{
    self, CruiseStatus, DomainVerdict, FixerResult, Flow, Run, TaskLabel, TaskView,
};
use drive_engine::ports::Owner;
use schemars::JsonSchema;
use serde::Serialize;

/// The cruises that are not over, or all of them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CruisesDocument {
    pub(crate) cruises: Vec<CruiseSummary>,
}

/// One cruise with its comments.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CruiseDocument {
    #[serde(flatten)]
    cruise: CruiseSummary,
    /// The tasks of its plan; none while it plans.
    tasks: Vec<TaskSummary>,
    /// The last review of each domain; none once its tasks are built.
    reviews: Vec<DomainReview>,
    /// Every comment that counts: open ones first, then by surface and id.
    comments: Vec<LedgerComment>,
    /// Comments that started no work.
    ignored: Vec<IgnoredDocument>,
    warnings: Vec<String>,
}

/// The last review of a domain.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DomainReview {
    /// Null for a review of everything at once.
    domain: Option<String>,
    /// The verdict; null if there is none yet, or the review gave none.
    verdict: Option<Verdict>,
    /// The commit that was reviewed.
    commit: Option<Sha>,
    /// Whether that is the head of the branch.
    current: bool,
}

impl From<DomainVerdict> for DomainReview {
    fn from(one: DomainVerdict) -> Self {
        Self {
            domain: one.domain.map(|domain| domain.name().to_owned()),
            verdict: one.verdict,
            commit: one.commit.as_ref().map(Sha::new),
            current: one.is_current,
        }
    }
}

/// The comments of a phase, open ones first.
pub(crate) fn open_first(phase: &run::Phase) -> impl Iterator<Item = &run::Entry> {
    let is_open = |entry: &&run::Entry| entry.life.is_open();
    let rest = phase.ledger.entries().filter(move |entry| !is_open(entry));
    phase.ledger.open().chain(rest)
}

/// One task of a cruise.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskSummary {
    id: String,
    title: String,
    state: TaskLabel,
    depends_on: Vec<String>,
    /// The run that built it last.
    run_id: Option<String>,
    branch: Option<BranchName>,
    #[schemars(range(min = 1))]
    pr_number: Option<PrNumber>,
    attempts: u32,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
    /// The reason why it is blocked, or why the last attempt failed.
    reason: Option<String>,
}

impl From<TaskView> for TaskSummary {
    fn from(task: TaskView) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title,
            state: task.state,
            depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
            run_id: task.run.map(|id| id.to_string()),
            branch: task.branch,
            pr_number: task.pull_request,
            attempts: task.attempts,
            cost_usd: task.cost_usd,
            reason: task.reason,
        }
    }
}

/// A request to a cruise's owner.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AskedDocument {
    pub(crate) id: String,
    /// The owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<i32>,
}

/// The result of `drive cruise resume --all`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumedDocument {
    /// The cruises that ended or were detached.
    pub(crate) cruises: Vec<RunSummary>,
    /// The cruises that another process owns.
    pub(crate) owned: Vec<OwnedCruise>,
    /// The first error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Failure>,
}

/// A cruise that another process owns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnedCruise {
    pub(crate) id: String,
    pub(crate) pid: i32,
}

/// One cruise at a glance.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CruiseSummary {
    #[schemars(length(min = 1))]
    id: String,
    /// The task as it was given.
    task: Option<String>,
    /// Null for a cruise that has not begun.
    phase: Option<PhaseName>,
    /// Its state; null for a cruise that has not started.
    state: Option<String>,
    waiting_for: Option<String>,
    /// When the pull request is polled next.
    next_poll_at: Option<Moment>,
    /// When inactivity ends it.
    ends_at: Option<Moment>,
    /// The domain under review.
    domain: Option<String>,
    #[schemars(range(min = 1))]
    pr_number: Option<PrNumber>,
    pr_url: Option<String>,
    branch: Option<BranchName>,
    head_sha: Option<Sha>,
    /// Fixer rounds so far, with those of its child runs.
    rounds: u32,
    /// Comments that are not answered yet, with those of child runs that have not ended.
    pending_comments: u32,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
    /// Tokens, without those read from the model's cache.
    tokens: Option<u64>,
    /// The outcome; null while it has none.
    status: Option<RunStatus>,
    /// The process that advances it; null when none does.
    owner_pid: Option<i32>,
}

/// One comment and its state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LedgerComment {
    id: String,
    author: String,
    path: Option<String>,
    line: Option<u64>,
    url: Option<String>,
    /// Its text; only the beginning once it is answered.
    body: String,
    life: CommentLife,
}

/// The state of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "life")]
enum CommentLife {
    /// It waits for a fixer.
    Seen,
    /// A fixer has it.
    Dispatched { round: u32 },
    /// Its changes are pushed; the reply is not posted yet.
    Pushed { answer: CommentOutcome },
    /// The reply is posted.
    Replied {
        answer: CommentOutcome,
        /// The reply, where its id is known.
        reply: Option<CommentLocation>,
    },
    /// The reply asks a question that nobody has answered.
    Asked {
        answer: CommentOutcome,
        /// The reply, where its id is known.
        reply: Option<CommentLocation>,
    },
    /// No reply can be posted.
    Unanswerable { why: String },
    /// The last objection of a reviewer; no fixer follows, and a person decides.
    Left,
    /// It was edited before a fixer took it; the newer version counts.
    Superseded,
    /// A person put it aside before a fixer took it.
    Withdrawn {
        /// Whether its author edited or deleted it, or drive set it aside.
        how: Aside,
    },
}

/// The result of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommentOutcome {
    action: FixerResult,
    commit: Option<Sha>,
    /// The fixer's note.
    note: String,
}

impl CruiseSummary {
    /// A cruise; without a status it has not begun.
    pub(crate) fn new(run: &Run, status: Option<&CruiseStatus>, owner: Option<&Owner>) -> Self {
        let pull_request = run.work.pull_request.as_ref();
        Self {
            id: run.id.to_string(),
            task: run.request.as_ref().map(|request| request.task.clone()),
            phase: status.map(|status| status.phase),
            state: status.map(|status| status.state.clone()),
            waiting_for: status.and_then(|status| status.waiting_for.clone()),
            next_poll_at: status
                .and_then(|status| status.next_poll_at)
                .map(Moment::from),
            ends_at: status.and_then(|status| status.ends_at).map(Moment::from),
            domain: status.and_then(|status| status.domain.clone()),
            pr_number: pull_request.map(|pr| pr.number),
            pr_url: pull_request.map(|pr| pr.url.clone()),
            branch: run
                .sandboxes
                .values()
                .next()
                .and_then(|sandbox| sandbox.branch.clone())
                .or_else(|| match run.flow {
                    Flow::Cruise { .. } => run.work.branch.clone(),
                    Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
                }),
            head_sha: run.work.head_sha.as_ref().map(Sha::new),
            rounds: status.map_or(0, |status| status.rounds),
            pending_comments: status.map_or(0, |status| status.pending_comments),
            cost_usd: run.spent_in_all().cost.map(|cost| cost.usd()),
            tokens: run.spent_in_all().usage.reported(),
            status: run.outcome.as_ref().map(|outcome| outcome.status.into()),
            owner_pid: owner.map(|owner| owner.process.pid),
        }
    }
}

impl CruiseDocument {
    /// A cruise that has not begun.
    pub(crate) fn unbegun(run: &Run) -> Self {
        Self {
            cruise: CruiseSummary::new(run, None, None),
            tasks: Vec::new(),
            reviews: Vec::new(),
            comments: Vec::new(),
            ignored: Vec::new(),
            warnings: run.warnings.clone(),
        }
    }

    /// A cruise that builds the tasks of a plan.
    pub(crate) fn building(
        run: &Run,
        status: Option<&CruiseStatus>,
        owner: Option<&Owner>,
    ) -> Self {
        Self {
            cruise: CruiseSummary::new(run, status, owner),
            tasks: run::tasks(run).into_iter().map(TaskSummary::from).collect(),
            reviews: Vec::new(),
            comments: Vec::new(),
            ignored: Vec::new(),
            warnings: run.warnings.clone(),
        }
    }

    pub(crate) fn new(
        run: &Run,
        status: &CruiseStatus,
        phase: &run::Phase,
        owner: Option<&Owner>,
    ) -> Self {
        let ignored = phase.record.ignored.iter();
        Self {
            cruise: CruiseSummary::new(run, Some(status), owner),
            tasks: Vec::new(),
            reviews: run::domain_verdicts(run)
                .into_iter()
                .map(DomainReview::from)
                .collect(),
            comments: open_first(phase).map(LedgerComment::from).collect(),
            ignored: ignored.map(IgnoredDocument::from).collect(),
            warnings: run.warnings.clone(),
        }
    }
}

impl From<&run::Entry> for LedgerComment {
    fn from(entry: &run::Entry) -> Self {
        Self {
            id: entry.id(),
            author: entry.author.clone(),
            path: entry.path.clone(),
            line: entry.line,
            url: entry.url.clone(),
            body: entry.body.clone(),
            life: CommentLife::from(&entry.life),
        }
    }
}

impl From<&run::Life> for CommentLife {
    fn from(life: &run::Life) -> Self {
        match life {
            run::Life::Seen => Self::Seen,
            run::Life::Dispatched { round } => Self::Dispatched { round: *round },
            run::Life::Pushed { answer } => Self::Pushed {
                answer: answer.into(),
            },
            run::Life::Replied { answer, reply } => Self::Replied {
                answer: answer.into(),
                reply: reply.map(CommentLocation::from),
            },
            run::Life::Asked { answer, reply } => Self::Asked {
                answer: answer.into(),
                reply: reply.map(CommentLocation::from),
            },
            run::Life::Unanswerable { why } => Self::Unanswerable { why: why.clone() },
            run::Life::Left => Self::Left,
            run::Life::Superseded => Self::Superseded,
            run::Life::Withdrawn { how } => Self::Withdrawn { how: *how },
        }
    }
}

impl From<&run::Answer> for CommentOutcome {
    fn from(answer: &run::Answer) -> Self {
        Self {
            action: answer.action,
            commit: answer.commit.as_ref().map(Sha::new),
            note: answer.note.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::forge::{CommentRef, Surface};
    use drive_core::ids::{CommentId, CommitSha};
    use drive_core::run::{Answer, Life};
    use serde_json::{json, to_value};

    #[test]
    fn a_phase_is_listed_with_the_word_that_documents_use() {
        for phase in [
            PhaseName::Planning,
            PhaseName::Building,
            PhaseName::Validating,
        ] {
            assert_eq!(json!(phase), phase.as_str());
        }
    }

    #[test]
    fn the_life_of_a_comment_is_published_as_it_is_stored() {
        let answer = Answer {
            action: FixerResult::Fixed,
            commit: Some(CommitSha::new("c".repeat(40))),
            note: "done".to_owned(),
        };
        let unsaid = Answer {
            action: FixerResult::Unsaid,
            commit: None,
            note: String::new(),
        };
        let reply = Some(CommentRef {
            surface: Surface::Conversation,
            id: CommentId::new(9),
        });
        for life in [
            Life::Seen,
            Life::Dispatched { round: 2 },
            Life::Pushed { answer: unsaid },
            Life::Pushed {
                answer: answer.clone(),
            },
            Life::Asked {
                answer: answer.clone(),
                reply,
            },
            Life::Replied { answer, reply },
            Life::Unanswerable {
                why: "gone".to_owned(),
            },
            Life::Left,
            Life::Superseded,
            Life::Withdrawn {
                how: drive_core::forge::Aside::Resolved,
            },
        ] {
            assert_eq!(
                to_value(CommentLife::from(&life)).unwrap(),
                to_value(&life).unwrap()
            );
        }
    }
}
