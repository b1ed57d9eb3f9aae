//! The command line of the evaluation.

use super::case::Case;
use clap::{Parser, ValueEnum};
use drive_core::Problem;
use drive_core::problem::Kind;
use drive_core::settings::Period;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the change is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Configuration {
    /// One review of the whole change
    One,
    /// One review for each domain of the settings
    Domains,
    /// One review of the whole change, whose findings a second agent tries to refute
    OneRefuted,
    /// One review for each domain, whose findings a second agent tries to refute
    DomainsRefuted,
}

impl Configuration {
    /// The mode of `drive spawn-team`.
    pub(super) fn mode(self) -> &'static str {
        match self {
            Self::One | Self::OneRefuted => "pingpong",
            Self::Domains | Self::DomainsRefuted => "github",
        }
    }

    /// Whether a second agent tries to refute the findings.
    pub(super) fn refutes(self) -> bool {
        match self {
            Self::One | Self::Domains => false,
            Self::OneRefuted | Self::DomainsRefuted => true,
        }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "one",
            Self::Domains => "domains",
            Self::OneRefuted => "one-refuted",
            Self::DomainsRefuted => "domains-refuted",
        })
    }
}

/// Let an agent review changes with and without a seeded defect, and count what it finds
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "drive-benches reviews", term_width = 100)]
pub struct Options {
    /// Agent that reviews (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    pub agent: String,

    /// Settings with the agent, its domains and its limits; they count as your own settings
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,

    /// Configurations to compare [default: all of them]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub configuration: Vec<Configuration>,

    /// Review this case only; can be repeated
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,

    /// Stop a case after this long
    #[arg(long, value_name = "TIME", default_value = "15m")]
    pub limit_per_case: Period,

    /// Home with the agent's login [default: an empty one]
    #[arg(long, value_name = "FOLDER")]
    pub home: Option<PathBuf>,

    /// The program to evaluate [default: `drive` beside this program]
    #[arg(long, value_name = "FILE")]
    pub drive: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The data that every trial needs.
pub(super) struct Order {
    pub(super) agent: String,
    pub(super) settings: String,
    pub(super) limit: Duration,
    pub(super) home: Option<PathBuf>,
    pub(super) drive: PathBuf,
}

impl Options {
    /// Reads the arguments after `reviews`.
    pub fn read<Text: AsRef<str>>(args: &[Text]) -> Result<Self, clap::Error> {
        let args = args.iter().map(AsRef::as_ref);
        Self::try_parse_from(std::iter::once("reviews").chain(args))
    }

    pub(super) fn configurations(&self) -> Vec<Configuration> {
        let all = Configuration::value_variants().iter();
        all.filter(|one| self.configuration.is_empty() || self.configuration.contains(one))
            .copied()
            .collect()
    }

    /// The cases that `--case` names, or all of them.
    pub(super) fn chosen(&self, cases: Vec<Case>) -> Result<Vec<Case>, Problem> {
        let is_unknown = |name: &&String| !cases.iter().any(|case| case.name == **name);
        if let Some(unknown) = self.cases.iter().find(is_unknown) {
            let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            return Err(
                Problem::new(Kind::Usage, format!("unknown case `{unknown}`"))
                    .hint(format!("the cases are {}", names.join(", "))),
            );
        }
        let is_chosen = |case: &Case| self.cases.is_empty() || self.cases.contains(&case.name);
        Ok(cases.into_iter().filter(is_chosen).collect())
    }

    pub(super) fn order(&self) -> Result<Order, Problem> {
        let settings = match &self.settings {
            None => String::new(),
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                let what = format!("cannot read `{}`", file.display());
                Problem::new(Kind::Usage, what).because(error)
            })?,
        };
        Ok(Order {
            agent: self.agent.clone(),
            settings,
            limit: self.limit_per_case.get(),
            home: self.home.as_deref().map(absolute).transpose()?,
            drive: self.program()?,
        })
    }

    fn program(&self) -> Result<PathBuf, Problem> {
        let beside = std::env::current_exe().map(|own| own.with_file_name("drive"));
        let drive = match &self.drive {
            Some(drive) => absolute(drive)?,
            None => beside.unwrap_or_default(),
        };
        if drive.is_file() {
            return Ok(drive);
        }
        Err(
            Problem::new(Kind::Usage, format!("no program `{}`", drive.display()))
                .hint("run `cargo build --release`, or pass `--drive PATH`"),
        )
    }
}

/// A path that is valid in other folders too.
fn absolute(path: &Path) -> Result<PathBuf, Problem> {
    std::path::absolute(path).map_err(|error| {
        let what = format!("cannot find `{}`", path.display());
        Problem::new(Kind::Usage, what).because(error)
    })
}
