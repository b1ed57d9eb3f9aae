//! The same on GitHub, simulated: pushes over HTTP, reviews, threads, people.

use crate::arena::until;
use crate::stage::{PRIMARY, REVIEWER, Stage, ended, gist};
use drive_core::forge::{CommentRef, Permission, Surface};
use drive_testkit::github::{Logged, Simulator};
use serde_json::json;

const REPO: &str = "acme/widgets";

fn stage(simulator: &Simulator, reviewer: &str) -> Stage {
    let settings = format!(
        "[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    Stage::clone_of(&simulator.git_url(REPO), &settings, PRIMARY, reviewer)
}

/// Waits in its second domain until it may go on.
fn waiting_reviewer(stage: &Stage) -> String {
    let go = stage.path("agents/go");
    format!(
        "cat > /dev/null\nif [ \"$DRIVE_DOMAIN\" = TechnicalFeasibility ]; then\n\
         n=0; while [ ! -e {go:?} ] && [ $n -lt 1200 ]; do n=$((n + 1)); sleep 0.1; done\nfi\n\
         echo '{{\"verdict\": \"approved\"}}'\n"
    )
}

fn simulator() -> Simulator {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator
}

#[test]
fn a_remark_is_posted_on_its_line_fixed_pushed_answered_and_resolved() {
    let simulator = simulator();
    let stage = stage(&simulator, REVIEWER);
    let ended = stage.team("github");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let remark = &ended.document["record"]["remarks"][0];
    let comment = CommentRef {
        surface: Surface::Inline,
        id: remark["comment"]["id"].as_u64().unwrap(),
    };
    assert_eq!(
        gist(&ended.document),
        json!({
            "kind": "spawn-team",
            "status": "succeeded",
            "verdict": "approved",
            "branch": "greet-by-name",
            "prNumber": 1,
            "rounds": 6,
            "commits": ["Greet by name", format!("Resolve comment {}: high two is wrong", comment.id)],
            "failure": null,
        })
    );
    let head = ended.document["headSha"].as_str().unwrap();
    assert_eq!(remark["commit"], head);
    assert!(simulator.is_resolved(REPO, comment));
    assert_eq!(
        simulator.statuses(REPO, head),
        [("drive/review".to_owned(), "success".to_owned())]
    );
    stage.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(stage.git(&["rev-parse", "origin/greet-by-name"]), head);
    assert_eq!(simulator.violations(), Vec::<String>::new());
}

/// How many reviews were posted so far.
fn reviews(simulator: &Simulator) -> usize {
    let asked = simulator.requests();
    let is_review = |one: &&Logged| one.method == "POST" && one.target.ends_with("/reviews");
    asked.iter().filter(is_review).count()
}

#[test]
fn commits_that_somebody_pushed_to_the_branch_are_merged_and_never_overwritten() {
    let simulator = simulator();
    simulator.add_person(REPO, "ann", Permission::Write);
    let stage = stage(&simulator, "");
    stage.script("reviewer", &waiting_reviewer(&stage));
    let team = stage.start(&["spawn-team", "Greet people by name"]);
    until("the first review", || reviews(&simulator) == 1);
    let theirs = simulator.push_file(REPO, "greet-by-name", "theirs.txt", "by ann\n");
    simulator.comment(REPO, "ann", 1, "Say hello first.");
    std::fs::write(stage.path("agents/go"), "").unwrap();
    let ended = ended(team);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    let head = ended.document["headSha"].as_str().unwrap();
    assert_eq!(stage.git(&["rev-parse", "origin/greet-by-name"]), head);
    assert_eq!(
        stage.git(&["show", &format!("{head}:theirs.txt")]),
        "by ann"
    );
    assert_eq!(stage.git(&["rev-parse", &format!("{head}^2")]), theirs);
    assert_eq!(
        stage.git(&["show", "-s", "--format=%s", head]),
        "Merge origin/greet-by-name"
    );
}
