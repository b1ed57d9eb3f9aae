use drive_core::agent::answer::Confidence;
use drive_core::agent::{Budget, Cost};
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::prompts::Prompts;
use drive_core::review::Domain;
use drive_core::run::{
    AfterEnd, ChangeDone, Makes, PhaseTerms, PlanApproval, Publish, Request, ReviewTerms, RunKind,
    WatchTerms,
};
use drive_core::settings::{RecordDetail, TeamMode};
use drive_engine::fakes::{FakeWorld, REPOSITORY_PATH};
use std::time::Duration;

pub fn spawn_request(world: &FakeWorld) -> Request {
    Request {
        kind: RunKind::Spawn,
        task: "Fix the login".into(),
        repo: REPOSITORY_PATH.into(),
        base_sha: CommitSha::new(world.repository.branch("main").unwrap()),
        base_branch: Some(BranchName::parse("main").unwrap()),
        branch: BranchName::parse("fix-login").unwrap(),
        agent: "coder".into(),
        model: None,
        idle_timeout: Duration::from_secs(120),
        total_timeout: Duration::from_secs(1800),
        budget: Budget {
            tokens: Some(5_000_000),
            cost: Cost::from_usd(20.0),
        },
        max_escalations: 5,
        publish: Publish::PullRequest {
            remote: Some(RemoteName::parse("origin").unwrap()),
        },
        after_end: AfterEnd::Remove,
        copy: Vec::new(),
        seed: Vec::new(),
        notify: false,
        prompts: None,
        parent: None,
        git_dir: None,
    }
}

/// A team with `--mode github`.
pub fn team_request(world: &FakeWorld) -> Request {
    Request {
        kind: RunKind::Team(Box::new(terms())),
        ..spawn_request(world)
    }
}

/// A cruise that ends with the approval of its plan.
pub fn cruise_request(world: &FakeWorld) -> Request {
    let terms = PhaseTerms {
        makes: Makes::Plan {
            given: None,
            approval: PlanApproval {
                auto_approve: false,
                plan_only: true,
            },
        },
        watch: Some(WatchTerms {
            poll_initial: Duration::from_secs(5),
            poll_max: Duration::from_secs(300),
            inactivity_timeout: Duration::from_secs(24 * 3600),
            max_rounds: 5,
        }),
        ..terms()
    };
    Request {
        kind: RunKind::Cruise(Box::new(terms)),
        ..spawn_request(world)
    }
}

fn terms() -> PhaseTerms {
    PhaseTerms {
        makes: Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: false },
        },
        mode: TeamMode::Github,
        max_iterations: 2,
        reviewer: "reviewer".into(),
        fixer: "fixer".into(),
        namer: "namer".into(),
        namer_model: None,
        branch: None,
        watch: None,
        review: ReviewTerms {
            domains: Domain::SHIPPED[1..].to_vec(),
            min_confidence: Confidence::new(80).unwrap(),
            refuter: None,
            verify: false,
            max_parallel: std::num::NonZeroU32::MIN,
        },
        prompts: Prompts::default(),
        record: RecordDetail::Redacted,
        checks_timeout: Duration::from_secs(1800),
        title: None,
        scope: None,
        costs: None,
        adopted: None,
    }
}
