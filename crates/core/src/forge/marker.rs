//! The hidden marker in each of drive's posts, which proves that drive wrote it.
//!
//! With one account, drive and the user post under the same login, and a bare marker can be copied.
//! So the marker contains an HMAC over the run, the effect and the place, and a second one over the
//! visible text. Only the last line of a body counts: a marker that is quoted, copied to another
//! pull request or followed by more text proves nothing. The text has its own HMAC because a forge
//! may truncate a long body or move a finding into it; such a post is still recognized as drive's.

use super::hmac::{CODE_BYTES, HmacKey, code_from_hex, to_hex};
use super::{Surface, text};
use crate::ids::{BranchName, EffectKey, PrNumber, RunId};
use std::fmt::Write as _;

const OPENING: &str = "<!-- drive:v1 ";
const CLOSING: &str = " -->";
const DOMAIN: &str = "drive marker v1";

/// The secret of this installation.
#[derive(Clone, Debug)]
pub struct MarkerKey(HmacKey);

/// The place of a post. A marker is only valid in its own place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A comment on one of the three surfaces of a pull request.
    Comment {
        /// The pull request.
        pr: PrNumber,
        /// The surface.
        surface: Surface,
    },
    /// The description of a pull request, identified by its branch, because its number is unknown
    /// before it is opened.
    Description {
        /// The branch with the work.
        branch: BranchName,
    },
}

/// The contents of a marker: the effect and the run that made the post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The run.
    pub run: RunId,
    /// The effect.
    pub key: EffectKey,
}

/// The result of a marker check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerCheck {
    /// This installation wrote exactly this text in exactly this place.
    Ours(Claim),
    /// The marker is valid for this place, but the text was not written with it: a forge shortened
    /// our post, somebody edited it, or somebody pasted our marker under another text. The recorded
    /// id of the effect tells which.
    Altered(Claim),
    /// There is a marker, but it is not valid: it is forged, or from another place or installation.
    Invalid,
    /// The body has no marker.
    Absent,
}

impl MarkerKey {
    /// A key from 32 secret random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(HmacKey::new(secret))
    }

    /// The hidden line of a post.
    pub fn line(&self, visible: &str, place: &Place, claim: &Claim) -> String {
        let told = Told::new(visible, place, claim);
        format!(
            "{OPENING}kind={} run={} key={} mac={} text={}{CLOSING}",
            place.word(),
            escaped(claim.run.as_str()),
            escaped(claim.key.as_str()),
            to_hex(&self.0.sign(told.identity())),
            to_hex(&self.0.sign(told.everything())),
        )
    }

    /// The whole body of a post: the visible text with its hidden line, as a forge receives it.
    pub fn stamp(&self, visible: &str, place: &Place, claim: &Claim) -> String {
        text::compose(visible, &self.line(visible, place, claim))
    }

    /// What the last line of `body` proves for this place.
    pub fn check(&self, body: &str, place: &Place) -> MarkerCheck {
        let body = normalised(body);
        let (visible, last) = split_last_line(&body);
        if !last.starts_with(OPENING) {
            return MarkerCheck::Absent;
        }
        let Some(marker) = parse(last) else {
            return MarkerCheck::Invalid;
        };
        let told = Told::new(visible, place, &marker.claim);
        if marker.kind != place.word() || !self.0.verify(told.identity(), &marker.mac) {
            MarkerCheck::Invalid
        } else if self.0.verify(told.everything(), &marker.text) {
            MarkerCheck::Ours(marker.claim)
        } else {
            MarkerCheck::Altered(marker.claim)
        }
    }
}

impl Place {
    fn word(&self) -> &'static str {
        match self {
            Place::Comment {
                surface: Surface::Conversation,
                ..
            } => "conversation",
            Place::Comment {
                surface: Surface::Inline,
                ..
            } => "inline",
            Place::Comment {
                surface: Surface::Review,
                ..
            } => "review",
            Place::Description { .. } => "description",
        }
    }
}

/// Whether `body` ends with exactly this hidden line. That proves drive's own post, because nobody
/// else can know the line before it is posted.
pub fn carries(body: &str, line: &str) -> bool {
    body.trim_end().lines().next_back().map(str::trim_end) == Some(line)
}

/// The visible text: the body without a marker on its last line.
pub fn visible(body: &str) -> &str {
    let trimmed = body.trim_end();
    let (before, last) = split_last_line(trimmed);
    if parse(last).is_some() {
        before.trim_end()
    } else {
        body
    }
}

struct Marker {
    kind: String,
    claim: Claim,
    mac: [u8; CODE_BYTES],
    text: [u8; CODE_BYTES],
}

fn parse(line: &str) -> Option<Marker> {
    let inner = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    let mut words = inner.split(' ');
    let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
    let kind = value("kind")?.to_owned();
    let run = unescaped(value("run")?)?;
    let key = unescaped(value("key")?)?;
    let mac = code_from_hex(value("mac")?)?;
    let text = code_from_hex(value("text")?)?;
    let claim = Claim {
        run: RunId::new(run),
        key: EffectKey::new(key),
    };
    words.next().is_none().then_some(Marker {
        kind,
        claim,
        mac,
        text,
    })
}

/// The data that the codes cover. Each field is preceded by its length, so that different data
/// cannot give the same bytes.
struct Told(Vec<Vec<u8>>);

impl Told {
    fn new(visible: &str, place: &Place, claim: &Claim) -> Self {
        let target = match place {
            Place::Comment { pr, surface: _ } => pr.to_string(),
            Place::Description { branch } => branch.to_string(),
        };
        let visible = normalised(visible);
        let fields = [
            DOMAIN,
            place.word(),
            &target,
            claim.run.as_str(),
            claim.key.as_str(),
            &visible,
        ];
        Self(fields.map(with_length).to_vec())
    }

    fn everything(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// The fields without the text.
    fn identity(&self) -> impl Iterator<Item = &[u8]> {
        self.everything().take(self.0.len() - 1)
    }
}

fn with_length(field: &str) -> Vec<u8> {
    let mut bytes = (field.len() as u64).to_be_bytes().to_vec();
    bytes.extend_from_slice(field.as_bytes());
    bytes
}

/// The text without changes that forges make: they turn line ends into CRLF, and drop white space
/// at the ends of lines and of the text.
fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.trim().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

fn split_last_line(text: &str) -> (&str, &str) {
    text.rsplit_once('\n').unwrap_or(("", text))
}

/// Escapes a value, so that it is one word and cannot end the comment around it.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_' | b':' | b'/')
            || (byte == b'-' && !out.ends_with('-'));
        if plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

fn unescaped(word: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
