//! Webhooks: a signed hint that something changed.
//!
//! A delivery only triggers a poll, and its contents are used for nothing else. So a lost, late or
//! duplicated delivery is harmless.

use super::hmac::{CODE_BYTES, HmacKey, RunningCode, code_from_hex, to_hex};
use crate::ids::PrNumber;
use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};

/// The secret with which a forge signs its deliveries.
#[derive(Clone, Debug)]
pub struct WebhookSecret(HmacKey);

/// A pull request to poll now.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nudge {
    /// The repository, as `owner/name`.
    pub repository: String,
    /// The pull request.
    pub pr: PrNumber,
}

/// The meaning of a webhook delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Poll this pull request now.
    Nudge(Nudge),
    /// The forge tests the webhook.
    Ping,
    /// The delivery needs no action.
    Nothing,
}

impl WebhookSecret {
    /// Refuses an empty secret, with which anybody could sign.
    pub fn new(secret: &str) -> Result<Self, Problem> {
        if secret.trim().is_empty() {
            return Err(
                Problem::new(Kind::WebhookSecretMissing, "the webhook secret is empty").hint(
                    "set the same long random secret here and in the forge's webhook settings",
                ),
            );
        }
        Ok(Self(HmacKey::new(secret.as_bytes())))
    }

    /// The `X-Hub-Signature-256` header that a forge sends with these bytes.
    pub fn sign(&self, raw: &[u8]) -> String {
        format!("sha256={}", to_hex(&self.0.sign([raw])))
    }

    /// Whether an `X-Hub-Signature-256` header signs these bytes.
    pub fn signed(&self, header: &str, raw: &[u8]) -> bool {
        self.check(header).is_some_and(|mut check| {
            check.feed(raw);
            check.holds()
        })
    }

    /// Begins to check an `X-Hub-Signature-256` header against a body that is still arriving;
    /// `None` if the header has the wrong form.
    pub fn check(&self, header: &str) -> Option<SignatureCheck> {
        let claimed = header.strip_prefix("sha256=").and_then(code_from_hex)?;
        let running = self.0.begin();
        Some(SignatureCheck { running, claimed })
    }
}

/// A signature that is checked piece by piece, so that a large body never blocks a thread.
pub struct SignatureCheck {
    running: RunningCode,
    claimed: [u8; CODE_BYTES],
}

impl SignatureCheck {
    /// Takes the next piece of the body.
    pub fn feed(&mut self, piece: &[u8]) {
        self.running.feed(piece);
    }

    /// Whether the signature matches everything that was fed.
    pub fn holds(self) -> bool {
        self.running.verify(&self.claimed)
    }
}

/// Whether drive reads the body of such a delivery; of others it only checks the signature.
pub fn reads_body(event: &str) -> bool {
    matches!(
        event,
        "pull_request"
            | "pull_request_review"
            | "pull_request_review_comment"
            | "pull_request_review_thread"
            | "issue_comment"
    )
}

/// Parses a delivery. Fields that drive does not need may be missing, null or of any type.
pub fn read(event: &str, raw: &[u8]) -> Result<Hint, Problem> {
    match event {
        "ping" => Ok(Hint::Ping),
        event if reads_body(event) => parse(raw).map(|payload| payload.hint()),
        _ => Ok(Hint::Nothing),
    }
}

fn parse(raw: &[u8]) -> Result<Payload, Problem> {
    serde_json::from_slice(raw).map_err(|error| {
        Problem::new(
            Kind::WebhookUnreadable,
            "a signed webhook delivery is not valid JSON",
        )
        .because(error)
    })
}

