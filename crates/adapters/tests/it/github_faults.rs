//! Tests that under every injected fault each comment is delivered once, each post appears once,
//! and nothing hangs.

use crate::github_support::{Hub, REPO};
use drive_core::forge::{
    Comment, CommentKey, CommentRef, Permission, PrState, PullRequest, ReviewState,
};
use drive_core::ids::{BranchName, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{
    CommitStatus, Forge, LineComment, MergeOutcome, NewPullRequest, NewReview, Polled, Post,
    Reaction, Since, StatusState,
};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::time::Duration;

/// Retries like the engine: later, with the same text and the same marker.
fn persist<T>(hub: &Hub, call: impl Fn() -> Result<T, Problem>) -> T {
    let mut last = None;
    for _ in 0..4 {
        match call() {
            Ok(value) => return value,
            Err(problem) => last = Some(problem),
        }
        hub.simulator.clock().advance(Duration::from_secs(3700));
    }
    panic!("never worked: {last:?}");
}

/// The fault hits the next matching request, and the call still succeeds.
fn hit<T>(
    hub: &Hub,
    method: &'static str,
    path: &str,
    kind: FaultKind,
    call: impl Fn() -> Result<T, Problem>,
) -> T {
    hub.simulator.inject(Fault::next(method, path, kind));
    let value = persist(hub, call);
    assert_eq!(hub.simulator.pending_faults(), 0, "{kind:?} missed {path}");
    value
}

fn open(hub: &Hub, branch: &str) -> PullRequest {
    hub.push(branch, "src/lib.rs", "one\ntwo\nthree\n");
    hub.forge.open(&proposal(branch)).unwrap()
}

fn proposal(branch: &str) -> NewPullRequest {
    NewPullRequest {
        title: "Work".to_owned(),
        body: "What it does.".to_owned(),
        branch: BranchName::parse(branch).unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: true,
    }
}

fn post<'a>(marker: &'a str) -> Post<'a> {
    Post {
        body: "words",
        marker,
    }
}

fn standing(hub: &Hub, pr: PrNumber) -> Vec<Comment> {
    persist(hub, || hub.forge.poll(&[pr], Since(None))).comments
}

fn times(comments: &[Comment], needle: &str) -> usize {
    comments.iter().filter(|c| c.body.contains(needle)).count()
}

/// Every kind of write, each with one failing request.
fn every_write_stands_once(kind: FaultKind) {
    let hub = Hub::start();
    let forge = &hub.forge;
    hub.add_person("wim", Permission::Write);
    hub.push("feat/x", "src/lib.rs", "one\ntwo\nthree\n");
    let pr = hit(&hub, "POST", "/pulls", kind, || {
        forge.open(&proposal("feat/x"))
    });
    let number = pr.number;
    let remark = hub.comment_on_line("wim", number, "src/lib.rs", 2, "why?");

    hit(&hub, "POST", "/comments", kind, || {
        forge.post(number, post("<!-- drive:1 -->"))
    });
    hit(&hub, "POST", "/replies", kind, || {
        forge.reply(number, remark, post("<!-- drive:2 -->"))
    });
    let lines = [LineComment {
        path: "src/lib.rs",
        line: 1,
        start_line: None,
        post: post("<!-- drive:4 -->"),
    }];
    let review = NewReview {
        head: &pr.head_sha,
        post: post("<!-- drive:3 -->"),
        lines: &lines,
    };
    let posted = hit(&hub, "POST", "/reviews", kind, || {
        forge.review(number, &review)
    });
    assert_eq!(posted.lines.len(), 1);
    let status = CommitStatus {
        context: "drive/review",
        state: StatusState::Failure,
        description: "two remarks",
        url: None,
    };
    hit(&hub, "POST", "/statuses", kind, || {
        forge.set_status(&pr.head_sha, &status)
    });
    hit(&hub, "POST", "/reactions", kind, || {
        forge.react(number, remark, Reaction::Eyes)
    });
    hit(&hub, "POST", "/graphql", kind, || {
        forge.resolve(number, remark)
    });
    hit(&hub, "POST", "/graphql", kind, || forge.mark_ready(number));
    hit(&hub, "PATCH", "/pulls", kind, || {
        forge.update_body(number, "Something else.")
    });
    let edited = Post {
        body: "other words",
        marker: "<!-- drive:3 -->",
    };
    hit(&hub, "POST", "/graphql", kind, || {
        forge.edit(number, posted.review.comment, edited)
    });

    let comments = standing(&hub, number);
    for marker in 1..=4 {
        let marker = format!("<!-- drive:{marker} -->");
        assert_eq!(times(&comments, &marker), 1, "{kind:?} {marker}");
    }
    assert_eq!(comments.len(), 5);
    assert_eq!(times(&comments, "other words"), 1);
    assert_eq!(hub.reactions(number, remark), [Reaction::Eyes]);
    assert!(hub.is_resolved(number, remark));
    assert_eq!(
        hub.statuses(&pr.head_sha),
        [("drive/review".to_owned(), StatusState::Failure)]
    );

    let outcome = hit(&hub, "PUT", "/merge", kind, || {
        forge.merge(number, &pr.head_sha, None)
    });
    assert!(
        matches!(outcome, MergeOutcome::Merged { .. }),
        "{outcome:?}"
    );
    let other = open(&hub, "feat/y").number;
    hit(&hub, "PATCH", "/pulls", kind, || forge.close(other));
    let states = [number, other].map(|n| {
        let pr = persist(&hub, || forge.fetch(n));
        (pr.state, pr.draft)
    });
    assert_eq!(states, [(PrState::Merged, false), (PrState::Closed, true)]);
    let all: Vec<_> = (1..=3)
        .map(|n| forge.fetch(PrNumber::new(n)).map(|pr| pr.number).ok())
        .collect();
    let numbers = [Some(1), Some(2), None];
    assert_eq!(all, numbers.map(|number| number.map(PrNumber::new)));
}

