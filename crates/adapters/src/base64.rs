//! Base64 without padding.

/// The URL-safe alphabet, which web tokens use.
pub(crate) const URL: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes `bytes` in this alphabet, without padding.
pub(crate) fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0_u32, |group, at| {
            group << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for at in 0..=chunk.len() {
            let index = (group >> (18 - 6 * at)) & 63;
            out.push(char::from(alphabet[index as usize]));
        }
    }
    out
}

/// Decodes a text in this alphabet, with or without padding; `None` if it is not such a text.
pub(crate) fn decode(text: &str, alphabet: &[u8; 64]) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.chunks(4) {
        // Six bits are not a byte.
        if chunk.len() == 1 {
            return None;
        }
        let mut group = 0_u32;
        for at in 0..4 {
            let index = match chunk.get(at) {
                Some(byte) => alphabet.iter().position(|known| known == byte)?,
                None => 0,
            };
            group = group << 6 | u32::try_from(index).ok()?;
        }
        let [_, bytes @ ..] = group.to_be_bytes();
        out.extend_from_slice(&bytes[..chunk.len() - 1]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_web_tokens() {
        let table: [(&[u8], &str); 6] = [
            (b"", ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff, 0xfe], "-__-"),
        ];
        for (bytes, text) in table {
            assert_eq!(encode(bytes, URL), text);
            assert_eq!(decode(text, URL).as_deref(), Some(bytes));
        }
        assert_eq!(decode("Zg==", URL).as_deref(), Some(&b"f"[..]));
        for wrong in ["Z", "Zm9vY", "Zm+v", "Z m9"] {
            assert_eq!(decode(wrong, URL), None, "{wrong}");
        }
    }
}
