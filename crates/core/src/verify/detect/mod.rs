//! Default routes: detects the projects of a tree, and plans their stages for a change.
//!
//! Pure: it works on a small description of the tree. The deepest project folder above a path
//! covers it; a path outside all projects is not covered.

mod cargo;
mod go;
mod make;
mod node;
mod python;

pub use cargo::{CargoPackage, CargoWorkspace};
pub use go::{GoModule, GoPackage};
pub use make::{Makefile, make_targets};
pub use node::{Installed, NodeManager, NodePackage, NodeWorkspace, PACKAGE_FILES};
pub use python::PythonProject;

use super::envelope::StageName;
use super::plan::{Plan, PlannedStage, StageCommand, StageTimeouts, Work};
use super::route::{RouteProblem, Scope};
use std::collections::BTreeSet;

/// One project of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its folder, relative to the repository root; empty for the root.
    pub dir: String,
    /// The kind of project.
    pub kind: ProjectKind,
}

/// What a project is built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectKind {
    /// A Cargo workspace or package.
    Cargo(CargoWorkspace),
    /// An npm or pnpm workspace or package.
    Node(NodeWorkspace),
    /// A Go module.
    Go(GoModule),
    /// A Python project tested by pytest.
    Python(PythonProject),
    /// A Makefile with well-known targets.
    Make(Makefile),
}

impl ProjectKind {
    fn label(&self) -> &'static str {
        match self {
            ProjectKind::Cargo(_) => "cargo",
            ProjectKind::Node(_) => "node",
            ProjectKind::Go(_) => "go",
            ProjectKind::Python(_) => "python",
            ProjectKind::Make(_) => "make",
        }
    }

    /// What would make its tests known. The other kinds have a runner that says when it found none.
    fn test_entry(&self) -> &'static str {
        match self {
            ProjectKind::Make(_) => "`test` target",
            ProjectKind::Node(_) => "`test` script",
            ProjectKind::Cargo(_) | ProjectKind::Go(_) | ProjectKind::Python(_) => "test",
        }
    }

    /// A Makefile beside a project usually wraps it, so it counts only where it is alone.
    fn is_fallback(&self) -> bool {
        match self {
            ProjectKind::Make(_) => true,
            ProjectKind::Cargo(_)
            | ProjectKind::Node(_)
            | ProjectKind::Go(_)
            | ProjectKind::Python(_) => false,
        }
    }
}

/// What the stages of a project are bounded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The timeouts of the stages.
    pub timeouts: StageTimeouts,
    /// Their memory, when it is bounded.
    pub memory_bytes: Option<u64>,
}

/// What of one project changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// All of it counts as changed.
    All,
    /// These paths, relative to the project.
    Paths(BTreeSet<String>),
}

/// One command a detector wants.
pub(crate) struct Wanted {
    name: StageName,
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

impl Wanted {
    fn new(name: StageName, argv: &[&str]) -> Self {
        Self {
            name,
            argv: argv.iter().map(|&s| s.to_owned()).collect(),
            env: Vec::new(),
        }
    }

    fn args(mut self, more: impl IntoIterator<Item = String>) -> Self {
        self.argv.extend(more);
        self
    }
}

/// The stages that `scope` needs, from the projects of the candidate's tree.
pub fn plan_projects(
    projects: &[Project],
    scope: &Scope,
    bounds: &Bounds,
) -> Result<Plan, RouteProblem> {
    let touched = match scope {
        Scope::Everything => responsible(projects, None)?,
        Scope::Changed(paths) if paths.is_empty() => return Err(RouteProblem::NothingChanged),
        Scope::Changed(paths) => responsible(projects, Some(paths))?,
    };
    let mut stages = Vec::new();
    let mut notes = Vec::new();
    for (project, touched) in touched {
        let wanted = wanted(project, &touched, bounds);
        if wanted.iter().all(|w| w.name == StageName::StartupSmoke) {
            return Err(RouteProblem::Uncovered(named(project, &touched)));
        }
        if !wanted.iter().any(|w| w.name == StageName::TargetedTests) {
            return Err(RouteProblem::Untested {
                route: route_name(project),
                missing: project.kind.test_entry(),
            });
        }
        notes.extend(rule_changes(project, &touched));
        stages.extend(plan_project(project, wanted, bounds));
    }
    if stages.is_empty() {
        return Err(RouteProblem::Uncovered(vec![".".to_owned()]));
    }
    Ok(Plan::ordered(stages, notes))
}

fn wanted(project: &Project, touched: &Touched, bounds: &Bounds) -> Vec<Wanted> {
    match &project.kind {
        ProjectKind::Cargo(workspace) => workspace.wanted(touched),
        ProjectKind::Node(workspace) => workspace.wanted(touched, bounds.memory_bytes),
        ProjectKind::Go(module) => module.wanted(touched),
        ProjectKind::Python(python) => python.wanted(),
        ProjectKind::Make(makefile) => makefile.wanted(),
    }
}

fn plan_project(project: &Project, wanted: Vec<Wanted>, bounds: &Bounds) -> Vec<PlannedStage> {
    let route = route_name(project);
    let mut stages: Vec<PlannedStage> = Vec::new();
    for name in StageName::ALL {
        if !wanted.iter().any(|w| w.name == name) {
            let reason = format!("the {} project has no command for it", project.kind.label());
            stages.push(PlannedStage {
                name,
                route: route.clone(),
                work: Work::Nothing(reason),
            });
        }
    }
    stages.extend(wanted.into_iter().map(|w| PlannedStage {
        name: w.name,
        route: route.clone(),
        work: Work::Run(StageCommand {
            argv: w.argv,
            dir: project.dir.clone(),
            env: w.env,
            timeout: bounds.timeouts.of(w.name),
            ready: None,
            network: None,
        }),
    }));
    stages
}

fn route_name(project: &Project) -> String {
    match project.dir.as_str() {
        "" => project.kind.label().to_owned(),
        dir => format!("{}:{dir}", project.kind.label()),
    }
}

/// Which projects answer for which paths; without paths, every project for all of itself.
fn responsible<'a>(
    projects: &'a [Project],
    paths: Option<&[String]>,
) -> Result<Vec<(&'a Project, Touched)>, RouteProblem> {
    let alone = |p: &&Project| {
        !p.kind.is_fallback()
            || projects
                .iter()
                .all(|q| q.dir != p.dir || q.kind.is_fallback())
    };
    let candidates: Vec<&Project> = projects.iter().filter(alone).collect();
    let Some(paths) = paths else {
        return Ok(candidates.into_iter().map(|p| (p, Touched::All)).collect());
    };
    let mut touched: Vec<BTreeSet<String>> = vec![BTreeSet::new(); candidates.len()];
    let mut missing = Vec::new();
    for path in paths {
        let above = |p: &Project| below(path, &p.dir).is_some();
        match candidates
            .iter()
            .filter(|p| above(p))
            .map(|p| p.dir.len())
            .max()
        {
            None => missing.push(path.clone()),
            Some(depth) => {
                for (i, project) in candidates.iter().enumerate() {
                    if let Some(inner) =
                        below(path, &project.dir).filter(|_| project.dir.len() == depth)
                    {
                        touched[i].insert(inner.to_owned());
                    }
                }
            }
        }
    }
    if !missing.is_empty() {
        return Err(RouteProblem::Uncovered(missing));
    }
    let pairs = candidates.into_iter().zip(touched);
    Ok(pairs
        .filter(|(_, t)| !t.is_empty())
        .map(|(p, t)| (p, Touched::Paths(t)))
        .collect())
}

