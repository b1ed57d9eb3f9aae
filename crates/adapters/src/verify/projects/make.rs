use super::tree::{Tree, small_text};
use drive_core::verify::detect::{Makefile, Project, ProjectKind, make_targets, unbuilt};
use std::collections::BTreeSet;

const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Finds every Makefile of the tree with known targets.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let mut projects: Vec<Project> = Vec::new();
    for name in MAKEFILES {
        for dir in tree.folders_with(name) {
            let is_known = projects.iter().any(|project| project.dir == dir);
            let targets = tree
                .text(&dir, name)
                .map(|text| make_targets(&text))
                .unwrap_or_default();
            if !is_known && !targets.is_empty() {
                let mut makefile = Makefile {
                    targets,
                    unbuilt: BTreeSet::new(),
                };
                makefile.unbuilt = never_named(tree, &dir, &makefile);
                projects.push(Project::new(dir, ProjectKind::Make(makefile)));
            }
        }
    }
    projects
}

/// The sources below a Makefile that its stages never use, according to a dry run of all targets.
/// If that fails, the set is empty, and the run itself decides.
fn never_named(tree: &Tree<'_>, dir: &str, makefile: &Makefile) -> BTreeSet<String> {
    let mut argv = vec!["make", "-n", "-B", "-w"];
    let targets = makefile.stage_targets();
    argv.extend(&targets);
    if targets.is_empty() || tree.lacks("make") {
        return BTreeSet::new();
    }
    let Ok(commands) = tree.describe(dir, &argv) else {
        return BTreeSet::new();
    };
    let files: Vec<String> = tree.files_below(dir);
    let top = tree.path(dir);
    let read = |file: &str| small_text(&top.join(file));
    unbuilt(&String::from_utf8_lossy(&commands), &files, &read)
}
