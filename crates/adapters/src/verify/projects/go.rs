use super::tree::{Tree, relative};
use drive_core::verify::detect::{GoModule, GoPackage, Project, ProjectKind};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Package {
    import_path: String,
    dir: PathBuf,
    #[serde(default)]
    imports: Vec<String>,
    #[serde(default)]
    test_imports: Vec<String>,
    #[serde(default, rename = "XTestImports")]
    x_test_imports: Vec<String>,
}

/// Finds every Go module of the tree. A module that cannot be described is checked as a whole.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let modules = tree.folders_with("go.mod").into_iter();
    modules
        .map(|dir| {
            let fields = "-json=ImportPath,Dir,Imports,TestImports,XTestImports";
            let described = tree.describe(&dir, &["go", "list", fields, "./..."]);
            let packages = described
                .ok()
                .and_then(|text| packages(tree, &dir, &text))
                .unwrap_or_default();
            let requires = |text: String| text.lines().any(|line| line.starts_with("require"));
            let has_needs = !tree.has(&dir, "vendor/modules.txt")
                && tree.text(&dir, "go.mod").is_some_and(requires);
            let module = GoModule {
                packages,
                has_needs,
            };
            Project::new(dir, ProjectKind::Go(module))
        })
        .collect()
}

/// Parses the output of `go list`, which prints one document after the other.
fn packages(tree: &Tree<'_>, dir: &str, text: &[u8]) -> Option<Vec<GoPackage>> {
    let top = tree.path(dir);
    let documents = serde_json::Deserializer::from_slice(text).into_iter::<Package>();
    documents
        .map(|package| {
            let package = package.ok()?;
            let uses = [
                package.imports,
                package.test_imports,
                package.x_test_imports,
            ]
            .concat();
            Some(GoPackage {
                import_path: package.import_path,
                dir: relative(&package.dir, &top)?,
                uses,
            })
        })
        .collect()
}
