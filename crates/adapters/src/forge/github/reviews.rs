//! Drive's reviews and their threads.

use super::client::{Act, Client, Written};
use super::lists::Reading;
use super::posts::{comment_not_found, marked, posted};
use super::read;
use super::refusal::{refused, unreadable};
use drive_core::Problem;
use drive_core::forge::inert::{self, Said};
use drive_core::forge::inline::{parse_diff, shows_lines};
use drive_core::forge::{Comment, CommentRef, Opinions, approval, text};
use drive_core::ids::PrNumber;
use drive_core::markdown::code;
use drive_engine::ports::{LineComment, NewReview, PostedReview, Reaction};
use serde_json::{Value, json};
use ureq::http::Method;

/// How many pages of threads or reviews are searched for one comment.
const PAGES: usize = 20;

/// How many characters of a place in a file are shown.
const PLACE_CHARS: usize = 300;

/// The result of one attempt to post a review.
enum Tried {
    Stands(Comment),
    /// A line is outside of the diff.
    LineRejected(Problem),
    Unknown(Problem),
}

impl Client {
    pub(super) fn review(
        &self,
        pr: PrNumber,
        review: &NewReview<'_>,
    ) -> Result<PostedReview, Problem> {
        let list = self.review_list(pr);
        let comment = self.once(
            || {
                Ok(marked(
                    self.get_all(&list, read::reviews)?,
                    review.post.marker,
                ))
            },
            || match self.try_review(pr, review, review.lines, &[])? {
                Tried::Stands(comment) => Ok(Act::Done(comment)),
                Tried::Unknown(problem) => Ok(Act::Unknown(problem)),
                Tried::LineRejected(_) => self.review_within_diff(pr, review),
            },
        )?;
        let lines = self.endpoint.rest(&format!(
            "pulls/{pr}/reviews/{}/comments?per_page=100",
            comment.key.id
        ));
        let lines = self.get_all(&lines, read::line_notes)?;
        Ok(PostedReview {
            review: posted(comment),
            lines: lines.iter().map(|line| line.key.comment()).collect(),
        })
    }

    pub(super) fn opinions(&self, pr: PrNumber) -> Result<Opinions, Problem> {
        let reviews = Reading::anew(self).pages(&self.review_list(pr), read::reviews)?;
        let reviews = reviews.ok_or_else(|| self.no_pull(pr))?.concat();
        Ok(approval::standing(&reviews))
    }

    fn review_list(&self, pr: PrNumber) -> String {
        self.endpoint
            .rest(&format!("pulls/{pr}/reviews?per_page=100"))
    }

    /// Posts a review. GitHub refuses a whole review for one line outside of the diff, so such
    /// remarks move into the body; if it still refuses, all remarks do.
    fn review_within_diff(
        &self,
        pr: PrNumber,
        review: &NewReview<'_>,
    ) -> Result<Act<Comment>, Problem> {
        let diff = self.get_diff(&self.endpoint.rest(&format!("pulls/{pr}")))?;
        let files = parse_diff(&diff);
        let (inside, outside): (Vec<_>, Vec<_>) = review
            .lines
            .iter()
            .copied()
            .partition(|line| shows_lines(&files, line.path, first_line(line), line.line));
        let second = match self.try_review(pr, review, &inside, &outside)? {
            Tried::LineRejected(_) => self.try_review(pr, review, &[], review.lines)?,
            tried @ (Tried::Stands(_) | Tried::Unknown(_)) => tried,
        };
        match second {
            Tried::Stands(comment) => Ok(Act::Done(comment)),
            Tried::Unknown(problem) => Ok(Act::Unknown(problem)),
            Tried::LineRejected(problem) => Err(problem),
        }
    }

