//! Reads and writes pull requests: polls, comments, reviews, descriptions.

use super::World;
use crate::executor::Task;
use crate::forge::Conversation;
use crate::ports::{
    CommitStatus, Forge, LineComment, NewReview, Polled, Post, Reaction, Since, StatusState,
};
use drive_core::agent::Secrets;
use drive_core::forge::marker::{Claim, MarkerCheck, Place};
use drive_core::forge::trust::{OwnPosts, Reason, Verdict, part_of_line};
use drive_core::forge::{Comment, Surface, approval, part, text};
use drive_core::ids::{CommitSha, EffectKey, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Approved, EffectResult, ForgeAct, ForgeAnswer, IgnoredComment, LineRemark, Note, PollResult,
    Run,
};
use drive_core::time::Timestamp;

/// Under which name the status of a commit is set.
const STATUS_CONTEXT: &str = "drive/review";
/// The longest marker with the text around it.
const MARKER_ROOM: usize = 1024;

impl World<'_> {
    pub(super) fn require_forge(&self) -> Result<&Conversation, Problem> {
        self.forge.ok_or_else(|| {
            Problem::new(Kind::NoForge, "no forge to open a pull request on")
                .hint("pass `--no-pr`, or set `kind` in `[forge]`")
        })
    }

    pub(super) fn on_forge(
        &self,
        task: &Task<'_>,
        pr: PrNumber,
        act: &ForgeAct,
        idempotency_key: Option<&str>,
    ) -> Result<EffectResult, Problem> {
        let talk = self.require_forge()?;
        let forge: &dyn Forge = talk.forge.as_ref();
        let name = idempotency_key.unwrap_or(task.claimed.key.as_str());
        let signer = Signer {
            talk,
            task,
            pr,
            name,
            secrets: &self.secrets.secrets(),
        };
        note_limit(task, act, forge)?;
        let answer = match act {
            ForgeAct::Poll { since, approvals } => poll(talk, task.run, pr, *since, *approvals)?,
            ForgeAct::React { comment } => {
                forge.react(pr, *comment, Reaction::Eyes)?;
                ForgeAnswer::Done
            }
            ForgeAct::PostReview { head, body, lines } => signer.review(head, body, lines)?,
            ForgeAct::PostComment { body } => {
                let (body, marker) = signer.sign(body, Surface::Conversation, "");
                let posted = forge.post(pr, post(&body, &marker))?;
                ForgeAnswer::Posted {
                    comment: posted.comment,
                }
            }
            ForgeAct::Summarize { body, comment } => {
                let (body, marker) = signer.sign(body, Surface::Conversation, "");
                let comment = match comment {
                    Some(comment) => {
                        forge.edit(pr, *comment, post(&body, &marker))?;
                        *comment
                    }
                    None => forge.post(pr, post(&body, &marker))?.comment,
                };
                ForgeAnswer::Posted { comment }
            }
            ForgeAct::Reply { to, body } => {
                let surface = match to.surface {
                    Surface::Inline => Surface::Inline,
                    Surface::Conversation | Surface::Review => Surface::Conversation,
                };
                let (body, marker) = signer.sign(body, surface, "");
                let posted = forge.reply(pr, *to, post(&body, &marker))?;
                ForgeAnswer::Posted {
                    comment: posted.comment,
                }
            }
            ForgeAct::ResolveThread { comment } => {
                forge.resolve(pr, *comment)?;
                ForgeAnswer::Done
            }
            ForgeAct::UpdateBody { body } => {
                let current = forge.fetch(pr)?.body;
                let body = self.secrets.secrets().redact(body);
                forge.update_body(pr, &part::replaced(&current, &body, text::BODY_CHARS))?;
                ForgeAnswer::Done
            }
            ForgeAct::MarkReady => {
                forge.mark_ready(pr)?;
                ForgeAnswer::Done
            }
            ForgeAct::Merge { head, verified } => {
                self.merge_verified(task, (forge, pr), head, verified.as_ref())?
            }
            ForgeAct::SetStatus {
                sha,
                passed,
                description,
            } => {
                let state = if *passed {
                    StatusState::Success
                } else {
                    StatusState::Failure
                };
                let status = CommitStatus {
                    context: STATUS_CONTEXT,
                    state,
                    description,
                };
                forge.set_status(sha, &status)?;
                ForgeAnswer::Done
            }
        };
        Ok(EffectResult::OnForge { answer })
    }
}

/// Journals that a write will wait for its turn, so that everybody can see what the run waits for.
fn note_limit(task: &Task<'_>, act: &ForgeAct, forge: &dyn Forge) -> Result<(), Problem> {
    if matches!(act, ForgeAct::Poll { .. }) {
        return Ok(());
    }
    match forge.writes_wait_until() {
        Some(until) => task.note(0, Note::ForgeLimit { until }),
        None => Ok(()),
    }
}

