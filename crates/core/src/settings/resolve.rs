//! Resolves layers into the effective settings.

use super::check::{Extent, check};
use super::finding::{Finding, Findings};
use super::key_path::KeyPath;
use super::layer::{Layer, Origin, Place};
use super::model::Settings;
use super::repository::{self, Widened};
use super::rules::{self, Broken};
use super::schema;
use super::tree::{Node, NodeKind};
use serde_json::Value;
use toml::de::DeTable;

/// The effective settings and the origin of each value.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// The settings.
    pub settings: Settings,
    /// Every value, in the order of the defaults.
    pub entries: Vec<Entry>,
    /// The access that the repository's settings grant beyond the defaults.
    pub widened: Vec<Widened>,
}

/// One effective value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The tables that contain it, such as `["verify", "limits"]`.
    pub table: Vec<String>,
    /// Its key in that table.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The origin of the value.
    pub origin: Origin,
}

impl Entry {
    /// Its value in TOML, on one line.
    pub fn toml(&self) -> String {
        // A value from TOML can be written as TOML, so the fallback is never used.
        toml::Value::try_from(&self.value)
            .map_or_else(|_| self.value.to_string(), |value| value.to_string())
    }

    /// Its full path, such as `verify.limits.memory`.
    pub fn path(&self) -> String {
        let path = self.table.iter().chain([&self.key]);
        path.fold(KeyPath::default(), |path, name| path.join(name))
            .to_string()
    }

    /// The header of the table that contains it, such as `verify.limits`.
    pub fn header(&self) -> String {
        let path = self.table.iter();
        path.fold(KeyPath::default(), |path, name| path.join(name))
            .to_string()
    }
}

/// Puts the layers on top of the defaults, lowest first, and checks the result. All errors are
/// reported together: invalid values are set aside, and the rules check the rest.
pub fn resolve(layers: &[Layer]) -> Result<Effective, Findings> {
    let mut all = vec![Layer::defaults()];
    all.extend_from_slice(layers);
    let schema = schema::complete();
    let mut findings = Vec::new();
    let trees = parse(&all, &mut findings)?;
    let Some(tree) = merge(&all, trees, &schema, &mut findings) else {
        return Err(Findings(findings));
    };
    let mut settings: Settings =
        serde_json::from_value(tree.to_json()).map_err(|error| undecodable(&all, &tree, &error))?;
    repository::mark_hosts(&all, &tree, &mut settings);
    let mut entries = Vec::new();
    collect(&all, &tree, &mut Vec::new(), &mut entries);
    if let Some(lowered) = lowered_idle_timeout(&settings, &entries) {
        let layers: Vec<Layer> = layers.iter().cloned().chain([lowered]).collect();
        return resolve(&layers);
    }
    let broken = rules::broken(&settings);
    let judged = broken.iter().filter(|broken| !touches(broken, &findings));
    let judged: Vec<Finding> = judged.map(|broken| placed(&all, &tree, broken)).collect();
    findings.extend(judged);
    if !findings.is_empty() {
        return Err(Findings::sorted(findings));
    }
    Ok(Effective {
        widened: repository::widened(&all, &tree, &settings),
        settings,
        entries,
    })
}

/// A layer that lowers the idle timeout to a shorter `--total-timeout`, if the person gave only that flag.
fn lowered_idle_timeout(settings: &Settings, entries: &[Entry]) -> Option<Layer> {
    let total = settings.spawn.total_timeout.get();
    let flag_of = |path: &str| {
        let entry = entries.iter().find(|entry| entry.path() == path)?;
        match &entry.origin {
            Origin::Flag { flag } => Some(flag.clone()),
            Origin::Default | Origin::File { .. } => None,
        }
    };
    let flag = flag_of("spawn.total_timeout")?;
    let is_lowered = flag_of("spawn.idle_timeout").is_none()
        && settings.spawn.idle_timeout.get() >= total
        && !total.is_zero();
    let idle = total * 9 / 10;
    let text = match idle.subsec_millis() {
        0 => format!("{}s", idle.as_secs()),
        _ => format!("{}ms", idle.as_millis()),
    };
    is_lowered.then(|| Layer::flag(&flag, "spawn.idle_timeout", text))
}