#[derive(Deserialize)]
struct Payload {
    repository: Repository,
    pull_request: Option<Numbered>,
    issue: Option<Issue>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct Numbered {
    number: PrNumber,
}

#[derive(Deserialize)]
struct Issue {
    number: PrNumber,
    /// Present if the issue is the conversation of a pull request.
    pull_request: Option<serde::de::IgnoredAny>,
}

impl Payload {
    fn hint(self) -> Hint {
        let conversation = self
            .issue
            .filter(|issue| issue.pull_request.is_some())
            .map(|issue| issue.number);
        match self.pull_request.map(|pr| pr.number).or(conversation) {
            Some(pr) => Hint::Nudge(Nudge {
                repository: self.repository.full_name,
                pr,
            }),
            None => Hint::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "It's a Secret to Everybody";
    const SIGNATURE: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secret() -> WebhookSecret {
        WebhookSecret::new(SECRET).unwrap()
    }

    #[test]
    fn the_published_test_vector_holds() {
        let header = format!("sha256={SIGNATURE}");
        assert_eq!(secret().sign(b"Hello, World!"), header);
        assert!(secret().signed(&header, b"Hello, World!"));
    }

    #[test]
    fn any_other_header_or_body_is_refused() {
        let good = format!("sha256={SIGNATURE}");
        let cases: [(&str, &[u8]); 8] = [
            (&good, b"Hello, World?"),
            (&good, b"Hello, World!\n"),
            (SIGNATURE, b"Hello, World!"),
            ("", b"Hello, World!"),
            ("sha256=", b"Hello, World!"),
            (&good[..good.len() - 2], b"Hello, World!"),
            (&good.replace("sha256", "sha1"), b"Hello, World!"),
            (&good.replace("757107", "757108"), b"Hello, World!"),
        ];
        for (header, body) in cases {
            assert!(!secret().signed(header, body), "{header}");
        }
    }

    #[test]
    fn an_empty_secret_is_refused() {
        for empty in ["", "  \n"] {
            let problem = WebhookSecret::new(empty).unwrap_err();
            assert_eq!(problem.kind, Kind::WebhookSecretMissing);
        }
        assert_eq!(format!("{:?}", secret()), "WebhookSecret(HmacKey(secret))");
    }

    #[test]
    fn deliveries_about_pull_requests_say_where_to_look() {
        let nudge = Hint::Nudge(Nudge {
            repository: "octo/hello".into(),
            pr: PrNumber::new(7),
        });
        let repository = r#""repository":{"full_name":"octo/hello","owner":null}"#;
        let pull = format!(r#"{{{repository},"pull_request":{{"number":7,"user":null}}}}"#);
        let talk =
            format!(r#"{{{repository},"issue":{{"number":7,"pull_request":{{"url":"u"}}}}}}"#);
        let issue = format!(r#"{{{repository},"issue":{{"number":7}}}}"#);
        let cases = [
            ("pull_request", &pull, nudge.clone()),
            ("pull_request_review", &pull, nudge.clone()),
            ("pull_request_review_comment", &pull, nudge.clone()),
            ("pull_request_review_thread", &pull, nudge.clone()),
            ("issue_comment", &talk, nudge),
            ("issue_comment", &issue, Hint::Nothing),
            ("ping", &issue, Hint::Ping),
            ("star", &pull, Hint::Nothing),
        ];
        for (event, body, expected) in cases {
            assert_eq!(read(event, body.as_bytes()).unwrap(), expected, "{event}");
        }
    }

    #[test]
    fn what_is_not_json_is_a_problem_only_where_it_is_read() {
        assert_eq!(
            read("pull_request", b"{").unwrap_err().kind,
            Kind::WebhookUnreadable
        );
        assert_eq!(read("star", b"{").unwrap(), Hint::Nothing);
    }

    proptest! {
        #[test]
        fn a_signature_is_good_for_its_bytes_only(
            body in prop::collection::vec(any::<u8>(), 1..200), at: prop::sample::Index,
        ) {
            let header = secret().sign(&body);
            prop_assert!(secret().signed(&header, &body));
            let mut other = body.clone();
            other[at.index(body.len())] ^= 1;
            prop_assert!(!secret().signed(&header, &other));
        }

        #[test]
        fn no_delivery_makes_the_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read("pull_request", &body);
        }
    }
}
