//! Tests owners that are killed repeatedly at any moment, with the simulated GitHub.

use crate::cruise::crew::{APPROVES, PRIMARY, status, until};
use crate::stage::Stage;
use drive_core::forge::Permission;
use drive_testkit::github::Simulator;
use std::thread::sleep;
use std::time::Duration;

const REPO: &str = "acme/widgets";
const DEATHS: u32 = 200;
const COMMENTS: u32 = 10;

/// The replies on the pull request, without their hidden lines.
fn replies(simulator: &Simulator) -> Vec<String> {
    simulator
        .conversation(REPO, 1)
        .into_iter()
        .filter(|text| text.starts_with("Fixed in ") || text.contains("\nFixed in "))
        .collect()
}

#[test]
fn two_hundred_deaths_and_ten_comments_make_exactly_ten_replies_with_commits_on_the_branch() {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let settings = format!(
        "[cruise]\npoll_initial = \"100ms\"\npoll_max = \"500ms\"\nmax_rounds = 100\n\
         [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, PRIMARY, APPROVES);
    let mut random: u64 = 0x5eed;
    let mut owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the cruise", || status(&stage)["id"].is_string());
    let mut said = 0;
    for death in 0..DEATHS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        sleep(Duration::from_millis(30 + (random >> 33) % 500));
        owner.kill().unwrap();
        owner.wait().unwrap();
        let is_open = !simulator.pull_requests(REPO).is_empty();
        if is_open && said < COMMENTS && death % 12 == 0 {
            said += 1;
            simulator.comment(REPO, "ann", 1, &format!("Remark {said}"));
        }
        owner = stage.start(&["cruise", "resume"]);
    }
    while said < COMMENTS {
        until("the pull request", || {
            !simulator.pull_requests(REPO).is_empty()
        });
        said += 1;
        simulator.comment(REPO, "ann", 1, &format!("Remark {said}"));
    }
    until("ten replies", || {
        replies(&simulator).len() >= COMMENTS as usize
    });
    // A second answer would come within a few polls.
    sleep(Duration::from_secs(3));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let replies = replies(&simulator);
    assert_eq!(replies.len(), COMMENTS as usize, "{replies:#?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    let history = stage.git(&["log", "--format=%H", "origin/user-auth"]);
    for reply in &replies {
        let commit = reply
            .split("Fixed in ")
            .nth(1)
            .unwrap()
            .split('.')
            .next()
            .unwrap();
        assert!(history.contains(commit), "{reply}");
    }
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
