//! The three model protocols: which paths a call needs, and where a response contains its token counts.

use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, Method};
use drive_core::agent::Usage;
use serde::Deserialize;
use serde_json::Value;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenAi,
    /// Gemini `generateContent`.
    Gemini,
}

impl Dialect {
    /// Whether a model call needs this path. An account has others, such as for its files, batches and keys.
    pub(super) fn allows(self, method: &Method, path: &str) -> bool {
        let is_plain = path
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/._-:".contains(&b));
        if !is_plain || path.split('/').any(|part| part == "..") {
            return false;
        }
        let posts = *method == Method::POST;
        let gets = *method == Method::GET;
        match self {
            Dialect::Anthropic => match path {
                "/v1/messages" | "/v1/messages/count_tokens" => posts,
                "/v1/models" => gets,
                _ => gets && path.starts_with("/v1/models/"),
            },
            Dialect::OpenAi => match path {
                "/responses" | "/responses/compact" => posts,
                "/models" => gets,
                _ => false,
            },
            Dialect::Gemini => {
                let Some((version, model)) = path
                    .strip_prefix('/')
                    .and_then(|rest| rest.split_once("/models"))
                else {
                    return false;
                };
                if !matches!(version, "v1" | "v1alpha" | "v1beta") {
                    return false;
                }
                match model.strip_prefix('/').map(|model| model.split_once(':')) {
                    None => gets && model.is_empty(),
                    Some(None) => gets,
                    Some(Some((_, call))) => posts && GEMINI_CALLS.contains(&call),
                }
            }
        }
    }

    /// Whether a call may have this part of a query. One of Google's parameters can leave out the
    /// token counts (`fields`), others change the form of the response (`callback`, `alt=proto`).
    pub(super) fn allows_query(self, part: &str) -> bool {
        match self {
            Dialect::Anthropic | Dialect::OpenAi => true,
            Dialect::Gemini => {
                let name = part.split_once('=').map_or(part, |(name, _)| name);
                matches!(part, "alt=sse" | "alt=json")
                    || matches!(name, "key" | "pageSize" | "pageToken")
            }
        }
    }

    /// Whether a header of the agent is forwarded. Another header could make a server in between
    /// choose another server, path or account for the key.
    pub(super) fn allows_header(self, name: &str) -> bool {
        let (names, prefixes): (&[&str], &[&str]) = match self {
            Dialect::Anthropic => (
                &["x-app"],
                &["anthropic-", "x-claude-code-", "x-stainless-"],
            ),
            Dialect::OpenAi => (
                &[
                    "conversation_id",
                    "openai-beta",
                    "originator",
                    "session-id",
                    "session_id",
                    "thread-id",
                    "version",
                    "x-client-request-id",
                    "x-openai-subagent",
                ],
                &["x-codex-"],
            ),
            Dialect::Gemini => (&["x-goog-api-client"], &[]),
        };
        EVERY_HEADER.contains(&name)
            || names.contains(&name)
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Why a request with this body is refused, if so.
    pub(super) fn refuses(self, headers: &HeaderMap, body: &[u8]) -> Option<&'static str> {
        /// The only part that is read of a long request.
        #[derive(Deserialize)]
        struct Asked {
            #[serde(default)]
            background: Value,
        }
        match self {
            Dialect::Anthropic | Dialect::Gemini => return None,
            Dialect::OpenAi if body.is_empty() => return None,
            Dialect::OpenAi => {}
        }
        if headers.contains_key(CONTENT_ENCODING) {
            return Some("drive passes on requests that are not compressed only");
        }
        match serde_json::from_slice::<Asked>(body) {
            Ok(asked) if matches!(asked.background, Value::Null | Value::Bool(false)) => None,
            Ok(_) => Some("drive does not pass on a call that goes on in the background"),
            Err(_) => Some("drive cannot read the request as JSON"),
        }
    }

    /// Whether a response costs tokens.
    pub(super) fn is_paid(self, path: &str) -> bool {
        !path.ends_with("/count_tokens") && !path.ends_with(":countTokens")
    }

