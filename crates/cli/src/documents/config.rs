//! Settings: `drive.config/1`, `drive.configCheck/1`, `drive.configSchema/1` and
//! `drive.configDefault/1`.

use super::error::Failure;
use drive_core::Problem;
use drive_core::settings::{Effective, Finding, Origin, Settings};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The settings in force.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigDocument {
    /// The files they are read from, later ones over earlier ones.
    files: Vec<SettingsFile>,
    settings: Settings,
    /// The source of each value, by its dotted path.
    origins: BTreeMap<String, SettingOrigin>,
}

/// Every mistake in the settings files.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigCheckDocument {
    /// The files they are read from, later ones over earlier ones.
    files: Vec<SettingsFile>,
    /// Empty when the settings are right.
    findings: Vec<SettingsMistake>,
    /// Absent when the settings are right.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// The JSON Schema of `drive.toml`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigSchemaDocument {
    #[schemars(extend("type" = "object"))]
    pub(crate) json_schema: Value,
}

/// The commented file of all defaults.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigDefaultDocument {
    pub(crate) toml: String,
}

/// A settings file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsFile {
    pub(crate) path: String,
    pub(crate) exists: bool,
}

/// The source of a value.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "from")]
enum SettingOrigin {
    /// The defaults.
    Default,
    /// A line of a file.
    File {
        file: String,
        /// Counted from one.
        line: usize,
    },
    /// A flag of the command line.
    Flag { flag: String },
}

/// One mistake.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SettingsMistake {
    /// The file; null if the mistake is in no file.
    file: Option<String>,
    /// The line, counted from one.
    line: Option<usize>,
    /// The line's text.
    text: Option<String>,
    /// The setting, as a dotted path; null where the text is not TOML.
    key: Option<String>,
    /// The mistake, in one line.
    message: String,
    /// The most likely correction.
    hint: Option<String>,
}

impl ConfigDocument {
    pub(crate) fn new(files: Vec<SettingsFile>, effective: &Effective) -> Self {
        let entries = effective.entries.iter();
        Self {
            files,
            settings: effective.settings.clone(),
            origins: entries
                .map(|entry| (entry.path(), SettingOrigin::from(&entry.origin)))
                .collect(),
        }
    }
}

impl ConfigCheckDocument {
    /// The settings are right.
    pub(crate) fn right(files: Vec<SettingsFile>) -> Self {
        Self {
            files,
            findings: Vec::new(),
            failure: None,
        }
    }

    /// The settings are wrong.
    pub(crate) fn wrong(files: Vec<SettingsFile>, findings: &[Finding], problem: &Problem) -> Self {
        Self {
            files,
            findings: findings.iter().map(SettingsMistake::from).collect(),
            failure: Some(Failure::from(problem)),
        }
    }
}

impl From<&Origin> for SettingOrigin {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Default => Self::Default,
            Origin::File { file, line } => Self::File {
                file: file.clone(),
                line: *line,
            },
            Origin::Flag { flag } => Self::Flag { flag: flag.clone() },
        }
    }
}

impl From<&Finding> for SettingsMistake {
    fn from(finding: &Finding) -> Self {
        let (file, line) = match &finding.origin {
            Origin::File { file, line } => (Some(file.clone()), Some(*line)),
            Origin::Default | Origin::Flag { .. } => (None, None),
        };
        Self {
            file,
            line,
            text: finding.text.clone(),
            key: finding.key.clone(),
            message: finding.message.clone(),
            hint: finding.hint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::to_value;

    #[test]
    fn an_origin_is_published_as_the_settings_write_it() {
        for origin in [
            Origin::Default,
            Origin::File {
                file: "drive.toml".to_owned(),
                line: 3,
            },
            Origin::Flag {
                flag: "--agent".to_owned(),
            },
        ] {
            assert_eq!(
                to_value(SettingOrigin::from(&origin)).unwrap(),
                to_value(&origin).unwrap()
            );
        }
    }
}
