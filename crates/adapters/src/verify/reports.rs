use crate::files;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::verify::Verification;
use drive_engine::verify::Reports;
use std::path::{Path, PathBuf};

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

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.json"))
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
        files::replace(&path, &text).map_err(|error| failed(error.to_string()))
    }
}
