/// One encoding in which a secret may appear.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// Whether this form is usually broken into lines.
    pub(super) is_wrapped: bool,
}

/// Whether a text begins with a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// It does not begin with the form.
    No,
    /// The whole text is a beginning of the form.
    Begun,
    /// It begins with the form, which takes this many bytes.
    Whole(usize),
}

/// How many characters at the start of a wrapped form must stand together. With fewer, every line
/// that ends with the first one would be held back.
const TOGETHER: usize = 4;

/// The most bytes between two lines of a wrapped form: a line end, escaped or not, and some indentation.
const MAX_BREAK: usize = 16;

impl Form {
    fn plain(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_wrapped: false,
        }
    }

    /// Whether `text` begins with this form.
    pub(super) fn meets(&self, text: &[u8]) -> Meeting {
        let mut at = 0;
        for (index, byte) in self.bytes.iter().enumerate() {
            if self.is_wrapped && index >= TOGETHER {
                at += gap(&text[at..]);
            }
            match text.get(at) {
                None => return Meeting::Begun,
                Some(found) if found == byte => at += 1,
                Some(_) => return Meeting::No,
            }
        }
        Meeting::Whole(at)
    }
}

/// The number of bytes of a line end, escaped or not, and of the next line's indentation at the
/// start of `text`.
fn gap(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len().min(MAX_BREAK) {
        match text[at] {
            b'\n' | b'\r' => at += 1,
            b' ' | b'\t' if at > 0 => at += 1,
            b'\\' => {
                let escapes = text[at..].iter().take(MAX_BREAK);
                let after = at + escapes.take_while(|byte| **byte == b'\\').count();
                match text.get(after) {
                    // The escaped character has not arrived yet.
                    None => return text.len(),
                    Some(b'n' | b'r') => at = after + 1,
                    Some(_) => break,
                }
            }
            _ => break,
        }
    }
    at
}

/// The forms in which a secret may appear: plain, as JSON, in a URL, in hexadecimal digits, and in
/// base64 at each of its three alignments.
pub(super) fn forms_of(secret: &str) -> Vec<Form> {
    let mut forms = vec![Form::plain(secret.as_bytes().to_vec())];
    if let Ok(quoted) = serde_json::to_string(secret) {
        forms.push(Form::plain(quoted.as_bytes()[1..quoted.len() - 1].to_vec()));
    }
    forms.push(Form::plain(percent(secret, Case::Upper)));
    forms.push(Form::plain(percent(secret, Case::Lower)));
    for case in [Case::Upper, Case::Lower] {
        forms.extend(wrapped(&hex(secret, case)));
    }
    for alphabet in [STANDARD, URL_SAFE] {
        for offset in 0..3 {
            forms.extend(wrapped(&base64_core(secret.as_bytes(), offset, alphabet)));
        }
    }
    forms.retain(|form| form.bytes.len() >= MIN_SECRET);
    forms.sort();
    forms.dedup();
    forms
}

/// The wrapped forms of a secret. A line may end within its first characters; then the rest begins
/// the next line.
fn wrapped(bytes: &[u8]) -> impl Iterator<Item = Form> {
    (0..TOGETHER.min(bytes.len())).map(|ended| Form {
        bytes: bytes[ended..].to_vec(),
        is_wrapped: true,
    })
}

/// Shorter values are not treated as secrets: replacing them would damage ordinary text.
pub(in crate::agent) const MIN_SECRET: usize = 6;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Clone, Copy)]
enum Case {
    Upper,
    Lower,
}

fn hex(secret: &str, case: Case) -> Vec<u8> {
    let digits = secret.bytes().map(|byte| match case {
        Case::Upper => format!("{byte:02X}"),
        Case::Lower => format!("{byte:02x}"),
    });
    digits.collect::<String>().into_bytes()
}

fn percent(secret: &str, case: Case) -> Vec<u8> {
    let mut out = String::new();
    for byte in secret.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&match case {
                Case::Upper => format!("%{byte:02X}"),
                Case::Lower => format!("%{byte:02x}"),
            }),
        }
    }
    out.into_bytes()
}

/// The base64 characters that depend only on the secret, with `offset` unknown bytes before it and
/// any bytes after it.
fn base64_core(secret: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let skipped_bits = offset * 8;
    let total_bits = skipped_bits + secret.len() * 8;
    let first = skipped_bits.div_ceil(6);
    let last = total_bits / 6;
    let bit = |index: usize| -> usize {
        let index = index - skipped_bits;
        usize::from(secret[index / 8] >> (7 - index % 8) & 1)
    };
    (first..last)
        .map(|group| {
            let value = (group * 6..group * 6 + 6).fold(0, |value, index| value << 1 | bit(index));
            alphabet[value]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_encoding_of_a_secret_is_known() {
        let forms = forms_of("s3cr\"t/key?");
        let has = |bytes: &str| forms.iter().any(|form| form.bytes == bytes.as_bytes());
        assert!(has("s3cr\"t/key?"));
        assert!(has("s3cr\\\"t/key?"));
        assert!(has("s3cr%22t%2Fkey%3F"));
        assert!(has("s3cr%22t%2fkey%3f"));
        assert!(has("czNjciJ0L2tleT"));
        assert!(has("7333637222742f6b65793f"));
        assert!(has("7333637222742F6B65793F"));
    }

    #[test]
    fn base64_is_found_at_every_alignment() {
        let secret = b"correct-horse";
        for before in ["", "a", "ab", "abc", "abcd"] {
            let text: Vec<u8> = before.bytes().chain(*secret).chain(*b"zz").collect();
            let encoded = base64_core(&text, 0, STANDARD);
            let found = (0..3).any(|offset| {
                let core = base64_core(secret, offset, STANDARD);
                encoded.windows(core.len()).any(|window| window == core)
            });
            assert!(found, "after `{before}`");
        }
    }

    #[test]
    fn a_wrapped_form_goes_on_after_the_end_of_a_line_and_after_nothing_else() {
        let form = Form {
            bytes: b"ABCDEFGH".to_vec(),
            is_wrapped: true,
        };
        let table = [
            ("ABCDEFGH...", Meeting::Whole(8)),
            ("ABCDEF\nGH", Meeting::Whole(9)),
            ("ABCD\r\n  EFGH", Meeting::Whole(12)),
            ("ABCDEF\\nGH", Meeting::Whole(10)),
            ("ABCDEF\\\\r\\\\nGH", Meeting::Whole(14)),
            ("ABCDEF\n", Meeting::Begun),
            ("ABCDEF\\", Meeting::Begun),
            ("ABC", Meeting::Begun),
            ("", Meeting::Begun),
            ("ABC\nDEFGH", Meeting::No),
            ("ABCDEF GH", Meeting::No),
            ("ABCDEF\\tGH", Meeting::No),
            ("ABCDEF\n                    GH", Meeting::No),
            ("ABCDEFG\n.", Meeting::No),
        ];
        for (text, meeting) in table {
            assert_eq!(form.meets(text.as_bytes()), meeting, "{text:?}");
        }
        assert_eq!(
            Form::plain(b"ABCDEFGH".to_vec()).meets(b"ABCDEF\nGH"),
            Meeting::No
        );
    }

    #[test]
    fn a_short_value_is_no_secret() {
        assert_eq!(forms_of("ab"), Vec::new());
    }
}
