//! Fakes of the verifier's ports, for its own tests.

use super::FakeReports;
use crate::CancelToken;
use crate::ports::{Clock, CommandSpec, OutputSink, ProcessRunner, Started, Stream};
use crate::verify::{
    Candidates, Merging, Projects, Reports, Slot, Slots, StageEnv, Workspace, Workspaces,
};
use drive_core::ids::{CommitSha, RunId, TreeSha};
use drive_core::network::{Reach, Refused};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{
    End, Layer, LayerName, Presence, ProcessIdentity, ProcessReport, Resources, StreamReport,
};
use drive_core::time::Timestamp;
use drive_core::verify::detect::{Makefile, Project, ProjectKind};
use drive_core::verify::{Rules, VerdictKey, Verification};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(crate) const HEAD: &str = "1111111111111111111111111111111111111111";
pub(crate) const BASE: &str = "2222222222222222222222222222222222222222";
pub(crate) const TREE: &str = "3333333333333333333333333333333333333333";
const MERGED: &str = "4444444444444444444444444444444444444444";
const FORK: &str = "5555555555555555555555555555555555555555";

/// A world in which everything works unless a field says otherwise; it records the calls.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) conflicts: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) altered_after: Option<&'static str>,
    pub(crate) altered_fails: bool,
    pub(crate) open_fails: bool,
    pub(crate) close_fails: bool,
    pub(crate) save_fails: bool,
    pub(crate) no_slot: bool,
    pub(crate) ends: Vec<(&'static str, End)>,
    /// The ends of commands on the base; unlisted commands pass.
    pub(crate) ends_on_base: Vec<(&'static str, End)>,
    /// How often a command fails as in `ends` before it passes.
    pub(crate) fails_times: Option<usize>,
    pub(crate) files: Vec<String>,
    pub(crate) output: &'static str,
    /// The output of commands on the base, if it differs.
    pub(crate) output_on_base: Option<&'static str>,
    /// Whether no project can be read, on the candidate and on the base.
    pub(crate) unreadable: (bool, bool),
    /// The Makefile targets of the base, if they differ.
    pub(crate) targets_on_base: Option<&'static [&'static str]>,
    pub(crate) wants: Option<&'static str>,
    pub(crate) missing: Vec<LayerName>,
    /// A description of the tools; `None` for a machine that cannot tell.
    pub(crate) surroundings: Option<&'static str>,
    pub(crate) reports: FakeReports,
    /// Whether a folder `docs` has a Makefile without tests.
    pub(crate) has_untested_docs: bool,
    pub(crate) log: Mutex<Vec<String>>,
}

impl World {
    fn note(&self, what: impl Into<String>) {
        self.log.lock().unwrap().push(what.into());
    }

    pub(crate) fn ran(&self, program: &str) -> bool {
        self.log.lock().unwrap().contains(&format!("run {program}"))
    }
}

/// The folder of the base's workspaces.
const BASE_PATH: &str = "/b";

