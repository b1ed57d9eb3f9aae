//! The path of a setting, such as `verify.limits.memory`.

use std::fmt;

/// The names of the tables and the key that lead to a setting; an item of a list is its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyPath(Vec<String>);

impl KeyPath {
    /// Parses a path with dots, whose names contain none.
    pub(super) fn dotted(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    pub(super) fn join(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// The path of the table that contains it.
    pub(super) fn parent(&self) -> Self {
        let mut names = self.0.clone();
        names.pop();
        Self(names)
    }

    /// Whether one path is equal to the other or a beginning of it.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            if is_bare(name) {
                f.write_str(name)?;
            } else {
                write!(f, "{name:?}")?;
            }
        }
        Ok(())
    }
}

/// Whether TOML allows the name without quotes.
pub(super) fn is_bare(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
