use crate::files;
use crate::store::Reserve;
use drive_core::ids::{CommitSha, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::verify::{Overall, VerdictKey, Verification, passed};
use drive_engine::verify::{KeptReports, Reports};
use std::path::{Path, PathBuf};

/// The folder beside the reports that maps passed commits to their report.
const PASSES: &str = "passed-verifications";
/// The folder beside the reports that maps the inputs of a verdict to its report.
const KNOWN: &str = "known-verdicts";
/// The maximum number of stored verdicts.
const MOST_KNOWN: usize = 10_000;

/// The length of an id up to its minute, such as `r20261101-1200`.
const MINUTE: usize = 14;

/// Reports as files, one per run.
pub struct FileReports {
    dir: PathBuf,
}

impl FileReports {
    /// Uses reports in the existing folder `dir`.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
        }
    }

    /// The latest report in which `head`, merged into `base`, passed.
    pub fn passed(&self, head: &CommitSha, base: &CommitSha) -> Option<Verification> {
        let run = std::fs::read_to_string(self.pass_path(head, base)).ok()?;
        let report = self.load(&RunId::new(run))?;
        passed(&report, head, base).is_some().then_some(report)
    }

    /// The size of a report in bytes.
    pub fn size(&self, run: &RunId) -> u64 {
        self.path(run).metadata().map_or(0, |found| found.len())
    }

    /// Deletes a report. Commits that passed in it must be verified again.
    pub fn remove(&self, run: &RunId) -> Result<(), Problem> {
        let path = self.path(run);
        files::remove_file(&path).map_err(|error| {
            let what = format!("cannot remove `{}`", path.display());
            Problem::new(Kind::ReportNotKept, what).because(error)
        })
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.json"))
    }

    fn passes(&self) -> PathBuf {
        self.dir.with_file_name(PASSES)
    }

    /// The file with the id of the run; the report itself proves the pass.
    fn pass_path(&self, head: &CommitSha, base: &CommitSha) -> PathBuf {
        self.passes().join(format!("{head}-{base}"))
    }

    fn known_path(&self, key: &VerdictKey) -> PathBuf {
        self.dir.with_file_name(KNOWN).join(key.to_string())
    }

    /// Drops all verdicts when there are too many: they can be computed again.
    fn forget_known(folder: &Path) -> std::io::Result<()> {
        let known: Vec<PathBuf> = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        if known.len() < MOST_KNOWN {
            return Ok(());
        }
        known.iter().try_for_each(|path| files::remove_file(path))
    }

    fn note_pass(&self, report: &Verification) -> std::io::Result<()> {
        let candidate = &report.candidate;
        let (Some(head), Some(base)) = (&candidate.head_sha, &candidate.base_sha) else {
            return Ok(());
        };
        let path = self.pass_path(head, base);
        if passed(report, head, base).is_none() {
            // A later verdict on the same merge replaces an earlier one; a verdict on the head
            // alone does not.
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
        let write = || files::replace(&path, &text).and_then(|()| self.note_pass(report));
        let reserve = Reserve::of(self.dir.parent().unwrap_or(&self.dir));
        let written = write().or_else(|error| {
            // The space is reserved for verdicts.
            if reserve.give_up() {
                write()
            } else {
                Err(error)
            }
        });
        written.map_err(|error| failed(error.to_string()))
    }

    fn known(&self, key: &VerdictKey) -> Option<Verification> {
        let run = std::fs::read_to_string(self.known_path(key)).ok()?;
        self.load(&RunId::new(run))
    }

    fn forget(&self, key: &VerdictKey) -> Result<(), Problem> {
        let path = self.known_path(key);
        files::remove_file(&path).map_err(|error| {
            let what = format!("cannot remove `{}`", path.display());
            Problem::new(Kind::ReportNotKept, what).because(error)
        })
    }

    fn remember(&self, key: &VerdictKey, run: &RunId) -> Result<(), Problem> {
        let path = self.known_path(key);
        let folder = self.dir.with_file_name(KNOWN);
        std::fs::create_dir_all(&folder)
            .and_then(|()| Self::forget_known(&folder))
            .and_then(|()| files::replace(&path, run.as_str().as_bytes()))
            .map_err(|error| {
                let what = format!("cannot write `{}`", path.display());
                Problem::new(Kind::ReportNotKept, what).because(error)
            })
    }
}

