//! Base64 without padding.

/// The alphabet of addresses, as web tokens have it.
pub(crate) const URL: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// `bytes` in this alphabet, without padding.
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
        }
    }
}
