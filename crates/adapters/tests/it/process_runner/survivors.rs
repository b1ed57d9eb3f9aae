//! Tests that nothing survives a kill. There is one test per case, with each way of containing a tree.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, WAYS, is_active};
use drive_core::process::{End, LayerName, TimeBound};
use std::time::Duration;

/// Runs a script that leaves a process behind, in every way, and asserts that it is detected and killed.
fn leaks_everywhere(script: &str) {
    for (way, without) in WAYS {
        let scene = Scene::without(without);
        let report = scene.run(&scene.shell(script));
        let noticed = matches!(report.end, End::LeakedProcesses { count } if count >= 1);
        assert!(
            noticed,
            "{way}: {:?} {}",
            report.end,
            report.stderr.tail_text()
        );
        assert!(report.leaked >= 1, "{way}");
    }
}

everyone! {
    fn a_same_group_child_that_ignores_term_dies() {
        for (way, without) in WAYS {
            let scene = Scene::without(without);
            let mut spec = scene.shell("trap '' TERM; sleep 60 & wait; sleep 60");
            spec.limits.wall = Duration::from_millis(300);
            let report = scene.run(&spec);
            assert_eq!(report.end, End::TimedOut { bound: TimeBound::Wall }, "{way}");
        }
    }

    fn a_double_fork_into_a_new_session_dies() {
        for (way, without) in WAYS {
            let scene = Scene::without(without);
            let mut spec = scene.shell("(setsid sleep 60 &) ; sleep 60");
            spec.limits.wall = Duration::from_millis(300);
            let report = scene.run(&spec);
            assert_eq!(report.end, End::TimedOut { bound: TimeBound::Wall }, "{way}");
        }
        leaks_everywhere("(setsid sleep 60 &) ; exit 0");
    }

    fn a_daemon_that_holds_the_pipe_of_a_leader_that_exits_0_dies() {
        leaks_everywhere("setsid sleep 60 & exit 0");
    }

    fn a_silent_daemon_of_a_leader_that_exits_0_dies() {
        leaks_everywhere("setsid sleep 60 >/dev/null 2>&1 </dev/null & exit 0");
    }

    fn a_process_that_keeps_forking_to_a_new_pid_dies() {
        // It ends by itself after a while, so that a failure here does no lasting harm.
        let chain = "use POSIX; my $end = time + 30; exit 0 if fork;
            while (time < $end) { exit 0 if fork; POSIX::setsid(); }";
        for (way, without) in WAYS {
            for _ in 0..5 {
                let scene = Scene::without(without);
                let report = scene.run(&scene.perl(chain));
                assert_eq!(report.end.name(), "leakedProcesses", "{way}");
            }
        }
    }

    fn a_child_that_kills_its_parent_does_not_get_away() {
        for (way, without) in WAYS {
            let scene = Scene::without(without);
            let report = scene.run(&scene.shell("setsid sleep 60 & kill -9 $PPID; sleep 0.2; exit 0"));
            let expected: &[&str] = if is_active(&report, LayerName::PidNamespace)
                || is_active(&report, LayerName::SignalScope)
            {
                &["leakedProcesses"]
            } else {
                // Only the intermediate process was hit: the supervisor took its place.
                &["leakedProcesses", "signalled"]
            };
            assert!(expected.contains(&report.end.name()), "{way}: {:?}", report.end);
        }
    }

    fn the_signal_scope_alone_keeps_the_parent_safe() {
        let scene = Scene::without(&[LayerName::PidNamespace]);
        let report = scene.run(&scene.shell("kill -9 $PPID 2>/dev/null && exit 1; exit 0"));
        if !is_active(&report, LayerName::SignalScope) {
            lacking(LayerName::SignalScope, "this kernel has no Landlock signal scope");
            return;
        }
        assert_eq!(report.end, End::Exited { code: 0 });
    }

    fn a_child_that_kills_everything_it_can_reaches_nobody_outside() {
        let scene = Scene::new();
        let mut spec = scene.shell("kill -9 -1; exit 7");
        // Never without the namespace: otherwise this would kill every process on the machine.
        spec.isolation.required = true;
        match scene.try_run(&spec) {
            Ok(report) => assert_eq!(report.leaked, 0, "{:?}", report.end),
            Err(problem) => println!("skipped: {problem}"),
        }
    }
}
