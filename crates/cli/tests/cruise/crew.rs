//! Scripts that plan, review and fix.

use crate::stage::Stage;
use serde_json::Value;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Plans, and answers every comment with one more line in a file.
pub(crate) const PRIMARY: &str = r#"
cat > /dev/null
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan user auth", "branch_name": "user-auth"}\n```\n' ;;
planner) printf 'The plan.\n\n```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["x"], "depends_on": [], "paths": []}]\n```\n' > plan.md; echo planned ;;
fixer)
  ids=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT")
  echo "round $DRIVE_ROUND: $ids" >> answers.txt
  list=
  for id in $ids; do list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"done\"}"; done
  printf '```json\n{"comments": [%s]}\n```\n' "$list" ;;
esac
"#;

pub(crate) const APPROVES: &str = "cat > /dev/null\necho '{\"verdict\": \"approved\"}'\n";

pub(crate) const QUICK: &str = "[cruise]\npoll_initial = \"100ms\"\npoll_max = \"400ms\"\n";

const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come");
        sleep(Duration::from_millis(50));
    }
}

/// The only cruise, as `status` shows it.
pub(crate) fn status(stage: &Stage) -> Value {
    stage.drive(&["cruise", "status"]).document
}

/// Until the cruise waits with nothing open, after at least so many rounds.
pub(crate) fn until_quiet(stage: &Stage, rounds: u64) {
    until("the quiet", || {
        let now = status(stage);
        now["state"] == "polling"
            && now["pendingComments"] == 0
            && now["domain"].is_null()
            && now["rounds"].as_u64().is_some_and(|had| had >= rounds)
    });
}
