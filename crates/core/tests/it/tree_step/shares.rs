//! Tests a child that uses up its share of the budget: it requests more, and names the root.

use super::*;

pub(super) fn a_child_of(parent: &str, budget: Budget) -> Run {
    let id = RunId::new(format!("{parent}+a"));
    let parent = Parent {
        run: RunId::new(parent),
        task: TaskId::new("a"),
    };
    let request = Box::new(Request {
        parent: Some(parent),
        budget,
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    });
    next(Run::new(id), Event::Requested { request })
}

/// A child that has used up its share, whose parent knows that.
fn a_child_at_its_limit(parent: &str) -> Run {
    let budget = Budget {
        tokens: None,
        cost: Some(Cost::from_micro_usd(100_000)),
    };
    let mut run = a_child_of(parent, budget);
    while let Some((key, effect)) = run.pending.first_key_value() {
        let result = match effect {
            Effect::RunAgent { .. } => over_budget(),
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        let key = key.clone();
        run = next(run, Event::EffectEnded { key, result });
    }
    run
}

/// A regression test: its parent assumed that the child had not received the grant yet.
#[test]
fn a_grant_that_changes_no_word_of_the_limit_is_reported() {
    let run = a_child_at_its_limit("r1");
    let why = run.limit().unwrap().to_owned();
    let budget = Budget {
        tokens: None,
        cost: Some(Cost::from_micro_usd(1)),
    };
    let ask = Ask::Extend { budget, rounds: 0 };
    let run = next(run, Event::Asked { ask });
    assert_eq!(run.limit(), Some(why.as_str()));
    assert_eq!(telling(&run), ["reportToParent r1"]);
}

#[test]
fn a_limit_of_a_nested_child_names_the_root_whose_budget_it_is() {
    let wait = waits_for_person(&a_child_at_its_limit("r1+a")).unwrap();
    assert!(
        wait.ends_with("with `drive runs extend r1 --cost 5`"),
        "{wait}"
    );
}

/// A child with this request, whose agents use 1200 tokens each; the budget stops an agent that has
/// fewer. Its parent grants 5000 whenever it asks. Returns it with its reports.
fn grown(request: Request) -> (Run, Vec<ChildReport>) {
    let request = Box::new(Request {
        parent: Some(Parent {
            run: RunId::new("r1"),
            task: TaskId::new("a"),
        }),
        ..request
    });
    let mut run = next(Run::new(child("a")), Event::Requested { request });
    let mut told: Vec<ChildReport> = Vec::new();
    while run.outcome.is_none() {
        let Some((key, effect)) = run.pending.first_key_value() else {
            let last = told.last().expect("it waits, and has told nobody");
            assert!(
                matches!(last.state, ChildState::NeedsBudget { .. }),
                "{last:?}"
            );
            let wait = waits_for_person(&run).unwrap();
            assert!(
                wait.ends_with("with `drive runs extend r1 --tokens 1000000`"),
                "{wait}"
            );
            let budget = Budget {
                tokens: Some(5_000),
                cost: None,
            };
            let ask = Ask::Extend { budget, rounds: 0 };
            run = next(run, Event::Asked { ask });
            continue;
        };
        let result = match effect {
            Effect::RunAgent { .. } if run.budget_for(key).tokens < Some(1_200) => over_budget(),
            Effect::RunAgent { job, .. } => match job.role {
                Role::Reviewer => agent_said(r#"{"verdict": "approved"}"#),
                _ => agent_ended(None),
            },
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        if let Effect::ToRun {
            message: RunMessage::ReportToParent { report },
            ..
        } = effect
        {
            told.push(report.as_ref().clone());
        }
        let key = key.clone();
        run = next(run, Event::EffectEnded { key, result });
    }
    (run, told)
}

/// How often it requested more.
fn asked_for_more(told: &[ChildReport]) -> usize {
    let needs = |report: &&ChildReport| matches!(report.state, ChildState::NeedsBudget { .. });
    told.iter().filter(needs).count()
}

#[test]
fn a_child_spawn_that_uses_up_its_share_asks_its_parent_and_goes_on_with_more() {
    let mut asked = request(Publish::BranchOnly, AfterEnd::Remove);
    asked.budget.tokens = Some(1_000);
    let (run, told) = grown(asked);
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
    assert_eq!(
        (asked_for_more(&told), run.spent.usage.counted()),
        (1, 2_400)
    );
}

#[test]
fn a_child_team_that_uses_up_its_share_asks_its_parent_and_goes_on_with_more() {
    // The namer, the coder or a reviewer uses up the share: before the pull request is open, and after.
    for mode in [TeamMode::Pingpong, TeamMode::Github] {
        for share in [1_000, 2_000, 3_000, 3_600, 7_000] {
            let mut asked = team_request(mode);
            asked.budget.tokens = Some(share);
            let (run, told) = grown(asked);
            let status = run.outcome.as_ref().unwrap().status;
            assert_eq!(
                status,
                OutcomeStatus::Succeeded,
                "{mode:?} {share}: {:?}",
                run.outcome
            );
            let is_enough = share >= 3_600 && mode == TeamMode::Pingpong;
            assert_eq!(asked_for_more(&told) > 0, !is_enough, "{mode:?} {share}");
            // Its parent is asked, so nothing is posted on its pull request.
            assert!(
                !run.decided.contains_key("postComment"),
                "{:?}",
                run.decided
            );
        }
    }
}

#[test]
fn a_child_that_waits_for_more_can_be_stopped() {
    let mut asked = request(Publish::BranchOnly, AfterEnd::Remove);
    asked.budget.tokens = Some(1_000);
    asked.parent = Some(Parent {
        run: RunId::new("r1"),
        task: TaskId::new("a"),
    });
    let request = Box::new(asked);
    let mut run = next(Run::new(child("a")), Event::Requested { request });
    while let Some((key, effect)) = run.pending.first_key_value() {
        let result = match effect {
            Effect::RunAgent { .. } => over_budget(),
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        let key = key.clone();
        run = next(run, Event::EffectEnded { key, result });
    }
    assert!(run.limit().is_some());
    let run = delivered_all(next(run, Event::CancelAsked));
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Cancelled);
}
