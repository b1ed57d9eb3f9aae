//! The text of a comment, from an argument or from standard input.

use drive_core::problem::{Kind, Problem};
use std::io::Read;

/// The maximum input, which is longer than any comment may be.
const INPUT_BYTES: u64 = 1024 * 1024;

/// The text given as an argument or with `--body`.
pub(super) fn require(argument: Option<&str>, option: Option<&str>) -> Result<String, Problem> {
    match argument.or(option) {
        Some(given) => text(given),
        None => Err(Problem::new(Kind::BodyMissing, "the comment has no text")
            .hint("pass the text after the number, or pass `--body -` and pipe it in")),
    }
}

/// A text, or standard input for `-`.
pub(super) fn text(given: &str) -> Result<String, Problem> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(INPUT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Problem::new(Kind::InputFailed, "cannot read standard input").because(error)
        })?;
    if bytes.len() as u64 > INPUT_BYTES {
        return Err(Problem::new(
            Kind::BodyTooLong,
            format!("standard input has more than {INPUT_BYTES} bytes"),
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| Problem::new(Kind::BodyNotText, "standard input is not UTF-8 text"))
}
