//! Reads and writes pull requests: polls, comments, reviews, descriptions.

use super::World;
use super::reading::{Wanted, read};
use crate::executor::Task;
use crate::forge::Conversation;
use crate::ports::{CommitStatus, Forge, LineComment, NewReview, Post, Reaction, StatusState};
use drive_core::agent::Secrets;
use drive_core::forge::checks::REVIEW_CONTEXT;
use drive_core::forge::marker::{Claim, Place};
use drive_core::forge::trust::part_of_line;
use drive_core::forge::{Surface, part, text};
use drive_core::ids::{CommitSha, EffectKey, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{EffectResult, ForgeAct, ForgeAnswer, LineRemark, Note, PostKey};

/// The maximum length of a marker with the text around it.
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
        idempotency_key: Option<&PostKey>,
    ) -> Result<EffectResult, Problem> {
        let talk = self.require_forge()?;
        let forge: &dyn Forge = talk.forge.as_ref();
        let name = idempotency_key.map_or_else(|| task.claimed.key.to_string(), PostKey::to_string);
        let signer = Signer {
            talk,
            task,
            pr,
            name: &name,
            secrets: &self.secrets.secrets(),
        };
        note_limit(task, act, forge)?;
        let answer = match act {
            ForgeAct::Poll {
                since,
                approvals,
                checks,
            } => {
                let wanted = Wanted {
                    since: *since,
                    opinions: *approvals,
                    checks: checks.as_ref(),
                };
                let poll = Box::new(read(talk, task.run, pr, wanted)?);
                ForgeAnswer::Polled { poll }
            }
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
                self.merge_verified(task, (talk, pr), head, verified.as_ref())?
            }
            ForgeAct::SetStatus {
                sha,
                passed,
                description,
            } => {
                let status = CommitStatus {
                    context: REVIEW_CONTEXT,
                    state: status(*passed),
                    description,
                    url: link(task),
                };
                forge.set_status(sha, &status)?;
                ForgeAnswer::Done
            }
        };
        Ok(EffectResult::OnForge { answer })
    }
}

/// The address where people can read about a run's work: its pull request.
pub(super) fn link<'a>(task: &Task<'a>) -> Option<&'a str> {
    let opened = task.run.work.pull_request.as_ref()?;
    (!opened.is_local()).then_some(opened.url.as_str())
}

fn status(passed: bool) -> StatusState {
    if passed {
        StatusState::Success
    } else {
        StatusState::Failure
    }
}

/// Journals that a write must wait for the rate limit, so that everybody can see why the run waits.
fn note_limit(task: &Task<'_>, act: &ForgeAct, forge: &dyn Forge) -> Result<(), Problem> {
    if matches!(act, ForgeAct::Poll { .. }) {
        return Ok(());
    }
    match forge.writes_wait_until() {
        Some(until) => task.note(0, Note::ForgeLimit { until }),
        None => Ok(()),
    }
}

/// Signs the posts of one effect.
struct Signer<'a> {
    talk: &'a Conversation,
    task: &'a Task<'a>,
    pr: PrNumber,
    /// The name that identifies the post when it is repeated.
    name: &'a str,
    secrets: &'a Secrets,
}

impl Signer<'_> {
    /// The text, shortened to the forge's limit, and its hidden line.
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
