//! Tests known pitfalls of other process runners, one test per pitfall.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active, is_root};
use drive_core::problem::Kind;
use drive_core::process::{End, LayerName, TimeBound};
use drive_engine::ports::NetworkAccess;
use std::process::{Command, Stdio};
use std::time::Duration;

everyone! {
    fn max_rss_is_not_inherited_from_a_large_parent() {
        let scene = Scene::new();
        let mut ballast = vec![1u8; 300 << 20];
        ballast.iter_mut().step_by(4096).for_each(|byte| *byte = byte.wrapping_add(1));
        let report = scene.run(&scene.command("true"));
        let peak = report.resources.max_rss_bytes.unwrap();
        assert!(std::hint::black_box(&ballast)[0] == 2 && peak < 64 << 20, "{peak}");
    }

    fn a_child_outlives_the_thread_that_made_the_runner() {
        let scene = Scene::new();
        let runner = scene.runner.clone();
        let runner = std::thread::spawn(move || runner.clone()).join().unwrap();
        let scene = Scene { runner, ..scene };
        assert_eq!(scene.run(&scene.shell("sleep 0.2")).end, End::Exited { code: 0 });
    }

    fn a_pipe_held_by_a_grandchild_keeps_what_was_read() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("echo kept; setsid sleep 60 & exit 0"));
        assert_eq!(report.stdout.tail, b"kept\n");
        assert_eq!(report.end.name(), "leakedProcesses");
    }

    fn a_leader_that_exits_during_the_grace_does_not_save_its_group() {
        let scene = Scene::new();
        let mut spec = scene.shell("trap 'exit 0' TERM; (trap '' TERM; while :; do sleep 1; done) & wait");
        spec.limits.wall = Duration::from_millis(300);
        let report = scene.run(&spec);
        assert_eq!(report.end, End::TimedOut { bound: TimeBound::Wall });
    }

    fn zombies_are_reaped_all_the_time_and_do_not_fill_a_process_cap() {
        let orphans = "for (1..300) { if (!fork) { exit 0 if fork; exit 0 } wait }
            select(undef, undef, undef, 0.2); exit 0";
        for without in [&[][..], &[LayerName::CgroupProcesses], &[LayerName::PidNamespace]] {
            let scene = Scene::without(without);
            let mut spec = scene.perl(orphans);
            spec.limits.processes = Some(60);
            assert_eq!(scene.run(&spec).end, End::Exited { code: 0 }, "{without:?}");
        }
    }

    fn a_pid_namespace_does_not_hide_leaks() {
        let scene = Scene::without(&[LayerName::CgroupKill, LayerName::SignalScope]);
        let report = scene.run(&scene.shell("setsid sleep 60 >/dev/null 2>&1 & exit 0"));
        if !is_active(&report, LayerName::PidNamespace) {
            lacking(LayerName::PidNamespace, "this user may not make a PID namespace");
            return;
        }
        assert_eq!((report.end, report.leaked), (End::LeakedProcesses { count: 1 }, 1));
    }

    fn no_network_still_has_its_own_loopback() {
        let talk = "use IO::Socket::INET;
            my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die 'listen';
            my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->sockport) or die 'connect';
            my $u = IO::Socket::INET->new(Proto => 'udp', PeerAddr => '192.0.2.1', PeerPort => 9);
            die 'udp' if $u && defined $u->send('x'); print 'alone';";
        let scene = Scene::new();
        let mut spec = scene.perl(talk);
        spec.isolation.network = NetworkAccess::Off;
        let report = scene.run(&spec);
        if !is_active(&report, LayerName::Network) {
            lacking(LayerName::Network, "this user may not make a network namespace");
            return;
        }
        assert_eq!(report.stdout.tail_text(), "alone", "{}", report.stderr.tail_text());
    }

    fn address_space_is_not_limited_under_a_memory_cap() {
        let scene = Scene::new();
        let mut spec = scene.shell("ulimit -v; ulimit -d");
        spec.limits.memory_bytes = Some(256 << 20);
        assert_eq!(scene.run(&spec).stdout.tail_text(), "unlimited\nunlimited\n");
    }

    fn other_processes_of_the_same_user_do_not_count_against_the_cap() {
        if is_root() {
            return; // The ordinary user's run is the one that can fail.
        }
        let mut others: Vec<_> = (0..30)
            .map(|_| Command::new("sleep").arg("30").stdout(Stdio::null()).spawn().unwrap())
            .collect();
        let scene = Scene::without(&[LayerName::CgroupProcesses]);
        let mut spec = scene.shell("for i in 1 2 3 4 5; do sleep 0.1 & done; wait; echo all");
        spec.limits.processes = Some(10);
        let report = scene.run(&spec);
        for other in &mut others {
            other.kill().unwrap();
            other.wait().unwrap();
        }
        assert_eq!((report.end, report.stdout.tail_text()), (End::Exited { code: 0 }, "all\n".into()));
    }

    fn a_missing_required_layer_refuses_before_anything_starts() {
        let scene = Scene::without(&[LayerName::Network]);
        if !is_active(&scene.run(&scene.command("true")), LayerName::PidNamespace) {
            lacking(LayerName::PidNamespace, "it is named first");
            return;
        }
        let mut spec = scene.shell("touch ran");
        spec.isolation.network = NetworkAccess::Off;
        spec.isolation.required = true;
        let problem = scene.try_run(&spec).unwrap_err();
        assert_eq!(problem.kind, Kind::IsolationMissing);
        assert_eq!(problem.message, "required isolation layer `network` is missing");
        assert_eq!(problem.causes, ["no network namespace; every host and every server of the machine can be reached"]);
        assert!(!scene.path().join("ran").exists());
    }

    fn a_missing_layer_that_is_best_effort_is_named_and_the_child_runs() {
        let scene = Scene::without(&[LayerName::Network]);
        let mut spec = scene.command("true");
        spec.isolation.network = NetworkAccess::Off;
        let report = scene.run(&spec);
        assert_eq!(report.end, End::Exited { code: 0 });
        assert!(!is_active(&report, LayerName::Network));
    }
}
