//! The invariants of the simulation.

use crate::common::domains;
use crate::cruise_simulation::agents::{MOST_NOTED, MOST_USED};
use crate::cruise_simulation::clock::MINUTE;
use crate::cruise_simulation::forge::By;
use crate::cruise_simulation::people::EVIL;
use crate::cruise_simulation::sim::{Sim, Who};
use crate::cruise_simulation::world::parts_of;
use drive_core::agent::Role;
use drive_core::agent::answer::Verdict;
use drive_core::forge::PrState;
use drive_core::ids::{CommitSha, EffectKey};
use drive_core::review::{Domain, LastWord};
use drive_core::run::{
    Effect, EffectResult, Event, Flow, Life, Makes, Note, OutcomeStatus, Phase, PhaseTerms,
    PlanCheck, Run, Stage, Timer, cruise_status, reply_key, verdict,
};
use drive_core::verify::Overall;
use std::collections::BTreeMap;

fn cruise(sim: &Sim) -> Option<&Phase> {
    match &sim.run.flow {
        Flow::Phase { phase: cruise } => Some(cruise),
        _ => None,
    }
}

/// Checks the invariants after every event.
pub fn after_step(sim: &Sim, decided: &[EffectKey], was_ending: bool) {
    let run = &sim.run;
    check_alone(run);
    for key in decided {
        check_decided(sim, &run.pending[key]);
    }
    check_sandbox(sim);
    let Some(cruise) = cruise(sim) else { return };
    let request = run.request.as_ref().expect("there is a cruise");
    let terms = request.kind.phase_terms().expect("a phase");
    check_budget(sim, terms);
    // A run that is resumed drops what its earlier life would have tried again once it has a sandbox.
    let is_resuming = run
        .resumption
        .as_ref()
        .is_some_and(|one| one.step.is_some());
    if run.outcome.is_none() && run.shutdown.is_none() && !is_resuming {
        let is_timed = run.timers.contains_key(&Timer::Retry);
        assert_eq!(cruise.retry.is_some(), is_timed, "{:?}", cruise.retry);
    }
    let Some(watch) = &terms.watch else {
        return check_team(sim, cruise, was_ending);
    };
    assert!(
        cruise.rounds <= watch.max_rounds + sim.polls,
        "{} rounds where {} are allowed and {} were asked for",
        cruise.rounds,
        watch.max_rounds,
        sim.polls
    );
    if run.outcome.is_some() {
        return;
    }
    assert!(
        !run.pending.is_empty() || !run.timers.is_empty(),
        "it waits for nothing: {:?}",
        cruise.stage
    );
    let status = cruise_status(run).expect("a cruise has one");
    assert!(
        !run.pending.is_empty() || status.waiting_for.is_some(),
        "nobody knows what it waits for: {:?}",
        cruise.stage
    );
    check_quiet(sim, cruise);
    if let (Stage::Closing { status, .. }, false) = (&cruise.stage, was_ending) {
        check_last_look(sim, cruise, *status);
    }
}

/// Checks the invariants of a team after every event.
fn check_team(sim: &Sim, team: &Phase, was_ending: bool) {
    let run = &sim.run;
    if run.outcome.is_some() {
        return;
    }
    assert!(
        !run.pending.is_empty() || !run.timers.is_empty(),
        "it waits for nothing: {:?}",
        team.stage
    );
    let Stage::Closing { status, .. } = &team.stage else {
        return;
    };
    let is_first = !was_ending && *status == OutcomeStatus::Succeeded;
    if is_first {
        assert_eq!(
            team.watch.trouble, None,
            "it ended well without having read"
        );
    }
    let hears = run
        .request
        .as_ref()
        .and_then(|request| request.kind.phase_terms());
    if is_first && hears.is_some_and(PhaseTerms::hears_comments) {
        check_answered(sim, team);
    }
}

/// The agents that work side by side may each exceed the budget once, by what they use before they are
/// stopped. An agent whose owner dies begins anew, and has used what it noted.
fn check_budget(sim: &Sim, terms: &PhaseTerms) {
    let run = &sim.run;
    let Some(budget) = run.budget().tokens else {
        return;
    };
    let noted = run.using.values().map(|spent| spent.usage.counted());
    let used = run.spent.usage.counted() + noted.sum::<u64>();
    let agents = u64::from(terms.review.max_parallel.get());
    let over = agents * (MOST_USED + sim.crashes * MOST_NOTED);
    assert!(
        used <= budget + over,
        "{used} tokens are used where {budget} are allowed"
    );
}