fn broken(what: &str) -> Problem {
    Problem::new(Kind::StorageFailed, format!("{what} is broken"))
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Candidates for World {
    fn resolve(&self, _: &Path, revision: &str) -> Result<CommitSha, Problem> {
        match revision {
            "head" => Ok(CommitSha::new(HEAD.to_owned())),
            "base" => Ok(CommitSha::new(BASE.to_owned())),
            other => Err(Problem::new(
                Kind::UnknownRevision,
                format!("unknown revision `{other}`"),
            )),
        }
    }

    fn merge(&self, _: &Path, _: &CommitSha, _: &CommitSha) -> Result<Merging, Problem> {
        if !self.conflicts.is_empty() {
            return Ok(Merging::Conflicts(self.conflicts.clone()));
        }
        Ok(Merging::Clean {
            commit: CommitSha::new(MERGED),
            tree: TreeSha::parse(TREE).unwrap(),
        })
    }

    fn fork_point(
        &self,
        _: &Path,
        _: &CommitSha,
        _: &CommitSha,
    ) -> Result<Option<CommitSha>, Problem> {
        Ok(Some(CommitSha::new(FORK)))
    }

    fn changed_paths(
        &self,
        _: &Path,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<Vec<String>, Problem> {
        self.note(format!("diff {} {}", &from[..1], &to[..1]));
        Ok(self.changed.clone())
    }
}

impl Workspaces for World {
    fn open(
        &self,
        run: &RunId,
        repo: &Path,
        commit: &CommitSha,
        _: &Rules,
    ) -> Result<Workspace, Problem> {
        if self.open_fails {
            return Err(broken("the disk"));
        }
        self.note(format!("open {}", &commit[..1]));
        Ok(Workspace {
            id: run.to_string(),
            repo: repo.to_path_buf(),
            path: if commit.as_str() == BASE {
                BASE_PATH.into()
            } else {
                "/w".into()
            },
            tmp: "/t".into(),
            env: Vec::new(),
            passed: Vec::new(),
            protected: vec!["/w/.git".into()],
            hidden: Vec::new(),
            shown: Vec::new(),
            layered: Vec::new(),
            registries: Reach::registries(|_| None).0,
            files: self.files.clone().into(),
            notes: Vec::new(),
        })
    }

    fn surroundings(&self, _: &Path, _: &Rules) -> Option<String> {
        self.surroundings.map(str::to_owned)
    }

    fn altered(&self, _: &Workspace) -> Result<Vec<String>, Problem> {
        if self.altered_fails {
            return Err(broken("the tree"));
        }
        let altered = self.altered_after.is_some_and(|program| self.ran(program));
        Ok(altered.then(|| "tests/a".to_owned()).into_iter().collect())
    }

    fn folder(&self, workspace: &Workspace, dir: &str) -> Result<PathBuf, Problem> {
        Ok(workspace.path.join(dir))
    }

    fn program(&self, _: &Workspace, _: &Path, program: &str) -> Result<String, Problem> {
        if program.starts_with("../") {
            return Err(Problem::new(
                Kind::OutsideWorkspace,
                format!("`{program}` lies outside the workspace"),
            ));
        }
        Ok(program.to_owned())
    }

    fn close(&self, _: &Workspace) -> Result<(), Problem> {
        self.note("close");
        if self.close_fails {
            Err(broken("the folder"))
        } else {
            Ok(())
        }
    }

    fn sweep(&self) -> Result<Vec<String>, Problem> {
        Ok(Vec::new())
    }
}

impl Projects for World {
    fn read(&self, stage_env: &StageEnv, _: &CancelToken) -> Result<Vec<Project>, Problem> {
        let is_base = stage_env.workspace.path == Path::new(BASE_PATH);
        let (here, there) = self.unreadable;
        if if is_base { there } else { here } {
            let what = "`package.json` cannot be read";
            return Err(Problem::new(Kind::ProjectUnreadable, what));
        }
        let project = |dir: &str, targets: &[&str]| {
            let makefile = Makefile {
                targets: targets.iter().map(|&target| target.to_owned()).collect(),
                ..Makefile::default()
            };
            Project::new(dir, ProjectKind::Make(makefile))
        };
        let docs = self.has_untested_docs.then(|| project("docs", &["build"]));
        let on_base = self.targets_on_base.filter(|_| is_base);
        let root = project("", on_base.unwrap_or(&["build", "test"]));
        Ok(std::iter::once(root).chain(docs).collect())
    }
}

impl Slots for World {
    fn acquire(&self, _: u32, _: Timestamp, _: &CancelToken) -> Result<Slot, Problem> {
        if self.no_slot {
            Err(broken("the slot"))
        } else {
            Ok(Slot::new(()))
        }
    }

    fn spare(&self, _: u32) -> Option<Slot> {
        None
    }
}

impl Reports for World {
    fn save(&self, report: &Verification) -> Result<(), Problem> {
        self.note(format!("save {}", report.run_id));
        if self.save_fails {
            return Err(broken("the store"));
        }
        self.reports.save(report)
    }

    fn known(&self, key: &VerdictKey) -> Option<Verification> {
        self.reports.known(key)
    }

    fn remember(&self, key: &VerdictKey, run: &RunId) -> Result<(), Problem> {
        self.reports.remember(key, run)
    }

    fn forget(&self, key: &VerdictKey) -> Result<(), Problem> {
        self.reports.forget(key)
    }
}

impl ProcessRunner for World {
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        let _ = started;
        let program = spec.program.to_string_lossy().into_owned();
        if program == "absent" {
            return Err(Problem::new(
                Kind::ProgramNotFound,
                "program `absent` is not installed",
            ));
        }
        self.note(format!("run {program}"));
        let is_base = spec.cwd.starts_with(BASE_PATH);
        let on_base = self.output_on_base.filter(|_| is_base);
        let output = on_base.unwrap_or(self.output);
        sink.chunk(Stream::Stdout, output.as_bytes());
        if let Some(host) = self.wants.filter(|_| spec.isolation.reports_names) {
            let host = host.to_owned();
            sink.refused(&Refused::NotAllowed { host });
        }
        let run = format!("run {program}");
        let log = self.log.lock().unwrap().clone();
        let ran = log.iter().filter(|one| **one == run).count();
        let ends = if is_base {
            &self.ends_on_base
        } else if self.fails_times.is_some_and(|times| ran > times) {
            &Vec::new()
        } else {
            &self.ends
        };
        let own = ends
            .iter()
            .find(|(p, _)| *p == program)
            .map(|(_, end)| end.clone());
        let end = if cancel.asked().is_some() {
            End::Aborted
        } else {
            own.unwrap_or(End::Exited { code: 0 })
        };
        let mut layers = vec![
            Layer::active(LayerName::WriteScope),
            Layer::active(LayerName::PidNamespace),
        ];
        for name in &self.missing {
            layers.retain(|layer| layer.name != *name);
            layers.push(Layer::missing(*name, "absent"));
        }
        Ok(ProcessReport {
            end,
            leader: None,
            duration_ms: 5,
            stdout: StreamReport {
                log_error: None,
                tail: output.as_bytes().to_vec(),
                total_bytes: 1_000,
                log: None,
            },
            stderr: StreamReport::default(),
            resources: Resources::default(),
            layers,
            leaked: 0,
        })
    }

    fn inspect(&self, _: &ProcessIdentity) -> Presence {
        unreachable!("not asked")
    }

    fn end(&self, _: &ProcessIdentity) -> Result<u32, Problem> {
        unreachable!("not asked")
    }

    fn load_report(&self, _: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
        unreachable!("not asked")
    }

    fn probe(&self) -> Vec<Layer> {
        Vec::new()
    }
}
