//! Outgoing webhooks, signed like GitHub's.

use super::render::Render;
use super::state::{Event, EventKind, World};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A delivery that is ready to be sent. Sending it again repeats the same delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// GitHub's id of the delivery.
    pub id: String,
    /// The `x-github-event` header.
    pub event: &'static str,
    /// The exact bytes of the body.
    pub body: Vec<u8>,
    /// The `x-hub-signature-256` header.
    pub signature: String,
    url: String,
}

/// Long enough for a receiver on loopback.
const PATIENCE: Duration = Duration::from_secs(10);

/// Turns events into deliveries, and clears the events.
pub(crate) fn take(world: &mut World) -> Vec<Delivery> {
    let events = std::mem::take(&mut world.events);
    let mut out = Vec::new();
    for event in events {
        let Some(repo) = world.repos.get(&event.repo) else {
            continue;
        };
        let hooks = repo.hooks.clone();
        let Some((name, payload)) = payload(world, &event) else {
            continue;
        };
        for hook in hooks {
            let body = payload.to_string().into_bytes();
            out.push(Delivery {
                id: format!("00000000-0000-4000-8000-{:012x}", world.fresh_id()),
                event: name,
                signature: sign(&hook.secret, &body),
                body,
                url: hook.url,
            });
        }
    }
    out
}

/// The signature of a body, like GitHub's.
pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = match Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
        Ok(mac) => mac,
        Err(error) => panic!("a key of any length is fine: {error}"),
    };
    mac.update(body);
    let hex: String = mac
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256={hex}")
}

fn payload(world: &World, event: &Event) -> Option<(&'static str, Value)> {
    let repo = world.repos.get(&event.repo)?;
    let render = Render {
        world,
        repo,
        api: "https://api.github.com",
        html: "https://github.com",
    };
    let pull = render.pull_simple(repo.pulls.get(&event.pr)?);
    let mut body = json!({
        "action": event.action, "repository": render.repository(),
        "sender": render.user(&event.by),
    });
    let name = match event.kind {
        EventKind::IssueComment => {
            body["comment"] = render.note(repo.notes.get(&event.id)?);
            body["issue"] = json!({
                "number": event.pr, "title": pull["title"], "state": pull["state"],
                "pull_request": {"url": pull["url"], "html_url": pull["html_url"]},
            });
            "issue_comment"
        }
        EventKind::ReviewComment => {
            body["comment"] = render.line_note(repo.line_notes.get(&event.id)?);
            body["pull_request"] = pull;
            "pull_request_review_comment"
        }
        EventKind::Review => {
            let mut review = render.review(repo.reviews.get(&event.id)?);
            // Webhooks contain the state in lower case, unlike the REST API.
            let state = review["state"].as_str().unwrap_or_default().to_lowercase();
            review["state"] = json!(state);
            body["review"] = review;
            body["pull_request"] = pull;
            "pull_request_review"
        }
        EventKind::PullRequest => {
            body["number"] = json!(event.pr);
            body["pull_request"] = pull;
            "pull_request"
        }
    };
    Some((name, body))
}

impl Delivery {
    /// Sends the delivery, and returns the status of the receiver's answer.
    pub fn send(&self) -> std::io::Result<u16> {
        let rest = self.url.strip_prefix("http://").unwrap_or(&self.url);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: GitHub-Hookshot/simulated\r\n\
             content-type: application/json\r\nx-github-event: {}\r\nx-github-delivery: {}\r\n\
             x-hub-signature-256: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.event,
            self.id,
            self.signature,
            self.body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        let mut answer = String::new();
        stream.take(64 * 1024).read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        Ok(status.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_github_publishes() {
        assert_eq!(
            sign("It's a Secret to Everybody", b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}