/// Checks that no verdict is about a commit that no reviewer saw.
fn check_verdict(sim: &Sim, phase: &Phase) {
    let head = sim.run.work.head_sha.as_ref();
    let reviews = &phase.record.reviews;
    // The record is compared with what the simulated reviewers saw.
    for one in reviews {
        let (domain, head) = (one.domain.as_ref(), one.head.as_ref());
        let is_backed = match one.verdict {
            Some(Verdict::Approved | Verdict::NotApplicable) => is_seen(sim, domain, head),
            // One part is enough to object, also where a reviewer of another part contradicted itself.
            Some(Verdict::NeedsChanges) => is_seen_in_part(sim, domain, head),
            None => true,
        };
        assert!(is_backed, "a verdict about a commit nobody saw");
    }
    if verdict(&sim.run) != Some(LastWord::Approved) {
        return;
    }
    let is_seen = |domain: Option<&Domain>, head: Option<&CommitSha>| is_seen(sim, domain, head);
    let request = sim.run.request.as_ref().expect("a request");
    let terms = request.kind.phase_terms().expect("a phase");
    for domain in terms.review_plan().domains {
        assert!(
            is_seen(domain.as_ref(), head),
            "{domain:?} did not see the head that is called approved"
        );
    }
    if sim.who == Who::Team {
        for one in reviews {
            let last = reviews.iter().rfind(|other| other.domain == one.domain);
            let last = last.expect("there is one");
            assert!(last.verdict.is_some_and(Verdict::is_content));
        }
    }
    if phase.merged.is_some() {
        assert!(reviews.iter().any(|one| one.head.as_ref() == head));
        let judged = phase.judged.as_ref().expect("it was verified");
        assert_eq!(Some(&judged.head_sha), head);
        assert_eq!(judged.overall, Overall::Pass);
    }
}

/// Whether simulated reviewers of this domain saw all parts of the commit, and did not contradict themselves.
fn is_seen(sim: &Sim, domain: Option<&Domain>, head: Option<&CommitSha>) -> bool {
    let seen = parts_seen(sim, domain, head);
    !seen.is_empty() && seen.into_iter().all(|is_seen| is_seen)
}

/// The same for at least one part of the commit.
fn is_seen_in_part(sim: &Sim, domain: Option<&Domain>, head: Option<&CommitSha>) -> bool {
    parts_seen(sim, domain, head).contains(&true)
}

fn parts_seen(sim: &Sim, domain: Option<&Domain>, head: Option<&CommitSha>) -> Vec<bool> {
    let domain = domain.map(|domain| domain.name().to_owned());
    let Some(head) = head.map(ToString::to_string) else {
        return Vec::new();
    };
    let parts = 1..=parts_of(&head);
    parts
        .map(|part| {
            let seen = (domain.clone(), head.clone(), part);
            sim.world.reviewed.contains(&seen)
        })
        .collect()
}

/// Whether the closing posts are being made.
pub fn is_ending(sim: &Sim) -> bool {
    cruise(sim).is_some_and(|cruise| matches!(cruise.stage, Stage::Closing { .. }))
}

fn check_decided(sim: &Sim, effect: &Effect) {
    let run = &sim.run;
    match effect {
        Effect::RunAgent { job, .. } => {
            assert!(!job.prompt.contains(EVIL), "an untrusted comment goes on");
            // Only Mallory writes it; without her comments there is nothing to search.
            let mut said = sim.world.forge.said.iter();
            if said.any(|one| one.by == By::Mallory) {
                let input = serde_json::to_string(&job.input).unwrap();
                assert!(!input.contains(EVIL), "an untrusted comment goes on");
            }
            let mut ids: Vec<&str> = job
                .input
                .comments
                .iter()
                .map(|one| one.id.as_str())
                .collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(
                ids.len(),
                job.input.comments.len(),
                "a comment is given twice"
            );
            let overrun = run.budget().overrun(run.spent.usage, run.spent.cost);
            assert_eq!(overrun, None, "an agent starts on an empty budget");
            check_shares(run);
        }
        Effect::RemoveSandbox { .. } => {
            assert!(run.processes.is_empty(), "a process is still there");
        }
        _ => {}
    }
}

