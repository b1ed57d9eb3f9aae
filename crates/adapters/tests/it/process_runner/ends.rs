//! Tests how a child can end, and the name of each end.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active};
use drive_core::process::{End, LayerName, LeaderEnd, LeakPolicy, TimeBound};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::ports::{OutputSink, Stream};
use std::time::Duration;

/// Cancels as soon as the child printed something.
struct CancelOnOutput(CancelToken, Urgency);

impl OutputSink for CancelOnOutput {
    fn chunk(&mut self, _: Stream, _: &[u8]) {
        self.0.cancel(self.1);
    }
}

const TIMED_OUT: End = End::TimedOut {
    bound: TimeBound::Wall,
};

everyone! {
    fn wall_time_ends_a_child_that_works() {
        let scene = Scene::new();
        let mut spec = scene.shell("while :; do echo busy; sleep 0.05; done");
        spec.limits.wall = Duration::from_millis(300);
        spec.limits.idle = Some(Duration::from_secs(30));
        assert_eq!(scene.run(&spec).end, TIMED_OUT);
    }

    fn silence_ends_a_child_that_hangs() {
        let scene = Scene::new();
        let mut spec = scene.shell("echo start; sleep 60");
        spec.limits.idle = Some(Duration::from_millis(300));
        let report = scene.run(&spec);
        assert_eq!(report.end, End::TimedOut { bound: TimeBound::Idle });
        assert_eq!(report.stdout.tail, b"start\n");
    }

    fn a_child_that_stops_itself_is_ended() {
        let scene = Scene::new();
        let mut spec = scene.shell("kill -STOP $$; sleep 60");
        spec.limits.wall = Duration::from_millis(300);
        assert_eq!(scene.run(&spec).end, TIMED_OUT);
    }

    fn a_stopped_child_still_gets_to_handle_its_term() {
        let scene = Scene::new();
        let mut spec = scene.shell("trap 'echo bye; exit 0' TERM; kill -STOP $$; sleep 60 & wait");
        spec.limits.wall = Duration::from_millis(500);
        spec.limits.grace = Duration::from_secs(20);
        let report = scene.run(&spec);
        assert_eq!((report.end, report.stdout.tail), (TIMED_OUT, b"bye\n".to_vec()));
    }

    fn endless_output_is_an_output_limit() {
        let scene = Scene::new();
        let mut spec = scene.command("yes");
        spec.limits.output_bytes = 20 << 20;
        spec.limits.tail_bytes = 4096;
        let report = scene.run(&spec);
        assert_eq!(report.end, End::OutputLimit);
        assert_eq!(report.stdout.tail.len(), 4096);
    }

    fn a_capped_fork_bomb_is_a_process_limit() {
        let scene = Scene::new();
        let mut probe = scene.command("true");
        probe.limits.processes = Some(40);
        let report = scene.run(&probe);
        // This never runs without a limit that the kernel enforces; an own user namespace has one
        // for its user.
        let own_user = !crate::process_runner::support::is_root() && is_active(&report, LayerName::PidNamespace);
        if !is_active(&report, LayerName::CgroupProcesses) && !own_user {
            lacking(LayerName::CgroupProcesses, "nothing here caps the processes of this user's tree");
            return;
        }
        let mut spec = scene.perl("my $end = time + 10; while (time < $end) { fork }");
        spec.limits.processes = Some(40);
        assert_eq!(scene.run(&spec).end, End::ProcessLimit);
    }

    fn too_many_processes_are_a_process_limit_also_when_they_are_only_counted() {
        let scene = Scene::without(&[LayerName::CgroupProcesses]);
        let mut spec = scene.perl("for (1..100) { next if fork; sleep 20; exit 0 } sleep 20");
        spec.limits.processes = Some(40);
        assert_eq!(scene.run(&spec).end, End::ProcessLimit);
    }

    fn a_fake_killed_with_exit_137_is_an_exit_code() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("echo Killed >&2; exit 137"));
        assert_eq!(report.end, End::Exited { code: 137 });
    }

    fn a_real_signal_9_is_a_signal() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("kill -9 $$"));
        assert_eq!(report.end, End::Signalled { signal: 9 });
        assert_eq!(report.leader, Some(LeaderEnd::Signalled(9)));
    }

    fn cancelling_lets_it_end_cleanly() {
        let scene = Scene::new();
        let mut spec = scene.shell("trap 'echo tidy; exit 0' TERM; echo go; sleep 60 & wait");
        spec.limits.grace = Duration::from_secs(20);
        let cancel = CancelToken::new();
        let mut sink = CancelOnOutput(cancel.clone(), Urgency::Graceful);
        let report = scene.run_into(&spec, &cancel, &mut sink).unwrap();
        assert_eq!(report.end, End::Aborted);
        assert_eq!(report.leader, Some(LeaderEnd::Exited(0)));
        assert_eq!(report.stdout.tail, b"go\ntidy\n");
    }

    fn cancelling_at_once_waits_for_nobody() {
        let scene = Scene::new();
        let mut spec = scene.shell("trap '' TERM; echo go; while :; do sleep 1; done");
        spec.limits.grace = Duration::from_secs(3600);
        let cancel = CancelToken::new();
        let mut sink = CancelOnOutput(cancel.clone(), Urgency::Now);
        let report = scene.run_into(&spec, &cancel, &mut sink).unwrap();
        assert_eq!((report.end, report.leader), (End::Aborted, Some(LeaderEnd::Signalled(9))));
    }

    fn a_second_cancel_makes_the_first_one_urgent() {
        let scene = Scene::new();
        let mut spec = scene.shell("trap 'echo no' TERM; echo go; while :; do sleep 0.05; done");
        spec.limits.grace = Duration::from_secs(3600);
        let cancel = CancelToken::new();
        struct Twice(CancelToken, usize);
        impl OutputSink for Twice {
            fn chunk(&mut self, _: Stream, _: &[u8]) {
                self.0.cancel([Urgency::Graceful, Urgency::Now][self.1.min(1)]);
                self.1 += 1;
            }
        }
        let report = scene.run_into(&spec, &cancel, &mut Twice(cancel.clone(), 0)).unwrap();
        assert_eq!(report.end, End::Aborted);
    }

    fn what_was_cancelled_before_it_started_does_not_run() {
        let scene = Scene::new();
        let cancel = CancelToken::new();
        cancel.cancel(Urgency::Now);
        let spec = scene.shell("sleep 60");
        let report = scene.run_into(&spec, &cancel, &mut drive_engine::ports::Discard).unwrap();
        assert_eq!(report.end, End::Aborted);
    }

    fn build_daemons_may_be_killed_without_failing_the_leader() {
        let scene = Scene::new();
        let mut spec = scene.shell("setsid sleep 60 >/dev/null 2>&1 & exit 0");
        spec.leaks = LeakPolicy::Kill;
        let report = scene.run(&spec);
        assert_eq!((report.end, report.leaked), (End::Exited { code: 0 }, 1));
    }

    fn processes_that_end_just_after_their_leader_are_no_leak() {
        let scene = Scene::new();
        let mut spec = scene.shell("(sleep 0.05; echo late) & exit 0");
        spec.limits.drain = Duration::from_secs(20);
        let report = scene.run(&spec);
        assert_eq!(report.end, End::Exited { code: 0 });
        assert_eq!(report.stdout.tail, b"late\n");
    }

    fn cpu_time_is_that_of_the_whole_tree() {
        let scene = Scene::new();
        // The grandchild is an orphan when it ends: only a reaper above it can have counted it.
        let burn = "use POSIX; exit 0 if fork; exit 0 if fork;
            1 while (POSIX::times())[1] < 30;";
        let mut spec = scene.perl(burn);
        spec.limits.drain = Duration::from_secs(20);
        let report = scene.run(&spec);
        assert_eq!(report.end, End::Exited { code: 0 });
        assert!(report.resources.cpu_user_micros >= 200_000, "{:?}", report.resources);
    }

    fn a_layer_that_is_switched_off_is_named_with_its_consequence() {
        let scene = Scene::without(&[LayerName::PidNamespace, LayerName::SignalScope]);
        let report = scene.run(&scene.command("true"));
        assert!(is_active(&report, LayerName::Subreaper));
        let missing: Vec<_> = report
            .layers
            .iter()
            .filter(|l| [LayerName::PidNamespace, LayerName::SignalScope].contains(&l.name))
            .cloned()
            .collect();
        assert_eq!(
            missing,
            [LayerName::PidNamespace, LayerName::SignalScope]
                .map(|name| drive_core::process::Layer::missing(name, "switched off"))
        );
    }
}
