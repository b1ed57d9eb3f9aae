use super::schema_as;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a pull request within its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrNumber(u64);

schema_as!(PrNumber, u64);

impl PrNumber {
    /// Wraps a forge's number of a pull request.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Parses a number that a person typed, with or without `#`; `None` for other text. Forges count from 1.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        // The parser of `u64` also accepts a leading `+`.
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok()?;
        (number != 0).then_some(Self(number))
    }

    /// The number, for a request or a database.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for PrNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_number_is_taken_with_and_without_its_hash_sign() {
        assert_eq!(PrNumber::parse("7"), Some(PrNumber::new(7)));
        assert_eq!(PrNumber::parse("#7"), Some(PrNumber::new(7)));
    }

    #[test]
    fn text_that_numbers_no_pull_request_is_refused() {
        for text in [
            "",
            "#",
            "0",
            "#0",
            "-1",
            "+1",
            "1.0",
            "##1",
            "feat/7",
            " 7",
            "18446744073709551616",
        ] {
            assert_eq!(PrNumber::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn it_is_stored_as_a_bare_number() {
        assert_eq!(serde_json::to_string(&PrNumber::new(7)).unwrap(), "7");
        assert_eq!(
            serde_json::from_str::<PrNumber>("0").unwrap(),
            PrNumber::new(0)
        );
        assert!(serde_json::from_str::<PrNumber>("\"7\"").is_err());
    }

    #[test]
    fn its_schema_is_that_of_a_number() {
        assert_eq!(
            schemars::schema_for!(Option<PrNumber>),
            schemars::schema_for!(Option<u64>)
        );
    }
}
