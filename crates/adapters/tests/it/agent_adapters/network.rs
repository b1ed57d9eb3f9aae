//! Tests which addresses an agent reaches, depending on its settings and its user's environment.

use crate::agent_adapters::stage::{Played, Stage, command, runner};
use crate::process_runner::escape::lacking;
use drive_core::agent::{AgentConfig, AgentEvent, AgentNetwork, Role};
use drive_core::process::LayerName;
use drive_engine::ports::{IsolationMode, ProcessRunner};
use std::net::TcpListener;

fn network_events(played: &Played) -> Vec<&str> {
    let network = played.events.iter().filter_map(|event| match event {
        AgentEvent::Network { message } | AgentEvent::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    network.collect()
}

/// Prints which ports of this machine it reaches.
const REACHES: &str = "#!/bin/sh\nfor port in $PORTS; do perl -MIO::Socket::INET -e \
    'print IO::Socket::INET->new(PeerAddr => \"127.0.0.1:\" . shift) ? \"yes \" : \"no \"' $port; done\n\
    getent hosts refused.example >&2; true\n";

struct Machine {
    stage: Stage,
    servers: [TcpListener; 2],
}

impl Machine {
    fn new() -> Option<Self> {
        let has_network = runner()
            .probe()
            .into_iter()
            .find(|layer| layer.name == LayerName::Network)?;
        if !has_network.is_active() {
            lacking(LayerName::Network, "no network namespaces");
            return None;
        }
        let mut stage = Stage::new();
        stage.program("robot", REACHES);
        let servers = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let port = |at: usize| servers[at].local_addr().unwrap().port();
        stage.variables.extend([
            ("PORTS".to_owned(), format!("{} {}", port(0), port(1))),
            (
                "MY_BASE_URL".to_owned(),
                format!("http://127.0.0.1:{}/v1", port(0)),
            ),
        ]);
        Some(Self { stage, servers })
    }

    fn play(&self, config: AgentConfig, isolation: IsolationMode) -> Played {
        let mut request = self.stage.request(Role::Coder);
        request.isolation = isolation;
        self.stage.play(&config, &request)
    }

    fn config(&self, network: AgentNetwork) -> AgentConfig {
        AgentConfig {
            env: vec!["PORTS".to_owned()],
            network,
            ..command("robot")
        }
    }
}

#[test]
fn the_machine_is_reached_with_an_open_network_only() {
    let Some(machine) = Machine::new() else {
        return;
    };
    for (network, isolation, reached) in [
        (AgentNetwork::Off, IsolationMode::Auto, "no no"),
        (AgentNetwork::Allow, IsolationMode::Auto, "no no"),
        (AgentNetwork::Open, IsolationMode::Auto, "yes yes"),
        (AgentNetwork::Off, IsolationMode::Off, "no no"),
        (AgentNetwork::Allow, IsolationMode::Off, "yes yes"),
    ] {
        let played = machine.play(machine.config(network), isolation);
        assert_eq!(
            played.outcome().text.trim(),
            reached,
            "{network:?} {isolation:?}"
        );
    }
}

#[test]
fn a_server_of_the_machine_is_reached_where_a_base_url_or_the_settings_name_it() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let mut by_url = machine.config(AgentNetwork::Allow);
    by_url.env.push("MY_BASE_URL".to_owned());
    let played = machine.play(by_url, IsolationMode::Auto);
    assert_eq!(played.outcome().text.trim(), "yes no");
    let mut by_settings = machine.config(AgentNetwork::Allow);
    by_settings.allow_hosts = vec![machine.servers[1].local_addr().unwrap().to_string()];
    let played = machine.play(by_settings, IsolationMode::Auto);
    assert_eq!(played.outcome().text.trim(), "no yes");
}

#[test]
fn a_refused_host_is_an_event_that_says_what_to_add() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let played = machine.play(machine.config(AgentNetwork::Allow), IsolationMode::Auto);
    assert_eq!(
        network_events(&played),
        ["agent `mine` wanted `refused.example`: add it to `allow_hosts`"]
    );
}

#[test]
fn a_proxy_that_cannot_be_used_is_named() {
    let Some(mut machine) = Machine::new() else {
        return;
    };
    let proxy = ("https_proxy".to_owned(), "socks5://127.0.0.1:9".to_owned());
    machine.stage.variables.push(proxy);
    let named = |network| {
        let played = machine.play(machine.config(network), IsolationMode::Auto);
        network_events(&played)
            .iter()
            .any(|event| event.starts_with("`https_proxy` is not an `http://` proxy"))
    };
    assert!(named(AgentNetwork::Allow));
    assert!(!named(AgentNetwork::Open));
}
