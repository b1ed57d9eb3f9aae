use super::super::key_path::KeyPath;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::settings) struct Broken {
    /// The settings involved, the most likely cause first.
    pub(in crate::settings) paths: Vec<KeyPath>,
    pub(in crate::settings) message: String,
    pub(in crate::settings) hint: Option<String>,
}

impl Broken {
    pub(super) fn new(keys: &[&str], message: impl Into<String>) -> Self {
        Self {
            paths: keys.iter().map(|key| KeyPath::dotted(key)).collect(),
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
