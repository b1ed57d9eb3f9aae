//! What is said and heard on a pull request.

use super::World;
use crate::executor::Task;
use crate::forge::Conversation;
use crate::ports::{CommitStatus, Forge, LineComment, NewReview, Post, Since, StatusState};
use drive_core::Problem;
use drive_core::forge::marker::{Claim, Place};
use drive_core::forge::trust::{OwnPosts, Reason, Verdict};
use drive_core::forge::{Surface, text};
use drive_core::ids::EffectKey;
use drive_core::run::{EffectResult, ForgeAct, ForgeAnswer, IgnoredComment, LineRemark, Run};
use drive_core::time::Timestamp;

/// Under which name the status of a commit is set.
const STATUS_CONTEXT: &str = "drive/review";
/// How long the marker and the words around it may be, at most.
const MARKER_ROOM: usize = 1024;

impl World<'_> {
    pub(super) fn require_forge(&self) -> Result<&Conversation, Problem> {
        self.forge.ok_or_else(|| {
            Problem::usage("noForge", "there is no forge to open a pull request on")
                .hint("pass `--no-pr`, or set `kind` in `[forge]`")
        })
    }

    pub(super) fn on_forge(
        &self,
        task: &Task<'_>,
        pr: u64,
        act: &ForgeAct,
    ) -> Result<EffectResult, Problem> {
        let talk = self.require_forge()?;
        let forge: &dyn Forge = talk.forge.as_ref();
        let signer = Signer { talk, task, pr };
        let answer = match act {
            ForgeAct::Listen { since } => listen(talk, task.run, pr, *since)?,
            ForgeAct::PostReview { head, body, lines } => signer.review(head, body, lines)?,
            ForgeAct::PostComment { body } => {
                let (body, marker) = signer.sign(body, Surface::Conversation, "");
                let posted = forge.post(pr, post(&body, &marker))?;
                ForgeAnswer::Posted {
                    comment: posted.comment,
                }
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
                forge.update_body(pr, body)?;
                ForgeAnswer::Done
            }
            ForgeAct::SetStatus {
                sha,
                passed,
                description,
            } => {
                let state = match passed {
                    true => StatusState::Success,
                    false => StatusState::Failure,
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

/// Signs what is posted for one effect.
struct Signer<'a> {
    talk: &'a Conversation,
    task: &'a Task<'a>,
    pr: u64,
}

impl Signer<'_> {
    /// The text within what a forge takes, and its hidden line.
    fn sign(&self, body: &str, surface: Surface, part: &str) -> (String, String) {
        let body = text::fit(body, text::BODY_CHARS - MARKER_ROOM);
        let claim = Claim {
            run: self.task.run.id.clone(),
            key: EffectKey::new(format!("{}{part}", self.task.claimed.key)),
        };
        let place = Place::Comment {
            pr: self.pr,
            surface,
        };
        let marker = self.talk.key.line(&body, &place, &claim);
        (body, marker)
    }

    fn review(&self, head: &str, body: &str, lines: &[LineRemark]) -> Result<ForgeAnswer, Problem> {
        let (body, marker) = self.sign(body, Surface::Review, "");
        let signed: Vec<(String, String)> = lines
            .iter()
            .enumerate()
            .map(|(n, line)| self.sign(&line.body, Surface::Inline, &format!("/line/{n}")))
            .collect();
        let lines: Vec<LineComment<'_>> = lines
            .iter()
            .zip(&signed)
            .map(|(line, (body, marker))| LineComment {
                path: &line.path,
                line: line.line,
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

/// What people wrote since: who is listened to, and who is not and why. Own comments are neither.
fn listen(
    talk: &Conversation,
    run: &Run,
    pr: u64,
    since: Option<Timestamp>,
) -> Result<ForgeAnswer, Problem> {
    let mut own = OwnPosts::default();
    for post in &run.posts {
        own.record(post.comment, post.effect.clone());
    }
    let polled = talk.forge.poll(&[pr], Since(since))?;
    let (mut comments, mut ignored) = (Vec::new(), Vec::new());
    let mut is_settled = true;
    for comment in polled.comments {
        let place = Place::Comment {
            pr,
            surface: comment.key.surface,
        };
        let marker = talk.key.check(&comment.body, &place);
        let judged = talk
            .permissions
            .judge(&comment, &talk.trusted, &own, &marker);
        match judged.verdict {
            Verdict::Act if comment.body.trim().is_empty() => {}
            Verdict::Act => comments.push(comment),
            Verdict::Ignore(Reason::Own) => {}
            Verdict::Ignore(reason) => {
                is_settled &= reason.is_final();
                ignored.push(IgnoredComment {
                    comment: comment.key.comment(),
                    author: comment.author.login,
                    reason,
                });
            }
        }
    }
    // A comment that could not be judged yet is looked at again.
    let next = if is_settled { polled.next.0 } else { since };
    Ok(ForgeAnswer::Heard {
        comments,
        ignored,
        next,
    })
}
