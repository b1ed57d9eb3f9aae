use super::tree::{Tree, is_below};
use drive_core::verify::detect::{DotnetProject, Project, ProjectKind};

/// File name endings of solutions, then of projects.
const ENDINGS: [&[&str]; 2] = [&[".sln", ".slnx"], &[".csproj", ".fsproj", ".vbproj"]];

/// Finds every .NET solution of the tree, and every project outside of their folders.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let mut projects: Vec<Project> = Vec::new();
    for endings in ENDINGS {
        let mut files: Vec<(String, String)> = tree
            .files_below("")
            .into_iter()
            .filter(|file| endings.iter().any(|ending| file.ends_with(ending)))
            .map(|file| match file.rsplit_once('/') {
                Some((dir, name)) => (dir.to_owned(), name.to_owned()),
                None => (String::new(), file),
            })
            .collect();
        files.sort_by_key(|(dir, name)| (dir.len(), dir.clone(), name.clone()));
        for (dir, file) in files {
            let is_known = |p: &Project| p.dir == dir || is_below(&dir, &p.dir);
            if !projects.iter().any(is_known) {
                let kind = ProjectKind::Dotnet(DotnetProject { file });
                projects.push(Project::new(dir, kind));
            }
        }
    }
    projects
}
