//! Tests lock files of git that a killed process left.

use crate::stage::{PRIMARY, REVIEWER, Stage};
use serde_json::json;

#[test]
fn a_run_goes_on_past_the_locks_that_a_killed_git_left() {
    for lock in [
        "$(git rev-parse --git-dir)/index.lock",
        "$(git rev-parse --git-dir)/HEAD.lock",
        "$(git rev-parse --git-common-dir)/refs/heads/greet-by-name.lock",
        "$(git rev-parse --git-common-dir)/packed-refs.lock",
    ] {
        let lines = format!("coder) : > \"{lock}\";");
        let primary = PRIMARY
            .replace("coder)", &lines)
            .replace("fixer)", &lines.replace("coder)", "fixer)"));
        let stage = Stage::new(&primary, REVIEWER);
        stage.unconfine();
        let ended = stage.team("github");
        assert_eq!(
            (ended.code, &ended.document["verdict"]),
            (Some(0), &json!("approved")),
            "{lock}: {ended:?}"
        );
    }
}
