//! Tests that rounds, budgets and failures cause no endless loops.

use crate::common::cruise::{terms, terms_with_rounds};
use crate::common::{agent_ended, at, comment, over_budget};
use crate::cruise_step::scene::{Scene, head};
use drive_core::agent::{Budget, Failure, Role};
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::run::{
    Approved, Ask, OutcomeStatus, PollResult, Timer, cruise_status, waits_for_person,
};

fn says(id: u64, body: &str) -> PollResult {
    PollResult {
        comments: vec![comment(id, body)],
        ..PollResult::default()
    }
}

const ONE_ROUND: &str = "Waiting for a person: fixer round limit (1) reached. Approve, merge or close this pull request, or raise the limit with `drive runs extend r20261115-0942-k3f9a --cost 5 --rounds 3`.\n\nStill open:\n\n- inline-6 by ann: two";

const NOTED: &str = "No fixer works on this yet: fixer round limit (1) reached. Raise the limit with `drive runs extend r20261115-0942-k3f9a --cost 5 --rounds 3`.";

#[test]
fn at_the_limit_one_comment_says_what_is_open_and_who_must_act() {
    let mut scene = Scene::watching(terms_with_rounds(1));
    scene.sees(says(5, "one"));
    scene.performed.clear();
    scene.sees(says(6, "two"));
    scene.sees(says(7, "three"));
    scene.wake(Timer::Poll);
    // A person who comments later is told once as well.
    assert_eq!(scene.bodies(), [ONE_ROUND, NOTED]);
    assert_eq!((scene.jobs.len(), scene.cruise().rounds), (1, 1));
    let status = cruise_status(&scene.run).unwrap();
    assert_eq!(
        (status.waiting_for.as_deref(), status.pending_comments),
        (
            Some(
                "you: fixer round limit (1) reached; raise the limit with `drive runs extend \
                 r20261115-0942-k3f9a --cost 5 --rounds 3`"
            ),
            2
        )
    );
}

#[test]
fn somebody_who_asks_gets_one_more_round() {
    let mut scene = Scene::watching(terms_with_rounds(1));
    scene.sees(says(5, "one"));
    scene.sees(says(6, "two"));
    scene.ask(Ask::Poll);
    assert_eq!((scene.jobs.len(), scene.cruise().rounds), (2, 2));
    assert_eq!(scene.cruise().ledger.open().count(), 0);
    scene.sees(says(7, "three"));
    assert_eq!(
        (scene.jobs.len(), scene.cruise().ledger.open().count()),
        (2, 1)
    );
}

#[test]
fn a_raised_limit_of_rounds_lets_the_comments_that_wait_be_fixed() {
    let mut scene = Scene::watching(terms_with_rounds(1));
    scene.sees(says(5, "one"));
    scene.sees(says(6, "two"));
    assert_eq!(scene.jobs.len(), 1);
    scene.ask(Ask::Extend {
        budget: Budget::default(),
        rounds: 2,
    });
    assert_eq!((scene.jobs.len(), scene.cruise().rounds), (2, 2));
    assert_eq!(cruise_status(&scene.run).unwrap().pending_comments, 0);
    scene.sees(says(7, "three"));
    assert_eq!(scene.cruise().rounds, 3);
    scene.sees(says(8, "four"));
    assert_eq!(scene.cruise().rounds, 3, "three rounds are allowed");
}

#[test]
fn a_raised_budget_ends_the_wait_only_where_it_is_enough() {
    let mut request = crate::common::cruise::request_with(terms());
    // The namer, the planner and five reviewers use 1200 tokens each.
    request.budget = Budget {
        tokens: Some(8_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    let agents = scene.jobs.len();
    scene.sees(says(5, "one"));
    scene.ask(more(100));
    assert_eq!(scene.jobs.len(), agents, "still over the budget");
    scene.ask(more(5_000));
    assert_eq!(scene.jobs.len(), agents + 1);
    let job = scene.jobs.last().unwrap();
    assert_eq!(job.budget.tokens, Some(8_000 + 5_100 - 8_400));
}

#[test]
fn at_the_limit_an_approval_of_the_head_counts_although_comments_wait() {
    let mut scene = Scene::watching(terms_with_rounds(1));
    let approved = |head| PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head,
        }]),
        ..PollResult::default()
    };
    scene.sees(says(5, "one"));
    scene.sees(says(6, "two"));
    scene.sees(approved(CommitSha::new(head(1))));
    assert_eq!(scene.run.outcome, None, "of another commit");
    scene.performed.clear();
    scene.sees(approved(CommitSha::new(head(2))));
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    let told = scene.bodies();
    let open = "\n\nStill open:\n\n- inline-6 by ann: two";
    assert!(told.len() == 1 && told[0].ends_with(open), "{told:?}");
}

