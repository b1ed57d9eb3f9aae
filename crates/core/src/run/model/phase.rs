//! A phase: one sandbox, one branch and one pull request, from the first commit to the end.

use super::ask::Injected;
use super::ci::Ci;
use super::effect::Effect;
use super::entry::{Entry, thread_of};
use super::forge_act::{ForgeAct, PollResult};
use super::landable::Landable;
use super::ledger::Ledger;
use super::merge::Merge;
use super::outcome::OutcomeStatus;
use super::panel::Panel;
use super::post_key::PostKey;
use super::promotion::{Judged, RoundVerified};
use super::record::Record;
use super::remark::Remark;
use super::round::Round;
use super::threads::Threads;
use super::tree::Wants;
use super::watch::Watch;
use super::whole::Whole;
use crate::Problem;
use crate::agent::answer::Handoff;
use crate::forge::checks::Gate;
use crate::forge::inline::FileDiff;
use crate::forge::{Aside, Comment, CommentRef, newest};
use crate::ids::CommitSha;
use crate::phase::PhaseName;
use crate::plan::{Plan, PlanErrors};
use crate::review::{LastWord, Move};
use serde::{Deserialize, Serialize};

/// The path of a cruise's plan, relative to the sandbox.
pub const PLAN_PATH: &str = "plan.md";

/// The state of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Phase {
    /// The phase's name in a cruise; a team is `building`.
    pub name: PhaseName,
    /// The worker's stage.
    pub stage: Stage,
    /// The pull request's title.
    pub title: String,
    /// The summary of the agent that made the first commit.
    pub summary: String,
    /// The next step after all waiting comments are handled.
    pub next: Move,
    /// Indices of reviews in the record that wait for the other reviews of the same commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<usize>,
    /// The last check of the plan; `Unread` if no plan is made.
    pub plan: PlanCheck,
    /// Comments and their states.
    pub ledger: Ledger,
    /// Findings without a comment of their own that wait for a fixer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Remark>,
    /// Conversations in review threads.
    #[serde(default, skip_serializing_if = "Threads::is_empty")]
    pub threads: Threads,
    /// The state of watching the pull request.
    pub watch: Watch,
    /// Fixer rounds so far.
    pub rounds: u32,
    /// Fixer rounds that a person allowed beyond the limit.
    pub extra_rounds: u32,
    /// The commit that was published last.
    pub pushed: Option<CommitSha>,
    /// Counters of events that are limited.
    pub counts: Counts,
    /// The pull request's description.
    pub description: Description,
    /// The comment that sums up the reviews, once it is posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_comment: Option<CommentRef>,
    /// Comments from the command line that are not posted yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<Injected>,
    /// Why no agent may be started now; a timer or a person ends the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The failed effect that will be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How often in a row it was retried.
    pub tries: u32,
    /// The commit where the work of a failed agent was saved, for the next agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<CommitSha>,
    /// The combined verdict of all reviews, once the phase acts on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<LastWord>,
    /// How the phase ends, if the verdict of the reviews alone does not decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<PhaseEnd>,
    /// The checks of the published commit.
    #[serde(default, skip_serializing_if = "Ci::is_empty")]
    pub ci: Ci,
    /// The last verification before a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Verifications of the latest commits before they were published, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<RoundVerified>,
    /// The commit on the base, once drive merged the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<CommitSha>,
    /// Whether the phase ends once no work is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub concludes: bool,
    /// How near the commits of a task with its own pull request are to landing.
    #[serde(default, skip_serializing_if = "Landable::is_not")]
    pub landable: Landable,
    /// The newest of its commits that landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<CommitSha>,
    /// Changed files outside its task's paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Existing tests that its task changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The handoff of a task's agent to the agents of later tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// How far the combined commits of a cruise are on their way to the base.
    #[serde(default, skip_serializing_if = "Whole::is_empty")]
    pub whole: Whole,
    /// The record for people.
    pub record: Record,
}