/// Parses all layers. The values of a text that is not TOML are unknown, so nothing is checked further then.
fn parse(layers: &[Layer], findings: &mut Vec<Finding>) -> Result<Vec<Node>, Findings> {
    let mut trees = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let (document, errors) = DeTable::parse_recoverable(&layer.text);
        findings.extend(errors.iter().map(|error| not_toml(layers, at, error)));
        // One mistake often causes several errors on its line, of which the first one is the clearest.
        findings.dedup_by(|later, first| later.origin == first.origin);
        trees.push(Node::from_document(&document, at));
    }
    if findings.is_empty() {
        Ok(trees)
    } else {
        Err(Findings(std::mem::take(findings)))
    }
}

/// Merges all layers into one tree, without invalid values.
fn merge(
    layers: &[Layer],
    trees: Vec<Node>,
    schema: &Value,
    findings: &mut Vec<Finding>,
) -> Option<Node> {
    let mut merged: Option<Node> = None;
    for mut tree in trees {
        findings.extend(set_aside(layers, &mut tree, schema, Extent::Layer));
        let refused = repository::refused(layers, &tree, merged.as_ref());
        for finding in &refused {
            tree.prune(finding.path.names());
        }
        findings.extend(refused);
        match &mut merged {
            Some(below) => below.overlay(tree),
            None => merged = Some(tree),
        }
    }
    let mut merged = merged?;
    findings.extend(set_aside(layers, &mut merged, schema, Extent::Whole));
    Some(merged)
}

fn set_aside(layers: &[Layer], tree: &mut Node, schema: &Value, extent: Extent) -> Vec<Finding> {
    let findings = check(layers, tree, schema, extent);
    for finding in &findings {
        tree.prune(finding.path.names());
    }
    findings
}

/// Whether a rule involves a value that was set aside, so that it cannot be judged.
fn touches(broken: &Broken, aside: &[Finding]) -> bool {
    let mut pairs = broken
        .paths
        .iter()
        .flat_map(|path| aside.iter().map(move |f| (path, f)));
    pairs.any(|(path, finding)| path.meets(&finding.path))
}

/// The finding of a broken rule. It is placed at the highest layer involved, which the user changed last.
fn placed(layers: &[Layer], tree: &Node, broken: &Broken) -> Finding {
    let place = broken
        .paths
        .iter()
        .map(|path| &tree.nearest(path.names()).key)
        .reduce(|best, place| {
            if place.layer > best.layer {
                place
            } else {
                best
            }
        });
    let path = broken.paths.first().cloned().unwrap_or_default();
    let place = place.unwrap_or(&tree.key);
    Finding::new(layers, place, &path, broken.message.clone()).hint(broken.hint.clone())
}

fn not_toml(layers: &[Layer], layer: usize, error: &toml::de::Error) -> Finding {
    let span = error.span().unwrap_or(0..0);
    let message = error.message().replace('\n', ", ");
    Finding::new(
        layers,
        &Place { layer, span },
        &KeyPath::default(),
        format!("not TOML: {message}"),
    )
}

/// The finding of settings that cannot be decoded. The checks before should make this impossible.
fn undecodable(layers: &[Layer], tree: &Node, error: &serde_json::Error) -> Findings {
    Findings(vec![Finding::new(
        layers,
        &tree.value,
        &KeyPath::default(),
        error.to_string(),
    )])
}

fn collect(layers: &[Layer], node: &Node, path: &mut Vec<String>, entries: &mut Vec<Entry>) {
    let NodeKind::Table(below) = &node.kind else {
        let Some((key, table)) = path.split_last() else {
            return;
        };
        let layer = layers.get(node.value.layer);
        entries.push(Entry {
            table: table.to_vec(),
            key: key.clone(),
            value: node.to_json(),
            origin: layer.map_or(Origin::Default, |layer| layer.origin(node.key.span.start)),
        });
        return;
    };
    // Values come before tables, as TOML requires.
    let mut below: Vec<&(String, Node)> = below.iter().collect();
    below.sort_by_key(|(_, node)| matches!(node.kind, NodeKind::Table(_)));
    for (name, below) in below {
        path.push(name.clone());
        collect(layers, below, path, entries);
        path.pop();
    }
}
