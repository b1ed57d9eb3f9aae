//! Routing: selects the routes of a change, and finds paths that no route covers.

use super::envelope::StageName;
use super::plan::{Plan, PlannedStage, StageCommand, Work};
use super::text;
use super::tools::install_hint;
use crate::problem::{Kind, Problem};
use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;

/// The scope of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The paths that differ from the base: added, modified or deleted; a rename counts with both names.
    Changed(Vec<String>),
    /// The whole tree, because no base was given.
    Everything,
}

/// One route of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Its name in the report.
    pub name: String,
    /// Globs relative to the repository's root. `*` does not match a slash, `**` does.
    pub paths: Vec<String>,
    /// The rule of the route.
    pub rule: Rule,
}

/// The rule of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Rule {
    /// Run nothing, for this reason.
    Skip(String),
    /// Run these commands.
    Run(Vec<(StageName, StageCommand)>),
    /// Run these commands, but no tests, for this reason.
    Untested(String, Vec<(StageName, StageCommand)>),
}

impl Route {
    /// Whether the route covers one of these paths.
    pub fn covers_any<'a>(
        &self,
        mut paths: impl Iterator<Item = &'a str>,
    ) -> Result<bool, RouteProblem> {
        let globs = matchers(self)?;
        Ok(paths.any(|path| globs.iter().any(|glob| glob.is_match(path))))
    }
}

/// Why no plan could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteProblem {
    /// No route covers these paths.
    Uncovered(Vec<String>),
    /// A detected project has no tests.
    Untested {
        /// The route.
        route: String,
        /// What the project lacks.
        missing: &'static str,
    },
    /// A detected project covers these paths, but none of its commands tests them.
    Unexercised {
        /// The paths.
        paths: Vec<String>,
        /// Why they are not tested.
        why: String,
        /// How to get them tested.
        remedy: String,
    },
    /// A command of a detected project is not installed on this machine.
    MissingProgram {
        /// The route.
        route: String,
        /// The program.
        program: String,
    },
    /// Nothing differs from the base.
    NothingChanged,
    /// A glob is invalid.
    BadGlob {
        /// The route.
        route: String,
        /// The glob.
        glob: String,
        /// The error of the glob.
        message: String,
    },
}

impl RouteProblem {
    /// The problem as one sentence for the report.
    pub fn reason(&self) -> String {
        match self {
            RouteProblem::Uncovered(paths) => uncovered(paths),
            RouteProblem::Untested { route, missing } => {
                format!("project `{route}` has no {missing}, so no test would run")
            }
            RouteProblem::Unexercised { paths, why, .. } => {
                let verb = if paths.len() == 1 { "is" } else { "are" };
                format!("{} {verb} not tested: {why}", text::named(paths, 5))
            }
            RouteProblem::MissingProgram { route, program } => {
                format!("`{program}` is not installed, and project `{route}` needs it")
            }
            RouteProblem::NothingChanged => {
                "the commit equals its base: nothing to verify".to_owned()
            }
            RouteProblem::BadGlob {
                route,
                glob,
                message,
            } => {
                format!("invalid glob `{glob}` in route `{route}`: {message}")
            }
        }
    }

    /// The advice.
    pub fn hint(&self) -> String {
        match self {
            RouteProblem::Uncovered(paths) => {
                let path = paths.first().map_or("…", String::as_str);
                format!(
                    "add a `[[verify.routes]]` whose `paths` cover `{path}`, with commands or with `skip = \"reason\"`, to `drive.toml` on the base"
                )
            }
            RouteProblem::Untested { missing, .. } => {
                format!("add a {missing}, or a `[[verify.routes]]` to `drive.toml` on the base")
            }
            RouteProblem::Unexercised { remedy, .. } => {
                format!("{remedy}, or add a `[[verify.routes]]` to `drive.toml` on the base")
            }
            RouteProblem::MissingProgram { program, .. } => {
                install_hint(program).map_or_else(|| format!("install `{program}`"), str::to_owned)
            }
            RouteProblem::NothingChanged => {
                "pass a revision or another `--base`: `drive verify REV --base BRANCH`".to_owned()
            }
            RouteProblem::BadGlob { .. } => {
                "correct `paths` of that route in `drive.toml` on the base".to_owned()
            }
        }
    }
}

