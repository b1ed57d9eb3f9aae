/// A kind of token that is known by its look.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) prefix: &'static [u8],
    /// Whether the beginning is part of the secret.
    pub(super) keep_prefix: bool,
    /// Least number of characters after the prefix.
    pub(super) min: usize,
    pub(super) body: fn(u8) -> bool,
}

const fn token(prefix: &'static [u8], min: usize, body: fn(u8) -> bool) -> Shape {
    Shape {
        prefix,
        keep_prefix: false,
        min,
        body,
    }
}

const fn header(prefix: &'static [u8]) -> Shape {
    Shape {
        prefix,
        keep_prefix: true,
        min: 16,
        body: is_header,
    }
}

/// Tokens whose look is unmistakable.
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
    token(b"sk-", 40, is_word),
    token(b"AIza", 30, is_dashed),
    token(b"ya29.", 20, is_dashed),
    token(b"AKIA", 16, is_upper),
    token(b"xoxb-", 20, is_dashed),
    token(b"xoxp-", 20, is_dashed),
    token(b"npm_", 36, is_word),
    header(b"Bearer "),
    header(b"bearer "),
    header(b"x-api-key: "),
    header(b"X-Api-Key: "),
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_header(byte: u8) -> bool {
    is_dashed(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
