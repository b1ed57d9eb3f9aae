//! Detects the projects of a workspace by their files, and describes them with their own tools,
//! isolated like a stage.

mod cargo;
mod cmake;
mod dotnet;
mod go;
mod jvm;
mod make;
mod node;
mod php;
mod python;
mod ruby;
mod tree;

use drive_core::problem::Problem;
use drive_core::verify::detect::Project;
use drive_core::verify::programs;
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use drive_engine::verify::{Projects, StageEnv};
use std::sync::Arc;
use tree::Tree;

/// Reads projects.
pub struct ProjectReader {
    runner: Arc<dyn ProcessRunner>,
}

impl ProjectReader {
    /// A reader that runs its tools with `runner`.
    pub fn new(runner: Arc<dyn ProcessRunner>) -> Self {
        Self { runner }
    }
}

impl Projects for ProjectReader {
    fn read(&self, stage_env: &StageEnv, cancel: &CancelToken) -> Result<Vec<Project>, Problem> {
        let tree = Tree {
            stage_env,
            runner: &*self.runner,
            cancel,
        };
        let mut projects = cargo::find(&tree)?;
        projects.extend(node::find(&tree)?);
        projects.extend(go::find(&tree));
        projects.extend(python::find(&tree));
        projects.extend(jvm::find(&tree));
        projects.extend(ruby::find(&tree));
        projects.extend(php::find(&tree)?);
        projects.extend(dotnet::find(&tree));
        projects.extend(cmake::find(&tree));
        projects.extend(make::find(&tree));
        let missing: Vec<String> = programs()
            .filter(|program| tree.lacks(program))
            .map(str::to_owned)
            .collect();
        for project in &mut projects {
            project.missing.clone_from(&missing);
        }
        Ok(projects)
    }
}
