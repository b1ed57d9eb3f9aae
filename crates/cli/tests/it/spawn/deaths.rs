//! Tests `kill -9` at any moment: the next command ends running processes, saves the work, and reports it.

use crate::spawn::support::{World, text};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Writes, starts children in their own sessions, and never ends.
pub(crate) const STUBBORN: &str = "trap '' TERM INT HUP
echo half > half.txt; echo changed > a.txt
(setsid sh -c 'trap \"\" TERM HUP; (sleep 301 &) ; sleep 302' > /dev/null 2>&1 &)
(sleep 303 &)
echo ready > ready.txt
while :; do sleep 304; done";

pub(crate) fn kill(child: &mut Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_drive_left_is_ended_and_kept_by_the_next_command() {
    let world = World::with_agent(STUBBORN);
    let mut child = world.start(&["spawn", "Work for ever", "--json"]);
    world.wait_for_file("ready.txt");
    kill(&mut child);
    let next = world.drive(&["runs", "list"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    let runs = world.drive(&["runs", "list", "--json"]).document();
    let id = text(&runs["runs"][0]["runId"]);
    assert_eq!(
        next.stderr,
        format!(
            "warning: cleaned up run `{id}` after its process was killed; its work is saved: `drive kept restore refs/drive/kept/{id}/1`; continue it with `drive runs resume {id}`\n"
        )
    );
    assert_eq!(text(&runs["runs"][0]["status"]), "failed");
    assert_eq!(text(&runs["runs"][0]["failure"]["kind"]), "ownerLost");
    world.assert_nothing_is_left();
    let restored = world.drive(&["kept", "restore", &id, "--branch", "rescued"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(world.files("rescued"), "a.txt half.txt ready.txt src/b.txt");
    assert_eq!(world.git("show rescued:a.txt"), "changed");
    // It is reported once.
    assert_eq!(world.drive(&["runs", "list"]).stderr, "");
}

#[test]
fn a_new_spawn_cleans_up_after_a_killed_one_too() {
    let world = World::with_agent(STUBBORN);
    let mut child = world.start(&["spawn", "Work for ever"]);
    world.wait_for_file("ready.txt");
    kill(&mut child);
    world.program("script", "cat > /dev/null; echo fine > fine.txt");
    let next = world.drive(&["spawn", "Do it"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    let first = next.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("warning: cleaned up run `"), "{next:?}");
    world.assert_nothing_is_left();
}

#[test]
fn commits_of_an_agent_whose_drive_was_killed_are_on_its_branch() {
    let world = World::with_agent(
        "git add -A; echo done > done.txt; git add -A; git -c user.name=x -c user.email=x@y commit -qm 'by itself'; mkdir .cruise; echo x > .cruise/committed; sleep 300",
    );
    let mut child = world.start(&["spawn", "Commit", "--branch", "mine"]);
    world.wait_for_file(".cruise/committed");
    kill(&mut child);
    let next = world.drive(&["runs", "list"]);
    assert!(
        next.stderr.contains(
            "after its process was killed; its work is on branch `mine`; continue it with"
        ),
        "{next:?}"
    );
    assert_eq!(world.files("mine"), "a.txt done.txt src/b.txt");
    assert_eq!(world.git("for-each-ref refs/drive"), "");
    world.assert_nothing_is_left();
}

#[test]
fn a_kill_at_any_moment_leaks_nothing_and_loses_nothing() {
    const MOMENTS: u32 = 15;
    let script = "echo one > one.txt; sleep 0.1; echo two > two.txt; sleep 0.1";
    let world = World::with_agent(script);
    let started = Instant::now();
    let (code, run) = world.spawn(&["Take some time"]);
    assert_eq!(code, Some(0), "{run:#}");
    let whole = started.elapsed();
    let mut seed: u64 = 0x5eed;
    for moment in 0..MOMENTS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let fraction =
            (f64::from(moment) + (seed >> 40) as f64 / f64::from(1 << 24)) / f64::from(MOMENTS);
        let mut child = world
            .drive_command(&[
                "spawn",
                "Take some time",
                "--branch",
                &format!("drive/{moment}"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(fraction));
        let ended_before = child.try_wait().unwrap();
        kill_if_running(&mut child, ended_before.is_none());
        survive(&world, moment, whole.mul_f64(fraction));
    }
}

fn kill_if_running(child: &mut Child, runs: bool) {
    if runs {
        kill(child);
    }
}

/// Asserts that after every death the content of the sandbox is on a branch or saved, and nothing runs.
fn survive(world: &World, moment: u32, after: Duration) {
    let held: Vec<&str> = ["one.txt", "two.txt"]
        .into_iter()
        .filter(|name| {
            world
                .sandboxes()
                .iter()
                .any(|folder| holds(&folder.join(name)))
        })
        .collect();
    let next = world.drive(&["runs", "list", "--json"]);
    assert_eq!(next.code, Some(0), "moment {moment} ({after:?}): {next:?}");
    let warnings = next.stderr.lines().count();
    assert!(warnings <= 1, "moment {moment}: {next:?}");
    for run in next.document()["runs"].as_array().unwrap() {
        assert_ne!(
            run["status"],
            serde_json::Value::Null,
            "moment {moment}: {run:#}"
        );
    }
    let newest = text(&next.document()["runs"][0]["id"]);
    let refs = world.git(&format!(
        "for-each-ref --format='%(refname)' refs/heads/drive/{moment} refs/drive/kept/{newest}"
    ));
    for name in held {
        let safe = refs
            .lines()
            .any(|name_of_ref| world.files(name_of_ref).split(' ').any(|file| file == name));
        assert!(safe, "moment {moment} ({after:?}): {name} is lost: {refs}");
    }
    world.assert_nothing_is_left();
}

fn holds(path: &std::path::Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.len() > 0)
}
