use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};
use std::fmt;

const WORKING_COPY: &str = "workingCopy";
const OWN_SETTINGS: &str = "ownSettings";

/// The source of the repository's rules for a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RulesFrom {
    /// This commit.
    Commit(CommitSha),
    /// The caller's checkout, because a person trusts it.
    WorkingCopy,
    /// No repository: only the user's own settings and the defaults.
    OwnSettings,
}

impl RulesFrom {
    /// The name in the envelope.
    pub fn as_str(&self) -> &str {
        match self {
            RulesFrom::Commit(sha) => sha.as_str(),
            RulesFrom::WorkingCopy => WORKING_COPY,
            RulesFrom::OwnSettings => OWN_SETTINGS,
        }
    }
}

/// The source as part of a sentence.
impl fmt::Display for RulesFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesFrom::Commit(sha) => f.write_str(sha.short()),
            RulesFrom::WorkingCopy => f.write_str("the checkout"),
            RulesFrom::OwnSettings => f.write_str("your own settings"),
        }
    }
}

impl From<RulesFrom> for String {
    fn from(from: RulesFrom) -> Self {
        from.as_str().to_owned()
    }
}

impl TryFrom<String> for RulesFrom {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            WORKING_COPY => Ok(RulesFrom::WorkingCopy),
            OWN_SETTINGS => Ok(RulesFrom::OwnSettings),
            sha => CommitSha::parse(sha)
                .map(RulesFrom::Commit)
                .ok_or_else(|| format!("`{text}` does not say where rules were read")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_written_as_text_and_read_back() {
        let sha = CommitSha::new("a".repeat(40));
        for from in [
            RulesFrom::Commit(sha),
            RulesFrom::WorkingCopy,
            RulesFrom::OwnSettings,
        ] {
            let text = serde_json::to_string(&from).unwrap();
            assert_eq!(text, format!("\"{}\"", from.as_str()));
            assert_eq!(serde_json::from_str::<RulesFrom>(&text).unwrap(), from);
        }
        assert!(serde_json::from_str::<RulesFrom>("\"main\"").is_err());
    }
}
