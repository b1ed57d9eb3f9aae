//! The terms of a phase: its output, its reviews, whether it is watched, and when it is done.

use super::outcome::Published;
use super::scope::TaskScope;
use super::task_costs::TaskCosts;
use super::whole::WholeTerms;
use crate::agent::answer::Confidence;
use crate::ids::{BranchName, CommitSha};
use crate::prompts::Prompts;
use crate::review::{Domain, ReviewPlan, Subject};
use crate::sandbox::Sandbox;
use crate::settings::{RecordDetail, TeamMode};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::time::Duration;

/// The terms of a phase. Two phases differ only in these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTerms {
    /// The output of the first agent, and when the phase has completed it.
    pub makes: Makes,
    /// How reviews and fixes alternate, and where reviews are posted.
    pub mode: TeamMode,
    /// The maximum number of reviews of one domain.
    pub max_iterations: u32,
    /// The reviewing agent, by its name in the settings.
    pub reviewer: String,
    /// The fixing agent; every round starts a fresh one.
    pub fixer: String,
    /// The agent that chooses a title and a branch name.
    pub namer: String,
    /// The namer's model, if it is not the agent's default.
    pub namer_model: Option<String>,
    /// The branch that the person asked for; `None` lets the namer choose one.
    pub branch: Option<BranchName>,
    /// The title, if it is known; then no namer is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How long to wait for checks that have not ended.
    #[serde(default = "checks_timeout")]
    pub checks_timeout: Duration,
    /// How the pull request is watched; `None` if the phase ends with its reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchTerms>,
    /// The rules of its reviews.
    pub review: ReviewTerms,
    /// The prompts of all agents.
    pub prompts: Prompts,
    /// How much of the record the pull request shows.
    #[serde(default)]
    pub record: RecordDetail,
    /// Costs of earlier tasks in this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<TaskCosts>,
    /// The task's files, if the plan names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<TaskScope>,
    /// The known facts about a phase whose journal was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
}

/// The rules of a phase's reviews.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewTerms {
    /// The domains, in their order.
    pub domains: Vec<Domain>,
    /// The confidence that a finding needs to block a merge.
    pub min_confidence: Confidence,
    /// The agent that tries to refute blocking findings, by its name in the settings; `None` if
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuter: Option<String>,
    /// Whether each commit is verified before it is published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// How many reviewers may work at the same time.
    #[serde(default = "one")]
    pub max_parallel: NonZeroU32,
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// The output of a phase's first agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "makes")]
pub enum Makes {
    /// The change that the task asks for.
    Change {
        /// When it is complete.
        done: ChangeDone,
    },
    /// A plan for the task. It is complete once it is approved.
    Plan {
        /// The plan that the person provided, if any; then no agent writes it.
        given: Option<GivenPlan>,
        /// Who approves it, and what follows.
        approval: PlanApproval,
    },
    /// Nothing: the plan exists. The phase amends it as people comment while it is built, until the
    /// parent asks the phase to end.
    #[serde(rename_all = "camelCase")]
    Amendments {
        /// The tip of the plan's branch, a verified commit.
        head: CommitSha,
        /// The pull request that people comment on.
        pull_request: Published,
    },
    /// Nothing: the commits exist. They are reviewed together and merged into the base.
    #[serde(rename_all = "camelCase")]
    Whole {
        /// The commits.
        whole: Box<WholeTerms>,
        /// Whether drive merges what passes everything; else a person does.
        auto_merge: bool,
    },
}

/// When a change is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "when")]
pub enum ChangeDone {
    /// Once every review is through.
    #[serde(rename_all = "camelCase")]
    Reviewed {
        /// Whether an approved commit that passes verification is merged.
        auto_merge: bool,
    },
    /// When the parent landed it. Until then comments are handled.
    Landed {
        /// Whether a person must approve first.
        approve: bool,
    },
}

/// Who approves a plan, and what follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanApproval {
    /// Whether a plan that every domain approved needs no person.
    pub auto_approve: bool,
    /// Whether only the plan was asked for.
    pub plan_only: bool,
}

/// A plan that a person provided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum GivenPlan {
    /// The plan is reviewed first.
    ToReview(String),
    /// The plan is used unchanged.
    AsItIs {
        /// The text of its file.
        as_it_is: String,
    },
}

impl GivenPlan {
    /// The text of the plan's file.
    pub fn text(&self) -> &str {
        match self {
            GivenPlan::ToReview(text) | GivenPlan::AsItIs { as_it_is: text } => text,
        }
    }
}

/// How a pull request is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchTerms {
    /// The first pause between two polls.
    pub poll_initial: Duration,
    /// The longest pause.
    pub poll_max: Duration,
    /// How long the phase waits without activity before it ends.
    pub inactivity_timeout: Duration,
    /// How many fixer rounds are allowed before a person is asked.
    pub max_rounds: u32,
}

