//! Id types. Each id is its own type, so that one cannot be passed for another.

mod branch_name;
mod comment_id;
mod commit_sha;
mod pr_number;
mod remote_name;
mod tree_sha;

pub use branch_name::BranchName;
pub use comment_id::CommentId;
pub use commit_sha::CommitSha;
pub use pr_number::PrNumber;
pub use remote_name::RemoteName;
pub use tree_sha::TreeSha;

use serde::{Deserialize, Serialize};
use std::fmt;

/// Text that should be the id of a git object and is not.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not the full id of a git object", .0.escape_debug())]
pub struct NotAnId(String);

/// Gives an id the schema of the plain type it is stored as, so that documents do not change.
macro_rules! schema_as {
    ($name:ident, $plain:ty) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$plain>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$plain>::json_schema(generator)
            }
        }
    };
}
use schema_as;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps text that is known to be an id.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// One run of `spawn`, `spawn-team`, `cruise` or `verify`.
    RunId
}
id! {
    /// One sandbox. A cruise has one per phase, every other run has one.
    SandboxId
}
id! {
    /// One effect of one run. Every attempt uses the same key, so a performer can find out whether
    /// an earlier attempt happened.
    EffectKey
}
id! {
    /// One task of a plan.
    TaskId
}
id! {
    /// The key that identifies an event when it is delivered again.
    DedupeKey
}

impl RunId {
    /// A readable, sortable id from a time and a random suffix, such as `r20261115-0942-k3f9`.
    pub fn compose(at: jiff::Timestamp, entropy: u32) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let stamp = at.strftime("%Y%m%d-%H%M");
        let suffix: String = (0..5)
            .map(|i| char::from(ALPHABET[(entropy >> (i * 5)) as usize & 31]))
            .collect();
        Self(format!("r{stamp}-{suffix}"))
    }
}
