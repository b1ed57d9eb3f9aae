//! Work on many files inside the layers against the same outside, on a tree of 30,000 files.

use crate::sandbox::grow;
use crate::table::{Row, median};
use drive_adapters::process::BoundedRunner;
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, Discard, Isolation, NetworkAccess, ProcessRunner, Writes};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const ROUNDS: usize = 7;
/// Each is done so often that the start of a shell does not count.
const WORK: [(&str, &str); 2] = [
    (
        "ten times `git status`, 30,000 files, inside against outside",
        "for n in 0 1 2 3 4 5 6 7 8 9; do git status --porcelain > /dev/null; done",
    ),
    (
        "ten walks that look at each of 30,000 files, inside against outside",
        "for n in 0 1 2 3 4 5 6 7 8 9; do find . -size +1000000k > /dev/null; done",
    ),
];

pub(crate) fn run() -> Vec<Row> {
    let Ok(dir) = tempfile::tempdir() else {
        eprintln!("skipped: no temporary folder");
        return Vec::new();
    };
    let repo = dir.path().join("repo");
    grow(&repo);
    WORK.iter()
        .map(|(what, script)| {
            let (plain, ours) = (outside(&repo, script), inside(&repo, script));
            Row {
                what: (*what).to_owned(),
                plain: shown(plain),
                ours: shown(ours),
                result: format!("{:.3}", ours.as_secs_f64() / plain.as_secs_f64()),
                bound: "≤ 1.03".to_owned(),
            }
        })
        .collect()
}

fn outside(repo: &Path, script: &str) -> Duration {
    median(ROUNDS, || {
        let status = Command::new("/bin/sh")
            .args(["-c", script])
            .current_dir(repo)
            .stdout(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    })
}

fn inside(repo: &Path, script: &str) -> Duration {
    let mut spec = CommandSpec::new("/bin/sh", repo)
        .args(["-c", script])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        // Root's files belong to another id in there.
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    spec.isolation = Isolation {
        writes: Writes::Only(vec![repo.to_path_buf()]),
        network: NetworkAccess::Off,
        ..Isolation::default()
    };
    median(ROUNDS, || {
        let cancel = CancelToken::new();
        let report = BoundedRunner::new().run(&spec, &cancel, &mut |_| Ok(()), &mut Discard);
        let report = report.expect("the command runs");
        assert!(report.end.is_success(), "{:?}", report.end);
    })
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
