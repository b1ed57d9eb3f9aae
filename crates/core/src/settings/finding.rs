//! An error in the settings, with its file and line.

use super::key_path::KeyPath;
use super::layer::{Layer, Origin, Place, Source};
use crate::problem::{Kind, Problem};
use serde::Serialize;

/// How many findings one message lists.
const SHOWN: usize = 20;

/// How many characters of a line are shown.
const MAX_TEXT: usize = 120;

/// One error in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The file and line.
    pub origin: Origin,
    /// The text of the line, for files.
    pub text: Option<String>,
    /// The setting as a dotted path; `None` if the text is not TOML.
    pub key: Option<String>,
    /// The mistake: a lowercase fragment that names the thing in backticks.
    pub message: String,
    /// The most similar valid name.
    pub hint: Option<String>,
    #[serde(skip)]
    pub(super) path: KeyPath,
}

impl Finding {
    pub(super) fn new(layers: &[Layer], place: &Place, path: &KeyPath, message: String) -> Self {
        let layer = layers.get(place.layer);
        Self {
            origin: layer.map_or(Origin::Default, |layer| layer.origin(place.span.start)),
            text: layer.and_then(|layer| line_text(layer, place.span.start)),
            key: (!path.is_root()).then(|| path.to_string()),
            message,
            hint: None,
            path: path.clone(),
        }
    }

    pub(super) fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// All errors, by file and line; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// Sorts the errors in the order in which a person reads the files.
    pub(super) fn sorted(mut findings: Vec<Finding>) -> Self {
        // The sort is stable, so layers keep their order and only the lines within a file are sorted.
        findings.sort_by_key(|finding| match &finding.origin {
            Origin::Default => (0, String::new(), 0),
            Origin::File { file, line } => (1, file.clone(), *line),
            Origin::Flag { flag } => (2, flag.clone(), 0),
        });
        Self(findings)
    }

    /// One problem that lists all errors.
    pub fn into_problem(self) -> Problem {
        const KIND: Kind = Kind::SettingsInvalid;
        let findings = self.0;
        if let [finding] = findings.as_slice() {
            let message = format!("{}: {}", finding.origin, finding.message);
            return Problem {
                hint: finding.hint.clone(),
                causes: shown_line(finding).into_iter().collect(),
                ..Problem::new(KIND, message)
            };
        }
        let message = format!("the settings have {} errors", findings.len());
        let mut problem =
            Problem::new(KIND, message).hint("correct them, then run `drive config check`");
        problem.causes = findings.iter().take(SHOWN).map(one_cause).collect();
        match findings.len().checked_sub(SHOWN) {
            None | Some(0) => problem,
            Some(more) => problem.cause(format!("and {more} more")),
        }
    }
}

fn one_cause(finding: &Finding) -> String {
    let mut cause = format!("{}: {}", finding.origin, finding.message);
    if let Some(hint) = &finding.hint {
        cause += &format!("; {hint}");
    }
    if let Some(line) = shown_line(finding) {
        cause += &format!("\n{line}");
    }
    cause
}

fn shown_line(finding: &Finding) -> Option<String> {
    match (&finding.origin, &finding.text) {
        (Origin::File { line, .. }, Some(text)) => Some(format!("{line} | {text}")),
        (Origin::File { .. } | Origin::Default | Origin::Flag { .. }, _) => None,
    }
}

fn line_text(layer: &Layer, at: usize) -> Option<String> {
    if !matches!(layer.source, Source::File(_) | Source::Repository(_)) {
        return None;
    }
    let at = layer.text.floor_char_boundary(at);
    let (before, after) = layer.text.split_at(at);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = after
        .find('\n')
        .map_or(layer.text.len(), |newline| at + newline);
    let line = layer.text.get(start..end)?.trim();
    match line.char_indices().nth(MAX_TEXT) {
        Some((cut, _)) => Some(format!("{}…", &line[..cut])),
        None => Some(line.to_owned()),
    }
}