/// When a phase is complete, depending on its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum DoneWhen {
    /// Once every review is through.
    Reviewed {
        /// Whether an approved commit that passes verification is merged.
        auto_merge: bool,
    },
    /// As soon as a person approved.
    Approved(PlanApproval),
    /// As soon as the pull request is merged or closed.
    Merged {
        /// Whether drive merges what passes everything; else a person does.
        auto: bool,
    },
    /// As soon as its parent asks for it and no work is left.
    Asked,
    /// As soon as its parent landed it. Until then it takes up comments.
    Landed {
        /// Whether a person must approve first.
        approve: bool,
    },
}

/// The default for phases of earlier versions.
fn checks_timeout() -> Duration {
    Duration::from_secs(30 * 60)
}

impl PhaseTerms {
    /// When the phase is done.
    pub(in crate::run) fn done(&self) -> DoneWhen {
        match &self.makes {
            Makes::Change { done } => match *done {
                ChangeDone::Reviewed { auto_merge } => DoneWhen::Reviewed { auto_merge },
                ChangeDone::Landed { approve } => DoneWhen::Landed { approve },
            },
            Makes::Plan { approval, .. } => DoneWhen::Approved(*approval),
            Makes::Amendments { .. } => DoneWhen::Asked,
            Makes::Whole { auto_merge, .. } => DoneWhen::Merged { auto: *auto_merge },
        }
    }

    /// The review plan: the domains, and how many reviews each gets.
    pub fn review_plan(&self) -> ReviewPlan {
        match self.mode {
            TeamMode::Sequential => ReviewPlan::sequential(),
            TeamMode::Pingpong => ReviewPlan::pingpong(self.max_iterations),
            TeamMode::Github => {
                let mut domains = self.review.domains.clone();
                domains.retain(|domain| self.is_reviewed() && domain.reviews(self.subject()));
                ReviewPlan::by_domain(domains, self.max_iterations)
            }
        }
    }

    /// The kind of work under review.
    pub fn subject(&self) -> Subject {
        match self.makes {
            Makes::Change { .. } | Makes::Whole { .. } => Subject::Code,
            Makes::Plan { .. } | Makes::Amendments { .. } => Subject::Plan,
        }
    }

    /// Whether the phase is reviewed. The combined work of reviewed tasks may need no second review.
    pub fn is_reviewed(&self) -> bool {
        match &self.makes {
            Makes::Whole { whole, .. } => whole.reviewed,
            // Programs check the changes that people asked for.
            Makes::Amendments { .. } => false,
            Makes::Plan { given, .. } => !matches!(given, Some(GivenPlan::AsItIs { .. })),
            Makes::Change { .. } => true,
        }
    }

    /// The combined commits of a cruise, if this phase merges them into the base.
    pub fn whole(&self) -> Option<&WholeTerms> {
        match &self.makes {
            Makes::Whole { whole, .. } => Some(whole),
            Makes::Change { .. } | Makes::Plan { .. } | Makes::Amendments { .. } => None,
        }
    }

    /// The commit and the pull request of a cruise that this phase starts from.
    pub fn taken_over(&self) -> Option<(&CommitSha, &Published)> {
        match &self.makes {
            Makes::Whole { whole, .. } => Some((&whole.head, &whole.pull_request)),
            Makes::Amendments { head, pull_request } => Some((head, pull_request)),
            Makes::Change { .. } | Makes::Plan { .. } => None,
        }
    }

    /// Whether it works on the line of a cruise, which never points at an unverified tree.
    pub fn is_on_line(&self) -> bool {
        self.taken_over().is_some()
    }

    /// Whether it changes only the plan.
    pub fn is_about_plan(&self) -> bool {
        match self.makes {
            Makes::Plan { .. } | Makes::Amendments { .. } => true,
            Makes::Change { .. } | Makes::Whole { .. } => false,
        }
    }

    /// Whether the phase continues without an owner and waits for people.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether it ends when a person approves the plan.
    pub fn asks_approval(&self) -> bool {
        matches!(self.makes, Makes::Plan { .. })
    }

    /// Whether it acts on people's comments on the pull request.
    pub fn hears_comments(&self) -> bool {
        self.mode == TeamMode::Github
    }
}

/// The facts about a phase whose journal is gone, read from its sandbox, history and forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Adopted {
    /// The sandbox of the earlier run.
    pub sandbox: Sandbox,
    /// Its pull request.
    pub pull_request: Published,
    /// The pull request's title.
    pub title: String,
    /// The tip of its branch.
    pub head_sha: CommitSha,
    /// The domain that was under review.
    pub domain: Option<Domain>,
    /// The number of fixer rounds it had.
    pub rounds: u32,
}
