//! A finding of a reviewer.

use crate::review::Domain;
use serde::{Deserialize, Serialize};

/// One finding of a reviewer, or several that are fixed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The reviewer.
    pub author: String,
    /// Of which review.
    pub domain: Option<Domain>,
    /// Review number within the domain, from 1.
    pub round: u32,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The finding.
    pub body: String,
}
