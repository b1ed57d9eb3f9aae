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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redact(secrets: &Secrets, chunks: &[&[u8]]) -> String {
        let mut redactor = Redactor::new(secrets.clone());
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend(redactor.push(chunk));
        }
        out.extend(redactor.finish());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_secret_is_replaced_in_each_of_its_forms() {
        let secrets = Secrets::new(["p4ss/w\"rd!"]);
        let table = [
            ("a p4ss/w\"rd! b", "a [redacted] b"),
            ("{\"k\":\"p4ss/w\\\"rd!\"}", "{\"k\":\"[redacted]\"}"),
            ("?k=p4ss%2Fw%22rd%21&x", "?k=[redacted]&x"),
            ("p4ss/w", "p4ss/w"),
            ("=70347373 2f772272 6421", "=70347373 2f772272 6421"),
            ("=703473732f7722726421", "=[redacted]"),
            ("=703473732F77\n22726421.", "=[redacted]."),
            ("p4ss/w\"rd!p4ss/w\"rd!", "[redacted][redacted]"),
        ];
        for (dirty, clean) in table {
            assert_eq!(redact(&secrets, &[dirty.as_bytes()]), clean);
        }
    }

    /// What `base64` prints of `bytes`.
    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for three in bytes.chunks(3) {
            let at = |i: usize| u32::from(*three.get(i).unwrap_or(&0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for i in 0..4 {
                if i <= three.len() {
                    out.push(char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]))
                } else {
                    out.push('=')
                }
            }
        }
        out
    }

    #[test]
    fn a_long_secret_is_found_in_base64_that_is_wrapped_anywhere() {
        let secret: String = (0..107u8)
            .map(|i| char::from(b'!' + i.wrapping_mul(37) % 94))
            .collect();
        let secrets = Secrets::new([&secret]);
        let ends = ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n"];
        for before in 0..120 {
            let text = format!("{}{secret}\n and more", "x".repeat(before));
            let encoded = base64(text.as_bytes());
            let windows: Vec<&str> = (0..encoded.len() - 8).map(|i| &encoded[i..i + 8]).collect();
            let from = (before * 4).div_ceil(3);
            let to = (before + secret.len()) * 4 / 3 - 8;
            for columns in [64, 76] {
                let lines = encoded.as_bytes().chunks(columns);
                let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
                let wrapped = lines.join(ends[before % ends.len()]);
                let clean = redact(&secrets, &[wrapped.as_bytes()]);
                let mut own = windows[from..to].iter();
                let left = own.find(|window| clean.contains(**window));
                assert_eq!(left, None, "{before} before, {columns} wide: {clean}");
                let (first, second) = wrapped.as_bytes().split_at(wrapped.len() / 2);
                assert_eq!(redact(&secrets, &[first, second]), clean);
            }
        }
    }

    #[test]
    fn a_line_of_plain_text_is_not_held_back_for_its_end() {
        let mut redactor = Redactor::new(Secrets::new(["0123456789-abcdefghij"]));
        for first in b'0'..=b'z' {
            let line = [b"so far so good ", &[first][..], b"\n"].concat();
            assert_eq!(redactor.push(&line), line);
        }
    }

    #[test]
    fn well_known_tokens_are_replaced_without_being_told() {
        let secrets = Secrets::default();
        let word = "a1B2".repeat(12);
        let table = [
            (format!("ghp_{word} x"), "[redacted] x".to_owned()),
            (format!("github_pat_{word}"), "[redacted]".to_owned()),
            (format!("sk-ant-api03-{word}-x."), "[redacted].".to_owned()),
            (format!("\\nAIza{word}\""), "\\n[redacted]\"".to_owned()),
            (
                format!("Authorization: Bearer {word}.{word}\r\n"),
                "Authorization: Bearer [redacted]\r\n".to_owned(),
            ),
            (format!("xapp-{word}"), "[redacted]".to_owned()),
            (
                format!("pypi-AgEIcHlwaS5vcmc{word}"),
                "p[redacted]".to_owned(),
            ),
            (
                format!("eyJhbGciOiJIUzI1NiJ9.{word}.{word} x"),
                "e[redacted] x".to_owned(),
            ),
            (
                "ghp_short and sk-ant- alone".to_owned(),
                "ghp_short and sk-ant- alone".to_owned(),
            ),
            (
                "Bearer of bad news".to_owned(),
                "Bearer of bad news".to_owned(),
            ),
        ];
        for (dirty, clean) in table {
            assert_eq!(redact(&secrets, &[dirty.as_bytes()]), clean, "{dirty}");
        }
    }

    #[test]
    fn a_private_key_is_replaced_up_to_its_last_line_wherever_chunks_end() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(20);
        for (kind, end) in [("RSA PRIVATE KEY", "\n"), ("PGP PRIVATE KEY BLOCK", "\\n")] {
            let body = body.replace('\n', end);
            let text = format!("a -----BEGIN {kind}-----{end}{body}-----END {kind}-----{end} b.");
            let clean = format!("a [redacted]{end} b.");
            for size in [1, 3, 7, 64, 4096] {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                assert_eq!(redact(&Secrets::default(), &chunks), clean, "{size}");
            }
        }
    }

    #[test]
    fn a_private_key_without_a_last_line_does_not_swallow_the_rest() {
        let secrets = Secrets::default();
        let text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n{\"next\": 1}";
        assert_eq!(
            redact(&secrets, &[text.as_bytes()]),
            "[redacted]{\"next\": 1}"
        );
        let mut redactor = Redactor::new(secrets);
        for _ in 0..1000 {
            redactor.push(b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg");
            assert!(redactor.held.len() < 64, "{}", redactor.held.len());
        }
    }

    #[test]
    fn a_longer_secret_wins_over_one_it_begins_with() {
        let secrets = Secrets::new(["secret-one", "secret-one-and-more"]);
        assert_eq!(
            redact(&secrets, &[b"<secret-one-", b"and-more>"]),
            "<[redacted]>"
        );
        assert_eq!(
            redact(&secrets, &[b"<secret-one-", b"and>"]),
            "<[redacted]-and>"
        );
    }

    #[test]
    fn what_is_held_back_is_bounded_by_the_longest_secret() {
        let mut redactor = Redactor::new(Secrets::new(["0123456789"]));
        for _ in 0..1000 {
            redactor.push(b"Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
            assert!(redactor.held.len() < 64, "{}", redactor.held.len());
        }
    }

    #[test]
    fn nothing_is_lost_when_the_stream_ends_in_the_middle_of_a_maybe() {
        let secrets = Secrets::new(["secret-one"]);
        assert_eq!(redact(&secrets, &[b"so secret-"]), "so secret-");
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(
            pieces in proptest::collection::vec(prop_oneof![
                Just("hunter2-hunter2".to_owned()),
                Just("hunter2".to_owned()),
                Just("Bearer ".to_owned()),
                Just("ghp_".to_owned()),
                Just("a1B2a1B2a1B2a1B2".to_owned()),
                Just(" ".to_owned()),
                "[a-zA-Z0-9 _.-]{0,12}",
            ], 0..12),
            sizes in proptest::collection::vec(1usize..9, 1..8),
        ) {
            let secrets = Secrets::new(["hunter2-hunter2", "hunter2-hunter3-longer"]);
            let text = pieces.concat();
            let mut chunks = Vec::new();
            let mut rest = text.as_bytes();
            let mut sizes = sizes.iter().copied().cycle();
            while !rest.is_empty() {
                let take = sizes.next().unwrap_or(1).min(rest.len());
                chunks.push(&rest[..take]);
                rest = &rest[take..];
            }
            let whole = redact(&secrets, &[text.as_bytes()]);
            prop_assert_eq!(&redact(&secrets, &chunks), &whole);
            prop_assert!(!whole.contains("hunter2-hunter2"));
        }

        #[test]
        fn text_without_secrets_is_left_as_it_is(text in "[ -~é\n]{0,200}") {
            prop_assume!(!text.contains("earer"));
            let secrets = Secrets::new(["\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}"]);
            prop_assert_eq!(secrets.redact(&text), text);
        }
    }
}
