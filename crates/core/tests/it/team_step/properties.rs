//! Tests that a team always ends.

use crate::common::{agent_ended, agent_said, at, good, identity, problem, run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, team};
use drive_core::agent::answer::Verdict;
use drive_core::agent::{Failure, Role};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{
    Effect, EffectResult, Event, OutcomeStatus, fold, read_run, step, write_run,
};
use drive_core::settings::TeamMode;
use proptest::prelude::*;

fn any_result() -> impl Strategy<Value = EffectResult> {
    prop_oneof![
        Just(agent_said(APPROVED)),
        Just(agent_said(OBJECTS)),
        Just(agent_said("nothing")),
        Just(agent_ended(Some(Failure::Infra))),
        Just(EffectResult::Failed { problem: problem() }),
    ]
}

proptest! {
    /// Whatever agents answer and whatever fails: the run ends within its limits, with nothing pending; it is
    /// approved only if every last review approved; and every state can be read back.
    #[test]
    fn a_team_always_ends(
        results in proptest::collection::vec(any_result(), 1..40),
        fails in proptest::option::of(proptest::sample::select(vec![
            "poll", "readDiff", "postReview", "reply", "updateBody", "push", "commitWork",
        ])),
        mode in proptest::sample::select(vec![
            TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github,
        ]),
    ) {
        let mut scene = Scene { fails, ..Scene::default() };
        let mut answers = results.iter().cycle();
        let requested = Event::Requested { request: Box::new(team_request(mode)) };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        let mut steps = 0;
        while run.outcome.is_none() {
            steps += 1;
            prop_assert!(steps < 1_000, "no end");
            let Some((key, effect)) = run.pending.first_key_value() else {
                let (&timer, &due) = run.timers.iter().min_by_key(|(_, due)| **due).unwrap();
                run = step(run, Event::Woken { timer }, due).unwrap().0;
                continue;
            };
            let result = match effect {
                Effect::RunAgent { job, .. } if job.role != Role::Coder => {
                    answers.next().unwrap().clone()
                }
                effect => scene.perform(effect),
            };
            let ended = Event::EffectEnded { key: key.clone(), result };
            run = step(run, ended, at(steps)).unwrap().0;
            prop_assert_eq!(&read_run(1, &write_run(&run).unwrap()).unwrap(), &run);
        }
        prop_assert!(run.outcome.is_some());
        let reviews = &team(&run).record.reviews;
        if team(&run).verdict == Some(LastWord::Approved) {
            let terms = run.request.as_ref().unwrap().kind.phase_terms().unwrap();
            for domain in terms.review_plan().domains {
                let last = reviews.iter().rfind(|one| one.domain == domain).unwrap();
                prop_assert_eq!(last.verdict, Some(Verdict::Approved));
                prop_assert_eq!(&last.head, &run.work.head_sha);
            }
        }
    }

    /// Whenever its owner dies: its processes are ended, its sandbox is removed, and it ends.
    #[test]
    fn a_team_whose_owner_dies_is_brought_to_its_end(steps in 0_usize..40, agents in any::<bool>()) {
        let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
        let requested = Event::Requested { request: Box::new(team_request(TeamMode::Github)) };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        for _ in 0..steps {
            let Some((key, effect)) = run.pending.first_key_value() else { break };
            let ended = Event::EffectEnded { key: key.clone(), result: scene.perform(effect) };
            run = step(run, ended, at(1)).unwrap().0;
        }
        prop_assume!(run.outcome.is_none());
        if let (true, Some(key)) = (agents, run.pending.keys().next().cloned()) {
            let started = Event::ProcessStarted { key, identity: identity(42) };
            run = step(run, started, at(2)).unwrap().0;
        }
        let had_process = !run.processes.is_empty();
        run = step(run, Event::OwnerLost, at(3)).unwrap().0;
        let mut order = Vec::new();
        while let Some((key, effect)) = run.pending.first_key_value() {
            order.push(effect.name());
            let ended = Event::EffectEnded { key: key.clone(), result: good(effect) };
            run = step(run, ended, at(4)).unwrap().0;
        }
        let is_lost = run.shutdown.as_ref().is_some_and(|one| one.status != OutcomeStatus::Succeeded);
        let mut expected = vec!["removeSandbox"];
        if had_process {
            expected.insert(0, "endProcess");
        }
        // Its pull request says how to continue it.
        if is_lost && run.work.pull_request.is_some() {
            expected.push("postComment");
        }
        prop_assert_eq!(order, expected);
        let kind = run.outcome.unwrap().failure.map(|problem| problem.kind);
        prop_assert!(run.shutdown.unwrap().status == OutcomeStatus::Succeeded || kind == Some(Kind::OwnerLost));
    }
}
