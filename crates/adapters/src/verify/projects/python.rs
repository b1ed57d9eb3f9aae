use super::tree::Tree;
use drive_core::verify::detect::{Project, ProjectKind, PythonFiles, PythonProject};

const MANIFESTS: [&str; 5] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pytest.ini",
    "tox.ini",
];

/// Finds every folder of the tree with a file that Python's tools read.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let mut dirs: Vec<String> = MANIFESTS
        .iter()
        .flat_map(|name| tree.folders_with(name))
        .collect();
    dirs.sort();
    dirs.dedup();
    let imports_pytest = ["python3", "-c", "import pytest"];
    let has_pytest =
        !dirs.is_empty() && !tree.lacks("python3") && tree.describe("", &imports_pytest).is_ok();
    let read = |dir: &String| {
        let setup = ["setup.py", "setup.cfg"].map(|name| tree.text(dir, name));
        let setup = setup.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let is_module = |file: &String| file.starts_with("src/") && file.ends_with(".py");
        PythonProject::read(&PythonFiles {
            pyproject: tree.text(dir, "pyproject.toml").as_deref(),
            setup: Some(setup.as_str()),
            has: &|name| tree.has(dir, name),
            has_src: tree.files_below(dir).iter().any(is_module),
            has_pytest,
        })
    };
    let projects = dirs.iter();
    projects
        .map(|dir| Project::new(dir, ProjectKind::Python(read(dir))))
        .collect()
}