/// Checks that an agent that writes works alone; reviewers of one commit work in parallel.
fn check_alone(run: &Run) {
    let roles = run.pending.values().filter_map(|effect| match effect {
        Effect::RunAgent { job, .. } => Some(job.role),
        _ => None,
    });
    let roles: Vec<Role> = roles.collect();
    if roles.len() > 1 {
        let request = run.request.as_ref().expect("a request");
        let terms = request.kind.phase_terms().expect("a phase");
        let most = terms.review.max_parallel.get() as usize;
        assert!(roles.iter().all(|one| *one == Role::Reviewer), "{roles:?}");
        assert!(roles.len() <= most, "{} agents at once", roles.len());
    }
}

/// Checks that parallel agents cannot use the same rest of the budget twice.
fn check_shares(run: &Run) {
    let agents = run.pending.values().filter_map(|effect| match effect {
        Effect::RunAgent { job, .. } => job.budget.tokens,
        _ => None,
    });
    let rest = run.budget().minus(run.spent.usage, run.spent.cost);
    if let Some(rest) = rest.tokens {
        let shares: u64 = agents.sum();
        assert!(shares <= rest, "{shares} tokens of {rest} are given away");
    }
}

fn check_sandbox(sim: &Sim) {
    let run = &sim.run;
    let is_there = sim.world.git.tree.is_some();
    if run.outcome.is_some() {
        assert!(!is_there, "a sandbox is left");
        assert!(run.pending.is_empty() && run.timers.is_empty());
        return;
    }
    let removes = |effect: &Effect| matches!(effect, Effect::RemoveSandbox { .. });
    if !run.sandboxes.is_empty() && !run.pending.values().any(removes) {
        assert!(is_there, "the sandbox of a living cruise is gone");
    }
}

/// The number of comments that drive must handle. A reviewer's last objection and a question wait
/// for a person.
fn waiting(cruise: &Phase) -> usize {
    let open = cruise.ledger.open();
    let is_theirs = |life: &Life| matches!(life, Life::Left | Life::Asked { .. });
    open.filter(|entry| !is_theirs(&entry.life)).count()
}

/// Checks that everything is handled if no effect is pending and nothing prevents progress.
fn check_quiet(sim: &Sim, cruise: &Phase) {
    let is_quiet = cruise.stage == Stage::Watching
        && sim.run.pending.is_empty()
        && sim.run.shutdown.is_none()
        && cruise.limit().is_none()
        && cruise.hold().is_none()
        && cruise.watch.trouble.is_none();
    if is_quiet {
        assert_eq!(waiting(cruise), 0, "a comment waits for nothing");
        assert!(
            matches!(cruise.plan, PlanCheck::Valid { .. }),
            "so does the plan"
        );
        check_answered(sim, cruise);
    }
}

/// Checks that everything in the last poll was answered where people see it.
fn check_answered(sim: &Sim, cruise: &Phase) {
    if sim.world.forge.unsettled {
        return;
    }
    for key in sim.world.forge.to_answer() {
        let entry = cruise.ledger.get(&key);
        let life = entry.map(|entry| &entry.life);
        match life {
            Some(Life::Replied { .. } | Life::Asked { .. }) => {
                let reply = sim.world.forge.proven(&reply_key(&key));
                assert!(reply.is_some(), "nobody answered {key:?}");
            }
            Some(Life::Unanswerable { .. }) => {}
            _ => panic!("{key:?} is lost: {life:?}"),
        }
    }
}

/// Checks that a cruise polls once more before it ends by itself.
fn check_last_look(sim: &Sim, cruise: &Phase, status: OutcomeStatus) {
    // A run that cannot continue does not poll again.
    if matches!(status, OutcomeStatus::Failed | OutcomeStatus::NeedsHuman) {
        return;
    }
    let forge = &sim.world.forge;
    let looked = forge.looked.expect("it was looked at");
    if status == OutcomeStatus::Succeeded {
        // A person who approves at a limit accepts the plan as it is.
        if cruise.limit().is_none() {
            check_answered(sim, cruise);
        }
        assert!(cruise.injected.is_empty(), "a comment was not even posted");
    } else if cruise.limit().is_none() && forge.down_until < 0 && sim.world.faults == 0 {
        assert_eq!(waiting(cruise), 0, "silence with open comments");
        check_answered(sim, cruise);
    }
    // The closing posts, and the reading after them, are each retried for some minutes.
    let age = sim.world.clock.steady - looked;
    assert!(
        age < 120 * MINUTE || forge.down_until > 0,
        "the last look is {age} ms old"
    );
}

