use super::command::{Gap, Wanted};
use super::members::Touched;
use crate::verify::envelope::StageName;
use std::collections::BTreeSet;

/// A Makefile with its targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Makefile {
    /// Explicit targets, in order.
    pub targets: Vec<String>,
    /// Source files below its folder that its build and tests never name.
    pub unbuilt: BTreeSet<String>,
}

const TARGETS: [(StageName, &[&str]); 3] = [
    (StageName::Compile, &["build", "compile", "all"]),
    (StageName::TargetedTests, &["test", "tests", "check"]),
    (StageName::StartupSmoke, &["startup-smoke", "smoke"]),
];

impl Makefile {
    /// The targets that the stages run.
    pub fn stage_targets(&self) -> Vec<&'static str> {
        let first = |(_, names): &(StageName, &[&'static str])| {
            let names = names.iter();
            names.copied().find(|n| self.targets.iter().any(|t| t == n))
        };
        TARGETS.iter().filter_map(first).collect()
    }

    pub(super) fn wanted(&self, touched: &Touched) -> Result<Vec<Wanted>, Gap> {
        let wanted: Vec<Wanted> = TARGETS
            .iter()
            .filter_map(|(stage, names)| {
                let name = names
                    .iter()
                    .find(|&&n| self.targets.iter().any(|t| t == n))?;
                Some(Wanted::new(*stage, &["make", name]))
            })
            .collect();
        let unbuilt: Vec<String> = touched
            .paths()
            .filter(|path| self.unbuilt.contains(*path))
            .cloned()
            .collect();
        if unbuilt.is_empty() || !wanted.iter().any(|w| w.name == StageName::TargetedTests) {
            return Ok(wanted);
        }
        let commands: Vec<String> = wanted.iter().map(|w| w.argv.join(" ")).collect();
        Err(Gap {
            paths: unbuilt,
            why: format!("not used by `{}`", commands.join("` or `")),
            remedy: "build and test it with a Makefile target".to_owned(),
        })
    }
}

/// The explicit targets of a Makefile's text.
pub fn make_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in text.lines() {
        let Some((names, rest)) = line.split_once(':') else {
            continue;
        };
        let is_rule = !line.starts_with(['\t', ' ', '#', '.'])
            && !rest.starts_with('=')
            && !rest.starts_with(":=")
            && !names.contains(['=', '$', '%', '#', '"']);
        if is_rule {
            targets.extend(names.split_whitespace().map(str::to_owned));
        }
    }
    targets
}
