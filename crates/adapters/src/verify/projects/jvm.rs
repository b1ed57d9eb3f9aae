use super::tree::Tree;
use drive_core::verify::detect::{JvmProject, JvmTool, Project, ProjectKind};

const TOOLS: [(JvmTool, &[&str], &str); 2] = [
    (JvmTool::Maven, &["pom.xml"], "mvnw"),
    (
        JvmTool::Gradle,
        &[
            "settings.gradle",
            "settings.gradle.kts",
            "build.gradle",
            "build.gradle.kts",
        ],
        "gradlew",
    ),
];

/// Finds every Maven or Gradle build of the tree. A module belongs to the build around it. In a
/// folder with files of both tools, Maven wins.
pub(super) fn find(tree: &Tree<'_>) -> Vec<Project> {
    let mut projects: Vec<Project> = Vec::new();
    for (tool, files, wrapper) in TOOLS {
        for dir in tree.topmost_with(files) {
            if !projects.iter().any(|project| project.dir == dir) {
                let has_wrapper = tree.has(&dir, wrapper);
                let kind = ProjectKind::Jvm(JvmProject { tool, has_wrapper });
                projects.push(Project::new(dir, kind));
            }
        }
    }
    projects
}