/// Checks the invariants after the last event.
pub fn at_end(sim: &Sim) {
    let (run, git, forge) = (&sim.run, &sim.world.git, &sim.world.forge);
    assert!(git.nothing_lost(), "a commit is lost");
    assert!(git.alive.is_empty(), "an agent outlived its cruise");
    // People may rewrite the remote's branch when the sandbox no longer exists: while the closing
    // comment is posted, before a dead owner's removal is repeated, or before a continued team has
    // a sandbox again. Then the work is on the local branch.
    let is_later = match sim.journal.last() {
        Some((Event::EffectEnded { key, .. }, _)) => key.as_str().starts_with("postComment/"),
        _ => false,
    };
    let is_once = run.decided.get("removeSandbox") == Some(&1);
    let went_last = !is_later && is_once && sim.resumes() == 0;
    if !git.is_all_pushed() && !git.history().is_empty() && went_last {
        assert!(!git.kept.is_empty(), "work was not kept");
    }
    check_spent(sim);
    if let Some(phase) = cruise(sim) {
        check_verdict(sim, phase);
    }
    if sim.who == Who::Team {
        return;
    }
    for text in &sim.people.injected {
        let said = forge.said.iter().filter(|one| one.by == By::Us);
        let is_post = |body: &str| body.starts_with("From the") && body.ends_with(text.as_str());
        let posts = said.filter(|one| is_post(&one.versions[0].body));
        assert!(posts.count() <= 1, "`{text}` was posted twice");
    }
    let count = |start: &str| {
        let said = forge.said.iter().filter(|one| one.by == By::Us);
        said.filter(|one| one.versions[0].body.starts_with(start))
            .count()
    };
    assert!(count("Stopped before the work") <= 1, "it ended twice");
    let limits = u32::try_from(count("Waiting for a person:")).unwrap();
    let most = 1 + sim.polls + sim.losses;
    assert!(limits <= most, "{limits} comments about limits");
    let outcome = run.outcome.as_ref().expect("it ended");
    // A person may clean up during the closing posts.
    let is_silence = matches!(
        outcome.status,
        OutcomeStatus::TimedOut | OutcomeStatus::Cancelled
    );
    let timed_out = count("Cruise-control session timed out after");
    assert!(timed_out <= usize::from(is_silence));
    if outcome.status == OutcomeStatus::Succeeded && forge.pr == Some(PrState::Open) {
        check_approval(sim);
    }
}

/// Checks that the sum contains the last reported usage of every agent exactly once.
fn check_spent(sim: &Sim) {
    let mut told = 0;
    let mut last: BTreeMap<&EffectKey, u64> = BTreeMap::new();
    for (event, _) in &sim.journal {
        match event {
            Event::ProcessStarted { key, .. } => told += last.remove(key).unwrap_or(0),
            Event::Noted {
                key,
                note: Note::Used { spent },
            } => {
                last.insert(key, spent.usage.counted());
            }
            Event::EffectEnded {
                key,
                result: EffectResult::AgentEnded { outcome, .. },
            } => {
                last.remove(key);
                told += outcome.usage.counted();
            }
            _ => {}
        }
    }
    told += last.values().sum::<u64>();
    assert_eq!(sim.run.spent.usage.counted(), told, "tokens are lost");
    assert!(sim.run.using.is_empty());
}

fn check_approval(sim: &Sim) {
    let cruise = cruise(sim).expect("a cruise");
    let head = sim.run.work.head_sha.clone().expect("a head");
    let looked = sim.world.forge.weighed.expect("it was looked at");
    assert_eq!(
        sim.world.git.remote_head_at(looked).as_deref(),
        Some(head.as_str()),
        "what was approved is not what people saw"
    );
    if sim.people.approved.iter().any(|one| *one == *head) || sim.world.forge.approves(&head) {
        return;
    }
    let request = sim.run.request.as_ref().expect("a request");
    let terms = request.kind.phase_terms().expect("a phase");
    if !terms.is_reviewed() {
        // A person supplied the plan, to be used as it is.
        assert!(matches!(terms.makes, Makes::Plan { given: Some(_), .. }));
        return;
    }
    let last = |domain| {
        let reviews = cruise.record.reviews.iter().rev();
        reviews
            .filter(move |one| one.domain.as_ref() == Some(&domain))
            .map(|one| {
                (
                    one.verdict.is_some_and(Verdict::is_content),
                    one.head.clone(),
                )
            })
            .next()
    };
    for domain in domains() {
        assert_eq!(
            last(domain.clone()),
            Some((true, Some(head.clone()))),
            "{domain} did not approve {head}"
        );
        // The record is compared with what the reviewer really saw.
        assert!(
            is_seen(sim, Some(&domain), Some(&head)),
            "{domain} did not see {head}"
        );
    }
}