#[test]
fn no_agent_starts_on_an_empty_budget() {
    let mut request = crate::common::cruise::request_with(terms());
    // Every agent uses 1200 tokens.
    request.budget = Budget {
        tokens: Some(8_400),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    assert_eq!(scene.jobs.len(), 7);
    scene.sees(says(5, "one"));
    assert_eq!(scene.jobs.len(), 8, "what is left is used");
    scene.performed.clear();
    scene.sees(says(6, "two"));
    let said = scene.bodies();
    assert!(said[0].starts_with("Waiting for a person: the run used 9600 tokens (limit 8400)."));
    assert_eq!((said.len(), scene.jobs.len()), (1, 8));
}

#[test]
fn a_planner_waits_for_a_larger_budget_when_the_namer_used_it_up() {
    let mut request = crate::common::cruise::request_with(terms());
    request.budget = Budget {
        tokens: Some(1_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    assert_eq!((scene.jobs.len(), &scene.run.outcome), (1, &None));
    let wait = waits_for_person(&scene.run).unwrap();
    assert_eq!(
        wait,
        "the run used 1200 tokens (limit 1000); raise the limit with `drive runs extend \
         r20261115-0942-k3f9a --tokens 1000000 --rounds 3`"
    );
    scene.ask(more(100));
    assert_eq!(scene.jobs.len(), 1, "still over the budget");
    scene.ask(more(20_000));
    assert!(scene.jobs.len() > 1 && scene.run.work.pull_request.is_some());
    assert_eq!(waits_for_person(&scene.run), None);
}

#[test]
fn a_wait_for_a_larger_budget_before_the_pull_request_ends_by_silence() {
    let mut request = crate::common::cruise::request_with(terms());
    request.budget = Budget {
        tokens: Some(1_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    scene.wake(Timer::Inactivity);
    let failure = scene.outcome().failure.as_ref().unwrap();
    assert_eq!(
        (scene.outcome().status, failure.kind),
        (OutcomeStatus::TimedOut, Kind::Inactive)
    );
}

#[test]
fn a_planner_that_the_budget_stops_plans_again_once_it_is_raised() {
    let mut request = crate::common::cruise::request_with(terms());
    request.budget = Budget {
        tokens: Some(2_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.agent(Role::Planner, over_budget());
    scene.settle();
    assert_eq!((scene.jobs.len(), &scene.run.outcome), (2, &None));
    scene.ask(more(50_000));
    let planner = &scene.jobs[2];
    assert_eq!(planner.role, Role::Planner);
    let saved = crate::common::kept().sha;
    assert!(
        planner.prompt.contains(saved.as_str()),
        "{}",
        planner.prompt
    );
    assert!(scene.run.work.pull_request.is_some());
}

fn more(tokens: u64) -> Ask {
    Ask::Extend {
        budget: Budget {
            tokens: Some(tokens),
            cost: None,
        },
        rounds: 0,
    }
}

#[test]
fn a_comment_that_outlived_three_fixers_is_given_back() {
    let mut scene = Scene::watching(terms());
    for _ in 0..3 {
        scene.agent(Role::Fixer, agent_ended(Some(Failure::Reported)));
    }
    scene.sees(says(5, "one"));
    assert_eq!(
        scene.until(Timer::Hold),
        30 - 2,
        "one second went into saving its work, one into the poll"
    );
    scene.wake(Timer::Hold);
    scene.wake(Timer::Hold);
    assert_eq!(
        scene.bodies(),
        [
            "Not resolved. agent `codex` reported a failure: it said so. The unfinished work is saved as `refs/drive/kept/r20261115-0942-k3f9a/1`."
        ]
    );
    assert_eq!(
        (scene.jobs.len(), scene.cruise().ledger.open().count()),
        (3, 0)
    );
}

#[test]
fn a_usage_limit_waits_for_its_reset() {
    let mut scene = Scene::watching(terms());
    let reset = at(100_000);
    scene.agent(
        Role::Fixer,
        agent_ended(Some(Failure::UsageLimit {
            resets_at: Some(reset),
        })),
    );
    scene.sees(says(5, "one"));
    assert_eq!(scene.run.timers[&Timer::Hold], reset);
    scene.wake(Timer::Inactivity);
    assert_eq!(scene.run.outcome, None, "a pause is not silence");
    scene.wake(Timer::Hold);
    assert_eq!(
        (scene.jobs.len(), scene.cruise().ledger.open().count()),
        (2, 0)
    );
}
