//! What survives a kill: nothing. One test for each row, with each way of holding a tree.

use crate::support::Scene;
use drive_core::process::End;

everyone! {
    fn a_double_fork_into_a_new_session_dies() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("setsid sh -c 'sleep 1000 & sleep 1000' & exit 0"));
        assert_eq!(report.end.name(), "leakedProcesses", "{report:?}");
        assert!(matches!(report.end, End::LeakedProcesses { count } if count >= 1));
    }
}
