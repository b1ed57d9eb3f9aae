//! Limits on a repository's settings. Other people can change them, so they cannot grant what only
//! the user may grant, and drive reports which access they widen.

use super::finding::Finding;
use super::key_path::KeyPath;
use super::layer::{Layer, Source};
use super::model::{IsolationMode, RecordDetail, Settings};
use super::tree::{Node, NodeKind};
use super::verify::StageNetwork;
use crate::agent::answer::Confidence;
use crate::agent::{AgentConfig, AgentNetwork, looks_secret};
use crate::network::{Host, host_of_url, parse_host};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Access that a repository's settings grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widened {
    /// The affected agent; `None` for all.
    pub agent: Option<String>,
    /// The setting that grants access, and its place in the file.
    pub message: String,
}

/// Keys that only the user may set, because they expose parts of the user's home.
const USERS_OWN: [&str; 2] = ["home", "mcp"];

const OWN_FILE: &str = "`~/.config/infinite-improbability-drive/config.toml`";

/// Errors for settings that are only allowed in the user's own file. `tree` is one layer, `below`
/// the combined lower layers.
pub(super) fn refused(layers: &[Layer], tree: &Node, below: Option<&Node>) -> Vec<Finding> {
    if !is_of_repository(layers, tree) {
        return Vec::new();
    }
    let refuse = |path: &KeyPath, message: String, hint: String| {
        let node = tree.nearest(path.names());
        Finding::new(layers, &node.key, path, message).hint(Some(hint))
    };
    let agents = agents(tree);
    let own = agents.iter().flat_map(|(_, agent)| {
        let paths = USERS_OWN.map(|key| agent.join(key)).into_iter();
        paths
            .filter(|path| matches!(kind(tree, path), Some(NodeKind::List(all)) if !all.is_empty()))
    });
    let mut findings: Vec<Finding> = own
        .map(|path| {
            let message = format!("`{path}` counts in your own settings only");
            refuse(&path, message, format!("move it to {OWN_FILE}"))
        })
        .collect();
    // The user's own settings that this layer would weaken.
    let isolation = KeyPath::dotted("sandbox.isolation");
    let networks = agents.iter().map(|(_, agent)| agent.join("network"));
    let weaker = std::iter::once(isolation)
        .filter(|path| is_weakened(layers, tree, below, path, IsolationMode::strictness))
        .chain(
            networks
                .filter(|path| is_weakened(layers, tree, below, path, AgentNetwork::strictness)),
        )
        .chain(
            std::iter::once(KeyPath::dotted("review.min_confidence"))
                .filter(|path| is_weakened(layers, tree, below, path, heard_from)),
        );
    findings.extend(weaker.map(|path| {
        let message = format!("`{path}` is weaker than in your own settings");
        refuse(
            &path,
            message,
            "a repository can only be stricter".to_owned(),
        )
    }));
    // A repository must not make drive run a program or read a key.
    let command = KeyPath::dotted("forge.token_command");
    let key_file = KeyPath::dotted("forge.private_key_file");
    let notify = KeyPath::dotted("notify.command");
    let is_set = |path: &&KeyPath| match kind(tree, path) {
        Some(NodeKind::List(all)) => !all.is_empty(),
        Some(_) => true,
        None => false,
    };
    findings.extend(
        [&command, &key_file, &notify]
            .into_iter()
            .filter(is_set)
            .map(|path| {
                let message = format!("`{path}` counts in your own settings only");
                refuse(path, message, format!("move it to {OWN_FILE}"))
            }),
    );
    let api = KeyPath::dotted("forge.api_url");
    if let Some(NodeKind::Text(url)) = kind(tree, &api)
        && !is_harmless_server(url)
    {
        let message = format!("`{api}` names a server that your token would be sent to");
        findings.push(refuse(
            &api,
            message,
            format!("if you trust it, set it in {OWN_FILE}"),
        ));
    }
    findings
}

/// Marks the agents that may reach hosts listed by a repository.
pub(super) fn mark_hosts(layers: &[Layer], tree: &Node, settings: &mut Settings) {
    for (name, path) in agents(tree) {
        let hosts = tree.find(path.join("allow_hosts").names());
        let is_theirs = hosts.is_some_and(|node| is_of_repository(layers, node));
        if let Some(config) = settings.agents.get_mut(&name) {
            config.hosts_are_of_repository = is_theirs;
        }
    }
}