/// Signs what is posted for one effect.
struct Signer<'a> {
    talk: &'a Conversation,
    task: &'a Task<'a>,
    pr: PrNumber,
    /// What makes this post the same post when it is tried again.
    name: &'a str,
    secrets: &'a Secrets,
}

impl Signer<'_> {
    /// The text within what a forge takes, and its hidden line.
    fn sign(&self, body: &str, surface: Surface, part: &str) -> (String, String) {
        let body = text::fit(&self.secrets.redact(body), text::BODY_CHARS - MARKER_ROOM);
        let claim = Claim {
            run: self.task.run.id.clone(),
            key: EffectKey::new(format!("{}{part}", self.name)),
        };
        let place = Place::Comment {
            pr: self.pr,
            surface,
        };
        let marker = self.talk.key.line(&body, &place, &claim);
        (body, marker)
    }

    fn review(
        &self,
        head: &CommitSha,
        body: &str,
        lines: &[LineRemark],
    ) -> Result<ForgeAnswer, Problem> {
        let (body, marker) = self.sign(body, Surface::Review, "");
        let signed: Vec<(String, String)> = lines
            .iter()
            .enumerate()
            .map(|(n, line)| self.sign(&line.body, Surface::Inline, &part_of_line(n)))
            .collect();
        let lines: Vec<LineComment<'_>> = lines
            .iter()
            .zip(&signed)
            .map(|(line, (body, marker))| LineComment {
                path: &line.path,
                line: line.line,
                start_line: line.start_line,
                post: post(body, marker),
            })
            .collect();
        let posted = self.talk.forge.review(
            self.pr,
            &NewReview {
                head,
                post: post(&body, &marker),
                lines: &lines,
            },
        )?;
        Ok(ForgeAnswer::ReviewPosted {
            review: posted.review.comment,
            lines: posted.lines,
        })
    }
}

fn post<'a>(body: &'a str, marker: &'a str) -> Post<'a> {
    Post { body, marker }
}

/// Reads the state of the pull request, new comments, and this run's own replies. Approvals are
/// read on request, or when a review changed.
fn poll(
    talk: &Conversation,
    run: &Run,
    pr: PrNumber,
    since: Option<Timestamp>,
    approvals: bool,
) -> Result<ForgeAnswer, Problem> {
    let polled = talk.poll(pr, Since(since))?;
    let mut sorted = SortedComments::sort(talk, run, pr, &polled);
    let mut standing = None;
    if approvals || polled.comments.iter().any(approval::is_verdict) {
        let standing = standing.get_or_insert(Vec::new());
        for given in talk.forge.approvals(pr)? {
            let judged = talk.permissions.judge_approval(&given, &talk.trusted);
            match judged.verdict {
                Verdict::Act => standing.push(Approved {
                    by: given.author.login.unwrap_or_default(),
                    head: given.head,
                }),
                Verdict::Ignore(reason) => sorted.is_settled &= reason.is_final(),
            }
        }
    }
    let found = polled.pull_requests.iter().find(|one| one.number == pr);
    let poll = PollResult {
        state: found.map(|found| found.state),
        head: found.map(|found| found.head_sha.clone()),
        next: sorted.next(since, &polled),
        comments: sorted.comments,
        approvals: standing,
        ignored: sorted.ignored,
        answered: sorted.answered,
    };
    Ok(ForgeAnswer::Polled {
        poll: Box::new(poll),
    })
}

/// Comments by whether their author is trusted.
struct SortedComments {
    comments: Vec<Comment>,
    ignored: Vec<IgnoredComment>,
    /// The names of this run's own posts.
    answered: Vec<String>,
    /// Whether everything could be judged.
    is_settled: bool,
}

impl SortedComments {
    fn sort(talk: &Conversation, run: &Run, pr: PrNumber, polled: &Polled) -> Self {
        let mut own = OwnPosts::default();
        for post in &run.posts {
            own.record(post.comment, post.effect.clone());
        }
        let mut sorted = SortedComments {
            comments: Vec::new(),
            ignored: Vec::new(),
            answered: Vec::new(),
            is_settled: true,
        };
        for comment in &polled.comments {
            let place = Place::Comment {
                pr,
                surface: comment.key.surface,
            };
            let marker = talk.key.check(&comment.body, &place);
            if let MarkerCheck::Ours(claim) = &marker
                && claim.run == run.id
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
                    sorted.is_settled &= reason.is_final();
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

    /// Where the next poll starts. A comment that could not be judged yet is read again.
    fn next(&self, since: Option<Timestamp>, polled: &Polled) -> Option<Timestamp> {
        if self.is_settled {
            polled.next.0
        } else {
            since
        }
    }
}
