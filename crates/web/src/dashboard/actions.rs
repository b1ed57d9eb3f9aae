//! Handles the forms of the dashboard.

use super::page::{Refresh, page, problem_page, tell};
use super::{HTML, Sources};
use crate::control::{Action, PullAct, RunAct};
use crate::session::Session;
use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use drive_core::agent::{Budget, Cost};
use drive_core::ids::{CommitSha, PrNumber, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum size of a form: a comment of the maximum length with every byte encoded.
const FORM: usize = 1024 * 1024;
/// The maximum length of a comment, in characters.
const COMMENT: usize = 60_000;

/// The fields of a form.
type Fields = BTreeMap<String, String>;

/// Handles `POST /runs/{id}`.
pub(super) async fn act_on_run(
    State(sources): State<Arc<Sources>>,
    Extension(session): Extension<Session>,
    Path(id): Path<String>,
    body: Body,
) -> Response {
    let back = format!("/runs/{}", super::html::percent_encoded(&id));
    let id = RunId::new(id);
    carry_out(sources, &session, body, back, |fields| {
        let act = run_act(fields)?;
        Some(Action::Run { id, act })
    })
    .await
}

/// Handles `POST /pulls/{number}`.
pub(super) async fn act_on_pull(
    State(sources): State<Arc<Sources>>,
    Extension(session): Extension<Session>,
    Path(number): Path<String>,
    body: Body,
) -> Response {
    let Some(number) = PrNumber::parse(&number) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    carry_out(
        sources,
        &session,
        body,
        format!("/pulls/{number}"),
        |fields| {
            let act = pull_act(fields)?;
            Some(Action::Pull { number, act })
        },
    )
    .await
}

async fn carry_out(
    sources: Arc<Sources>,
    session: &Session,
    body: Body,
    back: String,
    read: impl FnOnce(&Fields) -> Option<Action>,
) -> Response {
    let Ok(bytes) = to_bytes(body, FORM).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let fields = fields(&bytes);
    let token = fields.get("token").map_or("", String::as_str);
    if !session.accepts(token) {
        let problem = Problem::new(Kind::FormRefused, "this form belongs to another login")
            .hint("go back, load the page again, and send the form from there");
        return refusal(StatusCode::FORBIDDEN, &problem, &back);
    }
    let Some(action) = read(&fields) else {
        let problem = Problem::new(Kind::FormRefused, "this form is not complete")
            .hint("go back and fill in what is missing");
        return refusal(StatusCode::BAD_REQUEST, &problem, &back);
    };
    let done = fields.get("do").map_or("", String::as_str).to_owned();
    match tokio::task::spawn_blocking(move || sources.control.act(action)).await {
        Ok(Ok(_)) => {
            let back = format!("{back}?done={}", super::html::percent_encoded(&done));
            (StatusCode::SEE_OTHER, [(LOCATION, back)]).into_response()
        }
        Ok(Err(problem)) => refusal(StatusCode::CONFLICT, &problem, &back),
        Err(_) => {
            let problem = Problem::new(Kind::PageFailed, "cannot carry this out");
            let page = problem_page(&problem);
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                [(CONTENT_TYPE, HTML)],
                page,
            )
                .into_response()
        }
    }
}

fn refusal(status: StatusCode, problem: &Problem, back: &str) -> Response {
    let page = page("Nothing was done", Refresh::Still, |html| {
        tell(html, problem);
        html.raw("<p><a").attr("href", back).raw(">Back</a></p>\n");
    });
    (status, [(CONTENT_TYPE, HTML)], page).into_response()
}

fn run_act(fields: &Fields) -> Option<RunAct> {
    let text = |name: &str| fields.get(name).map(String::as_str);
    let task = || text("task").map(TaskId::new);
    Some(match text("do")? {
        "approve" => RunAct::Approve {
            head: CommitSha::parse(text("head")?)?,
        },
        "comment" => RunAct::Comment {
            text: comment(fields)?,
        },
        "poll" => RunAct::Poll,
        "stop" => RunAct::Stop,
        "extend" => extend(fields)?,
        "retry" => RunAct::Retry { task: task()? },
        "skip" => RunAct::Skip { task: task()? },
        "pause" => RunAct::Pause,
        "unpause" => RunAct::Unpause,
        "cleanup" => RunAct::Cleanup,
        _ => return None,
    })
}

