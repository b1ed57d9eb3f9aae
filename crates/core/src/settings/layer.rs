//! One source of settings.

use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// The built-in defaults.
pub const DEFAULTS: &str = include_str!("default.toml");

/// The source of a layer's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The embedded defaults.
    Default,
    /// A file, with its name for users.
    File(String),
    /// A file of the repository, which other people can change as well.
    Repository(String),
    /// A flag of the command line, such as `--idle-timeout`.
    Flag(String),
}

/// One text of settings in TOML. Later layers override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The source of the layer.
    pub source: Source,
    /// The TOML text.
    pub text: String,
}

impl Layer {
    /// The embedded defaults.
    pub fn defaults() -> Self {
        Self {
            source: Source::Default,
            text: DEFAULTS.to_owned(),
        }
    }

    /// A layer from a file's text.
    pub fn file(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            source: Source::File(label.into()),
            text: text.into(),
        }
    }

    /// Marks the layer as a file of the repository.
    #[must_use]
    pub fn of_repository(self) -> Self {
        let source = match self.source {
            Source::File(label) => Source::Repository(label),
            source @ (Source::Default | Source::Repository(_) | Source::Flag(_)) => source,
        };
        Self { source, ..self }
    }

    /// A layer with one value from a flag: `Layer::flag("--idle-timeout", "spawn.idle_timeout",
    /// "90s")`. The key is a known setting, so it needs no quotes.
    pub fn flag(flag: &str, key: &str, value: impl Into<toml::Value>) -> Self {
        Self {
            source: Source::Flag(flag.to_owned()),
            text: format!("{key} = {}", value.into()),
        }
    }

    /// The origin of a byte of the text.
    pub(super) fn origin(&self, at: usize) -> Origin {
        match &self.source {
            Source::Default => Origin::Default,
            Source::Flag(flag) => Origin::Flag { flag: flag.clone() },
            Source::File(file) | Source::Repository(file) => Origin::File {
                file: file.clone(),
                line: line_of(&self.text, at),
            },
        }
    }
}

/// The source of an effective value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum Origin {
    /// The embedded defaults.
    Default,
    /// A line of a file.
    File {
        /// The file's name, as the user knows it.
        file: String,
        /// The line, counted from one.
        line: usize,
    },
    /// A flag of the command line.
    Flag {
        /// The flag.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { file, line } => write!(f, "{file}:{line}"),
            Origin::Flag { flag } => f.write_str(flag),
        }
    }
}

/// A range of bytes of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) layer: usize,
    pub(super) span: Range<usize>,
}

/// The line of a byte, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}
