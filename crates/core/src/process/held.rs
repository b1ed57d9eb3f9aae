//! The isolation layers of a whole run, combined over its processes.

use super::{Layer, LayerName, LayerState};

/// Adds the layers of one more process. A layer that was missing for one process counts as missing.
pub fn add_layers(all: &mut Vec<Layer>, more: impl IntoIterator<Item = Layer>) {
    for layer in more {
        match all.iter_mut().find(|known| known.name == layer.name) {
            Some(known) if known.is_active() => *known = layer,
            Some(_) => {}
            None => all.push(layer),
        }
    }
}

/// The missing layers, each with its reason and consequence.
pub fn missing_layers(layers: &[Layer]) -> impl Iterator<Item = (LayerName, &str)> {
    layers.iter().filter_map(|layer| match &layer.state {
        LayerState::Missing(why) => Some((layer.name, why.as_str())),
        LayerState::Active => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_was_missing_once_is_missing() {
        let (view, network) = (LayerName::View, LayerName::Network);
        let mut all = vec![Layer::active(view)];
        add_layers(
            &mut all,
            [Layer::missing(view, "off"), Layer::active(network)],
        );
        add_layers(&mut all, [Layer::active(view)]);
        let names: Vec<LayerName> = missing_layers(&all).map(|(name, _)| name).collect();
        assert_eq!((names, all.len()), (vec![view], 2));
    }
}
