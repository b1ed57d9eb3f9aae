//! Runs the unchanged forge contract on the GitHub adapter with the simulator.

drive_testkit::forge_contract!(crate::github_support::Hub::start);

use crate::github_support::operations::CALLED;
use crate::github_support::{Hub, REPO};
use drive_core::forge::{Permission, PullRequest, ReviewState};
use drive_core::ids::BranchName;
use drive_engine::ports::{
    CheckReport, CommitStatus, Forge, LineComment, NewPullRequest, NewReview, Post, Reaction,
    Since, StatusState,
};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{LOGIN, SimCheckRun};

fn open(hub: &Hub, branch: &str) -> PullRequest {
    hub.push(branch, "a.txt", "a\nb\n");
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        branch: BranchName::parse(branch).unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: true,
    };
    hub.forge.open(&new).unwrap()
}

#[test]
fn a_dismissed_approval_no_longer_stands() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let review = hub.review("wim", pr, ReviewState::Approved, "");
    assert_eq!(hub.forge.opinions(pr).unwrap().approvals.len(), 1);
    hub.simulator.dismiss(REPO, review);
    assert_eq!(hub.forge.opinions(pr).unwrap().approvals, []);
}

#[test]
fn where_there_are_no_drafts_a_pull_request_is_open_for_everybody_at_once() {
    let hub = Hub::start();
    hub.simulator.forbid_drafts(REPO);
    let pr = open(&hub, "feat/x");
    assert_eq!((pr.number.get(), pr.draft), (1, false));
    assert_eq!(hub.simulator.violations(), Vec::<String>::new());
}

#[test]
fn the_adapter_uses_exactly_the_operations_it_lists() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x");
    let (forge, number) = (&hub.forge, pr.number);
    let post = |marker| Post {
        body: "words",
        marker,
    };
    let said = forge.post(number, post("<!-- drive:1 -->")).unwrap();
    let lines = [LineComment {
        path: "a.txt",
        line: 1,
        start_line: None,
        post: post("<!-- drive:2 -->"),
    }];
    let review = NewReview {
        head: &pr.head_sha,
        post: post("<!-- drive:3 -->"),
        lines: &lines,
    };
    let inline = forge.review(number, &review).unwrap().lines[0];
    forge
        .reply(number, inline, post("<!-- drive:4 -->"))
        .unwrap();
    for comment in [said.comment, inline] {
        forge
            .edit(number, comment, post("<!-- drive:5 -->"))
            .unwrap();
        forge.react(number, comment, Reaction::Eyes).unwrap();
    }
    forge.resolve(number, inline).unwrap();
    let status = CommitStatus {
        context: "drive/review",
        state: StatusState::Success,
        description: "fine",
        url: None,
    };
    forge.set_status(&pr.head_sha, &status).unwrap();
    let polled = forge.poll(&[number], Since(None)).unwrap();
    forge.poll(&[number], polled.next).unwrap();
    forge.opinions(number).unwrap();
    forge.permission("wim").unwrap();
    forge.find(&BranchName::parse("feat/x").unwrap()).unwrap();
    forge.update_body(number, "other words").unwrap();
    forge.mark_ready(number).unwrap();
    let run = SimCheckRun {
        annotations: vec![("a.txt".into(), 1, "failure".into(), "words".into())],
        ..SimCheckRun::ended("test", "failure")
    };
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    forge.checks(number, &pr.head_sha).unwrap();
    hub.simulator.make_app(REPO, LOGIN);
    for state in [StatusState::Pending, StatusState::Success] {
        let report = CheckReport {
            name: "drive/verify",
            id: "r1",
            state,
            title: "fine",
            body: "",
            annotations: &[],
            url: None,
        };
        forge.report_check(&pr.head_sha, &report).unwrap();
    }
    forge.merge(number, &pr.head_sha, None).unwrap();
    forge.close(open(&hub, "feat/y").number).unwrap();
    forge.preflight(None).unwrap();
    let used: Vec<String> = hub.simulator.operations().into_iter().collect();
    assert_eq!(used, CALLED);
}

#[test]
fn a_remark_on_several_lines_is_posted_with_the_first_and_the_last() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x");
    let post = |marker| Post {
        body: "```suggestion\nx\n```",
        marker,
    };
    let line = |start_line, line, marker| LineComment {
        path: "a.txt",
        line,
        start_line,
        post: post(marker),
    };
    let lines = [
        line(Some(1), 2, "<!-- drive:1 -->"),
        line(None, 1, "<!-- drive:2 -->"),
    ];
    let review = NewReview {
        head: &pr.head_sha,
        post: post("<!-- drive:3 -->"),
        lines: &lines,
    };
    hub.forge.review(pr.number, &review).unwrap();
    assert_eq!(
        hub.simulator.commented_lines(REPO, 1),
        [(Some(1), 2), (None, 1)]
    );
    assert_eq!(hub.simulator.violations(), Vec::<String>::new());
}

#[test]
fn a_remark_that_moves_into_the_body_of_a_review_makes_no_text_of_code() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x");
    let give = |marker: &str, path: &str, remark: &str, body: &str| {
        let lines = [LineComment {
            path,
            line: 3,
            start_line: None,
            post: Post {
                body: remark,
                marker: "<!-- drive:line -->",
            },
        }];
        let review = NewReview {
            head: &pr.head_sha,
            post: Post { body, marker },
            lines: &lines,
        };
        hub.forge.review(pr.number, &review).unwrap();
        let texts = hub.simulator.look(REPO, 1).unwrap().texts;
        texts
            .into_iter()
            .find(|text| text.contains(marker))
            .unwrap()
    };
    let text = give("<!-- drive:1 -->", "x` @ann `y.rs", "see `@ann`", "words");
    assert_eq!(
        text,
        "words\n\n``x` @ann `y.rs:3``: see `@ann`\n\n<!-- drive:1 -->"
    );
    let text = give("<!-- drive:2 -->", "a`b.rs", "see `@ann`", "odd `");
    assert_eq!(
        text,
        "odd `\n\n``a`b.rs:3``: see `@ann`\n\n<!-- drive:2 -->"
    );
    let remark = format!("`@ann {}`", "x ".repeat(20_000));
    let text = give("<!-- drive:3 -->", "b.rs", &remark, &"y ".repeat(20_000));
    assert!(text.contains("(truncated") && !text.contains("@ann"));
}