/// Lists the access that the repository's settings grant, in the order of the agents.
pub(super) fn widened(layers: &[Layer], tree: &Node, settings: &Settings) -> Vec<Widened> {
    let mut all = Vec::new();
    let mut note = |agent: Option<&str>, path: &KeyPath, what: String| {
        let node = tree.find(path.names());
        let Some(node) = node.filter(|node| is_of_repository(layers, node)) else {
            return;
        };
        let place = layers[node.value.layer].origin(node.key.span.start);
        all.push(Widened {
            agent: agent.map(str::to_owned),
            message: format!("{place}: this repository {what}"),
        });
    };
    if settings.sandbox.isolation == IsolationMode::Off {
        let path = KeyPath::dotted("sandbox.isolation");
        note(
            None,
            &path,
            "switches the isolation of agents off".to_owned(),
        );
    }
    if settings.verify.network == StageNetwork::Open {
        let path = KeyPath::dotted("verify.network");
        note(
            None,
            &path,
            "opens the whole network to verification".to_owned(),
        );
    }
    let routes = settings.verify.routes.iter();
    if routes
        .filter_map(|route| route.network)
        .any(|network| network == StageNetwork::Open)
    {
        let path = KeyPath::dotted("verify.routes");
        note(
            None,
            &path,
            "opens the whole network to a verification".to_owned(),
        );
    }
    let passed = settings.verify.routes.iter();
    let passed = passed.flat_map(|route| &route.pass_env);
    let secrets: BTreeSet<&String> = passed.filter(|name| looks_secret(name)).collect();
    for name in secrets {
        let path = KeyPath::dotted("verify.routes");
        let what = format!("passes `{name}` of your environment to verification");
        note(None, &path, what);
    }
    if settings.observability.publish == RecordDetail::Full {
        let path = KeyPath::dotted("observability.publish");
        note(None, &path, "publishes paths of this machine".to_owned());
    }
    if !settings.secrets.allow.is_empty() {
        let path = KeyPath::dotted("secrets.allow");
        let files = quoted(&settings.secrets.allow);
        note(None, &path, format!("lets secrets in {files} be pushed"));
    }
    if !settings.forge.trusted.is_empty() {
        let path = KeyPath::dotted("forge.trusted");
        let authors = quoted(&settings.forge.trusted);
        note(
            None,
            &path,
            format!("has agents follow comments of {authors}"),
        );
    }
    for (name, path) in agents(tree) {
        let Some(config) = settings.agents.get(&name) else {
            continue;
        };
        let is_known = |key: &str| {
            let node = tree.find(path.join(key).names());
            node.is_some_and(|node| !is_of_repository(layers, node))
        };
        // An agent that only the repository defines is not the user's.
        if is_known("kind") || is_known("command") || is_known("env") {
            for key in ["kind", "command"] {
                note(
                    Some(&name),
                    &path.join(key),
                    format!("changes what agent `{name}` runs"),
                );
            }
        }
        if config.network == AgentNetwork::Open {
            let what = format!("opens the whole network to agent `{name}`");
            note(Some(&name), &path.join("network"), what);
        }
        for entry in config.allow_hosts.iter().filter(|entry| is_literal(entry)) {
            let what = format!("lets agent `{name}` reach `{entry}`");
            note(Some(&name), &path.join("allow_hosts"), what);
        }
        for variable in secrets_besides_its_own(config) {
            let what = format!("passes `{variable}` of your environment to agent `{name}`");
            note(Some(&name), &path.join("env"), what);
        }
    }
    all
}

fn quoted(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|one| format!("`{one}`")).collect();
    all.join(", ")
}

fn is_of_repository(layers: &[Layer], node: &Node) -> bool {
    let layer = layers.get(node.value.layer).map(|layer| &layer.source);
    matches!(layer, Some(Source::Repository(_)))
}

/// All agents, with the paths of their tables.
fn agents(tree: &Node) -> Vec<(String, KeyPath)> {
    let agents = KeyPath::dotted("agents");
    match kind(tree, &agents) {
        Some(NodeKind::Table(known)) => known
            .iter()
            .map(|(name, _)| (name.clone(), agents.join(name)))
            .collect(),
        Some(_) | None => Vec::new(),
    }
}

fn kind<'a>(tree: &'a Node, path: &KeyPath) -> Option<&'a NodeKind> {
    tree.find(path.names()).map(|node| &node.kind)
}

fn is_weakened<T: DeserializeOwned>(
    layers: &[Layer],
    tree: &Node,
    below: Option<&Node>,
    path: &KeyPath,
    strictness: fn(T) -> u8,
) -> bool {
    let value = |node: &Node| serde_json::from_value(node.to_json()).ok().map(strictness);
    let theirs = tree.find(path.names()).and_then(value);
    let own = below.and_then(|below| below.find(path.names()));
    let own = own.filter(|node| {
        let layer = layers.get(node.value.layer).map(|layer| &layer.source);
        matches!(layer, Some(Source::File(_)))
    });
    theirs
        .zip(own.and_then(value))
        .is_some_and(|(theirs, own)| theirs < own)
}

/// A rank of how many findings count: the lower the minimum confidence, the more do.
fn heard_from(least: Confidence) -> u8 {
    100 - least.get()
}

/// Whether the server is GitHub itself or this machine.
fn is_harmless_server(api_url: &str) -> bool {
    host_of_url(api_url).is_some_and(|host| match host.address() {
        Some(address) => address.is_loopback(),
        None => host.host == Host::Exact("api.github.com".to_owned()),
    })
}

fn is_literal(entry: &str) -> bool {
    parse_host(entry).is_ok_and(|host| host.address().is_some())
}

/// The variables in `env` that contain secrets and that the agent's own program does not read.
fn secrets_besides_its_own(config: &AgentConfig) -> impl Iterator<Item = &str> {
    let of_kind = AgentConfig::of_kind(config.kind);
    let listed = config.env.iter().map(String::as_str);
    listed.filter(move |name| looks_secret(name) && !of_kind.variables().any(|own| own == *name))
}
