use super::tree::Tree;
use drive_core::verify::detect::{Project, ProjectKind, RubyProject, RubyRunner};

/// Finds every folder of the tree with a Gemfile.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let read = |dir: &String| RubyProject {
        locked: tree.has(dir, "Gemfile.lock"),
        runner: RubyRunner::detect(
            &tree.files_below(dir),
            tree.text(dir, "Rakefile").as_deref(),
        ),
    };
    let dirs = tree.topmost_with(&["Gemfile"]);
    dirs.iter()
        .map(|dir| Project::new(dir, ProjectKind::Ruby(read(dir))))
        .collect()
}
