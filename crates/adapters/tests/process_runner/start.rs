//! Starting: what a child gets, and what keeps it from running.

use crate::support::Scene;
use drive_core::process::{End, LeaderEnd};

everyone! {
    fn a_plain_command_exits_with_its_code_and_its_output() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("echo out; echo err >&2; exit 3"));
        assert_eq!(report.end, End::Exited { code: 3 });
        assert_eq!(report.leader, Some(LeaderEnd::Exited(3)));
        assert_eq!(report.stdout.tail_text(), "out\n");
        assert_eq!(report.stderr.tail_text(), "err\n");
        assert_eq!(report.leaked, 0);
    }
}
