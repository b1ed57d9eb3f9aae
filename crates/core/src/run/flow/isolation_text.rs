//! The isolation of a run as Markdown, for the description of its pull request.

use crate::process::{Layer, missing_layers};

/// Which layers were missing; `None` where no agent ran.
pub(super) fn isolation_text(layers: &[Layer]) -> Option<String> {
    if layers.is_empty() {
        return None;
    }
    let missing = missing_layers(layers).map(|(name, why)| {
        let why = why.replace(['\n', '`', '<', '|'], " ");
        format!("- `{}`: {why}", name.as_str())
    });
    let missing: Vec<String> = missing.collect();
    Some(if missing.is_empty() {
        "Isolation: every layer was active.".to_owned()
    } else {
        format!(
            "Made without full isolation. Missing layers:\n\n{}",
            missing.join("\n")
        )
    })
}
