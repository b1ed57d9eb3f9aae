use super::forms::{Form, MIN_SECRET, Meeting, forms_of};
use super::shapes::{DASHES, KEY_END, Rest, SHAPES, Shape, is_key};
use std::fmt;
use std::sync::Arc;

/// The text that replaces a secret.
pub const REPLACEMENT: &str = "[redacted]";

/// The values to redact, in every form they may take. Known token shapes are always included.
#[derive(Clone)]
pub struct Secrets {
    known: Arc<Known>,
}

struct Known {
    /// The forms, sorted by their first byte, longest first.
    forms: Vec<Form>,
    begins: Beginnings,
}

/// The bytes with which a secret may begin. Two bytes exclude nearly all ordinary text.
struct Beginnings {
    one: [bool; 256],
    /// One bit for each pair of bytes.
    two: Vec<u64>,
}

impl Beginnings {
    fn of<'a>(all: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut begins = Self {
            one: [false; 256],
            two: vec![0; (1 << 16) / 64],
        };
        for secret in all {
            begins.one[usize::from(secret[0])] = true;
            let pair = pair_of(secret[0], secret[1]);
            begins.two[pair / 64] |= 1 << (pair % 64);
        }
        begins
    }

    fn has(&self, rest: &[u8]) -> bool {
        match rest {
            [] => false,
            [only] => self.one[usize::from(*only)],
            [first, second, ..] => {
                let pair = pair_of(*first, *second);
                self.two[pair / 64] >> (pair % 64) & 1 == 1
            }
        }
    }
}

fn pair_of(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} forms)", self.known.forms.len())
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(Vec::<String>::new())
    }
}

impl Secrets {
    /// Whether a secret may begin here.
    pub(super) fn may_begin(&self, rest: &[u8]) -> bool {
        self.known.begins.has(rest)
    }

    /// The forms that begin with a byte, longest first.
    pub(super) fn forms_beginning_with(&self, first: u8) -> impl Iterator<Item = &Form> {
        let known = &self.known.forms;
        let from = known.partition_point(|form| form.bytes[0] < first);
        let forms = known[from..].iter();
        forms.take_while(move |form| form.bytes[0] == first)
    }

    /// These values and the known token shapes. Values of fewer than six bytes are ignored:
    /// replacing them would damage ordinary text.
    pub fn new<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Self {
        let mut forms: Vec<Form> = values
            .into_iter()
            .map(|value| value.as_ref().trim().to_owned())
            .filter(|value| value.len() >= MIN_SECRET)
            .flat_map(|value| forms_of(&value))
            .collect();
        forms.sort_by(|a, b| {
            let first = a.bytes[0].cmp(&b.bytes[0]);
            first.then(b.bytes.len().cmp(&a.bytes.len())).then(a.cmp(b))
        });
        forms.dedup();
        let starts = forms.iter().map(|form| form.bytes.as_slice());
        let begins = Beginnings::of(starts.chain(SHAPES.iter().map(|shape| shape.prefix)));
        Self {
            known: Arc::new(Known { forms, begins }),
        }
    }
}

/// Removes secrets from a byte stream, wherever its chunks end.
///
/// It holds back at most the length of the longest secret, with its line breaks, between two chunks.
#[derive(Debug)]
pub struct Redactor {
    secrets: Secrets,
    held: Vec<u8>,
    /// Set while the rest of a token is being dropped.
    dropping: Option<Rest>,
}

/// What one place of the stream contains.
enum Found {
    Nothing,
    /// Undecided: more bytes are needed.
    Perhaps,
    /// A secret: the number of bytes to keep before it, its length, and what may continue it.
    Secret {
        kept: usize,
        length: usize,
        rest: Option<Rest>,
    },
}

