use super::{Check, Doctor, forge, machine, tools};

impl Doctor<'_> {
    /// Runs all checks.
    #[must_use]
    pub fn examine(&self) -> Vec<Check> {
        let mut checks = vec![tools::git(self)];
        checks.extend(machine::state(self));
        checks.extend(tools::agents(self));
        checks.extend(tools::logins(self));
        checks.extend(tools::keys(self));
        checks.extend(forge::checks(self));
        checks.extend(tools::helpers(self));
        checks.extend(machine::layers(self));
        checks
    }
}
