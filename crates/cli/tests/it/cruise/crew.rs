//! Scripts that plan, review and fix, for tests.

pub(crate) use crate::stage::until;
use crate::stage::{Ended, Stage, ended};
use drive_core::forge::Permission;
use drive_testkit::github::Simulator;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Child;

/// Plans, and answers every comment with one more line in a file. A comment "Please wait" delays it
/// until the test continues it.
pub(crate) const PRIMARY: &str = r#"
cat > /dev/null
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan user auth", "branch_name": "user-auth"}\n```\n' ;;
planner) printf 'The plan.\n\n```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["x"], "depends_on": [], "paths": []}]\n```\n' > plan.md; echo planned ;;
fixer)
  if grep -q 'Please wait' "$DRIVE_INPUT"; then
    mkdir -p .cruise; touch .cruise/waits
    while [ ! -e .cruise/go ]; do sleep 0.05; done
    rm -f .cruise/waits .cruise/go
  fi
  if grep -q 'Please vanish' "$DRIVE_INPUT"; then
    rm -rf .cruise .git ./*; printf '```json\n{"comments": []}\n```\n'; exit
  fi
  ids=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT")
  echo "round $DRIVE_ROUND: $ids" >> answers.txt
  list=
  for id in $ids; do list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"done\"}"; done
  printf '```json\n{"comments": [%s]}\n```\n' "$list" ;;
esac
"#;

pub(crate) const APPROVES: &str = "cat > /dev/null\necho '{\"verdict\": \"approved\"}'\n";

pub(crate) const QUICK: &str = "[cruise]\npoll_initial = \"100ms\"\npoll_max = \"400ms\"\n";

/// The only cruise, as shown by `status`.
pub(crate) fn status(stage: &Stage) -> Value {
    stage.drive(&["cruise", "status"]).document
}

/// Waits until the cruise is idle with no open comments, after at least this number of rounds.
pub(crate) fn until_quiet(stage: &Stage, rounds: u64) {
    until("the quiet", || {
        let now = status(stage);
        now["state"] == "polling"
            && now["nextPollAt"].is_string()
            && now["pendingComments"] == 0
            && now["domain"].is_null()
            && now["rounds"].as_u64().is_some_and(|had| had >= rounds)
    });
}

/// The repository on the simulated GitHub; `ann` may write to it.
pub(crate) const REPO: &str = "acme/widgets";

/// A cruise on the simulated GitHub that waits for people, with this poll interval.
pub(crate) fn on_github(pause: &str) -> (Simulator, Stage, Child) {
    let (simulator, stage) = github(pause);
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    (simulator, stage, owner)
}

/// A clone of a repository on the simulated GitHub.
pub(crate) fn github(pause: &str) -> (Simulator, Stage) {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let settings = format!(
        "[cruise]\npoll_initial = {pause:?}\npoll_max = {pause:?}\n\
         [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, PRIMARY, APPROVES);
    (simulator, stage)
}

/// A repository on the local forge, with a short poll interval.
pub(crate) fn local() -> Stage {
    let stage = Stage::new(PRIMARY, APPROVES);
    let settings = fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    fs::write(stage.path("repo/drive.toml"), format!("{QUICK}{settings}")).unwrap();
    stage
}

/// A cruise on the local forge that waits for people.
pub(crate) fn on_local() -> (Stage, Child) {
    let stage = local();
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    (stage, owner)
}

/// Kills an owner immediately.
pub(crate) fn kill(mut owner: Child) {
    owner.kill().unwrap();
    owner.wait().unwrap();
}

/// The sandbox of the only cruise.
pub(crate) fn sandbox(stage: &Stage) -> PathBuf {
    let root = stage.path("home/.local/state/infinite-improbability-drive/sandboxes");
    let id = status(stage)["id"].as_str().unwrap().to_owned();
    root.join(id)
}

/// The posts about fixes, without hidden lines.
pub(crate) fn fixes(said: Vec<String>) -> Vec<String> {
    let is_fix = |text: &String| text.contains("Fixed in ");
    said.into_iter().filter(is_fix).collect()
}

/// The commit that an answer names.
pub(crate) fn commit_of(fix: &str) -> &str {
    let rest = fix.split("Fixed in ").nth(1).unwrap();
    rest.split('.').next().unwrap()
}

/// Runs `drive … --json` in another folder of the stage.
pub(crate) fn drive_in(stage: &Stage, folder: &str, args: &[&str]) -> Ended {
    ended(start_in(stage, folder, args))
}

/// Starts `drive … --json` in another folder of the stage.
pub(crate) fn start_in(stage: &Stage, folder: &str, args: &[&str]) -> Child {
    let mut command = stage.command(env!("CARGO_BIN_EXE_drive"));
    let command = command.current_dir(stage.path(folder)).args(args);
    command.arg("--json").spawn().unwrap()
}
