use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One finding of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The file, if the finding is about one.
    pub file: Option<String>,
    /// The line in the new version of the file.
    pub line: Option<u64>,
    /// The last line, if the finding covers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// The defect.
    pub issue: String,
    /// The evidence: the input or path that fails, or the quoted line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The suggested fix.
    pub suggestion: Option<String>,
    /// Code that replaces exactly these lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// The severity.
    pub severity: Severity,
    /// The reviewer's confidence.
    pub confidence: Confidence,
    /// Whether it existed before the change: such findings are reported separately and do not block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pre_existing: bool,
    /// Why a second agent refuted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuted: Option<String>,
}

/// How bad a finding is; the worst comes first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// It must not be merged: data is lost, a secret leaks, the task is not done.
    Blocker,
    /// It must be fixed before the merge.
    Major,
    /// It can be merged as it is.
    Minor,
}

impl Severity {
    /// All values, the worst first.
    pub const ALL: [Severity; 3] = [Severity::Blocker, Severity::Major, Severity::Minor];

    /// The word in answers and texts.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Blocker => "blocker",
            Severity::Major => "major",
            Severity::Minor => "minor",
        }
    }

    /// Parses a word that reviewers use, in its plain form.
    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "blocker" | "blocking" | "critical" | "high" => Some(Severity::Blocker),
            "major" | "medium" | "moderate" => Some(Severity::Major),
            "minor" | "low" | "nit" | "trivial" | "info" => Some(Severity::Minor),
            _ => None,
        }
    }
}

/// The confidence of a reviewer in a finding, from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u8")]
pub struct Confidence(u8);

impl Confidence {
    /// Full confidence. A reviewer that gives no number expressed no doubt.
    pub const CERTAIN: Self = Self(100);

    /// A confidence of this many percent; `None` beyond 100.
    pub fn new(percent: u64) -> Option<Self> {
        let percent = u8::try_from(percent).ok()?;
        (percent <= 100).then_some(Self(percent))
    }

    /// The percent.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl From<Confidence> for u8 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

impl TryFrom<u64> for Confidence {
    type Error = String;

    fn try_from(percent: u64) -> Result<Self, String> {
        Self::new(percent).ok_or_else(|| format!("{percent} is more than 100 percent"))
    }
}

impl JsonSchema for Confidence {
    fn schema_name() -> Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "integer", "minimum": 0, "maximum": 100})
    }
}
