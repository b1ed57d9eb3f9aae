//! Durations, sizes and days as people write them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The schema keyword that names the unit of a text.
pub(crate) const UNIT_KEYWORD: &str = "x-unit";

/// The maximum number of digits of a number: enough for any use, and too few to overflow.
const MAX_DIGITS: usize = 9;

/// A duration, such as `500ms`, `30s`, `2m`, `1h30m` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(Duration);

impl Period {
    const NAME: &str = "duration";
    const EXAMPLE: &str = "2m";
    const UNITS: [(&str, u64); 5] = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];

    /// Creates a period from a duration, in whole milliseconds.
    pub fn new(duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self(Duration::from_millis(millis))
    }

    /// Returns the duration.
    pub fn get(self) -> Duration {
        self.0
    }

    /// Whether the duration is zero.
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl FromStr for Period {
    type Err = NotAUnit;

    fn from_str(text: &str) -> Result<Self, NotAUnit> {
        let not = || NotAUnit {
            text: text.to_owned(),
            unit: Self::NAME,
            example: Self::EXAMPLE,
        };
        let mut millis = 0_u64;
        let mut rest = text;
        // Units must descend: `1h30m` is a duration, and `30m1h` or `1m1m` is a typo.
        let mut units = Self::UNITS.iter();
        while !rest.is_empty() {
            let (number, after) = leading_number(rest).ok_or_else(not)?;
            let end = after
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(after.len());
            let (unit, next) = after.split_at(end);
            let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(not)?;
            let more = number.checked_mul(*factor).ok_or_else(not)?;
            millis = millis.checked_add(more).ok_or_else(not)?;
            rest = next;
        }
        if text.is_empty() {
            return Err(not());
        }
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        // Days are accepted but never written: people say `24h` for a timeout of a day.
        for (unit, factor) in &Self::UNITS[1..] {
            let count = rest / factor;
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
            rest %= factor;
        }
        Ok(())
    }
}

impl TryFrom<String> for Period {
    type Error = NotAUnit;

    fn try_from(text: String) -> Result<Self, NotAUnit> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> String {
        period.to_string()
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Period")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([0-9]{1,9}(d|h|m|s|ms))+$",
            "examples": [Self::EXAMPLE, "1h30m"],
            UNIT_KEYWORD: Self::NAME,
        })
    }
}

/// A number of bytes, such as `64KiB`, `4GiB` or `1GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(u64);

impl ByteSize {
    const NAME: &str = "size";
    const EXAMPLE: &str = "4GiB";
    /// The units from large to small, so that the shortest number is shown.
    const UNITS: [(&str, u64); 9] = [
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("KB", 1_000),
        ("B", 1),
    ];

    /// Creates a size from a number of bytes.
    pub fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = NotAUnit;

    fn from_str(text: &str) -> Result<Self, NotAUnit> {
        let not = || NotAUnit {
            text: text.to_owned(),
            unit: Self::NAME,
            example: Self::EXAMPLE,
        };
        let (number, unit) = leading_number(text).ok_or_else(not)?;
        let mut units = Self::UNITS.iter();
        let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(not)?;
        number.checked_mul(*factor).map(Self).ok_or_else(not)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole =
            |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
        match Self::UNITS.iter().find(whole) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl TryFrom<String> for ByteSize {
    type Error = NotAUnit;

    fn try_from(text: String) -> Result<Self, NotAUnit> {
        text.parse()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> String {
        size.to_string()
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ByteSize")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{1,9}(B|KB|KiB|MB|MiB|GB|GiB|TB|TiB)$",
            "examples": [Self::EXAMPLE, "64KiB"],
            UNIT_KEYWORD: Self::NAME,
        })
    }
}

/// A day of the calendar, such as `2026-11-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(Date);

impl Day {
    const NAME: &str = "day";
    const EXAMPLE: &str = "2026-11-01";

