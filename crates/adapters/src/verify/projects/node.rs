use super::tree::{Tree, is_below, joined};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::detect::{
    Installed, NodeManager, NodePackage, NodeWorkspace, PACKAGE_FILES, Project, ProjectKind,
    Scripts,
};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    name: String,
    #[serde(default)]
    scripts: Scripts,
    #[serde(default)]
    dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    peer_dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    workspaces: Option<Members>,
    #[serde(default)]
    package_manager: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Members {
    Globs(Vec<String>),
    Object { packages: Vec<String> },
}

impl Manifest {
    fn uses(&self) -> impl Iterator<Item = &String> {
        let all = [
            &self.dependencies,
            &self.dev_dependencies,
            &self.peer_dependencies,
        ];
        all.into_iter().flat_map(BTreeMap::keys)
    }
}

/// Finds every workspace or single package of the tree; a member belongs to its workspace. A manifest without
/// scripts that is not a member, e.g. one that only sets `type`, belongs to the project around it.
pub(super) fn find(tree: &Tree<'_>) -> Result<Vec<Project>, Problem> {
    let mut manifests = Vec::new();
    for dir in tree.folders_with("package.json") {
        let text = tree.text(&dir, "package.json").unwrap_or_default();
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
            let path = joined(&dir, "package.json");
            Problem::new(Kind::ProjectUnreadable, format!("`{path}` cannot be read")).because(error)
        })?;
        manifests.push((dir, manifest));
    }
    let mut members: Vec<String> = Vec::new();
    let mut projects = Vec::new();
    for (dir, manifest) in &manifests {
        if members.contains(dir) {
            continue;
        }
        let packages = packages(tree, dir, manifest, &manifests);
        let is_inside = projects.iter().any(|p: &Project| is_below(dir, &p.dir));
        if is_inside && manifest.scripts.is_empty() && packages.is_empty() {
            continue;
        }
        members.extend(packages.iter().map(|package| joined(dir, &package.dir)));
        let workspace = workspace(tree, dir, manifest, packages);
        projects.push(Project::new(dir, ProjectKind::Node(workspace)));
    }
    Ok(projects)
}

fn workspace(
    tree: &Tree<'_>,
    dir: &str,
    manifest: &Manifest,
    packages: Vec<NodePackage>,
) -> NodeWorkspace {
    let manager = NodeManager::detect(
        manifest.package_manager.as_deref(),
        tree.text(dir, "yarn.lock").as_deref(),
        &|name| tree.has(dir, name),
    );
    let has_needs = manifest.uses().next().is_some() || !packages.is_empty();
    let installed = installed(tree, dir, &packages);
    NodeWorkspace {
        manager,
        turbo: tree.has(dir, "turbo.json"),
        root_scripts: manifest.scripts.clone(),
        packages,
        has_needs,
        installed,
        locked: manager.lock_files().iter().any(|name| tree.has(dir, name)),
    }
}

/// The state of installed packages. They come from the caller's checkout, and were installed for its files.
fn installed(tree: &Tree<'_>, dir: &str, packages: &[NodePackage]) -> Installed {
    if !tree.path(dir).join("node_modules").is_dir() {
        return Installed::Nothing;
    }
    let members = packages.iter().map(|package| joined(dir, &package.dir));
    let is_same = std::iter::once(dir.to_owned()).chain(members).all(|dir| {
        PACKAGE_FILES
            .iter()
            .all(|name| tree.text(&dir, name) == tree.text_of_checkout(&dir, name))
    });
    if is_same {
        Installed::AsAsked
    } else {
        Installed::ForOthers
    }
}

fn packages(
    tree: &Tree<'_>,
    dir: &str,
    manifest: &Manifest,
    all: &[(String, Manifest)],
) -> Vec<NodePackage> {
    let globs = match (&manifest.workspaces, tree.text(dir, "pnpm-workspace.yaml")) {
        (_, Some(yaml)) => yaml_list(&yaml, "packages"),
        (Some(Members::Globs(globs) | Members::Object { packages: globs }), None) => globs.clone(),
        (None, None) => return Vec::new(),
    };
    let (wanted, unwanted) = sets(&globs);
    let inner = |other: &str| {
        if dir.is_empty() {
            Some(other.to_owned())
        } else {
            other
                .strip_prefix(dir)?
                .strip_prefix('/')
                .map(str::to_owned)
        }
    };
    let found: Vec<(String, &Manifest)> = all
        .iter()
        .filter_map(|(other, manifest)| Some((inner(other).filter(|d| !d.is_empty())?, manifest)))
        .filter(|(other, _)| wanted.is_match(other) && !unwanted.is_match(other))
        .collect();
    found
        .iter()
        .map(|(dir, manifest)| NodePackage {
            name: if manifest.name.is_empty() {
                dir.clone()
            } else {
                manifest.name.clone()
            },
            dir: dir.clone(),
            scripts: manifest.scripts.keys().cloned().collect(),
            uses: manifest
                .uses()
                .filter(|name| found.iter().any(|(_, m)| m.name == **name))
                .cloned()
                .collect(),
        })
        .collect()
}

/// The patterns that select members, and those with `!` that exclude some of them.
fn sets(globs: &[String]) -> (GlobSet, GlobSet) {
    let mut wanted = GlobSetBuilder::new();
    let mut unwanted = GlobSetBuilder::new();
    for glob in globs {
        let (set, pattern) = match glob.strip_prefix('!') {
            Some(rest) => (&mut unwanted, rest),
            None => (&mut wanted, glob.as_str()),
        };
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        // An invalid pattern selects no members: its packages are separate projects.
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            set.add(glob);
        }
    }
    (
        wanted.build().unwrap_or_default(),
        unwanted.build().unwrap_or_default(),
    )
}

/// The items of a top-level list of strings in a YAML file, which is all that pnpm's file needs.
fn yaml_list(text: &str, key: &str) -> Vec<String> {
    let plain = |item: &str| item.trim().trim_matches(['"', '\'']).to_owned();
    let mut items = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim_end();
        if let Some(rest) = line
            .strip_prefix(key)
            .and_then(|rest| rest.strip_prefix(':'))
        {
            let inline = rest
                .trim()
                .strip_prefix('[')
                .and_then(|r| r.strip_suffix(']'));
            items.extend(
                inline
                    .into_iter()
                    .flat_map(|list| list.split(','))
                    .map(plain)
                    .filter(|i| !i.is_empty()),
            );
            inside = true;
        } else if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| inside) {
            items.push(plain(item));
        } else if !line.is_empty() && !line.starts_with([' ', '#', '-']) {
            inside = false;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_of_a_pnpm_workspace_are_read() {
        let text = "# tools\npackages:\n  - 'packages/*' # all\n  - \"apps/web\"\n\n  - '!packages/old'\ncatalog:\n  - not-this\n";
        assert_eq!(
            yaml_list(text, "packages"),
            ["packages/*", "apps/web", "!packages/old"]
        );
        assert_eq!(
            yaml_list("packages: ['a', \"b/*\"]\n", "packages"),
            ["a", "b/*"]
        );
        assert_eq!(
            yaml_list("other:\n  - x\n", "packages"),
            Vec::<String>::new()
        );
    }
}
