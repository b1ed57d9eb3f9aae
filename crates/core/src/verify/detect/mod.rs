//! Default routes: detects the projects of a tree, and plans their stages for a change.
//!
//! This code is pure: it works on a small description of the tree. The deepest project folder above
//! a path covers it; a path outside all projects is not covered.

mod cargo;
mod cmake;
mod command;
mod dotnet;
mod go;
mod jvm;
mod make;
mod members;
mod mentions;
mod node;
mod php;
mod python;
mod ruby;
mod rule_files;
mod scripts;

pub use cargo::{CargoPackage, CargoWorkspace, needs_nightly};
pub use cmake::{CMakeProject, cmake_collects, cmake_has_tests};
pub use dotnet::DotnetProject;
pub use go::{GoModule, GoPackage};
pub use jvm::{JvmProject, JvmTool};
pub use make::{Makefile, make_targets};
pub use mentions::{unbuilt, unmentioned};
pub use node::{Installed, NodeManager, NodePackage, NodeWorkspace, PACKAGE_FILES};
pub use php::{PhpProject, PhpRunner, is_php_package};
pub use python::{PythonFiles, PythonManager, PythonProject};
pub use ruby::{RubyProject, RubyRunner};
pub use rule_files::is_rule_file;
pub use scripts::Scripts;

use super::envelope::StageName;
use super::plan::{Plan, PlannedStage, StageCommand, StageTimeouts, Work};
use super::route::{RouteProblem, Scope};
use crate::settings::StageNetwork;
use command::{Gap, Wanted};
use members::{Touched, below};
use std::collections::BTreeSet;

/// One project of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its folder, relative to the repository root; empty for the root.
    pub dir: String,
    /// The kind of project.
    pub kind: ProjectKind,
    /// The programs of [`programs`](super::programs) that this machine lacks.
    pub missing: Vec<String>,
}

impl Project {
    /// A project on a machine that has every program.
    pub fn new(dir: impl Into<String>, kind: ProjectKind) -> Self {
        Self {
            dir: dir.into(),
            kind,
            missing: Vec::new(),
        }
    }
}

/// The kind of a project, by its build tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectKind {
    /// A Cargo workspace or package.
    Cargo(CargoWorkspace),
    /// A workspace or package of npm, pnpm, Yarn or Bun.
    Node(NodeWorkspace),
    /// A Go module.
    Go(GoModule),
    /// A Python project tested by pytest.
    Python(PythonProject),
    /// A Makefile with well-known targets.
    Make(Makefile),
    /// A CMake project.
    CMake(CMakeProject),
    /// A project of Maven or Gradle.
    Jvm(JvmProject),
    /// A Ruby project with a Gemfile.
    Ruby(RubyProject),
    /// A PHP project with a `composer.json`.
    Php(PhpProject),
    /// A .NET solution or project.
    Dotnet(DotnetProject),
}

impl ProjectKind {
    fn label(&self) -> &'static str {
        match self {
            ProjectKind::Cargo(_) => "cargo",
            ProjectKind::Node(_) => "node",
            ProjectKind::Go(_) => "go",
            ProjectKind::Python(_) => "python",
            ProjectKind::Make(_) => "make",
            ProjectKind::CMake(_) => "cmake",
            ProjectKind::Jvm(JvmProject { tool, .. }) => match tool {
                JvmTool::Maven => "maven",
                JvmTool::Gradle => "gradle",
            },
            ProjectKind::Ruby(_) => "ruby",
            ProjectKind::Php(_) => "php",
            ProjectKind::Dotnet(_) => "dotnet",
        }
    }

    /// The entry that would make its tests known. Other kinds have a runner that reports if it
    /// found no tests.
    fn test_entry(&self) -> &'static str {
        match self {
            ProjectKind::Make(_) => "`test` target",
            ProjectKind::Node(_) => "`test` script",
            ProjectKind::CMake(_) => "test that CTest knows (`enable_testing()`)",
            ProjectKind::Ruby(_) => "RSpec file or Rake task `test`",
            ProjectKind::Php(_) => "Composer script `test` or PHPUnit configuration",
            ProjectKind::Cargo(_)
            | ProjectKind::Go(_)
            | ProjectKind::Python(_)
            | ProjectKind::Jvm(_)
            | ProjectKind::Dotnet(_) => "test",
        }
    }

    /// Whether the kind only counts if no other covers the folder: a Makefile beside a project
    /// usually wraps it.
    fn is_fallback(&self) -> bool {
        match self {
            ProjectKind::Make(_) => true,
            ProjectKind::Cargo(_)
            | ProjectKind::Node(_)
            | ProjectKind::Go(_)
            | ProjectKind::Python(_)
            | ProjectKind::CMake(_)
            | ProjectKind::Jvm(_)
            | ProjectKind::Ruby(_)
            | ProjectKind::Php(_)
            | ProjectKind::Dotnet(_) => false,
        }
    }

    /// The files that control what is verified.
    fn rule_files(&self) -> &'static [&'static str] {
        match self {
            ProjectKind::Cargo(_) => rule_files::CARGO,
            ProjectKind::Node(_) => rule_files::NODE,
            ProjectKind::Go(_) => rule_files::GO,
            ProjectKind::Python(_) => rule_files::PYTHON,
            ProjectKind::Make(_) => rule_files::MAKE,
            ProjectKind::CMake(_) => rule_files::CMAKE,
            ProjectKind::Jvm(_) => rule_files::JVM,
            ProjectKind::Ruby(_) => rule_files::RUBY,
            ProjectKind::Php(_) => rule_files::PHP,
            ProjectKind::Dotnet(_) => rule_files::DOTNET,
        }
    }

    /// Whether a path belongs to this kind: a source file, or a file that controls what is verified.
    fn owns(&self, path: &str) -> bool {
        let endings: &[&str] = match self {
            ProjectKind::Cargo(_) => &["rs"],
            ProjectKind::Node(_) => &["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx"],
            ProjectKind::Go(_) => &["go"],
            ProjectKind::Python(_) => &["py", "pyi", "pyx"],
            ProjectKind::Make(_) => return true,
            ProjectKind::CMake(_) => &["c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "cmake"],
            ProjectKind::Jvm(_) => &["java", "kt", "kts", "groovy", "scala"],
            ProjectKind::Ruby(_) => &["rb", "gemspec"],
            ProjectKind::Php(_) => &["php"],
            ProjectKind::Dotnet(_) => &["cs", "fs", "vb", "csproj", "fsproj", "vbproj", "sln"],
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        endings.contains(&ending) || self.rule_files().contains(&name)
    }
}

/// The limits of a project's stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The timeouts of the stages.
    pub timeouts: StageTimeouts,
    /// The memory limit of each stage, if there is one.
    pub memory_bytes: Option<u64>,
    /// Network access of the stages. Commands that install packages may always reach the registries.
    pub network: StageNetwork,
}

