//! Tests a cruise that builds on the simulated GitHub while its owner is killed repeatedly.

use super::building::{
    ALONE, CODER, commit_rules, plan_of, report, stage, states, task, trees_that_fail,
};
use crate::cruise::crew::{REPO, kill, status, until};
use crate::stage::{APPROVES, Ended, Stage, ended};
use drive_core::forge::Permission;
use drive_testkit::github::Simulator;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Four tasks, two of them in parallel; the tests of one fail first.
pub(super) fn diamond() -> Vec<Value> {
    vec![
        task("top", "Write top.txt one", &[], "top.txt"),
        task("west", "Write west.txt bad then two", &["top"], "west.txt"),
        task("east", "Write east.txt three", &["top"], "east.txt"),
        task("end", "Write end.txt four", &["west", "east"], "end.txt"),
    ]
}

/// A clone of a repository on the simulated GitHub whose base defines the verification.
pub(super) fn on_github(tasks: &[Value]) -> (Simulator, Stage) {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let settings = format!(
        "[cruise]\npoll_initial = \"200ms\"\npoll_max = \"400ms\"\n\
         [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let coder = CODER.replace("@PLAN@", &plan_of(tasks));
    let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, &coder, APPROVES);
    commit_rules(&stage, str::to_owned);
    stage.git(&["push", "--quiet", "origin", "main"]);
    (simulator, stage)
}

/// Runs a cruise whose owners are killed up to this number of times, at moments that a seed chooses.
fn fly(stage: &Stage, most: u32, seed: u64) -> Ended {
    let deaths = Deaths {
        most,
        lives: 50..950,
        seed,
        ..Deaths::NONE
    };
    deaths.let_fly(stage, |_| {}).0
}

/// How the owners of a cruise die.
pub(super) struct Deaths {
    /// The maximum number of killed owners.
    pub(super) most: u32,
    /// For how long owners are killed.
    pub(super) during: Duration,
    /// How long an owner lives, in milliseconds.
    pub(super) lives: Range<u64>,
    /// Whether for every second owner its running git commands are killed too.
    pub(super) with_git: bool,
    pub(super) seed: u64,
}

/// The maximum duration of a cruise.
const LONGEST: Duration = Duration::from_secs(270);

impl Deaths {
    pub(super) const NONE: Self = Self {
        most: 0,
        during: LONGEST,
        lives: 700..800,
        with_git: false,
        seed: 1,
    };

    /// Runs a cruise while `watch` checks its status. Returns how its last owner ended, and the
    /// number of killed ones.
    pub(super) fn let_fly(mut self, stage: &Stage, mut watch: impl FnMut(&Value)) -> (Ended, u32) {
        let began = Instant::now();
        let mut owner = stage.start(&ALONE);
        until("the cruise", || status(stage)["id"].is_string());
        let mut died = 0;
        loop {
            sleep(self.life());
            if owner.try_wait().unwrap().is_some() {
                return (ended(owner), died);
            }
            let now = status(stage);
            if began.elapsed() > LONGEST {
                kill(owner);
                panic!("it did not end: {now:#}");
            }
            watch(&now);
            if died < self.most && began.elapsed() < self.during {
                died += 1;
                let takes_git = self.with_git && died % 2 == 0;
                let at_work = takes_git.then(|| git_commands(stage));
                kill(owner);
                for process in at_work.into_iter().flatten() {
                    // It may have ended by itself.
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
                owner = stage.start(&["cruise", "resume"]);
            }
        }
    }

    fn life(&mut self) -> Duration {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let Range { start, end } = self.lives;
        Duration::from_millis(start + (self.seed >> 33) % (end - start))
    }
}

/// The git commands that are running for a stage.
fn git_commands(stage: &Stage) -> Vec<OwnedFd> {
    let pids = processes(stage).into_iter();
    let is_git = |pid: &i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.starts_with("git"))
    };
    pids.filter_map(|pid| {
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        is_git(&pid).then_some(process)
    })
    .collect()
}

/// The processes that work in the folders of a stage, or were started for it.
pub(super) fn processes(stage: &Stage) -> Vec<i32> {
    let place = stage.path("");
    let mark = place.to_string_lossy().into_owned();
    let is_ours = |pid: &i32| {
        let at = |what: &str| format!("/proc/{pid}/{what}");
        let works_here = fs::read_link(at("cwd")).is_ok_and(|cwd| cwd.starts_with(&place));
        let environment = fs::read(at("environ")).unwrap_or_default();
        works_here || String::from_utf8_lossy(&environment).contains(&mark)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.filter(is_ours).collect()
}

/// Asserts that everything is on the base once, and that no published branch ever contained a failing tree.
fn require_landed(stage: &Stage, base: &str) {
    for (file, word) in [
        ("top", "one"),
        ("west", "two"),
        ("east", "three"),
        ("end", "four"),
    ] {
        assert_eq!(stage.git(&["show", &format!("{base}:{file}.txt")]), word);
    }
    assert!(
        stage
            .try_git(&["show", &format!("{base}:plan.md")])
            .is_err()
    );
    let merges = stage.git(&["log", "--format=%s", base, "--grep=^Merge task"]);
    let mut merges: Vec<&str> = merges.lines().collect();
    merges.sort_unstable();
    let known = merges.len();
    merges.dedup();
    assert_eq!(merges.len(), known, "no task landed twice: {merges:#?}");
    assert_eq!(known, 4, "{merges:#?}");
    assert_eq!(trees_that_fail(stage, base), Vec::<String>::new());
    let audit = report(stage);
    for task in audit["tasks"].as_array().unwrap() {
        assert_eq!(task["evidence"][0]["result"], "proven", "{audit}");
    }
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_on_github_plans_builds_and_merges_one_pull_request() {
    let (_simulator, stage) = on_github(&diamond());
    let ended = fly(&stage, 0, 1);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    require_landed(&stage, "origin/main");
    assert_eq!(
        states(&status_of(&stage, &ended)),
        ["top landed", "west landed", "east landed", "end landed"]
    );
}

fn status_of(stage: &Stage, ended: &Ended) -> Value {
    let id = ended.document["runId"].as_str().unwrap();
    stage.drive(&["cruise", "status", id]).document
}

#[test]
fn a_cruise_whose_owner_is_killed_again_and_again_lands_each_task_once() {
    let stage = stage(&diamond());
    let ended = fly(&stage, 25, 7);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    require_landed(&stage, "main");
}

#[test]
fn the_same_holds_on_github() {
    let (_simulator, stage) = on_github(&diamond());
    let ended = fly(&stage, 25, 11);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    require_landed(&stage, "origin/main");
}
