//! Tests what remains after drive or its helper is killed, and what the next drive can do about it.

use crate::process_runner::support::{self, Scene, WAYS, survivors};
use drive_adapters::process::BoundedRunner;
use drive_core::problem::Kind;
use drive_core::process::{End, LayerName, Presence, ProcessIdentity, ProcessMark};
use drive_engine::CancelToken;
use drive_engine::ports::{Discard, OrphanPolicy, ProcessRunner};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "DRIVE_TEST_ROLE";

/// Not a separate test: acts as a drive process that is killed while a child runs.
#[test]
fn stands_for_a_drive_that_is_killed() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let mut parts = role.split('\n');
    let mut next = || parts.next().unwrap().to_owned();
    let (folder, token, policy, script, without) = (next(), next(), next(), next(), next());
    let without: Vec<LayerName> = serde_json::from_str(&without).unwrap();
    let mut scene = Scene::without(&without);
    scene.token = token;
    let mut spec = scene.shell(&script);
    spec.log_dir = Some(folder.into());
    spec.orphans = if policy == "end" {
        OrphanPolicy::End
    } else {
        OrphanPolicy::Continue
    };
    let _ = scene.runner.run(
        &spec,
        &CancelToken::new(),
        &mut |identity| {
            println!("identity {}", serde_json::to_string(identity).unwrap());
            Ok(())
        },
        &mut Discard,
    );
}

struct Doomed {
    process: Child,
    identity: ProcessIdentity,
    scene: Scene,
}

impl Doomed {
    /// Starts a drive in a separate process, and waits until its child runs.
    fn start(policy: &str, script: &str, without: &[LayerName]) -> Self {
        let scene = Scene::new();
        let ready = scene.path().join("ready");
        let script = format!("touch {}; {script}", ready.display());
        let without = serde_json::to_string(without).unwrap();
        let folder = scene.path().join("logs");
        let role = format!(
            "{}\n{}\n{policy}\n{script}\n{without}",
            folder.display(),
            scene.token
        );
        let mut process = Command::new("/proc/self/exe")
            .args([
                "--exact",
                "process_runner::leftovers::stands_for_a_drive_that_is_killed",
                "--nocapture",
            ])
            .env_clear()
            .env(ROLE, role)
            .env(support::HELPER, support::helper())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let line = stdout
            .lines()
            .map(Result::unwrap)
            .find(|l| l.contains("identity {"))
            .unwrap();
        let json = &line[line.find("identity ").unwrap() + 9..];
        wait_until("the child runs", || ready.exists());
        Self {
            process,
            identity: serde_json::from_str(json).unwrap(),
            scene,
        }
    }

    fn kill_drive(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn gone(&self) -> bool {
        // The role itself has the token too, so the search begins only after its end.
        survivors(&self.scene.token).is_empty()
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn runner() -> BoundedRunner {
    BoundedRunner::with_helper(support::helper())
}

fn kill(mark: ProcessMark) {
    kill_process(Pid::from_raw(mark.pid).unwrap(), Signal::KILL).unwrap();
}

everyone! {
    fn when_drive_is_killed_the_helper_ends_the_tree() {
        for (way, without) in WAYS {
            let mut doomed = Doomed::start("end", "setsid sleep 60 & sleep 60", without);
            doomed.kill_drive();
            wait_until(way, || doomed.gone());
            wait_until("the helper ends", || runner().inspect(&doomed.identity) == Presence::Gone);
            let report = runner().load_report(&doomed.identity).unwrap().unwrap();
            assert_eq!(report.end, End::Aborted, "{way}");
        }
    }

    fn a_child_that_may_go_on_does_and_its_report_is_found_later() {
        let mut doomed = Doomed::start("continue", "while ! test -e go; do sleep 0.02; done; echo done", &[]);
        doomed.kill_drive();
        assert_eq!(runner().inspect(&doomed.identity), Presence::Alive);
        assert_eq!(runner().load_report(&doomed.identity).unwrap(), None);
        // The child works in the folder of the scene that its own drive created.
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", doomed.identity.child.pid)).unwrap();
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::write(cwd.join("go"), "").unwrap();
        wait_until("it ends", || runner().inspect(&doomed.identity) == Presence::Gone);
        let report = runner().load_report(&doomed.identity).unwrap().unwrap();
        assert_eq!((report.end, report.stdout.tail_text()), (End::Exited { code: 0 }, "done\n".into()));
        std::fs::remove_dir_all(&cwd).unwrap();
    }

    fn the_next_drive_can_end_a_tree_that_goes_on() {
        for (way, without) in WAYS {
            let mut doomed = Doomed::start("continue", "setsid sleep 60 & sleep 60", without);
            doomed.kill_drive();
            assert_eq!(runner().inspect(&doomed.identity), Presence::Alive, "{way}");
            assert!(runner().end(&doomed.identity).unwrap() >= 1, "{way}");
            assert!(doomed.gone(), "{way}");
            assert_eq!(runner().inspect(&doomed.identity), Presence::Gone, "{way}");
            for group in &doomed.identity.cgroups {
                assert!(!group.exists(), "{way}: {}", group.display());
            }
            assert_eq!(runner().end(&doomed.identity).unwrap(), 0, "{way}");
        }
    }

    fn when_drive_and_helper_are_both_killed_the_rest_can_be_ended() {
        for (way, without) in WAYS {
            let mut doomed = Doomed::start("continue", "sleep 60", without);
            doomed.kill_drive();
            kill(doomed.identity.supervisor.unwrap());
            runner().end(&doomed.identity).unwrap();
            wait_until(way, || doomed.gone());
            for group in &doomed.identity.cgroups {
                assert!(!group.exists(), "{way}: {}", group.display());
            }
        }
    }

    fn when_the_helper_is_killed_drive_ends_the_tree_and_says_so() {
        for (way, without) in WAYS {
            let scene = Scene::without(without);
            let result = scene.runner.run(
                &scene.shell("setsid sleep 60 & sleep 60"),
                &CancelToken::new(),
                &mut |identity| {
                    let helper = identity.supervisor.unwrap();
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(200));
                        kill(helper);
                    });
                    Ok(())
                },
                &mut Discard,
            );
            assert_eq!(result.unwrap_err().kind, Kind::SupervisionFailed, "{way}");
            wait_until(way, || survivors(&scene.token).is_empty());
        }
    }

    fn a_process_that_got_the_same_pid_later_is_never_touched() {
        let mut bystander = Command::new("sleep").arg("30").spawn().unwrap();
        let mark = ProcessMark { pid: bystander.id() as i32, start_ticks: 1 };
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let mut identity = ProcessIdentity {
            child: mark,
            supervisor: Some(mark),
            init: Some(mark),
            pid_namespace: false,
            cgroups: Vec::new(),
            boot_id: boot_id.trim().to_owned(),
            log_dir: None,
        };
        assert_eq!(runner().inspect(&identity), Presence::Gone);
        assert_eq!(runner().end(&identity).unwrap(), 0);
        // The same pid and start time after another boot belong to another process.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", bystander.id())).unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
        identity.child.start_ticks = start.parse().unwrap();
        identity.boot_id = "another".to_owned();
        assert_eq!(runner().inspect(&identity), Presence::Gone);
        assert_eq!(runner().end(&identity).unwrap(), 0);
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }
}