/// People write in all three places, and each list of each poll fails once.
fn every_comment_is_delivered_once(kind: FaultKind) {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let mut since = persist(&hub, || hub.forge.poll(&[pr], Since(None))).next;
    let mut written: Vec<CommentRef> = Vec::new();
    let mut ledger: BTreeMap<CommentKey, String> = BTreeMap::new();
    let mut enter = |polled: &Polled| {
        for comment in &polled.comments {
            let old = ledger.insert(comment.key.clone(), comment.body.clone());
            assert!(old.is_none_or(|old| old == comment.body), "{comment:?}");
        }
    };
    let lists = [
        ("GET", "/pulls"),
        ("GET", "/issues/comments"),
        ("GET", "/pulls/comments"),
        ("POST", "/graphql"),
    ];
    for (method, path) in lists {
        hub.simulator.clock().advance(Duration::from_secs(61));
        written.push(hub.comment("wim", pr, &format!("talk {path}")));
        written.push(hub.comment_on_line("wim", pr, "src/lib.rs", 1, &format!("line {path}")));
        written.push(hub.review("wim", pr, ReviewState::Approved, &format!("review {path}")));
        let polled = hit(&hub, method, path, kind, || hub.forge.poll(&[pr], since));
        enter(&polled);
        assert!(polled.next.0 >= since.0);
        since = polled.next;
    }
    // Reviews that a limit delayed come with a later poll.
    hub.simulator.clock().advance(Duration::from_secs(3700));
    enter(&persist(&hub, || hub.forge.poll(&[pr], since)));
    let mut delivered: Vec<CommentRef> = ledger.keys().map(CommentKey::comment).collect();
    delivered.sort();
    written.sort();
    assert_eq!(delivered, written, "{kind:?}");
}

macro_rules! under {
    ($($name:ident: $kind:expr,)*) => {
        $(mod $name {
            use drive_testkit::github::FaultKind;

            #[test]
            fn every_write_stands_once() {
                super::every_write_stands_once($kind);
            }

            #[test]
            fn every_comment_is_delivered_once() {
                super::every_comment_is_delivered_once($kind);
            }
        })*

        #[test]
        fn every_kind_of_fault_is_in_the_matrix() {
            assert_eq!([$($kind),*], FaultKind::ALL);
        }
    };
}

