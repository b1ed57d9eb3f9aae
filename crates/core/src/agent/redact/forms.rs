/// The forms in which a secret may appear: as it is, inside JSON, in a URL, and in base64 at each
/// of the three ways it can be aligned.
pub(super) fn forms_of(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.as_bytes().to_vec()];
    if let Ok(quoted) = serde_json::to_string(secret) {
        forms.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
    }
    forms.push(percent(secret, Case::Upper));
    forms.push(percent(secret, Case::Lower));
    for alphabet in [STANDARD, URL_SAFE] {
        for offset in 0..3 {
            forms.push(base64_core(secret.as_bytes(), offset, alphabet));
        }
    }
    forms.retain(|form| form.len() >= MIN_SECRET);
    forms.sort();
    forms.dedup();
    forms
}

/// Shorter values are no secrets worth the name: replacing them would shred ordinary text.
pub(in crate::agent) const MIN_SECRET: usize = 6;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum Case {
    Upper,
    Lower,
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

/// The characters of base64 that depend on the secret alone, when `offset` unknown bytes of the
/// same text come before it and any come after.
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
        let has = |form: &str| forms.contains(&form.as_bytes().to_vec());
        assert!(has("s3cr\"t/key?"));
        assert!(has("s3cr\\\"t/key?"));
        assert!(has("s3cr%22t%2Fkey%3F"));
        assert!(has("s3cr%22t%2fkey%3f"));
        assert!(has("czNjciJ0L2tleT"));
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
    fn a_short_value_is_no_secret() {
        assert_eq!(forms_of("ab"), Vec::<Vec<u8>>::new());
    }
}
