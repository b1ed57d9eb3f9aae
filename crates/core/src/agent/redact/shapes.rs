/// A kind of token that is recognised by its shape.
#[derive(Debug)]
pub(super) struct Shape {
    /// The first letter of the token, if it is not part of the prefix. Text that ends with a common
    /// letter would otherwise be held back every time.
    pub(super) before: Option<u8>,
    pub(super) prefix: &'static [u8],
    /// Whether the prefix is shown, because it is not secret.
    pub(super) keep_prefix: bool,
    /// The minimum number of characters after the prefix.
    pub(super) min: usize,
    pub(super) rest: Rest,
}

/// What continues a secret after its prefix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rest {
    /// All following bytes of a kind.
    While(fn(u8) -> bool),
    /// Everything up to the last line of a key.
    Block,
}

const fn token(prefix: &'static [u8], min: usize, body: fn(u8) -> bool) -> Shape {
    Shape {
        before: None,
        prefix,
        keep_prefix: false,
        min,
        rest: Rest::While(body),
    }
}

const fn after(before: u8, prefix: &'static [u8], min: usize, body: fn(u8) -> bool) -> Shape {
    Shape {
        before: Some(before),
        ..token(prefix, min, body)
    }
}

/// The first line of a private key.
const fn key(prefix: &'static [u8]) -> Shape {
    Shape {
        before: None,
        prefix,
        keep_prefix: false,
        min: 0,
        rest: Rest::Block,
    }
}

const fn header(prefix: &'static [u8]) -> Shape {
    Shape {
        before: None,
        prefix,
        keep_prefix: true,
        min: 16,
        rest: Rest::While(is_header),
    }
}

/// Tokens with an unmistakable shape.
pub(super) const SHAPES: &[Shape] = &[
    token(b"ghp_", 30, is_word),
    token(b"gho_", 30, is_word),
    token(b"ghu_", 30, is_word),
    token(b"ghs_", 30, is_word),
    token(b"ghr_", 30, is_word),
    token(b"github_pat_", 30, is_word),
    token(b"glpat-", 20, is_dashed),
    token(b"sk-ant-", 20, is_dashed),
    token(b"sk-proj-", 20, is_dashed),
    token(b"sk-svcacct-", 20, is_dashed),
    token(b"sk-", 40, is_word),
    token(b"sk_live_", 24, is_word),
    token(b"AIza", 30, is_dashed),
    token(b"ya29.", 20, is_dashed),
    token(b"GOCSPX-", 24, is_dashed),
    token(b"AKIA", 16, is_upper),
    token(b"ASIA", 16, is_upper),
    token(b"xoxa-", 20, is_dashed),
    token(b"xoxb-", 20, is_dashed),
    token(b"xoxe-", 20, is_dashed),
    token(b"xoxp-", 20, is_dashed),
    token(b"xoxr-", 20, is_dashed),
    token(b"xoxs-", 20, is_dashed),
    token(b"xapp-", 20, is_dashed),
    token(b"npm_", 36, is_word),
    after(b'p', b"ypi-AgE", 50, is_dashed),
    // Web tokens: `{"alg":` and `{"typ":` in base64, then two more parts.
    after(b'e', b"yJhbGciOi", 40, is_web_token),
    after(b'e', b"yJ0eXAiOi", 40, is_web_token),
    key(b"-----BEGIN PRIVATE KEY-----"),
    key(b"-----BEGIN ENCRYPTED PRIVATE KEY-----"),
    key(b"-----BEGIN RSA PRIVATE KEY-----"),
    key(b"-----BEGIN EC PRIVATE KEY-----"),
    key(b"-----BEGIN DSA PRIVATE KEY-----"),
    key(b"-----BEGIN OPENSSH PRIVATE KEY-----"),
    key(b"-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    header(b"Bearer "),
    header(b"bearer "),
    header(b"x-api-key: "),
    header(b"X-Api-Key: "),
];

/// The beginning and the end of a key's last line.
pub(super) const KEY_END: &[u8] = b"-----END ";
pub(super) const DASHES: &[u8] = b"-----";

/// Whether a byte may occur between the first and the last line of a key, whose line ends may be escaped.
pub(super) fn is_key(byte: u8) -> bool {
    is_header(byte) || byte.is_ascii_whitespace() || matches!(byte, b'\\' | b':' | b',' | b'"')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_web_token(byte: u8) -> bool {
    is_dashed(byte) || byte == b'.'
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_header(byte: u8) -> bool {
    is_dashed(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