under! {
    bad_gateway: FaultKind::BadGateway,
    bad_gateway_after_applying: FaultKind::BadGatewayAfterApplying,
    hang_after_applying: FaultKind::HangAfterApplying,
    truncated: FaultKind::Truncated,
    cut_short: FaultKind::CutShort,
    secondary_limit: FaultKind::SecondaryLimit(7),
    primary_limit: FaultKind::PrimaryLimit,
    unavailable: FaultKind::Unavailable,
    oversized: FaultKind::Oversized,
}

#[test]
fn a_post_whose_answer_was_lost_is_sent_once() {
    let hub = Hub::start();
    let pr = open(&hub, "feat/x").number;
    hub.simulator.forget_requests();
    hub.lose_next_answer();
    hub.forge.post(pr, post("<!-- drive:1 -->")).unwrap();
    let posts: Vec<u16> = hub
        .simulator
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.status)
        .collect();
    assert_eq!(posts, [502]);
}

#[test]
fn a_lost_answer_does_not_post_twice_where_a_page_was_just_full() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    for n in 0..100 {
        hub.comment("wim", pr, &format!("remark {n}"));
    }
    hub.forge.poll(&[pr], Since(None)).unwrap();
    hub.lose_next_answer();
    hub.forge.post(pr, post("<!-- drive:1 -->")).unwrap();
    let said = hub.simulator.conversation(REPO, pr.get()).into_iter();
    assert_eq!(said.filter(|text| text.contains("words")).count(), 1);
}

#[test]
fn the_last_page_is_asked_for_anew_while_it_is_full() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    // A repeated post searches for the existing one.
    let look = || drop(hub.forge.post(pr, post("<!-- drive:1 -->")).unwrap());
    look();
    let mut statuses = Vec::new();
    for n in 0..100 {
        hub.comment("wim", pr, &format!("remark {n}"));
        if n >= 97 {
            look();
            hub.simulator.forget_requests();
            look();
            let asked = hub.simulator.requests().into_iter();
            let asked = asked.filter(|one| one.target.contains("/issues/1/comments"));
            statuses.push(asked.map(|one| one.status).collect::<Vec<_>>());
        }
    }
    assert_eq!(statuses, [vec![304], vec![200], vec![304, 304]]);
}

#[test]
fn a_tag_that_lies_hides_a_comment_from_a_poll_but_not_from_a_whole_reading() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let since = hub.forge.poll(&[pr], Since(None)).unwrap().next;
    hub.forge.poll(&[pr], since).unwrap();
    let stop = hub.comment("wim", pr, "STOP");
    for path in ["/issues/comments", "/issues/1/comments", "/pulls"] {
        hub.simulator.inject(Fault {
            method: "GET",
            path: path.to_owned(),
            skip: 0,
            times: 9,
            kind: FaultKind::FalselyUnchanged,
        });
    }
    let found = |since| {
        let polled = hub.forge.poll(&[pr], since).unwrap();
        polled.comments.iter().any(|one| one.key.comment() == stop)
    };
    assert!(!found(since), "the control");
    assert!(found(Since(None)));
}

/// Whether a poll shows each of these comments.
fn shown(polled: &Polled, wanted: &[CommentRef]) -> Vec<bool> {
    let has = |one: &CommentRef| polled.comments.iter().any(|c| c.key.comment() == *one);
    wanted.iter().map(has).collect()
}

#[test]
fn a_comment_behind_the_cursor_is_found_by_a_whole_reading() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let clock = hub.simulator.clock().clone();
    let mut since = hub.forge.poll(&[pr], Since(None)).unwrap().next;
    hub.forge.opinions(pr).unwrap();
    clock.advance(Duration::from_secs(300));
    let late = [
        hub.comment("wim", pr, "STOP"),
        hub.comment_on_line("wim", pr, "src/lib.rs", 2, "why?"),
        hub.review("wim", pr, ReviewState::Commented, "And this."),
    ];
    for comment in late {
        hub.simulator.hide_for(comment, Duration::from_secs(600));
    }
    clock.advance(Duration::from_secs(300));
    hub.comment("wim", pr, "Something else.");
    since = hub.forge.poll(&[pr], since).unwrap().next;
    clock.advance(Duration::from_secs(600));
    let polled = hub.forge.poll(&[pr], since).unwrap();
    assert_eq!(shown(&polled, &late), [false; 3], "the control");
    let whole = hub.forge.poll(&[pr], Since(None)).unwrap();
    assert_eq!(shown(&whole, &late), [true; 3]);
}