/// These files decide what is verified, so a report notes when the commit changes them.
fn rule_changes(project: &Project, touched: &Touched) -> Option<String> {
    let files: &[&str] = match &project.kind {
        ProjectKind::Cargo(_) => &["Cargo.toml", ".cargo/config.toml", ".config/nextest.toml"],
        ProjectKind::Node(_) => &["package.json", "turbo.json"],
        ProjectKind::Go(_) => &["go.mod"],
        ProjectKind::Python(_) => &[
            "pyproject.toml",
            "pytest.ini",
            "setup.cfg",
            "tox.ini",
            "conftest.py",
        ],
        ProjectKind::Make(_) => &["Makefile", "GNUmakefile", "makefile"],
    };
    let Touched::Paths(paths) = touched else {
        return None;
    };
    let changed: Vec<String> = paths
        .iter()
        .filter(|p| {
            files
                .iter()
                .any(|f| p == f || p.ends_with(&format!("/{f}")))
        })
        .map(|p| format!("`{}`", join(&project.dir, p)))
        .collect();
    (!changed.is_empty()).then(|| {
        format!(
            "the commit changes {}, which affects what is verified",
            changed.join(", ")
        )
    })
}

fn named(project: &Project, touched: &Touched) -> Vec<String> {
    match touched {
        Touched::All => vec![join(&project.dir, "")],
        Touched::Paths(paths) => paths.iter().map(|p| join(&project.dir, p)).collect(),
    }
}

fn join(dir: &str, path: &str) -> String {
    match (dir, path) {
        ("", "") => ".".to_owned(),
        ("", path) => path.to_owned(),
        (dir, "") => dir.to_owned(),
        (dir, path) => format!("{dir}/{path}"),
    }
}

/// `path` relative to `dir`, when it lies in it.
pub(crate) fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() {
        return Some(path);
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

/// A part of a workspace that can be built and tested alone.
pub(crate) struct Member<'a> {
    name: &'a str,
    dir: &'a str,
    uses: &'a [String],
}

/// The members that changed, and everything that depends on them; `None` when something changed that
/// concerns every member, or belongs to none.
pub(crate) fn affected(
    members: &[Member<'_>],
    touched: &Touched,
    concerns_all: fn(&str) -> bool,
) -> Option<BTreeSet<String>> {
    let Touched::Paths(paths) = touched else {
        return None;
    };
    let mut affected = BTreeSet::new();
    for path in paths {
        let above = members.iter().filter(|m| below(path, m.dir).is_some());
        let owner = above.max_by_key(|m| m.dir.len());
        affected.insert(owner.filter(|_| !concerns_all(path))?.name.to_owned());
    }
    loop {
        let more: Vec<String> = members
            .iter()
            .filter(|m| !affected.contains(m.name) && m.uses.iter().any(|u| affected.contains(u)))
            .map(|m| m.name.to_owned())
            .collect();
        if more.is_empty() {
            return Some(affected);
        }
        affected.extend(more);
    }
}

#[cfg(test)]
#[path = "../detect_tests.rs"]
mod tests;
