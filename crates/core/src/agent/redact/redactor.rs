use super::forms::{Form, MIN_SECRET, Meeting, forms_of};
use super::shapes::{DASHES, KEY_END, Rest, SHAPES, Shape, is_key};
use std::fmt;
use std::sync::Arc;

/// What stands in the place of a secret.
pub const REPLACEMENT: &str = "[redacted]";

/// The values that must not be shown, in every form they may take. Known token shapes are always
/// among them.
#[derive(Clone)]
pub struct Secrets {
    known: Arc<Known>,
}

struct Known {
    /// Sorted by their first byte, longest first.
    forms: Vec<Form>,
    begins: Beginnings,
}

/// With which bytes a secret may begin. Two of them tell nearly all ordinary text apart.
struct Beginnings {
    one: [bool; 256],
    /// A bit for each pair.
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
    /// Whether a secret may begin like this.
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

    /// These values and the known token shapes. Values of fewer than six bytes are left alone:
    /// replacing them would shred ordinary text.
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

/// Takes secrets out of a byte stream, wherever its chunks end.
///
/// What it holds back between two chunks is at most as long as the longest secret, with its line
/// breaks.
#[derive(Debug)]
pub struct Redactor {
    secrets: Secrets,
    held: Vec<u8>,
    /// Set while the rest of a token is being dropped.
    dropping: Option<Rest>,
}

/// What stands at one place of the stream.
enum Found {
    Nothing,
    /// More bytes are needed to tell.
    Perhaps,
    /// A secret: bytes to keep before it, bytes of it, and what more of it may follow.
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

    /// What can be shown after these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.scan(More::MayCome)
    }

    /// The rest.
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

    /// The longest form at the start of `rest`, else a token. Undecided as long as more bytes
    /// could make a longer one, so that the answer never depends on where a chunk ended.
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
    /// For bytes that only more of them could make a secret.
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

/// The longest last line of a key.
const KEY_END_BYTES: usize = 64;

/// How many bytes at the start of `text` are the rest of a key, and whether they are all of it. A key
/// whose last line is missing ends where something else begins.
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
    // The beginning of the last line may stand at the end.
    (body.saturating_sub(KEY_END.len() - 1), false)
}

fn position(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