/// The stages for `scope`, planned from the projects in the candidate's tree.
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
    let dirs: Vec<&str> = touched.iter().map(|(p, _)| p.dir.as_str()).collect();
    for (project, touched) in &touched {
        let is_alone = dirs.iter().filter(|dir| **dir == project.dir).count() == 1;
        let wanted = wanted(project, touched, bounds).map_err(|gap| unexercised(project, gap))?;
        let tests = wanted.iter().any(|w| w.name == StageName::TargetedTests);
        // For example, a Gemfile for the documentation of a Rust project tests nothing.
        if !tests && !is_alone && !touched.paths().any(|path| project.kind.owns(path)) {
            continue;
        }
        if wanted.iter().all(|w| w.name == StageName::StartupSmoke) {
            return Err(RouteProblem::Uncovered(named(project, touched)));
        }
        if !tests {
            return Err(RouteProblem::Untested {
                route: route_name(project),
                missing: project.kind.test_entry(),
            });
        }
        if let Some(program) = missing(project, &wanted) {
            return Err(RouteProblem::MissingProgram {
                route: route_name(project),
                program,
            });
        }
        notes.extend(rule_changes(project, touched));
        stages.extend(plan_project(project, wanted, bounds));
    }
    if stages.is_empty() {
        return Err(RouteProblem::Uncovered(vec![".".to_owned()]));
    }
    Ok(Plan::ordered(stages, notes))
}

fn wanted(project: &Project, touched: &Touched, bounds: &Bounds) -> Result<Vec<Wanted>, Gap> {
    Ok(match &project.kind {
        ProjectKind::Cargo(workspace) => workspace.wanted(touched),
        ProjectKind::Node(workspace) => workspace.wanted(touched, bounds.memory_bytes)?,
        ProjectKind::Go(module) => module.wanted(touched),
        ProjectKind::Python(python) => python.wanted(),
        ProjectKind::Make(makefile) => makefile.wanted(touched)?,
        ProjectKind::CMake(project) => project.wanted(touched)?,
        ProjectKind::Jvm(project) => project.wanted(),
        ProjectKind::Ruby(project) => project.wanted(),
        ProjectKind::Php(project) => project.wanted(),
        ProjectKind::Dotnet(project) => project.wanted(),
    })
}

fn unexercised(project: &Project, gap: Gap) -> RouteProblem {
    let paths = gap.paths.iter().map(|path| join(&project.dir, path));
    RouteProblem::Unexercised {
        paths: paths.collect(),
        why: gap.why,
        remedy: gap.remedy,
    }
}

/// The first program of these commands that is missing on the machine.
fn missing(project: &Project, wanted: &[Wanted]) -> Option<String> {
    let mut programs = wanted.iter().filter_map(|wanted| wanted.argv.first());
    programs
        .find(|program| project.missing.contains(program))
        .cloned()
}

/// Network access of a command; `None` inherits the setting of all stages.
fn network(wanted: &Wanted, bounds: &Bounds) -> Option<StageNetwork> {
    match bounds.network {
        StageNetwork::Off if wanted.installs => Some(StageNetwork::Registries),
        StageNetwork::Off | StageNetwork::Registries | StageNetwork::Open => None,
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
            network: network(&w, bounds),
            argv: w.argv,
            dir: project.dir.clone(),
            env: w.env,
            members: w.members,
            timeout: bounds.timeouts.of(w.name),
            ..StageCommand::default()
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

/// The projects that are responsible for each path; without paths, every project is responsible for itself.
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

/// A note for the report if the commit changes files that control what is verified.
fn rule_changes(project: &Project, touched: &Touched) -> Option<String> {
    let files = project.kind.rule_files();
    let Touched::Paths(paths) = touched else {
        return None;
    };
    let changed: Vec<String> = paths
        .iter()
        .filter(|path| rule_files::names(files, path))
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

#[cfg(test)]
#[path = "../detect_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "../detect_kinds_tests.rs"]
mod kinds_tests;
