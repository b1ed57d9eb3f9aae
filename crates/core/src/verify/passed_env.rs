//! Variables of the user's environment that a route passes to its commands.

use crate::agent::{Secrets, looks_secret};

/// The passed values that must not appear in a report: those of variables with secret-like names,
/// and passwords in addresses. `None` if there are none.
pub fn passed_secrets<'a>(passed: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Secrets> {
    let values: Vec<&str> = passed
        .filter_map(|(name, value)| {
            if looks_secret(name) {
                Some(value)
            } else {
                password_in(value)
            }
        })
        // A line of the value may be printed alone or after a prefix.
        .flat_map(|value| std::iter::once(value).chain(value.lines()))
        .filter(|value| !value.is_empty())
        .collect();
    (!values.is_empty()).then(|| Secrets::new(values))
}

/// The password in an address such as `postgres://user:password@host/db`.
fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let place = rest.split(['/', '?', '#']).next()?;
    let (login, _) = place.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    Some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_passed_secret_is_hidden_and_that_of_another_variable_is_not() {
        let passed = [
            ("DB_PASSWORD", "swordfish-1"),
            ("MODE", "integration"),
            (
                "DATABASE_URL",
                "postgres://ann:hunter-22@db:5432/shop?ssl=1",
            ),
            ("SIGNING_KEY", "first-line-1\nsecond-line-2"),
            ("HOMEPAGE", "https://example.org/a:b@c"),
        ];
        let secrets = passed_secrets(passed.into_iter()).unwrap();
        let told = "swordfish-1 integration postgres://ann:hunter-22@db:5432 example.org/a:b@c";
        let clean = secrets.redact(told);
        assert!(!clean.contains("swordfish"), "{clean}");
        assert!(!clean.contains("hunter"), "{clean}");
        assert!(clean.contains(" integration postgres://ann:"), "{clean}");
        assert!(clean.ends_with("@db:5432 example.org/a:b@c"), "{clean}");
        let behind = secrets.redact("[db] first-line-1\n[db] second-line-2");
        assert!(!behind.contains("line"), "{behind}");
        assert!(passed_secrets(passed[1..2].iter().copied()).is_none());
    }
}
