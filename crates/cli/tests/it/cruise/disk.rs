//! Tests a full disk with the state directory: it is reported, nothing is lost, and the cruise
//! continues when there is space again.

use crate::cruise::crew::{REPO, fixes, github, kill, sandbox, status, until, until_quiet};
use crate::stage::ended;
use rustix::mount::{MountFlags, UnmountFlags};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A small disk; `None` if this user may not mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let options = c"size=48m,mode=0755";
        match rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::empty(), Some(options)) {
            Ok(()) => Some(Self(at.to_path_buf())),
            Err(error) => {
                eprintln!("SKIPPED: no disk of its own can be mounted here: {error}");
                None
            }
        }
    }

    /// Uses up all free space.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        for size in [1 << 16, 1 << 9, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_disk_is_named_and_nothing_is_lost_or_done_twice() {
    let (simulator, stage) = github("200ms");
    let Some(disk) = SmallDisk::mount(&stage.path("home/.local/state")) else {
        return;
    };
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let filler = disk.fill();
    simulator.comment(REPO, "ann", 1, "Is there room for this?");
    let stopped = ended(owner);
    let failure = &stopped.document["failure"];
    assert_eq!(
        (stopped.code, &failure["kind"]),
        (Some(3), &"diskFull".into()),
        "{stopped:?}"
    );
    assert!(
        failure["hint"].as_str().unwrap().contains("space"),
        "{failure}"
    );
    // A second attempt reports the same problem.
    let again = stage.drive(&["cruise", "resume"]);
    assert_eq!(
        (again.code, &again.document["failure"]["kind"]),
        (Some(3), &"diskFull".into()),
        "{again:?}"
    );
    // Reading the status needs no space.
    assert_eq!(stage.drive(&["cruise", "status"]).code, Some(0));
    assert_eq!(stage.drive(&["cruise", "list"]).code, Some(0));
    fs::remove_file(filler).unwrap();
    let owner = stage.start(&["cruise", "resume"]);
    // A fixer that found no space counts as a round too, and the next one comes after a pause.
    let answers = || fixes(simulator.conversation(REPO, 1));
    until("the answer", || answers().len() == 1);
    simulator.comment(REPO, "ann", 1, "And for this?");
    until("the other answer", || answers().len() >= 2);
    until_quiet(&stage, 2);
    let said = answers();
    assert_eq!(said.len(), 2, "{said:#?}");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
    drop(disk);
}

#[test]
fn a_disk_that_fills_up_while_a_fixer_works_costs_no_comment() {
    let (simulator, stage) = github("200ms");
    let Some(disk) = SmallDisk::mount(&stage.path("home/.local/state")) else {
        return;
    };
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let folder = sandbox(&stage).join(".cruise");
    simulator.comment(REPO, "ann", 1, "Please wait.");
    until("the fixer", || folder.join("waits").exists());
    fs::write(folder.join("go"), "").unwrap();
    let filler = disk.fill();
    let stopped = ended(owner);
    assert_eq!(
        (stopped.code, &stopped.document["failure"]["kind"]),
        (Some(3), &"diskFull".into()),
        "{stopped:?}"
    );
    fs::remove_file(filler).unwrap();
    fs::write(folder.join("go"), "").unwrap();
    let owner = stage.start(&["cruise", "resume"]);
    until("the answer", || {
        !fixes(simulator.conversation(REPO, 1)).is_empty()
    });
    until_quiet(&stage, 1);
    let said = fixes(simulator.conversation(REPO, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
    drop(disk);
}
