use crate::files;
use drive_core::ids::{CommitSha, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::{Overall, Verification, passed};
use drive_engine::verify::Reports;
use std::path::{Path, PathBuf};

/// The folder beside the reports that finds a pass by what passed.
const PASSES: &str = "passed-verifications";

/// Reports as files, one a run.
pub struct FileReports {
    dir: PathBuf,
}

impl FileReports {
    /// Reports in `dir`, which exists.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
        }
    }

    /// The report of a run; `None` when there is none that can be read whole.
    pub fn load(&self, run: &RunId) -> Option<Verification> {
        let text = std::fs::read(self.path(run)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The latest report by which `head` passed, merged into `base`.
    pub fn passed(&self, head: &CommitSha, base: &CommitSha) -> Option<Verification> {
        let run = std::fs::read_to_string(self.pass_path(head, base)).ok()?;
        let report = self.load(&RunId::new(run))?;
        passed(&report, head, base).is_some().then_some(report)
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.json"))
    }

    fn passes(&self) -> PathBuf {
        self.dir.with_file_name(PASSES)
    }

    /// Holds the id of the run; the report itself says whether it is true.
    fn pass_path(&self, head: &CommitSha, base: &CommitSha) -> PathBuf {
        self.passes().join(format!("{head}-{base}"))
    }

    fn note_pass(&self, report: &Verification) -> std::io::Result<()> {
        let candidate = &report.candidate;
        let (Some(head), Some(base)) = (&candidate.head_sha, &candidate.base_sha) else {
            return Ok(());
        };
        let path = self.pass_path(head, base);
        if passed(report, head, base).is_none() {
            // A later verdict on the same replaces an earlier one; the head alone is another thing.
            let is_verdict = matches!(report.overall, Overall::Fail | Overall::Timeout);
            return if is_verdict && candidate.merged_tree_sha.is_some() {
                files::remove_file(&path)
            } else {
                Ok(())
            };
        }
        std::fs::create_dir_all(self.passes())?;
        files::replace(&path, report.run_id.as_str().as_bytes())
    }
}

impl Reports for FileReports {
    fn save(&self, report: &Verification) -> Result<(), Problem> {
        let path = self.path(&report.run_id);
        let failed = |cause: String| {
            Problem::new(
                Kind::ReportNotKept,
                format!("cannot write `{}`", path.display()),
            )
            .cause(cause)
        };
        let text = serde_json::to_vec_pretty(report).map_err(|error| failed(error.to_string()))?;
        files::replace(&path, &text)
            .and_then(|()| self.note_pass(report))
            .map_err(|error| failed(error.to_string()))
    }
}
