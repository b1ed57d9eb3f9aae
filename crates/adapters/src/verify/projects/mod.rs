//! Detects the projects of a workspace by their files, and describes them with their own tools
//! under the isolation of a stage.

mod cargo;
mod go;
mod node;

use drive_core::network::Refused;
use drive_core::problem::{Kind, Problem};
use drive_core::process::End;
use drive_core::verify::detect::{Makefile, Project, ProjectKind, PythonProject, make_targets};
use drive_core::verify::wanted;
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, OutputSink, ProcessRunner, Stream};
use drive_engine::verify::{Projects, StageEnv};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a tool may take to describe a project.
const DESCRIBE: Duration = Duration::from_secs(120);
/// The most a description may print.
const DESCRIPTION_BYTES: usize = 64 << 20;
/// The largest manifest that is read.
const MANIFEST_BYTES: u64 = 4 << 20;

const PYTHON: [&str; 5] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pytest.ini",
    "tox.ini",
];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Reads projects.
pub struct ProjectReader {
    runner: Arc<dyn ProcessRunner>,
}

impl ProjectReader {
    /// A reader whose tools go through `runner`.
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
        projects.extend(python(&tree));
        projects.extend(make(&tree));
        Ok(projects)
    }
}

/// What a tool prints, and which hosts it wanted.
struct Description {
    output: Collect,
    refused: Vec<Refused>,
}

impl OutputSink for Description {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        self.output.chunk(stream, bytes);
    }

    fn refused(&mut self, refused: &Refused) {
        self.refused.push(refused.clone());
    }
}

/// The workspace as detectors see it.
struct Tree<'a> {
    stage_env: &'a StageEnv,
    runner: &'a dyn ProcessRunner,
    cancel: &'a CancelToken,
}

impl Tree<'_> {
    /// The folders that hold a file of that name, shortest first; empty for the root.
    fn folders_with(&self, name: &str) -> Vec<String> {
        let mut folders: Vec<String> = self
            .stage_env
            .workspace
            .files
            .iter()
            .filter_map(|file| match file.rsplit_once('/') {
                Some((dir, last)) if last == name => Some(dir.to_owned()),
                None if file == name => Some(String::new()),
                Some(_) | None => None,
            })
            .filter(|dir| {
                !dir.split('/')
                    .any(|part| matches!(part, "node_modules" | "vendor" | "testdata"))
            })
            .collect();
        folders.sort_by_key(|dir| (dir.len(), dir.clone()));
        folders
    }

    fn has(&self, dir: &str, name: &str) -> bool {
        let path = joined(dir, name);
        self.stage_env.workspace.files.contains(&path)
    }

    fn path(&self, dir: &str) -> PathBuf {
        self.stage_env.workspace.path.join(dir)
    }

    /// A manifest's text; `None` when it is no small regular file.
    fn text(&self, dir: &str, name: &str) -> Option<String> {
        small_text(&self.path(dir).join(name))
    }

    /// The same file as the caller's checkout has it, where caches come from.
    fn text_of_checkout(&self, dir: &str, name: &str) -> Option<String> {
        small_text(&self.stage_env.workspace.repo.join(dir).join(name))
    }

    /// What a tool prints about a project; a problem when it fails.
    fn describe(&self, dir: &str, argv: &[&str]) -> Result<Vec<u8>, Problem> {
        let args: Vec<String> = argv[1..].iter().map(|&arg| arg.to_owned()).collect();
        let spec = self
            .stage_env
            .command(argv[0], &args, &self.path(dir), DESCRIBE);
        let mut said = Description {
            output: Collect::new(DESCRIPTION_BYTES),
            refused: Vec::new(),
        };
        let report = self
            .runner
            .run(&spec, self.cancel, &mut |_| Ok(()), &mut said)?;
        if report.end == (End::Exited { code: 0 }) && said.output.dropped_bytes == 0 {
            return Ok(said.output.stdout);
        }
        let complaint = drive_core::verify::text::one_line(&report.stderr.tail_text());
        let problem = Problem::new(
            Kind::ProjectUnreadable,
            format!(
                "`{}` cannot describe the project in `{}`",
                argv.join(" "),
                shown(dir)
            ),
        )
        .cause(complaint);
        let network = self.stage_env.rules.network;
        Err(match said.refused.first() {
            Some(refused) => problem.hint(format!("it {}", wanted(refused, network, false))),
            None => problem,
        })
    }
}

fn small_text(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let is_fit = meta.is_file() && meta.len() <= MANIFEST_BYTES;
    is_fit.then(|| std::fs::read_to_string(path).ok()).flatten()
}

fn python(tree: &Tree<'_>) -> Vec<Project> {
    let mut dirs: Vec<String> = PYTHON
        .iter()
        .flat_map(|name| tree.folders_with(name))
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs.into_iter()
        .map(|dir| Project {
            dir,
            kind: ProjectKind::Python(PythonProject),
        })
        .collect()
}

fn make(tree: &Tree<'_>) -> Vec<Project> {
    let mut projects: Vec<Project> = Vec::new();
    for name in MAKEFILES {
        for dir in tree.folders_with(name) {
            let is_known = projects.iter().any(|project| project.dir == dir);
            let targets = tree
                .text(&dir, name)
                .map(|text| make_targets(&text))
                .unwrap_or_default();
            if !is_known && !targets.is_empty() {
                projects.push(Project {
                    dir,
                    kind: ProjectKind::Make(Makefile { targets }),
                });
            }
        }
    }
    projects
}

fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

/// A folder relative to another, both in the workspace, with `/` between parts.
fn relative(path: &Path, to: &Path) -> Option<String> {
    Some(path.strip_prefix(to).ok()?.to_string_lossy().into_owned())
}

fn shown(dir: &str) -> &str {
    if dir.is_empty() { "." } else { dir }
}