    /// The day of a time, in UTC.
    pub fn of(at: Timestamp) -> Self {
        Self(at.to_zoned(TimeZone::UTC).date())
    }

    /// The time at which it begins, in UTC.
    pub fn begins(self) -> Option<Timestamp> {
        let begins = self.0.to_zoned(TimeZone::UTC).ok()?;
        Some(begins.timestamp())
    }
}

impl FromStr for Day {
    type Err = NotAUnit;

    fn from_str(text: &str) -> Result<Self, NotAUnit> {
        // A date also parses from a full time, which would lose the time of day.
        let date = text.parse::<Date>().ok();
        date.filter(|_| text.len() == Self::EXAMPLE.len())
            .map(Self)
            .ok_or_else(|| NotAUnit {
                text: text.to_owned(),
                unit: Self::NAME,
                example: Self::EXAMPLE,
            })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Day {
    type Error = NotAUnit;

    fn try_from(text: String) -> Result<Self, NotAUnit> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> String {
        day.to_string()
    }
}

impl JsonSchema for Day {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Day")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            "examples": [Self::EXAMPLE],
            UNIT_KEYWORD: Self::NAME,
        })
    }
}

/// Text that does not have the required unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {unit} such as `{example}`")]
pub struct NotAUnit {
    text: String,
    unit: &'static str,
    example: &'static str,
}

/// Checks a text against the unit that a schema names.
pub(crate) fn check(unit: &str, text: &str) -> Result<(), NotAUnit> {
    match unit {
        Period::NAME => text.parse::<Period>().map(drop),
        ByteSize::NAME => text.parse::<ByteSize>().map(drop),
        Day::NAME => text.parse::<Day>().map(drop),
        _ => Ok(()),
    }
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.len() > MAX_DIGITS {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_as_people_write_them() {
        let table = [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("24h", 86_400_000),
            ("1d", 86_400_000),
            ("1d2h3m4s5ms", 93_784_005),
        ];
        for (text, millis) in table {
            assert_eq!(
                text.parse(),
                Ok(Period(Duration::from_millis(millis))),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "2",
            "m",
            "2 m",
            "2min",
            "-2m",
            "1.5h",
            "30m1h",
            "1m1m",
            "9999999999s",
            "2m ",
            "２m",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        let table = [
            ("0B", 0),
            ("64KiB", 65_536),
            ("4GiB", 4_294_967_296),
            ("1GB", 1_000_000_000),
            ("2TiB", 2_199_023_255_552),
        ];
        for (text, bytes) in table {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in [
            "", "4", "GiB", "4 GiB", "4gib", "4G", "-1B", "1.5GiB", "4GiB4GiB",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
        assert_eq!(
            "4G".parse::<ByteSize>().unwrap_err().to_string(),
            "`4G` is not a size such as `4GiB`"
        );
    }

    #[test]
    fn a_day_is_a_date_and_nothing_more() {
        let day: Day = "2026-02-28".parse().unwrap();
        assert_eq!(day.to_string(), "2026-02-28");
        assert_eq!(Day::of("2026-02-28T23:59:59Z".parse().unwrap()), day);
        assert!(Day::of("2026-03-01T00:00:00Z".parse().unwrap()) > day);
        for text in [
            "",
            "28.2.2026",
            "2026-02-29",
            "2026-2-28",
            "2026-02-28T00:00",
        ] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_duration_reads_back_the_same(millis in 0_u64..3_600_000 * 900_000_000) {
            let period = Period::new(Duration::from_millis(millis));
            prop_assert_eq!(period.to_string().parse(), Ok(period));
        }

        #[test]
        fn a_shown_size_reads_back_the_same(number in 0_u64..10_000_000, unit in 0_usize..9) {
            let size = ByteSize::new(number * ByteSize::UNITS[unit].1);
            let shown = size.to_string();
            prop_assert_eq!(shown.parse(), Ok(size));
        }
    }
}