fn pull_act(fields: &Fields) -> Option<PullAct> {
    let text = |name: &str| fields.get(name).map(String::as_str);
    Some(match text("do")? {
        "approve" => PullAct::Approve {
            head: CommitSha::parse(text("head")?)?,
        },
        "comment" => PullAct::Comment {
            text: comment(fields)?,
        },
        "close" => PullAct::Close,
        _ => return None,
    })
}

/// The comment, with the line ends that drive uses.
fn comment(fields: &Fields) -> Option<String> {
    let text = fields.get("text")?.replace("\r\n", "\n");
    let is_fine = !text.trim().is_empty() && text.chars().count() <= COMMENT;
    is_fine.then_some(text)
}

/// The limits to raise: at least one, and all valid.
fn extend(fields: &Fields) -> Option<RunAct> {
    let number = |name: &str| {
        fields
            .get(name)
            .map(|text| text.trim())
            .filter(|one| !one.is_empty())
    };
    let cost = match number("cost") {
        Some(text) => Some(Cost::from_usd(text.parse().ok()?).filter(|cost| cost.micro_usd() > 0)?),
        None => None,
    };
    let tokens = match number("tokens") {
        Some(text) => Some(text.parse::<u64>().ok()?),
        None => None,
    };
    let rounds = match number("rounds") {
        Some(text) => text.parse::<u32>().ok()?,
        None => 0,
    };
    let is_more = cost.is_some() || tokens.is_some_and(|tokens| tokens > 0) || rounds > 0;
    is_more.then_some(RunAct::Extend {
        budget: Budget { tokens, cost },
        rounds,
    })
}

/// The fields of an encoded form. If a name repeats, its first value counts.
fn fields(body: &[u8]) -> Fields {
    let mut fields = Fields::new();
    for pair in body.split(|byte| *byte == b'&') {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let name = decoded(halves.next().unwrap_or_default());
        let value = decoded(halves.next().unwrap_or_default());
        fields.entry(name).or_insert(value);
    }
    fields
}

fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => match after {
                [high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
                    let byte = digit(high) * 16 + digit(low);
                    bytes.push(u8::try_from(byte).unwrap_or_default());
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            plain => bytes.push(*plain),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(form: &str) -> Option<RunAct> {
        run_act(&fields(form.as_bytes()))
    }

    #[test]
    fn a_form_is_read_as_it_was_sent() {
        let fields = fields(b"text=a+b%0D%0Ac%26&do=x&do=y&%&=&bad=%zz%4");
        assert_eq!(fields["text"], "a b\r\nc&");
        assert_eq!(fields["do"], "x");
        assert_eq!(fields["bad"], "%zz%4");
        assert_eq!(comment(&fields).as_deref(), Some("a b\nc&"));
    }

    #[test]
    fn a_form_that_lacks_something_asks_for_nothing() {
        let head = "a".repeat(40);
        for bad in [
            String::new(),
            "do=merge".to_owned(),
            "do=approve".to_owned(),
            "do=approve&head=main".to_owned(),
            "do=comment&text=+%0A".to_owned(),
            "do=retry".to_owned(),
            "do=extend".to_owned(),
            "do=extend&cost=-1".to_owned(),
            "do=extend&cost=nan".to_owned(),
            "do=extend&rounds=many".to_owned(),
            "do=extend&rounds=0".to_owned(),
            format!("do=comment&text={}", "x".repeat(COMMENT + 1)),
        ] {
            assert_eq!(run(&bad), None, "{}", &bad[..bad.len().min(40)]);
        }
        let head = CommitSha::parse(&head).unwrap();
        assert_eq!(
            run(&format!("do=approve&head={head}")),
            Some(RunAct::Approve { head: head.clone() })
        );
        assert_eq!(
            run("do=extend&cost=&tokens=&rounds=3"),
            Some(RunAct::Extend {
                budget: Budget::default(),
                rounds: 3
            })
        );
        let pull = |form: &str| pull_act(&fields(form.as_bytes()));
        assert_eq!(pull("do=close"), Some(PullAct::Close));
        assert_eq!(pull("do=merge"), None);
        assert_eq!(
            pull(&format!("do=approve&head={head}")),
            Some(PullAct::Approve { head })
        );
    }
}
