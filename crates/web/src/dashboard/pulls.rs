//! Pull requests of the local forge and their comments.

use super::Visit;
use super::forms::{Forms, notice, of_pull};
use super::html::{Html, clip, newest};
use super::page::{Refresh, instant, left_out, page, part, tell};
use drive_core::Problem;
use drive_core::forge::marker::visible;
use drive_core::forge::{Comment, PrState, PullRequest, ReviewState, Surface};
use drive_engine::ports::PullRequests;

/// The maximum number of pull requests in the list.
const PULLS: usize = 100;
/// The maximum number of comments on a page.
const COMMENTS: usize = 200;
/// The maximum length of a title in the list, in characters.
const TITLE: usize = 120;
/// The maximum length of a body, in characters.
const BODY: usize = 20_000;

/// Renders the list, newest first.
pub(super) fn list_page(source: Result<&dyn PullRequests, &Problem>) -> Result<String, Problem> {
    let all = match source {
        Ok(source) => source.list()?,
        Err(problem) => {
            return Ok(page("pull requests", Refresh::Still, |html| {
                tell(html, problem);
            }));
        }
    };
    let (shown, hidden) = newest(&all, PULLS);
    Ok(page("pull requests", Refresh::Stream, |html| {
        part(html, "pulls", |html| {
            if all.is_empty() {
                html.raw("<p>No pull requests on the local forge; <code>drive spawn TASK</code> opens one.</p>\n");
                return;
            }
            let columns = &["number", "state", "title", "branch", "changed"];
            html.table(columns, |rows| {
                for pull in shown.iter().rev() {
                    let number = pull.number.to_string();
                    rows.row(|row| {
                        row.cell_with(|html| html.link("/pulls/", &number, &number));
                        row.cell(state(pull)).cell(clip(&pull.title, TITLE));
                        row.cell(&pull.branch).cell(instant(pull.updated_at));
                    });
                }
            });
            left_out(html, hidden, "pull requests");
        });
    }))
}

/// Renders one pull request with its comments.
pub(super) fn show_page(pull: &PullRequest, comments: &[Comment], visit: &Visit) -> String {
    let (shown, hidden) = newest(comments, COMMENTS);
    let title = format!("#{} {}", pull.number, clip(&pull.title, TITLE));
    page(&title, Refresh::Still, |html| {
        notice(html, &visit.query);
        html.raw("<dl>\n");
        html.fact("state", Some(state(pull)));
        html.fact("branch", Some(&pull.branch));
        html.fact("base", Some(&pull.base));
        html.fact("head", Some(&pull.head_sha));
        html.fact(
            "mergeable",
            pull.mergeable.map(|yes| if yes { "yes" } else { "no" }),
        );
        html.fact("changed", Some(instant(pull.updated_at)));
        html.raw("</dl>\n");
        body(html, &pull.body);
        let number = pull.number.to_string();
        of_pull(html, &Forms::new(&visit.session, "/pulls/", &number), pull);
        html.raw("<h2>Comments</h2>\n");
        left_out(html, hidden, "comments");
        if comments.is_empty() {
            html.raw("<p>none yet</p>\n");
        }
        for comment in shown {
            tell_comment(html, comment);
        }
    })
}

fn tell_comment(html: &mut Html, comment: &Comment) {
    html.raw("<article>\n<h3>");
    html.text(comment.author.login.as_deref().unwrap_or("unknown"));
    html.text(verdict(comment)).raw("</h3>\n<p>");
    html.text(instant(comment.created_at));
    html.raw(", ").text(place(comment)).raw("</p>\n");
    body(html, visible(&comment.body));
    html.raw("</article>\n");
}

fn place(comment: &Comment) -> String {
    let id = comment.key.id;
    let answers = match comment.in_reply_to {
        Some(first) => format!(", in reply to {first}"),
        None => String::new(),
    };
    match (comment.key.surface, &comment.path, comment.line) {
        (Surface::Conversation, _, _) => format!("comment {id} in the conversation{answers}"),
        (Surface::Review, _, _) => format!("review {id}"),
        (Surface::Inline, Some(path), Some(line)) => {
            format!("comment {id} on {path} line {line}{answers}")
        }
        (Surface::Inline, Some(path), None) => {
            format!("comment {id} on {path}, on a line that has changed{answers}")
        }
        (Surface::Inline, None, _) => format!("comment {id} on a line{answers}"),
    }
}

fn verdict(comment: &Comment) -> &'static str {
    match comment.review {
        Some(ReviewState::Approved) => " approved",
        Some(ReviewState::ChangesRequested) => " requested changes",
        Some(ReviewState::Dismissed) => " reviewed (dismissed)",
        Some(ReviewState::Commented) | None => "",
    }
}

fn state(pull: &PullRequest) -> &'static str {
    match (pull.state, pull.draft) {
        (PrState::Open, true) => "draft",
        (PrState::Open, false) => "open",
        (PrState::Merged, _) => "merged",
        (PrState::Closed, _) => "closed",
    }
}

fn body(html: &mut Html, text: &str) {
    if !text.trim().is_empty() {
        html.element("pre", clip(text.trim(), BODY)).raw("\n");
    }
}
