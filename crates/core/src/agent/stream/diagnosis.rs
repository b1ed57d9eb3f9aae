use crate::agent::event::Wait;
use crate::agent::outcome::Failure;
use crate::time::Timestamp;

/// The failure that an agent's message describes.
///
/// Agents report failures in prose, each differently. Only unmistakable messages are classified;
/// any other is a failure that the agent reported, with its message.
pub(super) fn diagnose(message: &str, status: Option<u16>) -> Failure {
    let text = message.to_lowercase();
    let status = status.or_else(|| http_status(&text));
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(USAGE_LIMIT) {
        return Failure::UsageLimit {
            resets_at: reset_time(message),
        };
    }
    if matches!(status, Some(401 | 403)) || says(LOGIN) {
        return Failure::LoginExpired;
    }
    if status.is_some() || says(MODEL) {
        return Failure::Model { status };
    }
    Failure::Reported
}

/// An agent's tries so far, as far as it reports them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    pub(super) attempt: Option<u32>,
    pub(super) attempts: Option<u32>,
    pub(super) retry_in_ms: Option<u64>,
}

/// The wait that a message announces while the agent still retries; `None` if it announces none.
pub(super) fn wait_for(failure: &Failure, tries: Tries, message: &str) -> Option<Wait> {
    match failure {
        Failure::UsageLimit { resets_at } => Some(Wait::UsageLimit {
            resets_at: *resets_at,
            message: message.to_owned(),
        }),
        Failure::LoginExpired => Some(Wait::LoginExpired {
            message: message.to_owned(),
        }),
        Failure::Model { status } => Some(Wait::Overloaded {
            attempt: tries.attempt,
            attempts: tries.attempts,
            retry_in_ms: tries.retry_in_ms,
            status: *status,
            message: message.to_owned(),
        }),
        Failure::Reported
        | Failure::NoVerdict { .. }
        | Failure::Garbage
        | Failure::Escalations { .. }
        | Failure::Budget { .. }
        | Failure::TimedOut { .. }
        | Failure::MemoryLimit
        | Failure::ProcessLimit
        | Failure::DiskLimit { .. }
        | Failure::OutputLimit
        | Failure::Cancelled
        | Failure::Infra => None,
    }
}

const USAGE_LIMIT: &[&str] = &[
    "usage limit",
    "session limit",
    "weekly limit",
    "5-hour limit",
    "hit your limit",
    "exceeded your current quota",
    "exhausted your daily quota",
    "exhausted your capacity",
    "quota exceeded",
    "credit balance is too low",
];

const LOGIN: &[&str] = &[
    "please run /login",
    "not logged in",
    "invalid api key",
    "api key not valid",
    "failed to authenticate",
    "authentication_failed",
    "authentication_error",
    "oauth token has expired",
    "token has expired",
    "refresh token",
    "please set an auth method",
    "invalid auth method",
    "must specify the gemini_api_key",
    "when using vertex ai, you must specify",
    "could not be refreshed",
    "authentication required",
    "unauthorized",
];

const MODEL: &[&str] = &[
    "api error",
    "overloaded",
    "high demand",
    "rate limit",
    "rate_limit",
    "too many requests",
    "stream disconnected",
    "stream closed",
    "connection error",
    "connection refused",
    "fetch failed",
    "request timed out",
    "invalid stream",
    "socket hang up",
    "econnreset",
    "econnrefused",
];

/// The first separate HTTP error status in a text, near a word that introduces one.
fn http_status(text: &str) -> Option<u16> {
    const INTRODUCED_BY: [&str; 5] = ["error", "status", "http", "code", "rejected"];
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    (0..bytes.len().saturating_sub(2))
        .filter(|&i| digit(i) && digit(i + 1) && digit(i + 2) && !digit(i + 3))
        .filter(|&i| i == 0 || !bytes[i - 1].is_ascii_alphanumeric())
        .filter(|&i| {
            let before = String::from_utf8_lossy(&bytes[i.saturating_sub(16)..i]);
            INTRODUCED_BY.iter().any(|word| before.contains(word))
        })
        .filter_map(|i| text.get(i..i + 3)?.parse().ok())
        .find(|status| (400..600).contains(status))
}

/// The reset time in a message, if there is one: seconds since the epoch after a bar, or an RFC 3339 time.
fn reset_time(message: &str) -> Option<Timestamp> {
    let epoch = message
        .split('|')
        .skip(1)
        .filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .find_map(epoch_seconds);
    epoch.or_else(|| {
        message
            .split(|c: char| c.is_whitespace() || c == '"' || c == '(' || c == ')')
            .map(|word| word.trim_end_matches(['.', ',', ';']))
            .find_map(|word| word.parse().ok())
    })
}

/// The time of a number of seconds (or milliseconds) since the epoch.
pub(super) fn epoch_seconds(number: i64) -> Option<Timestamp> {
    const YEAR_2001: i64 = 1_000_000_000;
    const FIRST_MILLIS: i64 = 100_000_000_000;
    match number {
        n if n < YEAR_2001 => None,
        n if n < FIRST_MILLIS => Timestamp::from_second(n).ok(),
        n => Timestamp::from_millisecond(n).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_real_agents_are_understood() {
        let model = |status| Failure::Model { status };
        let limit = |at: Option<&str>| Failure::UsageLimit {
            resets_at: at.map(|t| t.parse().unwrap()),
        };
        let table = [
            (
                "API Error: Request rejected (429) · scripted 429",
                model(Some(429)),
            ),
            (
                "API Error: 500 scripted. Try again in a moment.",
                model(Some(500)),
            ),
            (
                "Failed to authenticate. API Error: 401 no",
                Failure::LoginExpired,
            ),
            ("Invalid API key · Please run /login", Failure::LoginExpired),
            (
                "[API Error: {\"error\":{\"message\":\"no\",\"code\":503,\"status\":\"UNAVAILABLE\"}}]",
                model(Some(503)),
            ),
            (
                "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.",
                Failure::LoginExpired,
            ),
            ("Invalid auth method selected.", Failure::LoginExpired),
            (
                "Your access token could not be refreshed. Please log out and sign in again.",
                Failure::LoginExpired,
            ),
            (
                "unexpected status 401 Unauthorized: no, url: http://x",
                Failure::LoginExpired,
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                model(Some(429)),
            ),
            (
                "stream disconnected before completion: stream closed",
                model(None),
            ),
            ("We're currently experiencing high demand", model(None)),
            (
                "Claude AI usage limit reached|1794718826",
                limit(Some("2026-11-15T05:00:26Z")),
            ),
            ("You've hit your session limit · resets 3pm", limit(None)),
            (
                "You have exhausted your daily quota until 2026-11-16T00:00:00Z.",
                limit(Some("2026-11-16T00:00:00Z")),
            ),
            ("I could not find the file", Failure::Reported),
            ("line 404 of main.rs is wrong", Failure::Reported),
            ("", Failure::Reported),
        ];
        for (message, failure) in table {
            assert_eq!(diagnose(message, None), failure, "{message}");
        }
    }

    #[test]
    fn instants_before_this_century_are_no_reset_times() {
        assert_eq!(epoch_seconds(0), None);
        assert_eq!(epoch_seconds(-1), None);
        assert_eq!(epoch_seconds(i64::MAX), None);
        assert_eq!(
            epoch_seconds(1_794_718_826_000),
            epoch_seconds(1_794_718_826)
        );
    }
}
