//! Hosts that a stage tried to reach and did not.

use crate::network::{REGISTRIES, Refused};
use crate::settings::StageNetwork;

/// What happened, and the setting that allows the host: that of the route if `has_routes`, else
/// that of all stages.
pub fn wanted(refused: &Refused, network: StageNetwork, has_routes: bool) -> String {
    let name = refused.host().split(':').next().unwrap_or_default();
    let wider = match network {
        StageNetwork::Off if REGISTRIES.contains(&name) => "registries",
        StageNetwork::Off | StageNetwork::Registries | StageNetwork::Open => "open",
    };
    let place = if has_routes {
        "its route"
    } else {
        "`[verify]`"
    };
    refused.with_remedy(&format!("set `network = \"{wider}\"` in {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_setting_that_helps_is_named() {
        let refused = |host: &str| Refused::NotAllowed {
            host: host.to_owned(),
        };
        for (host, network, has_routes, expected) in [
            (
                "registry.npmjs.org",
                StageNetwork::Off,
                true,
                "wanted `registry.npmjs.org`: set `network = \"registries\"` in its route",
            ),
            (
                "pypi.org:443",
                StageNetwork::Off,
                false,
                "wanted `pypi.org:443`: set `network = \"registries\"` in `[verify]`",
            ),
            (
                "x.example",
                StageNetwork::Off,
                true,
                "wanted `x.example`: set `network = \"open\"` in its route",
            ),
            (
                "pypi.org:22",
                StageNetwork::Registries,
                true,
                "wanted `pypi.org:22`: set `network = \"open\"` in its route",
            ),
        ] {
            assert_eq!(wanted(&refused(host), network, has_routes), expected);
        }
    }
}
