//! Values that several documents hold.

use drive_core::time::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// A full commit hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Sha(#[schemars(regex(pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))] String);

impl Sha {
    pub(crate) fn new(sha: impl Display) -> Self {
        Self(sha.to_string())
    }
}

/// A moment, RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Moment(Timestamp);

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A path as text. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Declares an enum that is written like one of the core. A variant that is new in the core does
/// not compile until it is published here.
macro_rules! mirror {
    (
        $(#[$meta:meta])*
        $name:ident = $core:ty { $($(#[$doc:meta])* $variant:ident,)+ }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub(crate) enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl From<$core> for $name {
            fn from(value: $core) -> Self {
                match value {
                    $(<$core>::$variant => Self::$variant,)+
                }
            }
        }

        #[cfg(test)]
        impl $name {
            /// Each variant in the core's form and in this one.
            pub(crate) fn both() -> Vec<(serde_json::Value, serde_json::Value)> {
                vec![$((
                    serde_json::to_value(<$core>::$variant).unwrap(),
                    serde_json::to_value(Self::$variant).unwrap(),
                ),)+]
            }
        }
    };
}

pub(crate) use mirror;
