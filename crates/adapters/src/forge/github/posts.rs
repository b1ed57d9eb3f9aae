//! Drive's comments: post once, reply in a thread, edit, react.

use super::client::{Act, Client, Written};
use super::endpoint::encode;
use super::pulls::readable;
use super::read;
use super::refusal::refused;
use drive_core::forge::{Comment, CommentRef, Permission, Surface, github, marker, text};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{CommitStatus, Post, Posted, Reaction, StatusState};
use serde_json::json;
use ureq::http::Method;

/// GitHub accepts no longer description of a status.
const DESCRIPTION_CHARS: usize = 140;

impl Client {
    pub(super) fn post(&self, pr: PrNumber, post: Post<'_>) -> Result<Posted, Problem> {
        let list = self
            .endpoint
            .rest(&format!("issues/{pr}/comments?per_page=100"));
        let url = self.endpoint.rest(&format!("issues/{pr}/comments"));
        let body = json!({ "body": text::compose(post.body, post.marker) });
        let comment = self.once(
            || Ok(marked(self.get_all(&list, read::notes)?, post.marker)),
            || match self.write(Method::POST, &url, &body)? {
                Written::Answered(reply) if reply.status == 201 => {
                    Ok(readable(read::note(&reply.body), &self.repo()))
                }
                Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )?;
        Ok(posted(comment))
    }

    pub(super) fn reply(
        &self,
        pr: PrNumber,
        to: CommentRef,
        post: Post<'_>,
    ) -> Result<Posted, Problem> {
        match to.surface {
            Surface::Inline => self.reply_in_thread(pr, to, post),
            Surface::Conversation | Surface::Review => self.post(pr, post),
        }
    }

    fn reply_in_thread(
        &self,
        pr: PrNumber,
        to: CommentRef,
        post: Post<'_>,
    ) -> Result<Posted, Problem> {
        let thread = self.answered_thread(pr, to)?;
        let thread = thread.ok_or_else(|| comment_not_found(pr, to))?;
        let url = self
            .endpoint
            .rest(&format!("pulls/{pr}/comments/{}/replies", thread.answer_to));
        let body = json!({ "body": text::compose(post.body, post.marker) });
        let comment = self.once(
            || Ok(marked(self.line_notes(pr)?, post.marker)),
            || match self.write(Method::POST, &url, &body)? {
                Written::Answered(reply) if reply.status == 201 => {
                    Ok(readable(read::line_note(&reply.body), &self.repo()))
                }
                Written::Answered(reply) if reply.status == 404 => {
                    // The comment is deleted, or only invisible to this token for a while.
                    Err(match self.answered_thread(pr, to)? {
                        Some(thread) if thread.is_whole => refused(&reply, &self.repo()),
                        Some(_) | None => comment_not_found(pr, to),
                    })
                }
                Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )?;
        Ok(posted(comment))
    }

    /// The thread for a reply to a comment on a line; `None` if the comment no longer exists.
    fn answered_thread(
        &self,
        pr: PrNumber,
        comment: CommentRef,
    ) -> Result<Option<Thread>, Problem> {
        let notes = self.line_notes(pr)?;
        let find = |id| notes.iter().find(|note| note.key.id == id);
        Ok(find(comment.id).map(|note| {
            let first = note.in_reply_to.unwrap_or(note.key.id);
            let is_whole = find(first).is_some();
            Thread {
                // GitHub only accepts replies to the first comment of a thread.
                answer_to: if is_whole { first } else { note.key.id },
                is_whole,
            }
        }))
    }

    pub(super) fn line_notes(&self, pr: PrNumber) -> Result<Vec<Comment>, Problem> {
        let list = self
            .endpoint
            .rest(&format!("pulls/{pr}/comments?per_page=100"));
        self.get_all(&list, read::line_notes)
    }

    pub(super) fn edit(
        &self,
        pr: PrNumber,
        comment: CommentRef,
        post: Post<'_>,
    ) -> Result<(), Problem> {
        let text = text::compose(post.body, post.marker);
        let tail = match comment.surface {
            Surface::Conversation => format!("issues/comments/{}", comment.id),
            Surface::Inline => format!("pulls/comments/{}", comment.id),
            Surface::Review => return self.edit_review(pr, comment, &text),
        };
        let url = self.endpoint.rest(&tail);
        let set = self.set(Method::PATCH, &url, &json!({ "body": text }));
        set.map_err(|problem| {
            if problem.kind == Kind::ForgeNotFound {
                comment_not_found(pr, comment)
            } else {
                problem
            }
        })
    }

    /// Adds a reaction. An account's reaction exists once, however often it is added.
    pub(super) fn react(
        &self,
        pr: PrNumber,
        comment: CommentRef,
        reaction: Reaction,
    ) -> Result<(), Problem> {
        let tail = match comment.surface {
            Surface::Conversation => format!("issues/comments/{}/reactions", comment.id),
            Surface::Inline => format!("pulls/comments/{}/reactions", comment.id),
            Surface::Review => return self.react_to_review(pr, comment, reaction),
        };
        let content = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::ThumbsUp => "+1",
            Reaction::Confused => "confused",
        };
        let url = self.endpoint.rest(&tail);
        self.set(Method::POST, &url, &json!({ "content": content }))
    }

    pub(super) fn set_status(
        &self,
        sha: &CommitSha,
        status: &CommitStatus<'_>,
    ) -> Result<(), Problem> {
        let state = match status.state {
            StatusState::Pending => "pending",
            StatusState::Success => "success",
            StatusState::Failure => "failure",
            StatusState::Error => "error",
        };
        let description: String = status.description.chars().take(DESCRIPTION_CHARS).collect();
        let wanted = (
            status.context.to_owned(),
            state.to_owned(),
            Some(description.clone()),
        );
        let mut body = json!({
            "context": status.context, "state": state, "description": description,
        });
        if let Some(link) = status.url {
            body["target_url"] = json!(link);
        }
        let url = self.endpoint.rest(&format!("statuses/{}", encode(sha)));
        let standing = self
            .endpoint
            .rest(&format!("commits/{}/status?per_page=100", encode(sha)));
        self.once(
            || {
                let page = self.get_optional(&standing, read::statuses)?;
                let stands = page.is_some_and(|page| page.value.contains(&wanted));
                Ok(stands.then_some(()))
            },
            || match self.write(Method::POST, &url, &body)? {
                Written::Answered(reply) if reply.status == 201 => Ok(Act::Done(())),
                Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )
    }

    /// Reads a permission. Only a clear "not found" means that the login does not exist; every
    /// other failure is an error.
    pub(super) fn permission(&self, login: &str) -> Result<Permission, Problem> {
        let url = self
            .endpoint
            .rest(&format!("collaborators/{}/permission", encode(login)));
        let page = self.get_optional(&url, read::permission)?;
        Ok(page.map_or(Permission::None, |page| github::permission(&page.value)))
    }
}

/// The thread of comments on one line.
struct Thread {
    answer_to: CommentId,
    /// Whether its first comment still exists.
    is_whole: bool,
}

/// The comment with this marker.
pub(super) fn marked(comments: Vec<Comment>, line: &str) -> Option<Comment> {
    comments
        .into_iter()
        .find(|comment| marker::carries(&comment.body, line))
}

pub(super) fn posted(comment: Comment) -> Posted {
    Posted {
        comment: comment.key.comment(),
        url: comment.url,
    }
}

pub(super) fn comment_not_found(pr: PrNumber, comment: CommentRef) -> Problem {
    Problem::new(
        Kind::CommentNotFound,
        format!("comment `{}` is not on pull request `#{pr}`", comment.id),
    )
    .hint("it may have been deleted")
}
