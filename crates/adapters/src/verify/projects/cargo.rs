use super::tree::{Tree, relative, small_text};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::detect::{
    CargoPackage, CargoWorkspace, Project, ProjectKind, needs_nightly,
};
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

/// The kinds of targets that `cargo check --lib` selects.
const LIBRARIES: [&str; 6] = ["lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"];

#[derive(Deserialize)]
struct Dependency {
    name: String,
    path: Option<PathBuf>,
    /// Its source; `None` for a crate of the workspace.
    source: Option<String>,
}

/// Finds every Cargo workspace of the tree, each once regardless of the number of its manifests.
pub(super) fn find(tree: &Tree<'_>) -> Result<Vec<Project>, Problem> {
    let root = &tree.stage_env.workspace.path;
    if tree.lacks("cargo") {
        let kind = || ProjectKind::Cargo(CargoWorkspace::default());
        let dirs = tree.topmost_with(&["Cargo.toml"]).into_iter();
        return Ok(dirs.map(|dir| Project::new(dir, kind())).collect());
    }
    let mut known: HashSet<String> = HashSet::new();
    let mut projects = Vec::new();
    for dir in tree.folders_with("Cargo.toml") {
        if known.contains(&dir) {
            continue;
        }
        let argv = ["cargo", "metadata", "--no-deps", "--format-version", "1"];
        let text = tree.describe(&dir, &argv)?;
        let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| {
            Problem::new(
                Kind::ProjectUnreadable,
                "cannot read the output of `cargo metadata`",
            )
            .because(error)
        })?;
        let Some(top) = relative(&metadata.workspace_root, root) else {
            continue;
        };
        known.insert(dir);
        for package in &metadata.packages {
            known.extend(
                package
                    .manifest_path
                    .parent()
                    .and_then(|dir| relative(dir, root)),
            );
        }
        if !projects.iter().any(|project: &Project| project.dir == top) {
            let kind = ProjectKind::Cargo(workspace(tree, &top, &metadata));
            projects.push(Project::new(top, kind));
        }
    }
    Ok(projects)
}

fn workspace(tree: &Tree<'_>, top: &str, metadata: &Metadata) -> CargoWorkspace {
    let dir_of = |package: &Package| {
        let dir = package.manifest_path.parent().unwrap_or(Path::new(""));
        relative(dir, &metadata.workspace_root).unwrap_or_default()
    };
    let uses = |package: &Package| {
        let own = |dependency: &&Dependency| {
            dependency.path.is_some() && metadata.packages.iter().any(|p| p.name == dependency.name)
        };
        package
            .dependencies
            .iter()
            .filter(own)
            .map(|dependency| dependency.name.clone())
            .collect()
    };
    let is_nightly = ["rust-toolchain", "rust-toolchain.toml"]
        .iter()
        .any(|name| tree.text(top, name).is_some_and(|t| t.contains("nightly")));
    let is_nightly_bench = |target: &Target| {
        target.kind.iter().any(|kind| kind == "bench")
            && small_text(&target.src_path).is_some_and(|text| needs_nightly(&text))
    };
    let is_lib = |target: &Target| target.kind.iter().any(|k| LIBRARIES.contains(&k.as_str()));
    let is_tested = |target: &Target| target.kind.iter().any(|k| k == "bin" || k == "test");
    let packages = metadata
        .packages
        .iter()
        .map(|package| CargoPackage {
            name: package.name.clone(),
            dir: dir_of(package),
            uses: uses(package),
            tests: package
                .targets
                .iter()
                .filter(|target| is_lib(target) || is_tested(target))
                .map(|target| target.name.replace('-', "_"))
                .collect(),
            has_lib: package.targets.iter().any(is_lib),
            has_nightly_bench: !is_nightly && package.targets.iter().any(is_nightly_bench),
        })
        .collect();
    CargoWorkspace {
        packages,
        locked: tree.has(top, "Cargo.lock"),
        nextest: tree.has(top, ".config/nextest.toml"),
        has_needs: metadata
            .packages
            .iter()
            .flat_map(|package| &package.dependencies)
            .any(|dependency| dependency.source.is_some()),
    }
}