impl Redactor {
    /// A redactor of one stream.
    pub fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            held: Vec::new(),
            dropping: None,
        }
    }

    /// Takes the next bytes, and returns what can be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.scan(More::MayCome)
    }

    /// Returns the rest at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = self.scan(More::Never);
        self.dropping = None;
        rest
    }

    fn scan(&mut self, more: More) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(held.len());
        let mut at = 0;
        while at < held.len() {
            match self.dropping {
                Some(Rest::While(belongs)) if belongs(held[at]) => {
                    at += 1;
                    continue;
                }
                Some(Rest::Block) => {
                    let (length, is_over) = rest_of_key(&held[at..], more);
                    at += length;
                    if !is_over {
                        break;
                    }
                    self.dropping = None;
                    continue;
                }
                Some(Rest::While(_)) => self.dropping = None,
                None => {}
            }
            let plain = at;
            while at < held.len() && !self.secrets.known.begins.has(&held[at..]) {
                at += 1;
            }
            out.extend_from_slice(&held[plain..at]);
            if at == held.len() {
                break;
            }
            match self.look(&held[at..], more) {
                Found::Nothing => {
                    out.push(held[at]);
                    at += 1;
                }
                Found::Perhaps => break,
                Found::Secret { kept, length, rest } => {
                    out.extend_from_slice(&held[at..at + kept]);
                    out.extend_from_slice(REPLACEMENT.as_bytes());
                    at += kept + length;
                    self.dropping = rest;
                }
            }
        }
        self.held = held[at..].to_vec();
        out
    }

    /// Finds the longest form at the start of `rest`, else a token. The result is undecided while
    /// more bytes could make a longer match, so that it never depends on where a chunk ended.
    fn look(&self, rest: &[u8], more: More) -> Found {
        for form in self.secrets.forms_beginning_with(rest[0]) {
            match form.meets(rest) {
                Meeting::Whole(length) => {
                    return Found::Secret {
                        kept: 0,
                        length,
                        rest: None,
                    };
                }
                Meeting::Begun if more == More::MayCome => return Found::Perhaps,
                Meeting::Begun | Meeting::No => {}
            }
        }
        let mut undecided = Found::Nothing;
        for shape in SHAPES {
            match look_for(shape, rest, more) {
                Found::Nothing => {}
                Found::Perhaps => undecided = Found::Perhaps,
                found @ Found::Secret { .. } => return found,
            }
        }
        undecided
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    MayCome,
    Never,
}

impl More {
    /// The result for bytes that need more bytes to be a secret.
    fn perhaps(self, could: bool) -> Found {
        if could && self == More::MayCome {
            return Found::Perhaps;
        }
        Found::Nothing
    }
}

fn look_for(shape: &Shape, rest: &[u8], more: More) -> Found {
    let Some(body) = rest.strip_prefix(shape.prefix) else {
        return more.perhaps(shape.prefix.starts_with(rest));
    };
    let length = match shape.rest {
        Rest::While(belongs) => {
            let body = body.iter().take(shape.min);
            body.take_while(|byte| belongs(**byte)).count()
        }
        Rest::Block => 0,
    };
    if length < shape.min {
        return more.perhaps(length == body.len());
    }
    let kept = if shape.keep_prefix {
        shape.prefix.len()
    } else {
        0
    };
    Found::Secret {
        kept,
        length: shape.prefix.len() - kept + length,
        rest: Some(shape.rest),
    }
}

/// The longest last line of a key, in bytes.
const KEY_END_BYTES: usize = 64;

/// How many bytes at the start of `text` continue a key, and whether the key ends there. A key
/// without its last line ends where other text begins.
fn rest_of_key(text: &[u8], more: More) -> (usize, bool) {
    let body = text.iter().take_while(|byte| is_key(**byte)).count();
    let (inside, is_cut) = (&text[..body], body == text.len());
    if let Some(end) = position(inside, KEY_END) {
        let name = &inside[end + KEY_END.len()..];
        if let Some(after) = position(&name[..name.len().min(KEY_END_BYTES)], DASHES) {
            return (end + KEY_END.len() + after + DASHES.len(), true);
        }
        if is_cut && name.len() < KEY_END_BYTES && more == More::MayCome {
            return (end, false);
        }
    }
    if !is_cut || more == More::Never {
        return (body, true);
    }
    // The text may end within the beginning of the last line.
    (body.saturating_sub(KEY_END.len() - 1), false)
}

fn position(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