#[test]
fn reversed_lists_lose_nothing() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pulls = ["feat/x", "feat/y", "feat/z"].map(|branch| open(&hub, branch).number);
    let mut since = hub.forge.poll(&pulls, Since(None)).unwrap().next;
    hub.simulator.reverse_lists(true);
    let mut written = Vec::new();
    let mut seen = BTreeMap::new();
    for round in 0..4 {
        hub.simulator.clock().advance(Duration::from_secs(200));
        for pr in pulls {
            written.push(hub.comment("wim", pr, &format!("remark {round}")));
            written.push(hub.comment_on_line("wim", pr, "src/lib.rs", 2, "why?"));
            written.push(hub.review("wim", pr, ReviewState::Commented, "And this."));
        }
        let polled = hub.forge.poll(&pulls, since).unwrap();
        since = polled.next;
        seen.extend(
            polled
                .comments
                .into_iter()
                .map(|one| (one.key.comment(), ())),
        );
    }
    let lost = written.iter().filter(|one| !seen.contains_key(one));
    assert_eq!(lost.count(), 0);
    let whole = hub.forge.poll(&pulls, Since(None)).unwrap();
    assert_eq!(shown(&whole, &written), vec![true; written.len()]);
}

#[test]
fn a_truncated_answer_is_never_kept() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    let since = hub.forge.poll(&[pr], Since(None)).unwrap().next;
    let written = hub.comment("wim", pr, "please fix");
    for _ in 0..4 {
        let kind = FaultKind::Truncated;
        hub.simulator
            .inject(Fault::next("GET", "/issues/comments", kind));
    }
    let problem = hub.forge.poll(&[pr], since).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeAnswer);
    let polled = hub.forge.poll(&[pr], since).unwrap();
    let found: Vec<CommentRef> = polled.comments.iter().map(|c| c.key.comment()).collect();
    assert_eq!(found, [written]);
}

#[test]
fn a_skewed_clock_loses_nothing() {
    for skew in [-7200, 7200] {
        let hub = Hub::start();
        hub.simulator.skew(skew);
        hub.add_person("wim", Permission::Write);
        let pr = open(&hub, "feat/x").number;
        let mut since = hub.forge.poll(&[pr], Since(None)).unwrap().next;
        let mut seen = Vec::new();
        for n in 0..3 {
            hub.pass_time();
            let written = hub.comment("wim", pr, &format!("remark {n}"));
            let polled = hub.forge.poll(&[pr], since).unwrap();
            since = polled.next;
            let new = polled.comments.iter().map(|c| c.key.comment());
            seen.extend(new.filter(|comment| *comment == written));
        }
        assert_eq!(seen.len(), 3, "skew {skew}");
        hub.lose_next_answer();
        hub.forge.post(pr, post("<!-- drive:1 -->")).unwrap();
        assert_eq!(times(&standing(&hub, pr), "<!-- drive:1 -->"), 1);
        hub.simulator
            .inject(Fault::next("GET", "/pulls/1", FaultKind::PrimaryLimit));
        assert_eq!(hub.forge.fetch(pr).unwrap_err().kind, Kind::RateLimited);
        hub.simulator.clock().advance(Duration::from_secs(3601));
        hub.forge.fetch(pr).unwrap();
    }
}

#[test]
fn a_delivery_sent_twice_is_the_same_delivery() {
    let hub = Hub::start();
    hub.add_person("wim", Permission::Write);
    let pr = open(&hub, "feat/x").number;
    hub.simulator
        .add_hook(REPO, "http://127.0.0.1:9/hook", "secret");
    hub.comment("wim", pr, "please fix");
    let deliveries = hub.simulator.take_deliveries();
    let [delivery] = deliveries.as_slice() else {
        panic!("{deliveries:?}");
    };
    assert_eq!(delivery.event, "issue_comment");
    let again = delivery.clone();
    assert_eq!((&again.id, &again.body), (&delivery.id, &delivery.body));
    assert_eq!(hub.simulator.take_deliveries().len(), 0);
}
