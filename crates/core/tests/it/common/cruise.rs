//! Examples of data that only a cruise stores.

use super::{at, comment, comment_ref, ignored, pull_request, request, review_terms};
use drive_core::agent::Budget;
use drive_core::forge::{CommentRef, PrState, Surface};
use drive_core::ids::{CommitSha, PrNumber};
use drive_core::prompts::Prompts;
use drive_core::run::{
    AfterEnd, Approved, Ask, Effect, EffectResult, Event, ForgeAct, ForgeAnswer, Makes, Objected,
    PhaseTerms, PlanApproval, PollResult, PostKey, Request, RunKind, Timer, WatchTerms,
};
use drive_core::sandbox::Sandbox;
use drive_core::settings::{RecordDetail, TeamMode};
use std::time::Duration;

/// The default terms of a cruise in tests: one review of each domain, at most five rounds.
pub fn terms() -> PhaseTerms {
    PhaseTerms {
        makes: Makes::Plan {
            given: None,
            approval: PlanApproval::default(),
        },
        mode: TeamMode::Github,
        reviewer: "gemini-cli".into(),
        fixer: "codex".into(),
        namer: "claude-code".into(),
        namer_model: Some("small".into()),
        branch: None,
        max_iterations: 2,
        watch: Some(WatchTerms {
            poll_initial: Duration::from_secs(5),
            poll_max: Duration::from_secs(300),
            inactivity_timeout: Duration::from_secs(24 * 3600),
            max_rounds: 5,
        }),
        review: review_terms(),
        prompts: Prompts::default()
            .replace("name.md", "Name {{task}}")
            .unwrap(),
        record: RecordDetail::Redacted,
        checks_timeout: Duration::from_secs(1800),
        title: None,
        scope: None,
        costs: None,
        adopted: None,
    }
}

/// The same terms with a different limit of fixer rounds.
pub fn terms_with_rounds(max_rounds: u32) -> PhaseTerms {
    let mut terms = terms();
    terms.watch.as_mut().unwrap().max_rounds = max_rounds;
    terms
}

/// A request for a cruise on these terms.
pub fn request_with(terms: PhaseTerms) -> Request {
    Request {
        kind: RunKind::Cruise(Box::new(terms)),
        ..request(pull_request(), AfterEnd::Remove)
    }
}

/// The result of a poll that contains everything.
pub fn seen() -> PollResult {
    PollResult {
        state: Some(PrState::Open),
        head: Some(CommitSha::new("b".repeat(40))),
        comments: vec![comment(5, "check the name")],
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: CommitSha::new("b".repeat(40)),
        }]),
        objections: Some(vec![Objected {
            by: "bob".into(),
            head: Some(CommitSha::new("b".repeat(40))),
            url: None,
        }]),
        checks: None,
        unchecked: None,
        queued: None,
        merged_sha: None,
        missing: None,
        ignored: vec![ignored()],
        answered: vec!["reply/inline-4-1790000004000".into()],
        next: Some(at(6)),
    }
}

/// The result of a poll as an effect's result.
pub fn looked(seen: PollResult) -> EffectResult {
    EffectResult::OnForge {
        answer: ForgeAnswer::Polled {
            poll: Box::new(seen),
        },
    }
}

/// Every request that a person can make.
pub fn asks() -> [Ask; 6] {
    [
        Ask::Poll,
        Ask::Comment {
            id: "c1".into(),
            author: "ann".into(),
            text: "mention the tests".into(),
        },
        Ask::Approve {
            by: "ann".into(),
            head: CommitSha::new("b".repeat(40)),
        },
        Ask::Extend {
            budget: Budget {
                tokens: Some(5_000),
                cost: None,
            },
            rounds: 3,
        },
        Ask::Conclude,
        Ask::Cleanup,
    ]
}

/// Events that only a cruise journals.
pub fn events() -> Vec<Event> {
    let ended = |key: &str, result| Event::EffectEnded {
        key: drive_core::ids::EffectKey::new(key),
        result,
    };
    let mut adopted = terms();
    adopted.makes = Makes::Plan {
        given: Some(drive_core::run::GivenPlan::ToReview("given".into())),
        approval: PlanApproval::default(),
    };
    adopted.adopted = Some(drive_core::run::Adopted {
        sandbox: Sandbox {
            lifetime: drive_core::sandbox::Lifetime::Persistent,
            ..super::sandbox()
        },
        pull_request: drive_core::run::Published {
            number: PrNumber::new(7),
            url: "local:7".into(),
        },
        title: "Fix the login".into(),
        head_sha: CommitSha::new("b".repeat(40)),
        domain: Some(drive_core::review::Domain::Security),
        rounds: 2,
    });
    let mut all = vec![
        Event::Requested {
            request: Box::new(request_with(terms())),
        },
        Event::Requested {
            request: Box::new(request_with(adopted)),
        },
        Event::Woken { timer: Timer::Poll },
    ];
    all.extend(asks().map(|ask| Event::Asked { ask }));
    all.extend([
        ended("writeFile/1", EffectResult::FileWritten),
        ended(
            "readFile/1",
            EffectResult::FileRead {
                text: Some(super::PLAN.into()),
            },
        ),
        ended("readFile/2", EffectResult::FileRead { text: None }),
        ended("poll/1", looked(seen())),
    ]);
    all
}

/// Effects that only a cruise decides.
pub fn effects() -> Vec<Effect> {
    let sandbox = super::sandbox().id;
    let on_forge = |act, key: Option<&str>| Effect::OnForge {
        pr: PrNumber::new(7),
        act,
        idempotency_key: key.map(|key| PostKey::Step(key.to_owned())),
    };
    let look = |since, approvals| ForgeAct::Poll {
        since,
        approvals,
        checks: None,
    };
    let comment: CommentRef = comment_ref(Surface::Review, 9);
    vec![
        Effect::WriteFile {
            sandbox: sandbox.clone(),
            path: "plan.md".into(),
            text: Some("given".into()),
        },
        Effect::ReadFile {
            sandbox,
            commit: CommitSha::new("b".repeat(40)),
            path: "plan.md".into(),
        },
        on_forge(look(None, false), None),
        on_forge(look(Some(at(3)), false), None),
        on_forge(ForgeAct::React { comment }, None),
        on_forge(
            ForgeAct::Reply {
                to: comment,
                body: "Fixed in b.".into(),
            },
            Some("reply/review-9-1790000004000"),
        ),
        on_forge(look(None, true), None),
    ]
}