    fn try_review(
        &self,
        pr: PrNumber,
        review: &NewReview<'_>,
        inside: &[LineComment<'_>],
        outside: &[LineComment<'_>],
    ) -> Result<Tried, Problem> {
        let mut visible = review.post.body.to_owned();
        for remark in outside {
            let place = format!("{}:{}", remark.path, first_line(remark));
            let place = code(&place, PLACE_CHARS);
            visible.push_str(&format!("\n\n{place}: {}", remark.post.body));
        }
        if !outside.is_empty() {
            // Text that was code by itself may be plain text in the combined body.
            visible = inert::markdown(&visible, &Said::default());
        }
        let comments: Vec<Value> = inside
            .iter()
            .map(|remark| {
                let mut comment = json!({
                    "path": remark.path, "line": remark.line, "side": "RIGHT",
                    "body": text::compose(remark.post.body, remark.post.marker),
                });
                if let Some(start) = remark.start_line {
                    comment["start_line"] = json!(start);
                    comment["start_side"] = json!("RIGHT");
                }
                comment
            })
            .collect();
        let body = json!({
            "commit_id": review.head, "event": "COMMENT", "comments": comments,
            "body": text::compose(&visible, review.post.marker),
        });
        let url = self.endpoint.rest(&format!("pulls/{pr}/reviews"));
        let reply = match self.write(Method::POST, &url, &body)? {
            Written::Answered(reply) => reply,
            Written::Unknown(problem) => return Ok(Tried::Unknown(problem)),
        };
        match reply.status {
            200 => Ok(match read::review(&reply.body) {
                Ok(Some(comment)) => Tried::Stands(comment),
                Ok(None) => Tried::Unknown(refused(&reply, &self.repo())),
                Err(error) => Tried::Unknown(unreadable(&self.repo(), error)),
            }),
            422 if !inside.is_empty() => Ok(Tried::LineRejected(refused(&reply, &self.repo()))),
            _ => Err(refused(&reply, &self.repo())),
        }
    }

    pub(super) fn resolve(&self, pr: PrNumber, comment: CommentRef) -> Result<(), Problem> {
        let mutation = "mutation($input: ResolveReviewThreadInput!) { \
            resolveReviewThread(input: $input) { thread { id } } }";
        self.once(
            || {
                let (_, resolved) = self.thread_of(pr, comment)?;
                Ok(resolved.then_some(()))
            },
            || {
                let (thread, _) = self.thread_of(pr, comment)?;
                match self.mutate(mutation, &json!({ "threadId": thread }))? {
                    Written::Answered(_) => Ok(Act::Done(())),
                    Written::Unknown(problem) => Ok(Act::Unknown(problem)),
                }
            },
        )
    }

    /// The thread of a line comment, and whether it is resolved; only GraphQL reports this.
    fn thread_of(&self, pr: PrNumber, comment: CommentRef) -> Result<(String, bool), Problem> {
        let first = self
            .line_notes(pr)?
            .into_iter()
            .find(|line| line.key.id == comment.id)
            .map(|line| line.in_reply_to.unwrap_or(line.key.id))
            .ok_or_else(|| comment_not_found(pr, comment))?;
        let fields = "id isResolved comments(first: 1) { nodes { databaseId } }";
        let found = self.search(pr, "reviewThreads", fields, |thread| {
            let begins = thread["comments"]["nodes"][0]["databaseId"].as_u64() == Some(first.get());
            begins.then(|| {
                let id = thread["id"].as_str().unwrap_or_default().to_owned();
                (id, thread["isResolved"].as_bool().unwrap_or(false))
            })
        })?;
        found.ok_or_else(|| comment_not_found(pr, comment))
    }

    /// The GraphQL id of a review: REST can neither edit a review nor react to one.
    fn review_node(&self, pr: PrNumber, review: CommentRef) -> Result<String, Problem> {
        let found = self.search(pr, "reviews", "id databaseId", |node| {
            let same = node["databaseId"].as_u64() == Some(review.id.get());
            same.then(|| node["id"].as_str().unwrap_or_default().to_owned())
        })?;
        found.ok_or_else(|| comment_not_found(pr, review))
    }

    pub(super) fn edit_review(
        &self,
        pr: PrNumber,
        review: CommentRef,
        body: &str,
    ) -> Result<(), Problem> {
        let mutation = "mutation($input: UpdatePullRequestReviewInput!) { \
            updatePullRequestReview(input: $input) { pullRequestReview { id } } }";
        let id = self.review_node(pr, review)?;
        self.set_by(mutation, &json!({"pullRequestReviewId": id, "body": body}))
    }

    pub(super) fn react_to_review(
        &self,
        pr: PrNumber,
        review: CommentRef,
        reaction: Reaction,
    ) -> Result<(), Problem> {
        let mutation = "mutation($input: AddReactionInput!) { \
            addReaction(input: $input) { reaction { content } } }";
        let content = match reaction {
            Reaction::Eyes => "EYES",
            Reaction::ThumbsUp => "THUMBS_UP",
            Reaction::Confused => "CONFUSED",
        };
        let id = self.review_node(pr, review)?;
        self.set_by(mutation, &json!({"subjectId": id, "content": content}))
    }

    /// A mutation that has the same effect however often it is done.
    fn set_by(&self, mutation: &str, input: &Value) -> Result<(), Problem> {
        self.once(
            || Ok(None),
            || match self.mutate(mutation, input)? {
                Written::Answered(_) => Ok(Act::Done(())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )
    }

    /// Searches a connection of a pull request, newest page first.
    fn search<T>(
        &self,
        pr: PrNumber,
        connection: &str,
        fields: &str,
        pick: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let query = format!(
            "query($owner: String!, $name: String!, $number: Int!, $before: String) {{ \
             repository(owner: $owner, name: $name) {{ pullRequest(number: $number) {{ \
             {connection}(last: 100, before: $before) {{ nodes {{ {fields} }} \
             pageInfo {{ hasPreviousPage startCursor }} }} }} }} }}"
        );
        let mut before = Value::Null;
        for _ in 0..PAGES {
            let variables = json!({
                "owner": self.endpoint.owner(), "name": self.endpoint.name(), "number": pr,
                "before": before,
            });
            let (data, _) = self.query(&query, &variables)?;
            let page = &data["repository"]["pullRequest"][connection];
            let nodes = page["nodes"].as_array().into_iter().flatten();
            if let Some(found) = nodes.rev().find_map(&pick) {
                return Ok(Some(found));
            }
            if page["pageInfo"]["hasPreviousPage"] != true {
                return Ok(None);
            }
            before = page["pageInfo"]["startCursor"].clone();
        }
        Ok(None)
    }
}

/// The first line of a remark.
fn first_line(remark: &LineComment<'_>) -> u64 {
    remark.start_line.unwrap_or(remark.line)
}
