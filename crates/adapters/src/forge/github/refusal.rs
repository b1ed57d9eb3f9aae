//! Classifies error responses: wait, give up, or ask a person.

use super::transport::Reply;
use drive_core::problem::{Kind, Problem};
use drive_core::time::{Timestamp, after};
use serde_json::Value;
use std::time::Duration;

/// The wait that GitHub asks for if it reports a secondary limit without a time.
const UNNAMED_WAIT: Duration = Duration::from_secs(60);

/// Until when a reached limit forbids requests; `None` if no limit was reached.
pub(super) fn limited_until(reply: &Reply, now: Timestamp) -> Option<Timestamp> {
    if reply.status != 403 && reply.status != 429 {
        return None;
    }
    if let Some(end) = named_end(reply, now) {
        return Some(end);
    }
    let text = message(reply).to_lowercase();
    let secondary = text.contains("secondary rate limit") || text.contains("abuse detection");
    (secondary || reply.status == 429).then(|| after(now, UNNAMED_WAIT))
}

/// The end of a limit, if the answer contains it.
pub(super) fn named_end(reply: &Reply, now: Timestamp) -> Option<Timestamp> {
    if let Some(seconds) = reply.number("retry-after") {
        return Some(after(now, Duration::from_secs(seconds)));
    }
    if reply.number("x-ratelimit-remaining") != Some(0) {
        return None;
    }
    // The reset uses the forge's clock; the wait is measured with ours.
    let reset = i64::try_from(reply.number("x-ratelimit-reset")?).ok()?;
    let theirs = date(reply).unwrap_or(now);
    let wait = reset.saturating_sub(theirs.as_second()).max(1);
    let wait = Duration::from_secs(u64::try_from(wait).unwrap_or(1));
    Some(after(now, wait))
}

/// The forge's time.
pub(super) fn date(reply: &Reply) -> Option<Timestamp> {
    let text = reply.header("date")?;
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    parser.parse_timestamp(text).ok()
}

/// The forge's message.
pub(super) fn message(reply: &Reply) -> String {
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let mut words = vec![value["message"].as_str().unwrap_or_default()];
    for error in value["errors"].as_array().into_iter().flatten() {
        let text = error.as_str().or_else(|| error["message"].as_str());
        words.extend(text);
    }
    words.retain(|text| !text.is_empty());
    words.join("; ")
}

/// The problem of a limit that ends later than a call may wait.
pub(super) fn rate_limited(until: Timestamp) -> Problem {
    Problem::new(
        Kind::RateLimited,
        format!("rate limit of the forge reached; resets at `{until}`"),
    )
    .hint("wait, or use a token of another account; `drive doctor` shows the remaining requests")
}

/// The problem of a token that has used up its writes.
pub(super) fn writes_used_up(until: Timestamp) -> Problem {
    Problem::new(
        Kind::RateLimited,
        format!("write limit of the forge reached; resets at `{until}`"),
    )
    .hint("wait, or use a token of another account")
}

/// The problem of any other refusal.
pub(super) fn refused(reply: &Reply, repo: &str) -> Problem {
    let words = message(reply);
    let problem = match reply.status {
        401 => Problem::new(Kind::ForgeToken, "the forge does not accept the token")
            .hint("run `gh auth login`, or set the variable named by `forge.token_env`"),
        403 => Problem::new(
            Kind::ForgeForbidden,
            format!("the token lacks permission in `{repo}`"),
        )
        .hint("give the token read and write access to pull requests, contents and statuses"),
        404 | 410 => Problem::new(Kind::ForgeNotFound, format!("not found in `{repo}`"))
            .hint("check `forge.repo`, and that the token can see it"),
        422 => Problem::new(
            Kind::ForgeRejected,
            format!("the forge rejected a request about `{repo}`"),
        ),
        status => Problem::new(
            Kind::ForgeFailed,
            format!("the forge answered `{status}` about `{repo}`"),
        )
        .hint("the forge may be unavailable; drive retries"),
    };
    if words.is_empty() {
        problem
    } else {
        problem.cause(words)
    }
}

/// Whether another attempt cannot succeed: the token is unavailable, or a stop was requested.
pub(super) fn is_final(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ForgeToken
            | Kind::AppKeyUnusable
            | Kind::AppRefused
            | Kind::TokenCommandFailed
            | Kind::Interrupted
    )
}

/// The problem of an invalid answer.
pub(super) fn unreadable(repo: &str, error: serde_json::Error) -> Problem {
    Problem::new(
        Kind::ForgeAnswer,
        format!("cannot read the forge's answer about `{repo}`"),
    )
    .because(error)
}