impl RouteProblem {
    /// The problem as a fault of this machine, if it is not the candidate's.
    pub fn of_machine(&self) -> Option<Problem> {
        match self {
            RouteProblem::MissingProgram { .. } => {
                Some(Problem::new(Kind::CommandNotFound, self.reason()).hint(self.hint()))
            }
            RouteProblem::Uncovered(_)
            | RouteProblem::Untested { .. }
            | RouteProblem::Unexercised { .. }
            | RouteProblem::NothingChanged
            | RouteProblem::BadGlob { .. } => None,
        }
    }
}

/// The stages of the routes for `scope`, and the changed paths that no route covers. Every route
/// that covers a path runs; a skipping route is reported only if no other one covers anything.
pub fn split_routes(routes: &[Route], scope: &Scope) -> Result<(Plan, Vec<String>), RouteProblem> {
    let matchers = routes.iter().map(matchers).collect::<Result<Vec<_>, _>>()?;
    let changed = match scope {
        Scope::Everything => {
            return Ok((plan_of(routes.iter()), Vec::new()));
        }
        Scope::Changed(paths) if paths.is_empty() => return Err(RouteProblem::NothingChanged),
        Scope::Changed(paths) => paths,
    };
    let mut used = vec![false; routes.len()];
    let mut missing = Vec::new();
    for path in changed {
        let covering: Vec<usize> = (0..routes.len())
            .filter(|&i| matchers[i].iter().any(|glob| glob.is_match(path)))
            .collect();
        let runs = |i: &&usize| !matches!(routes[**i].rule, Rule::Skip(_));
        if covering.is_empty() {
            missing.push(path.clone());
        } else if covering.iter().any(|i| runs(&i)) {
            covering.iter().filter(runs).for_each(|&i| used[i] = true);
        } else {
            used[covering[0]] = true;
        }
    }
    let chosen = routes
        .iter()
        .zip(used)
        .filter_map(|(route, used)| used.then_some(route));
    Ok((plan_of(chosen), missing))
}

fn plan_of<'a>(routes: impl Iterator<Item = &'a Route>) -> Plan {
    Plan::ordered(routes.flat_map(stages).collect(), Vec::new())
}

fn stages(route: &Route) -> Vec<PlannedStage> {
    StageName::ALL
        .iter()
        .flat_map(|&name| stages_named(route, name))
        .collect()
}

fn stages_named(route: &Route, name: StageName) -> Vec<PlannedStage> {
    let planned = |work| PlannedStage {
        name,
        route: route.name.clone(),
        work,
    };
    let skipped = |reason| planned(Work::Nothing(format!("skipped by its route: {reason}")));
    match &route.rule {
        Rule::Skip(reason) => vec![skipped(reason)],
        Rule::Untested(reason, _) if name == StageName::TargetedTests => vec![skipped(reason)],
        Rule::Run(commands) | Rule::Untested(_, commands) => {
            let own = commands.iter().filter(|(stage, _)| *stage == name);
            let planned_own: Vec<_> = own
                .map(|(_, command)| planned(Work::Run(command.clone())))
                .collect();
            if planned_own.is_empty() {
                vec![planned(Work::Nothing(
                    "its route has no command for it".to_owned(),
                ))]
            } else {
                planned_own
            }
        }
    }
}

fn matchers(route: &Route) -> Result<Vec<GlobMatcher>, RouteProblem> {
    let read = |glob: &String| {
        GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map(|glob| glob.compile_matcher())
            .map_err(|error| RouteProblem::BadGlob {
                route: route.name.clone(),
                glob: glob.clone(),
                message: error.kind().to_string(),
            })
    };
    route.paths.iter().map(read).collect()
}

fn uncovered(paths: &[String]) -> String {
    let verb = if paths.len() == 1 { "is" } else { "are" };
    format!("{} {verb} not covered by any route", text::named(paths, 5))
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