impl KeptReports for FileReports {
    fn newest(&self, most: usize) -> Vec<Verification> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut runs: Vec<String> = names
            .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
            .collect();
        runs.sort_unstable_by(|one, other| other.cmp(one));
        // Ids begin with their minute; within a minute, only the reports show the order.
        let minute = |run: &str| run.get(..MINUTE).map(str::to_owned);
        let last = most.checked_sub(1).and_then(|at| minute(runs.get(at)?));
        let same = runs.iter().skip(most);
        let same = same.take_while(|run| last.is_some() && minute(run) == last);
        let wanted = most.saturating_add(same.count());
        let runs = runs.into_iter().take(wanted);
        let mut reports: Vec<Verification> =
            runs.filter_map(|run| self.load(&RunId::new(run))).collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.timing.started_at));
        reports.truncate(most);
        reports
    }

    fn load(&self, run: &RunId) -> Option<Verification> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if !run.as_str().chars().all(is_plain) {
            // An id typed by a person must not be used as a path.
            return None;
        }
        let text = std::fs::read(self.path(run)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::time::Timestamp;
    use drive_engine::verify::lost;

    fn report(id: &str, second: i64) -> Verification {
        let at = Timestamp::from_second(second).unwrap();
        lost(RunId::new(id), at, at, "x")
    }

    #[test]
    fn the_newest_reports_come_first_also_within_a_minute() {
        let dir = tempfile::tempdir().unwrap();
        let reports = FileReports::new(dir.path());
        for (id, second) in [
            ("r20261101-1200-zzzzz", 10),
            ("r20261101-1200-aaaaa", 20),
            ("r20261101-1159-mmmmm", 5),
            ("r20261101-1200-kkkkk", 15),
        ] {
            reports.save(&report(id, second)).unwrap();
        }
        let ids = |most: usize| -> Vec<String> {
            let newest = reports.newest(most).into_iter();
            newest
                .map(|one| one.run_id.as_str()[10..].to_owned())
                .collect()
        };
        assert_eq!(ids(1), ["1200-aaaaa"]);
        assert_eq!(ids(2), ["1200-aaaaa", "1200-kkkkk"]);
        assert_eq!(ids(9).len(), 4);
        assert_eq!(ids(9)[3], "1159-mmmmm");
        assert_eq!(ids(0).len(), 0);
    }

    #[test]
    fn a_verdict_is_kept_on_a_disk_that_others_filled() {
        use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
        let dir = tempfile::tempdir().unwrap();
        let options = Some(c"size=96m");
        if mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), options).is_err() {
            return; // Only root has a disk of its own here.
        }
        let folder = dir.path().join("verifications");
        std::fs::create_dir(&folder).unwrap();
        let reports = FileReports::new(&folder);
        let reserve = Reserve::of(dir.path());
        let fill = || {
            let mut file = std::fs::File::create(dir.path().join("others")).unwrap();
            while std::io::Write::write_all(&mut file, &[b'x'; 64 << 10]).is_ok() {}
        };
        fill();
        let is_kept_without = reports.save(&report("r1", 1)).is_ok();
        std::fs::remove_file(dir.path().join("others")).unwrap();
        reserve.make_room();
        fill();
        let kept = reports.save(&report("r2", 2));
        let _ = unmount(dir.path(), UnmountFlags::DETACH);
        assert!(!is_kept_without, "the control: the disk is full");
        assert_eq!(kept, Ok(()));
    }

    #[test]
    fn an_id_that_is_a_path_is_no_report() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("in");
        std::fs::create_dir(&inner).unwrap();
        let reports = FileReports::new(&inner);
        let outside = FileReports::new(dir.path());
        outside.save(&report("r1", 1)).unwrap();
        assert!(outside.load(&RunId::new("r1")).is_some());
        assert!(reports.load(&RunId::new("../r1")).is_none());
        let whole = dir.path().join("r1");
        assert!(reports.load(&RunId::new(whole.to_str().unwrap())).is_none());
    }
}
