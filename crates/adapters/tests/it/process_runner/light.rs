//! Tests light containment: the same limits and reports without a helper.

use crate::process_runner::support::Scene;
use drive_core::process::{End, LeaderEnd, TimeBound};
use drive_engine::cancel::Urgency;
use drive_engine::ports::{Collect, CommandSpec, Containment, Discard, Stdin};
use drive_engine::{CancelToken, stdin_channel};
use std::time::Duration;

fn light(spec: CommandSpec) -> CommandSpec {
    CommandSpec {
        containment: Containment::Light,
        ..spec
    }
}

everyone! {
    fn a_light_command_reports_like_a_full_one() {
        let scene = Scene::new();
        let mut spec = light(scene.shell("cat; echo err >&2; exit 3"));
        spec.stdin = Stdin::Bytes(b"input".to_vec());
        let mut sink = Collect::new(100);
        let report = scene.run_into(&spec, &CancelToken::new(), &mut sink).unwrap();
        assert_eq!((report.end, report.leader), (End::Exited { code: 3 }, Some(LeaderEnd::Exited(3))));
        assert_eq!((sink.stdout, sink.stderr), (b"input".to_vec(), b"err\n".to_vec()));
        assert_eq!((report.stdout.tail, report.stderr.tail), (b"input".to_vec(), b"err\n".to_vec()));
        assert_eq!(report.resources.max_rss_bytes, None);
    }

    fn a_light_command_is_bounded_in_time_with_its_group() {
        let scene = Scene::new();
        let mut spec = light(scene.shell("trap '' TERM; sleep 60 & wait; sleep 60"));
        spec.limits.wall = Duration::from_millis(200);
        assert_eq!(scene.run(&spec).end, End::TimedOut { bound: TimeBound::Wall });
        spec.limits.wall = Duration::from_secs(60);
        spec.limits.idle = Some(Duration::from_millis(200));
        assert_eq!(scene.run(&spec).end, End::TimedOut { bound: TimeBound::Idle });
    }

    fn a_light_command_is_bounded_in_output() {
        let scene = Scene::new();
        let mut spec = light(scene.command("yes"));
        spec.limits.output_bytes = 5 << 20;
        assert_eq!(scene.run(&spec).end, End::OutputLimit);
    }

    fn a_light_command_that_stops_itself_is_ended() {
        let scene = Scene::new();
        let mut spec = light(scene.shell("kill -STOP $$; sleep 60"));
        spec.limits.wall = Duration::from_millis(200);
        assert_eq!(scene.run(&spec).end, End::TimedOut { bound: TimeBound::Wall });
    }

    fn a_light_command_can_be_cancelled() {
        let scene = Scene::new();
        let cancel = CancelToken::new();
        cancel.cancel(Urgency::Graceful);
        let report = scene.run_into(&light(scene.shell("sleep 60")), &cancel, &mut Discard).unwrap();
        assert_eq!((report.end, report.leader), (End::Aborted, Some(LeaderEnd::Signalled(15))));
    }

    fn a_light_command_can_be_spoken_to() {
        let scene = Scene::new();
        let (writer, source) = stdin_channel();
        let mut spec = light(scene.command("cat"));
        spec.stdin = Stdin::Channel(source);
        writer.send(*b"hello").unwrap();
        drop(writer);
        assert_eq!(scene.run(&spec).stdout.tail, b"hello");
    }

    fn the_group_of_a_light_command_goes_with_its_leader() {
        let scene = Scene::new();
        let report = scene.run(&light(scene.shell("sleep 60 & exit 0")));
        assert_eq!(report.end, End::Exited { code: 0 });
    }
}
