//! The trait of a `--json` document: a name with a version, and a derived JSON Schema.

use schemars::JsonSchema;
use serde::Serialize;

/// One document of `--json`. Only documents can be printed, so none is without a schema.
pub(crate) trait Document: Serialize + JsonSchema {
    /// Its name and version, such as `drive.run/1`. The answer adds it as the field `schema`.
    const SCHEMA: &'static str;
}
