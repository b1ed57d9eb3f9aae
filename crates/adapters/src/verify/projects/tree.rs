//! The workspace as the detectors see it.

use drive_core::network::Refused;
use drive_core::problem::{Kind, Problem};
use drive_core::process::End;
use drive_core::verify::wanted;
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, OutputSink, ProcessRunner, Stream};
use drive_engine::verify::StageEnv;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a tool may take to describe a project.
const DESCRIBE: Duration = Duration::from_secs(120);
/// The maximum size of a description.
const DESCRIPTION_BYTES: usize = 64 << 20;
/// The maximum size of a manifest.
const MANIFEST_BYTES: u64 = 4 << 20;

/// Folders with dependencies, or with projects that are test data.
const FOREIGN: [&str; 5] = [
    "node_modules",
    "vendor",
    "testdata",
    "fixtures",
    "__fixtures__",
];

/// The output of a tool, and the hosts that it tried to reach.
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

/// The workspace, as the detectors see it.
pub(super) struct Tree<'a> {
    pub(super) stage_env: &'a StageEnv,
    pub(super) runner: &'a dyn ProcessRunner,
    pub(super) cancel: &'a CancelToken,
}

impl Tree<'_> {
    /// The folders that contain a file of this name, shortest first; the root is an empty string.
    pub(super) fn folders_with(&self, name: &str) -> Vec<String> {
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
            .filter(|dir| !dir.split('/').any(|part| FOREIGN.contains(&part)))
            .collect();
        folders.sort_by_key(|dir| (dir.len(), dir.clone()));
        folders
    }

    /// The folders that contain one of these files and are in no other such folder.
    pub(super) fn topmost_with(&self, names: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = names
            .iter()
            .flat_map(|name| self.folders_with(name))
            .collect();
        all.sort_by_key(|dir| (dir.len(), dir.clone()));
        let mut top: Vec<String> = Vec::new();
        for dir in all {
            if !top
                .iter()
                .any(|above| dir == *above || is_below(&dir, above))
            {
                top.push(dir);
            }
        }
        top
    }

    /// Whether the program is missing in all folders of the stages' `PATH`.
    pub(super) fn lacks(&self, program: &str) -> bool {
        let env = &self.stage_env.workspace.env;
        let path = env.iter().find(|(name, _)| name == "PATH");
        let mut folders = path
            .into_iter()
            .flat_map(|(_, path)| std::env::split_paths(path));
        !folders.any(|folder| folder.join(program).is_file())
    }

    pub(super) fn has(&self, dir: &str, name: &str) -> bool {
        let path = joined(dir, name);
        self.stage_env.workspace.files.contains(&path)
    }

    /// The tracked files below a folder, relative to it.
    pub(super) fn files_below(&self, dir: &str) -> Vec<String> {
        let files = self.stage_env.workspace.files.iter();
        files
            .filter(|file| is_below(file, dir))
            .map(|file| file[dir.len()..].trim_start_matches('/').to_owned())
            .collect()
    }

    pub(super) fn path(&self, dir: &str) -> PathBuf {
        self.stage_env.workspace.path.join(dir)
    }

    /// A manifest's text; `None` if it is not a small regular file.
    pub(super) fn text(&self, dir: &str, name: &str) -> Option<String> {
        small_text(&self.path(dir).join(name))
    }

    /// The same file in the caller's checkout, from which caches come.
    pub(super) fn text_of_checkout(&self, dir: &str, name: &str) -> Option<String> {
        small_text(&self.stage_env.workspace.repo.join(dir).join(name))
    }

    /// The output of a tool about a project; a problem if the tool fails.
    pub(super) fn describe(&self, dir: &str, argv: &[&str]) -> Result<Vec<u8>, Problem> {
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

pub(super) fn small_text(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let is_fit = meta.is_file() && meta.len() <= MANIFEST_BYTES;
    is_fit.then(|| std::fs::read_to_string(path).ok()).flatten()
}

pub(super) fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

/// Whether a folder is strictly inside of another one.
pub(super) fn is_below(dir: &str, above: &str) -> bool {
    match above {
        "" => !dir.is_empty(),
        above => dir
            .strip_prefix(above)
            .is_some_and(|rest| rest.starts_with('/')),
    }
}

/// A folder relative to another one, both in the workspace, with `/` between its parts.
pub(super) fn relative(path: &Path, to: &Path) -> Option<String> {
    Some(path.strip_prefix(to).ok()?.to_string_lossy().into_owned())
}

fn shown(dir: &str) -> &str {
    if dir.is_empty() { "." } else { dir }
}
