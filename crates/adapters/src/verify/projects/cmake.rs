use super::tree::{Tree, small_text};
use drive_core::verify::detect::{
    CMakeProject, Project, ProjectKind, cmake_collects, cmake_has_tests, unmentioned,
};
use std::collections::BTreeSet;

const LISTS: &str = "CMakeLists.txt";

/// Finds every CMake project of the tree. A folder that another project adds belongs to that project.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let dirs = tree.topmost_with(&[LISTS]).into_iter();
    dirs.map(|dir| {
        let project = project(tree, &dir);
        Project::new(dir, ProjectKind::CMake(project))
    })
    .collect()
}

fn project(tree: &Tree<'_>, dir: &str) -> CMakeProject {
    let files = tree.files_below(dir);
    let top = tree.path(dir);
    let read = |file: &str| small_text(&top.join(file));
    let is_list = |file: &&String| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name == LISTS || name.ends_with(".cmake")
    };
    let lists = files.iter().filter(is_list);
    let text: String = lists.filter_map(|file| read(file)).collect();
    let unbuilt = if cmake_collects(&text) {
        BTreeSet::new()
    } else {
        unmentioned(&text, &files, &read)
    };
    CMakeProject {
        has_tests: cmake_has_tests(&text),
        unbuilt,
    }
}
