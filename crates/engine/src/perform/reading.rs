//! Reads a pull request: its state, comments, approvals and objections, and which of them count.

use crate::forge::Conversation;
use crate::ports::{Polled, Since};
use drive_core::forge::marker::{MarkerCheck, Place};
use drive_core::forge::trust::{OwnPosts, Reason, Verdict};
use drive_core::forge::{Author, Comment, approval};
use drive_core::ids::{CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Approved, Flow, IgnoredComment, Objected, PollResult, Run, is_same_cruise};
use drive_core::time::Timestamp;

/// The parts of a pull request to read.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The time to read from; `None` reads everything.
    pub(super) since: Option<Timestamp>,
    /// Whether approvals and requests for changes are read even if no review changed.
    pub(super) opinions: bool,
    /// The commit whose checks are read as well.
    pub(super) checks: Option<&'a CommitSha>,
}

/// Reads the state of the pull request, new comments, and this run's own replies.
pub(super) fn read(
    talk: &Conversation,
    run: &Run,
    pr: PrNumber,
    wanted: Wanted<'_>,
) -> Result<PollResult, Problem> {
    let since = wanted.since;
    let mut found = PollResult::default();
    if let Some(head) = wanted.checks {
        match talk.forge.checks(pr, head) {
            Ok(checks) => found.checks = Some(checks),
            // A token without this permission will not have it later either.
            Err(problem) if is_forbidden(&problem) => found.unchecked = Some(problem.to_string()),
            // People's comments are read nevertheless.
            Err(problem) => found.missing = Some(format!("checks: {problem}")),
        }
    }
    // Where that cannot be read, nothing is said of it.
    if let Flow::Phase { phase } = &run.flow
        && let Some(head) = &phase.whole.queued
    {
        found.queued = talk.forge.is_queued(pr, head).ok();
    }
    // Comments are read last, so that nothing after them takes time.
    let polled = talk.poll(pr, Since(since))?;
    let mut sorted = Sorted::sort(talk, run, pr, &polled);
    if wanted.opinions || polled.comments.iter().any(approval::is_verdict) {
        sorted.weigh(talk, pr, &mut found)?;
    }
    let pull_request = polled.pull_requests.iter().find(|one| one.number == pr);
    Ok(PollResult {
        state: pull_request.map(|found| found.state),
        head: pull_request.map(|found| found.head_sha.clone()),
        merged_sha: pull_request.and_then(|found| found.merged_sha.clone()),
        next: sorted.next(since, &polled),
        comments: sorted.comments,
        ignored: sorted.ignored,
        answered: sorted.answered,
        missing: polled.missing.or(sorted.unknown).or(found.missing),
        ..found
    })
}

fn is_forbidden(problem: &Problem) -> bool {
    matches!(problem.kind, Kind::ForgeForbidden | Kind::ForgeNotFound)
}

/// Comments, split by whether their author is trusted.
struct Sorted {
    comments: Vec<Comment>,
    ignored: Vec<IgnoredComment>,
    /// The names of this run's own posts.
    answered: Vec<String>,
    /// Whether every author could be judged.
    is_settled: bool,
    /// The author whose permission the forge did not report.
    unknown: Option<String>,
}

impl Sorted {
    fn sort(talk: &Conversation, run: &Run, pr: PrNumber, polled: &Polled) -> Self {
        let mut own = OwnPosts::default();
        for post in &run.posts {
            own.record(post.comment, post.effect.clone());
        }
        let mut sorted = Sorted {
            comments: Vec::new(),
            ignored: Vec::new(),
            answered: Vec::new(),
            is_settled: true,
            unknown: None,
        };
        for comment in &polled.comments {
            let place = Place::Comment {
                pr,
                surface: comment.key.surface,
            };
            let marker = talk.key.check(&comment.body, &place);
            if let MarkerCheck::Ours(claim) = &marker
                && is_same_cruise(&claim.run, &run.id)
            {
                sorted.answered.push(claim.key.as_str().to_owned());
            }
            let judged = talk
                .permissions
                .judge(comment, &talk.trusted, &own, &marker);
            match judged.verdict {
                Verdict::Act if comment.body.trim().is_empty() => {}
                Verdict::Act => sorted.comments.push(comment.clone()),
                Verdict::Ignore(Reason::Own) => {}
                Verdict::Ignore(reason) => {
                    sorted.unsettled(reason, &comment.author);
                    sorted.ignored.push(IgnoredComment {
                        comment: comment.key.comment(),
                        author: comment.author.login.clone(),
                        reason,
                    });
                }
            }
        }
        sorted
    }

    /// Decides which approvals and requests for changes count.
    fn weigh(
        &mut self,
        talk: &Conversation,
        pr: PrNumber,
        found: &mut PollResult,
    ) -> Result<(), Problem> {
        let opinions = talk.forge.opinions(pr)?;
        let mut counts = |author: &Author| {
            let judged = talk.permissions.judge_author(author, &talk.trusted);
            match judged.verdict {
                Verdict::Act => author.login.clone(),
                Verdict::Ignore(reason) => {
                    self.unsettled(reason, author);
                    None
                }
            }
        };
        let approvals = opinions.approvals.into_iter().filter_map(|given| {
            Some(Approved {
                by: counts(&given.author)?,
                head: given.head,
            })
        });
        found.approvals = Some(approvals.collect());
        let objections = opinions.objections.into_iter().filter_map(|one| {
            Some(Objected {
                by: counts(&one.author)?,
                head: one.head,
                url: one.url,
            })
        });
        found.objections = Some(objections.collect());
        Ok(())
    }

    fn unsettled(&mut self, reason: Reason, author: &Author) {
        self.is_settled &= reason.is_final();
        if reason == Reason::PermissionUnknown {
            let login = author.login.as_deref().unwrap_or("unknown");
            self.unknown = Some(format!("could not read the permission of `{login}`"));
        }
    }

    /// The start of the next poll. A comment whose author could not be judged is read again.
    fn next(&self, since: Option<Timestamp>, polled: &Polled) -> Option<Timestamp> {
        if self.is_settled {
            polled.next.0
        } else {
            since
        }
    }
}