    /// The tokens in one event or one whole response.
    pub(super) fn tokens(self, answer: &Value) -> Option<Usage> {
        match self {
            Dialect::Anthropic => {
                let usage = inner(answer, "message", "usage")?;
                Some(Usage {
                    input: number(usage, "input_tokens")
                        .saturating_add(number(usage, "cache_creation_input_tokens")),
                    cached: number(usage, "cache_read_input_tokens"),
                    output: number(usage, "output_tokens"),
                })
            }
            Dialect::OpenAi => {
                let usage = inner(answer, "response", "usage")?;
                // The second name of each is from the older protocol.
                let either = |one, other| number(usage, one).max(number(usage, other));
                let cached = number(&usage["input_tokens_details"], "cached_tokens")
                    .max(number(&usage["prompt_tokens_details"], "cached_tokens"));
                Some(Usage {
                    input: either("input_tokens", "prompt_tokens").saturating_sub(cached),
                    cached,
                    output: either("output_tokens", "completion_tokens"),
                })
            }
            // Without events it sends a list of responses, of which the last one counts.
            Dialect::Gemini => {
                let last = answer.as_array().and_then(|all| all.last());
                let usage = last.unwrap_or(answer).get("usageMetadata")?;
                let cached = number(usage, "cachedContentTokenCount");
                Some(Usage {
                    input: number(usage, "promptTokenCount")
                        .saturating_add(number(usage, "toolUsePromptTokenCount"))
                        .saturating_sub(cached),
                    cached,
                    output: number(usage, "candidatesTokenCount")
                        .saturating_add(number(usage, "thoughtsTokenCount")),
                })
            }
        }
    }
}

/// Headers that every protocol needs.
const EVERY_HEADER: [&str; 5] = [
    "accept",
    "accept-language",
    "content-encoding",
    "content-type",
    "user-agent",
];

const GEMINI_CALLS: [&str; 4] = [
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
];

/// The member of an event's object, or of the response itself.
fn inner<'a>(answer: &'a Value, object: &str, member: &str) -> Option<&'a Value> {
    let usage = answer[object].get(member).or_else(|| answer.get(member));
    usage.filter(|usage| usage.is_object())
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paths_of_a_model_call_are_allowed() {
        use Dialect::{Anthropic, Gemini, OpenAi};
        let table = [
            (Anthropic, "POST", "/v1/messages", true),
            (Anthropic, "POST", "/v1/messages/count_tokens", true),
            (Anthropic, "GET", "/v1/models/opus", true),
            (Anthropic, "GET", "/v1/messages", false),
            (Anthropic, "POST", "/v1/messages/batches", false),
            (Anthropic, "GET", "/v1/models/../files", false),
            (Anthropic, "GET", "/v1/models/%2e%2e/files", false),
            (Anthropic, "GET", "/v1/organizations/me", false),
            (OpenAi, "POST", "/responses", true),
            (OpenAi, "GET", "/models", true),
            (OpenAi, "POST", "/files", false),
            // It reports its tokens only if it is asked to.
            (OpenAi, "POST", "/chat/completions", false),
            (OpenAi, "DELETE", "/models", false),
            (
                Gemini,
                "POST",
                "/v1beta/models/pro:streamGenerateContent",
                true,
            ),
            (Gemini, "POST", "/v1beta/models/pro:countTokens", true),
            (Gemini, "GET", "/v1beta/models", true),
            (Gemini, "POST", "/v1beta/models/pro:delete", false),
            (Gemini, "POST", "/v1beta/files", false),
            (
                Gemini,
                "POST",
                "/upload/v1beta/models/pro:generateContent",
                false,
            ),
        ];
        for (dialect, method, path, allowed) in table {
            let method = method.parse().unwrap();
            assert_eq!(dialect.allows(&method, path), allowed, "{method} {path}");
        }
    }

    #[test]
    fn no_query_hides_the_tokens_of_gemini() {
        let table = [
            ("alt=sse", true),
            ("key=abc", true),
            ("fields=candidates", false),
            ("$fields=candidates", false),
            ("%66ields=candidates", false),
            ("alt=proto", false),
            ("callback=f", false),
        ];
        for (part, allowed) in table {
            assert_eq!(Dialect::Gemini.allows_query(part), allowed, "{part}");
        }
    }

    #[test]
    fn no_call_goes_on_in_the_background() {
        let table = [
            ("", false),
            (r#"{"input": "background"}"#, false),
            (r#"{"background": false, "input": []}"#, false),
            (r#"{"background": true}"#, true),
            (r#"{"b\u0061ckground": true}"#, true),
            (r#"{"background": 1}"#, true),
            (r#"{"background": false, "background": true}"#, true),
            ("{", true),
        ];
        let plain = HeaderMap::new();
        for (body, is_refused) in table {
            let refused = Dialect::OpenAi.refuses(&plain, body.as_bytes());
            assert_eq!(refused.is_some(), is_refused, "{body}");
        }
        let packed = HeaderMap::from_iter([(CONTENT_ENCODING, "zstd".parse().unwrap())]);
        assert!(Dialect::OpenAi.refuses(&packed, b"{}").is_some());
        assert_eq!(Dialect::Anthropic.refuses(&plain, b"{"), None);
    }
}
