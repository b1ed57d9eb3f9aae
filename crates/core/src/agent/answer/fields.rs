use serde_json::Value;

/// An object whose keys are compared without case and separators, so that `prTitle`, `PR-Title` and
/// `pr_title` are the same key.
pub(super) struct Fields<'v>(&'v Value);

impl<'v> Fields<'v> {
    pub(super) fn new(value: &'v Value) -> Self {
        Self(value)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'v Value> {
        let object = self.0.as_object()?;
        let wanted = plain(name);
        object.get(name).or_else(|| {
            object
                .iter()
                .find_map(|(key, value)| (plain(key) == wanted).then_some(value))
        })
    }

    /// The trimmed text; `None` if it is missing, empty or not text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The text, or a number as text: models write ids as both.
    pub(super) fn id(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        match value.as_u64() {
            Some(number) => Some(number.to_string()),
            None => self.text(name),
        }
    }

    /// A number, or text that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let value = self.get(name)?;
        value
            .as_u64()
            .or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Whether the value is true or says yes.
    pub(super) fn flag(&self, name: &str) -> bool {
        let value = self.get(name);
        let is_word = |text: &str| matches!(plain(text).as_str(), "true" | "yes");
        value.is_some_and(|value| {
            value
                .as_bool()
                .unwrap_or(value.as_str().is_some_and(is_word))
        })
    }

    /// A word in its plain form, to compare it with known words.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        self.text(name).map(|text| plain(&text))
    }

    /// The items of a list; `None` if it is not a list.
    pub(super) fn list(&self, name: &str) -> Option<&'v [Value]> {
        self.get(name)?.as_array().map(Vec::as_slice)
    }
}

/// The letters and digits of a text, in lowercase.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
