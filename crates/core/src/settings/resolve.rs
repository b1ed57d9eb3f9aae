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
    /// Every value, in the order of the default file.
    pub entries: Vec<Entry>,
    /// The settings of the repository that open something which is closed by default.
    pub widened: Vec<Widened>,
}

/// One effective value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The tables it is in, such as `["verify", "limits"]`.
    pub table: Vec<String>,
    /// Its key in that table.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The origin of the value.
    pub origin: Origin,
}

impl Entry {
    /// Its value as TOML writes it on one line.
    pub fn toml(&self) -> String {
        // A value that came from TOML goes back to it; the fallback is never met.
        toml::Value::try_from(&self.value)
            .map_or_else(|_| self.value.to_string(), |value| value.to_string())
    }

    /// Its whole path, such as `verify.limits.memory`.
    pub fn path(&self) -> String {
        let path = self.table.iter().chain([&self.key]);
        path.fold(KeyPath::default(), |path, name| path.join(name))
            .to_string()
    }

    /// The header of the table it is in, such as `verify.limits`.
    pub fn header(&self) -> String {
        let path = self.table.iter();
        path.fold(KeyPath::default(), |path, name| path.join(name))
            .to_string()
    }
}

/// Lays the layers over the defaults, lowest first, and checks the result. Every mistake is reported,
/// not only the first: what is wrong in itself is set aside, and the rules are asked about the rest.
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

/// A person who gives `--total-timeout` alone means the idle timeout too where that is longer.
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

/// The values of a text that is not TOML are unknown, so the other layers are not checked further.
fn parse(layers: &[Layer], findings: &mut Vec<Finding>) -> Result<Vec<Node>, Findings> {
    let mut trees = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let (document, errors) = DeTable::parse_recoverable(&layer.text);
        findings.extend(errors.iter().map(|error| not_toml(layers, at, error)));
        // One slip often makes several errors on its line, and the first says it best.
        findings.dedup_by(|later, first| later.origin == first.origin);
        trees.push(Node::from_document(&document, at));
    }
    if findings.is_empty() {
        Ok(trees)
    } else {
        Err(Findings(std::mem::take(findings)))
    }
}

/// One tree of all layers, without what is wrong in itself.
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

/// Whether a rule speaks about something that was set aside, and so cannot be judged.
fn touches(broken: &Broken, aside: &[Finding]) -> bool {
    let mut pairs = broken
        .paths
        .iter()
        .flat_map(|path| aside.iter().map(move |f| (path, f)));
    pairs.any(|(path, finding)| path.meets(&finding.path))
}

/// A broken rule is shown where its highest layer speaks: that is what the user changed last.
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

/// The check before lets nothing through that does not decode; if it ever does, say so plainly.
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
    // Values before tables, as TOML must write them.
    let mut below: Vec<&(String, Node)> = below.iter().collect();
    below.sort_by_key(|(_, node)| matches!(node.kind, NodeKind::Table(_)));
    for (name, below) in below {
        path.push(name.clone());
        collect(layers, below, path, entries);
        path.pop();
    }
}
