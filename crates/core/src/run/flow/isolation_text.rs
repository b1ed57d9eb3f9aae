//! The isolation of a run as Markdown, for the description of its pull request.

use crate::process::{Layer, LayerName, missing_essentials, missing_layers};

/// Which layers were missing; `None` where no agent ran. Only those are a warning that hold something:
/// of the others, which another layer stands in for or which make work faster, the names are enough.
pub(super) fn isolation_text(layers: &[Layer]) -> Option<String> {
    if layers.is_empty() {
        return None;
    }
    let essential: Vec<LayerName> = missing_essentials(layers, true)
        .map(|layer| layer.name)
        .collect();
    let (missing, others): (Vec<_>, Vec<_>) =
        missing_layers(layers).partition(|(name, _)| essential.contains(name));
    let missing = missing.into_iter().map(|(name, why)| {
        let why = why.replace(['\n', '`', '<', '|'], " ");
        format!("- `{}`: {why}", name.as_str())
    });
    let missing: Vec<String> = missing.collect();
    let others: Vec<String> = others
        .iter()
        .map(|(name, _)| format!("`{}`", name.as_str()))
        .collect();
    Some(if missing.is_empty() && others.is_empty() {
        "Isolation: every layer was active.".to_owned()
    } else if missing.is_empty() {
        let others = others.join(", ");
        format!("Isolation: every layer that confines was active. Not available: {others}.")
    } else {
        format!(
            "Made without full isolation. Missing layers:\n\n{}",
            missing.join("\n")
        )
    })
}
