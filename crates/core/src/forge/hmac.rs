//! HMAC-SHA256 for comment markers and webhook signatures. Verification takes constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// Length of a code in bytes.
pub(super) const CODE_BYTES: usize = 32;

/// A secret key. `Debug` does not print it.
#[derive(Clone)]
pub(super) struct HmacKey(Hmac<Sha256>);

impl HmacKey {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("an HMAC takes a key of any length"))
    }

    /// Signs the concatenation of `pieces`.
    pub(super) fn sign<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> [u8; CODE_BYTES] {
        self.feed(pieces).finalize().into_bytes().into()
    }

    /// Whether `code` signs the concatenation of `pieces`, in constant time.
    pub(super) fn verify<'a>(
        &self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        code: &[u8; CODE_BYTES],
    ) -> bool {
        self.feed(pieces).verify_slice(code).is_ok()
    }

    /// Starts a code over pieces that are still arriving.
    pub(super) fn begin(&self) -> RunningCode {
        RunningCode(self.0.clone())
    }

    fn feed<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for piece in pieces {
            mac.update(piece);
        }
        mac
    }
}

/// A code over the pieces fed so far.
#[derive(Clone)]
pub(super) struct RunningCode(Hmac<Sha256>);

impl RunningCode {
    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Whether `code` signs all pieces fed so far, in constant time.
    pub(super) fn verify(self, code: &[u8; CODE_BYTES]) -> bool {
        self.0.verify_slice(code).is_ok()
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacKey(secret)")
    }
}

/// The bytes as lowercase hexadecimal digits.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

/// Parses exactly 64 hexadecimal digits.
pub(super) fn code_from_hex(text: &str) -> Option<[u8; CODE_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * CODE_BYTES {
        return None;
    }
    let mut code = [0; CODE_BYTES];
    for (byte, pair) in code.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(code)
}