/// Counters of events that are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// How often another run took the branch name first.
    pub names_taken: u32,
    /// How often the branch moved while the same work was being pushed or reviewed.
    pub moves: u32,
    /// How often the base was checked for conflicts before the end.
    pub base_checks: u32,
    /// Polls with news after the last review.
    pub late_rounds: u32,
    /// Verifications before the merge.
    pub verifications: u32,
    /// How often the base moved while it was verified.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base_moves: u32,
    /// How often in a row an agent's model was away or a fixer failed.
    pub failures: u32,
    /// How many planners failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plans: u32,
    /// How many fixer rounds in a row left the plan's errors unchanged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub same_errors: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The stage of a phase's worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum Stage {
    /// The namer chooses a title and a branch name.
    Naming,
    /// A free branch name is being chosen.
    ChoosingBranch,
    /// The sandbox is being made.
    CreatingSandbox,
    /// A round is running: an agent makes or fixes something, and the result is published.
    Working {
        /// The round.
        round: Box<Round>,
    },
    /// Another branch is being merged in.
    Merging {
        /// The merge.
        merge: Box<Merge>,
        /// The round that continues afterwards.
        round: Box<Round>,
    },
    /// The batch of comments is being closed with one more poll, so that no comment written before
    /// is left out.
    Polling,
    /// The diff for the reviewers is being read.
    ReadingDiff,
    /// Reviewers work at the same time; new comments wait.
    Reviewing {
        /// The reviewers of this round and their verdicts.
        #[serde(default)]
        panel: Box<Panel>,
    },
    /// A second agent tries to refute the findings that block a merge.
    Refuting {
        /// The diff, which that agent may quote.
        #[serde(default)]
        diff: String,
        /// The lines that the whole diff shows.
        lines: Vec<FileDiff>,
    },
    /// The reviews are being posted, one after another.
    PostingReview {
        /// The findings of the review that is being posted, in their order.
        remarks: Vec<Remark>,
        /// The reviews to post after it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rest: Vec<Posting>,
        /// The post that a stop interrupted; its key finds it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<Box<Effect>>,
    },
    /// The summary of the reviews is being posted.
    PostingSummary {
        /// The first post, if a stop interrupted it; its key finds it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<Box<Effect>>,
    },
    /// A comment is being posted that says that a limit was reached.
    PostingLimit,
    /// Programs check the acceptance criteria of the plan.
    CheckingContract,
    /// A validator judges the criteria that no program checks.
    Judging,
    /// Programs check the validator's claims.
    CheckingClaims,
    /// The result for the commit is being posted; then it is merged, or waits for people.
    Announcing {
        /// Posts that are still to be made.
        posts: Vec<ClosingPost>,
    },
    /// The phase waits for a person to comment, approve, merge or close.
    Watching,
    /// The closing posts are being made; then the phase ends with this status.
    Closing {
        /// Posts that are still to be made.
        posts: Vec<ClosingPost>,
        /// The status it will have.
        status: OutcomeStatus,
        /// The failure it will have.
        failure: Option<Problem>,
        /// Whether the pull request was polled once more after the posts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_read: bool,
    },
    /// The merged tree is being verified.
    Verifying,
    /// The forge merges the pull request.
    Promoting,
    /// The landed commits are being compared with the verified ones.
    Landing,
}

/// A review that is ready to be posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Posting {
    /// The post to make on the forge.
    pub act: ForgeAct,
    /// The idempotency key of the post.
    pub key: PostKey,
    /// Its findings, in their order.
    pub remarks: Vec<Remark>,
}

/// A post that is made once, at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosingPost {
    /// The post to make on the forge.
    pub act: ForgeAct,
    /// The idempotency key, if it is not the effect's own.
    pub key: Option<PostKey>,
}

/// The last check of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "check")]
pub enum PlanCheck {
    /// The plan was not read yet, or there is none.
    Unread,
    /// The plan is valid.
    Valid {
        /// The plan.
        plan: Plan,
    },
    /// The plan is not valid.
    Invalid {
        /// The plan's errors.
        errors: PlanErrors,
    },
}

/// How a phase ends, if the verdict of the reviews alone does not decide it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "end")]
pub enum PhaseEnd {
    /// A person or `--auto-approve` approved the head.
    Approved {
        /// The login of the person who approved.
        by: String,
    },
    /// The inactivity timeout passed.
    TimedOut,
    /// A person merged the pull request.
    Merged,
    /// A person closed the pull request.
    Closed,
    /// It ended before its work was done.
    Stopped {
        /// The reason.
        why: String,
    },
    /// The head did not pass verification.
    Unverified {
        /// The reason.
        why: String,
    },
}

/// The pull request's description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The text that was last sent to the forge.
    pub text: String,
    /// How often in a row sending it failed.
    pub failures: u32,
}

/// Why no agent may be started now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "pause")]
pub enum Pause {
    /// An agent failed or its model is away; a timer ends the pause.
    Hold {
        /// The work that waits for the timer.
        what: HoldFor,
        /// The failure.
        why: String,
    },
    /// A limit was reached; a person ends the pause.
    Limit {
        /// The limit that was reached.
        why: String,
    },
    /// Fixers left the plan's errors unchanged; a comment, a commit or a request ends the pause.
    Unsound {
        /// The reason, with the number of rounds.
        why: String,
    },
}

