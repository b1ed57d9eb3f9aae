//! A finding of a reviewer.

use crate::review::Domain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The review that reported a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewOf {
    /// The domain; `None` where everything was reviewed at once.
    pub domain: Option<Domain>,
    /// Review number within the domain, from 1.
    pub round: u32,
}

/// One finding of a reviewer, or several that are fixed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The reviewer.
    pub author: String,
    /// The review it belongs to.
    #[serde(flatten)]
    pub review: ReviewOf,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The finding.
    pub body: String,
}
