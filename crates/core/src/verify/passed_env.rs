//! Variables of the user's environment that a route passes to its commands.

use super::plan::StageCommand;
use crate::agent::{Secrets, looks_secret};

impl StageCommand {
    /// The passed values that must not be in a report: those of variables whose name says so. `None`
    /// where there are none.
    pub fn secrets_of<'a>(
        &self,
        passed: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Option<Secrets> {
        let own = passed.filter(|(name, _)| self.pass_env.iter().any(|one| one == name));
        let values = own.filter(|(name, value)| looks_secret(name) && !value.is_empty());
        let values: Vec<&str> = values.map(|(_, value)| value).collect();
        (!values.is_empty()).then(|| Secrets::new(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_passed_secret_is_hidden_and_that_of_another_variable_is_not() {
        let command = StageCommand {
            pass_env: vec!["DB_PASSWORD".to_owned(), "MODE".to_owned()],
            ..StageCommand::default()
        };
        let passed = [
            ("DB_PASSWORD", "swordfish-1"),
            ("MODE", "integration"),
            ("OTHER_TOKEN", "not-of-this-route"),
        ];
        let secrets = command.secrets_of(passed.into_iter()).unwrap();
        let clean = secrets.redact("swordfish-1 integration not-of-this-route");
        assert!(!clean.contains("swordfish"), "{clean}");
        assert!(clean.contains("integration not-of-this-route"), "{clean}");
        let plain = passed[1..2].iter().copied();
        assert!(command.secrets_of(plain).is_none());
    }
}