/// The work that waits for the end of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldFor {
    /// No agent is started.
    EveryAgent,
    /// No reviewer is started, because its model is away: comments are still fixed, and approvals
    /// still count.
    Reviewer,
}

/// A failed effect; `Timer::Retry` tries it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The effect to try again.
    pub effect: Effect,
    /// Why it failed.
    pub why: String,
}

impl Phase {
    /// How a person put a comment aside, if they did. Comments in a thread that drive itself
    /// resolved are not put aside.
    pub fn put_aside(&self, comment: &Comment) -> Option<Aside> {
        let how = comment.put_aside()?;
        let thread = thread_of(comment.key.comment(), comment.in_reply_to);
        let is_ours = how == Aside::Resolved && self.ledger.is_resolved(thread);
        (!is_ours).then_some(how)
    }

    /// The comments that ask for something and were not taken up yet.
    pub fn unread(&self, comments: &[Comment]) -> Vec<Entry> {
        let comments = newest(comments).into_iter();
        let asked = comments.filter(|one| self.put_aside(one).is_none());
        let entries = asked.filter_map(|one| Entry::of_comment(one, one.key.updated_at));
        entries
            .filter(|entry| self.ledger.is_news(entry, true))
            .collect()
    }

    /// Whether a whole reading shows something that was not read yet, or that blocks a merge.
    pub fn is_unheard(&self, poll: &PollResult) -> bool {
        poll.missing.is_some()
            || poll.unchecked.is_some()
            || poll.objections.as_ref().is_some_and(|all| !all.is_empty())
            || poll
                .checks
                .as_ref()
                .is_some_and(|checks| self.ci.gate(checks) != Gate::Green)
            || !self.unread(&poll.comments).is_empty()
    }

    /// The decision about the published commit that only a person can make, if there is one.
    pub fn left_to_person(&self, head: Option<&CommitSha>) -> Option<String> {
        if let Landable::Unapproved { head: reviewed } = &self.landable
            && Some(reviewed) == head
        {
            let held = self.held_back();
            let held = held.map(|why| format!("{why}; it lands once that is settled"));
            let approve = || "approve its pull request, or comment on it".to_owned();
            return Some(held.unwrap_or_else(approve));
        }
        let is_told = self.whole.announced.is_some() && self.whole.announced.as_ref() == head;
        if self.stage != Stage::Watching || !is_told {
            return None;
        }
        let ways = "merge or close the pull request, or comment on it";
        Some(match &self.whole.left {
            Some(left) => format!("{}; {ways}", left.why),
            None => ways.to_owned(),
        })
    }

    /// What prevents a reviewed commit from landing, other than a missing approval.
    pub(in crate::run) fn held_back(&self) -> Option<String> {
        if let Some(one) = self.watch.objections.first() {
            return Some(format!("{} requests changes", one.by));
        }
        if let Some(asked) = self.ledger.questions().next() {
            return Some(format!("{} was asked a question", asked.author));
        }
        if let Some(why) = &self.ci.unreadable {
            return Some(format!("could not read the checks: {why}"));
        }
        self.ci.open(self.pushed.as_ref())
    }

    /// What a person can do about a decision that is left to them.
    pub(in crate::run) fn wants(&self, head: Option<&CommitSha>) -> Wants {
        match &self.landable {
            Landable::Unapproved { head: reviewed } if Some(reviewed) == head => {
                match self.held_back() {
                    Some(_) => Wants::Decision,
                    None => Wants::Approval,
                }
            }
            Landable::Unapproved { .. } | Landable::NotYet | Landable::Ready { .. } => {
                match self.whole.left {
                    Some(_) => Wants::Decision,
                    None => Wants::Merge,
                }
            }
        }
    }

    /// Whether only an approval of the plan is missing.
    pub(super) fn awaits_approval(&self) -> bool {
        let is_quiet = self.stage == Stage::Watching && self.pause.is_none();
        let is_ready = matches!(self.plan, PlanCheck::Valid { .. }) && self.next == Move::Done;
        let is_unmet = self.watch.objections.is_empty() && self.watch.trouble.is_none();
        is_quiet && self.retry.is_none() && is_ready && is_unmet && self.end.is_none()
    }

    /// The reached limit that only a person can raise.
    pub fn limit(&self) -> Option<&str> {
        match &self.pause {
            Some(Pause::Limit { why } | Pause::Unsound { why }) => Some(why),
            Some(Pause::Hold { .. }) | None => None,
        }
    }

    /// The reason of a hold, while a timer waits to try again.
    pub fn hold(&self) -> Option<&str> {
        match &self.pause {
            Some(Pause::Hold { why, .. }) => Some(why),
            Some(Pause::Limit { .. } | Pause::Unsound { .. }) | None => None,
        }
    }
}
