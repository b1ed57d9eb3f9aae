use super::tree::{Tree, joined};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::detect::{PhpProject, PhpRunner, Project, ProjectKind, is_php_package};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    require: BTreeMap<String, serde_json::Value>,
    #[serde(default, rename = "require-dev")]
    require_dev: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    scripts: BTreeMap<String, serde_json::Value>,
}

/// Finds every folder of the tree with a `composer.json`.
pub(super) fn find(tree: &Tree<'_>) -> Result<Vec<Project>, Problem> {
    let dirs = tree.topmost_with(&["composer.json"]).into_iter();
    dirs.map(|dir| {
        let text = tree.text(&dir, "composer.json").unwrap_or_default();
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
            let path = joined(&dir, "composer.json");
            Problem::new(Kind::ProjectUnreadable, format!("`{path}` cannot be read")).because(error)
        })?;
        let kind = ProjectKind::Php(project(tree, &dir, &manifest));
        Ok(Project::new(dir, kind))
    })
    .collect()
}

fn project(tree: &Tree<'_>, dir: &str, manifest: &Manifest) -> PhpProject {
    let mut needs = manifest.require.keys().chain(manifest.require_dev.keys());
    let has_phpunit = manifest.require_dev.contains_key("phpunit/phpunit")
        || ["phpunit.xml", "phpunit.xml.dist"]
            .iter()
            .any(|name| tree.has(dir, name));
    let runner = if manifest.scripts.contains_key("test") {
        Some(PhpRunner::Script)
    } else {
        has_phpunit.then_some(PhpRunner::Phpunit)
    };
    PhpProject {
        has_needs: needs.any(|name| is_php_package(name)),
        runner,
    }
}
