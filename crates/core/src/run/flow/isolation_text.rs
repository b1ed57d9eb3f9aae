//! The isolation of a run as Markdown, for the description of its pull request.

use crate::private_paths::without_private_paths;
use crate::process::{Layer, LayerName, missing_essentials, missing_layers};

/// Text about missing layers of isolation; `None` if no agent ran. Layers that `require` demands
/// appear as a warning; the others are only named.
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
        let why = without_private_paths(why, None).replace(['\n', '<', '|'], " ");
        let why = why.replace('`', "");
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
        format!(
            "Isolation: every layer that `isolation = \"require\"` asks for was active. Not \
             available: {others}."
        )
    } else {
        let active = layers.iter().filter(|layer| layer.is_active());
        let active: Vec<String> = active
            .map(|layer| format!("`{}`", layer.name.as_str()))
            .collect();
        let active = match active.as_slice() {
            [] => "No layer was active.".to_owned(),
            active => format!("Active: {}.", active.join(", ")),
        };
        format!(
            "Made without full isolation. Missing layers:\n\n{}\n\n{active}",
            missing.join("\n")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_warns_of_the_layers_that_require_asks_for_and_names_the_others() {
        let text = |layers: &[Layer]| isolation_text(layers).unwrap_or_default();
        let (view, caches) = (
            Layer::active(LayerName::View),
            Layer::missing(LayerName::Caches, "no overlay"),
        );
        assert_eq!(text(&[]), "");
        assert_eq!(
            text(std::slice::from_ref(&view)),
            "Isolation: every layer was active."
        );
        assert_eq!(
            text(&[view, caches.clone()]),
            "Isolation: every layer that `isolation = \"require\"` asks for was active. Not \
             available: `caches`."
        );
        let gone = Layer::missing(LayerName::View, "it is\n`off` in /home/ann/x");
        let network = Layer::active(LayerName::Network);
        let told = text(&[gone.clone(), network, caches.clone()]);
        assert!(told.ends_with("\n\nActive: `network`."), "{told}");
        let told = text(&[gone, caches]);
        assert!(told.ends_with("\n\nNo layer was active."), "{told}");
        assert!(
            told.starts_with("Made without full isolation. Missing layers:\n\n- `view`: it is"),
            "{told}"
        );
        assert!(
            !told.contains("caches") && !told.contains("`off`") && told.contains("in ~/x;"),
            "{told}"
        );
    }
}
