//! Examples of everything that a journal can contain.

pub mod cruise;
pub mod events;
pub mod line;
pub mod verification;

use self::line::line_answer;
use drive_core::agent::answer::Confidence;
use drive_core::agent::{AgentOutcome, Budget, Cost, Ending, Failure, Ignored, Overrun, Usage};
use drive_core::forge::inline::parse_diff;
use drive_core::forge::trust::Reason;
use drive_core::forge::{Author, Comment, CommentKey, CommentRef, Surface};
use drive_core::ids::{
    BranchName, CommentId, CommitSha, EffectKey, PrNumber, RemoteName, RunId, SandboxId, TaskId,
};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{ProcessIdentity, ProcessMark, TimeBound};
use drive_core::prompts::Prompts;
use drive_core::review::Domain;
use drive_core::run::{
    AfterEnd, BuildTerms, ChangeDone, ChildReport, ChildState, CommitSummary, Effect, EffectResult,
    Event, ForgeAct, ForgeAnswer, IgnoredComment, Landable, LandedAs, Makes, Note, OutcomeStatus,
    PhaseTerms, Publish, Published, Request, ReviewTerms, RunKind, Spent, TaskOrder,
};
use drive_core::sandbox::{KeptWork, Lifetime, Sandbox};
use drive_core::settings::{RecordDetail, TeamMode};
use drive_core::time::Timestamp;
use std::num::NonZeroU32;
use std::time::Duration;

pub fn run_id() -> RunId {
    RunId::new("r20261115-0942-k3f9a")
}

/// A pull request on a forge that has a remote.
pub fn pull_request() -> Publish {
    Publish::PullRequest {
        remote: Some(RemoteName::parse("origin").unwrap()),
    }
}

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + seconds).unwrap()
}

pub fn request(publish: Publish, after_end: AfterEnd) -> Request {
    Request {
        kind: RunKind::Spawn,
        task: "Fix the login\n\nIt fails for names with a dot.".into(),
        repo: "/repo".into(),
        base_sha: CommitSha::new("a".repeat(40)),
        base_branch: Some(BranchName::parse("main").unwrap()),
        branch: BranchName::parse("drive/fix-the-login").unwrap(),
        agent: "claude-code".into(),
        model: None,
        idle_timeout: Duration::from_secs(120),
        total_timeout: Duration::from_secs(1800),
        budget: Budget {
            tokens: Some(5_000_000),
            cost: Cost::from_usd(20.0),
        },
        max_escalations: 5,
        publish,
        after_end,
        copy: vec![".env.example".into()],
        seed: vec!["target".into()],
        notify: false,
        prompts: None,
        parent: None,
        git_dir: None,
    }
}

/// The domains of a plan, which are also used for code.
pub fn domains() -> Vec<Domain> {
    Domain::SHIPPED[1..].to_vec()
}

pub fn review_terms() -> ReviewTerms {
    ReviewTerms {
        domains: domains(),
        min_confidence: Confidence::new(80).unwrap(),
        refuter: None,
        verify: false,
        max_parallel: NonZeroU32::MIN,
    }
}

/// A team of two in this mode, with at most two reviews of the same commit.
pub fn team_request(mode: TeamMode) -> Request {
    let terms = PhaseTerms {
        makes: Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: false },
        },
        mode,
        max_iterations: 2,
        reviewer: "gemini-cli".into(),
        fixer: "claude-code".into(),
        namer: "claude-code".into(),
        namer_model: Some("small".into()),
        branch: None,
        watch: None,
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
    };
    Request {
        kind: RunKind::Team(Box::new(terms)),
        ..request(pull_request(), AfterEnd::Remove)
    }
}

pub fn comment_ref(surface: Surface, id: u64) -> CommentRef {
    CommentRef {
        surface,
        id: CommentId::new(id),
    }
}

/// A comment of a person on line 2 of the diff.
pub fn comment(id: u64, body: &str) -> Comment {
    Comment {
        key: CommentKey {
            surface: Surface::Inline,
            id: CommentId::new(id),
            updated_at: at(5),
        },
        pr: PrNumber::new(7),
        author: Author {
            login: Some("ann".into()),
            is_bot: false,
        },
        body: body.into(),
        path: Some("src/login.rs".into()),
        line: Some(2),
        origin: None,
        commit: None,
        in_reply_to: None,
        review: None,
        created_at: at(5),
        url: None,
        aside: None,
    }
}

pub fn ignored() -> IgnoredComment {
    IgnoredComment {
        comment: comment_ref(Surface::Conversation, 66),
        author: Some("mallory".into()),
        reason: Reason::NoWritePermission,
    }
}

/// An agent that ended successfully with this text.
pub fn agent_said(text: &str) -> EffectResult {
    let EffectResult::AgentEnded { mut outcome, log } = agent_ended(None) else {
        unreachable!("that is what it makes");
    };
    outcome.text = text.into();
    EffectResult::AgentEnded { outcome, log }
}

pub fn identity(pid: i32) -> ProcessIdentity {
    let mark = |pid| ProcessMark {
        pid,
        start_ticks: 4711,
    };
    ProcessIdentity {
        child: mark(pid),
        supervisor: Some(mark(pid - 2)),
        init: Some(mark(pid - 1)),
        pid_namespace: true,
        cgroups: vec!["/sys/fs/cgroup/drive/x".into()],
        boot_id: "2f1c".into(),
        log_dir: Some("/state/runs/x/agent".into()),
    }
}

pub fn sandbox() -> Sandbox {
    Sandbox {
        id: SandboxId::new(run_id().as_str()),
        run: run_id(),
        lifetime: Lifetime::Transient,
        path: "/state/sandboxes/x".into(),
        git_dir: "/repo/.git".into(),
        base_sha: CommitSha::new("a".repeat(40)),
        branch: Some(BranchName::parse("drive/fix-the-login").unwrap()),
        created_at: at(1),
        notes: Vec::new(),
        held: false,
        brought: Vec::new(),
    }
}

pub fn kept() -> KeptWork {
    serde_json::from_value(serde_json::json!({
        "reference": "refs/drive/kept/r20261115-0942-k3f9a/1",
        "sha": "c".repeat(40),
        "run": run_id(),
        "keptAt": at(9),
        "dirtyFiles": 2,
        "unpushedCommits": 1,
    }))
    .unwrap()
}

/// The end of an agent: successful, or with this failure.
pub fn agent_ended(failure: Option<Failure>) -> EffectResult {
    let ending = match failure {
        None => Ending::Succeeded,
        Some(reason) => Ending::Failed {
            reason,
            message: "it said so".into(),
        },
    };
    let usage = Usage {
        input: 1000,
        cached: 500,
        output: 200,
    };
    let outcome = AgentOutcome {
        ending,
        text: "Done.".into(),
        summary: "Done.".into(),
        document: None,
        usage,
        cost: Some(Cost::from_micro_usd(250_000)),
        session: None,
        escalations: 1,
        ignored: Ignored::default(),
    };
    EffectResult::AgentEnded {
        outcome: Box::new(outcome),
        log: Some("/state/runs/x/agent.log".into()),
    }
}

/// An agent that was stopped because it exceeded its tokens.
pub fn over_budget() -> EffectResult {
    agent_ended(Some(Failure::Budget {
        overrun: Overrun::Tokens {
            allowed: 1_100,
            used: 1_200,
        },
    }))
}

/// This number of tokens, with their cost.
pub fn used(tokens: u64) -> Spent {
    Spent {
        usage: Usage {
            input: tokens,
            cached: 0,
            output: 0,
        },
        cost: Some(Cost::from_micro_usd(tokens * 100)),
    }
}

pub fn problem() -> Problem {
    Problem::new(Kind::DiskFull, "no space left on `/state`")
        .hint("free some space")
        .cause("ENOSPC")
}

pub fn committed(commits: usize) -> EffectResult {
    EffectResult::WorkCommitted {
        head_sha: CommitSha::new("b".repeat(40)),
        commits: (0..commits)
            .map(|n| CommitSummary {
                sha: CommitSha::new(format!("{n:040}")),
                subject: format!("change {n}"),
            })
            .collect(),
        warnings: vec!["a rebase was left in progress".into()],
        changed: Vec::new(),
    }
}

/// A branch that contains the work of others as well.
pub fn integrated(head: char) -> EffectResult {
    EffectResult::Integrated {
        head_sha: CommitSha::new(head.to_string().repeat(40)),
        base_sha: Some(CommitSha::new("e".repeat(40))),
        commits: vec![CommitSummary {
            sha: CommitSha::new(head.to_string().repeat(40)),
            subject: "Merge origin/main".into(),
        }],
        warnings: Vec::new(),
    }
}

/// A branch that another person rewrote.
pub fn replaced(head: char) -> EffectResult {
    EffectResult::Replaced {
        head_sha: CommitSha::new(head.to_string().repeat(40)),
        base_sha: Some(CommitSha::new("e".repeat(40))),
        commits: vec![CommitSummary {
            sha: CommitSha::new(head.to_string().repeat(40)),
            subject: "Mine alone".into(),
        }],
        kept: Some(kept()),
    }
}

/// A merge with conflicts.
pub fn conflicted() -> EffectResult {
    EffectResult::Conflicted {
        ours: CommitSha::new("b".repeat(40)),
        theirs: CommitSha::new("d".repeat(40)),
        files: vec!["src/login.rs".into()],
    }
}

/// A successful result for an effect.
pub fn good(effect: &Effect) -> EffectResult {
    match effect {
        Effect::CreateSandbox { .. } => EffectResult::SandboxCreated {
            sandbox: Box::new(sandbox()),
        },
        Effect::ChooseBranch { wanted, .. } => EffectResult::BranchChosen {
            branch: wanted.clone(),
        },
        Effect::RunAgent { .. } => agent_ended(None),
        Effect::WriteFile { .. } => EffectResult::FileWritten,
        Effect::ReadFile { .. } => EffectResult::FileRead {
            text: Some(PLAN.into()),
        },
        Effect::ReadDiff { .. } => EffectResult::DiffRead {
            diff: DIFF.into(),
            parts: Vec::new(),
            lines: parse_diff(DIFF),
            is_cut: false,
            since: None,
            changed: None,
            quotes: String::new(),
        },
        Effect::OnForge { act, .. } => EffectResult::OnForge {
            answer: forge_answer(act),
        },
        Effect::EndProcess { .. } => EffectResult::ProcessEnded,
        Effect::CommitWork { .. } => committed(2),
        Effect::Push { .. } => EffectResult::Pushed,
        Effect::Integrate { .. } | Effect::ConcludeMerge { .. } => integrated('b'),
        Effect::RollBack { .. } => EffectResult::RolledBack { kept: Some(kept()) },
        Effect::Verify { head, .. } => {
            verification::verified(verification::passed(head, &verification::base()))
        }
        Effect::CheckLanded { landed, .. } => EffectResult::Landed {
            unread: Vec::new(),
            objections: Vec::new(),
            missing: None,
            sha: landed
                .clone()
                .unwrap_or_else(|| CommitSha::new("9".repeat(40))),
            made: LandedAs::Merge,
            report: None,
        },
        Effect::OpenPullRequest { .. } => EffectResult::PullRequestOpened {
            pull_request: Published {
                number: PrNumber::new(7),
                url: "local:7".into(),
            },
        },
        Effect::OnLine { act } => EffectResult::OnLine {
            answer: line_answer(act),
        },
        Effect::ToRun { .. } => EffectResult::Delivered,
        Effect::Notify { .. } => EffectResult::Notified,
        Effect::RemoveSandbox { .. } => EffectResult::SandboxRemoved {
            kept: Some(kept()),
            branch: None,
        },
    }
}

/// A plan with one task.
pub const PLAN: &str = "One step.\n\n```json tasks\n[{\"id\": \"a\", \"title\": \"A\", \"description\": \"do a\", \"acceptance\": [\"a is done\"], \"depends_on\": [], \"paths\": []}]\n```\n";

/// A diff that adds a file with five lines.
pub const DIFF: &str = "--- /dev/null\n+++ b/src/login.rs\n@@ -0,0 +1,5 @@\n+a\n+b\n+c\n+d\n+e\n";

fn forge_answer(act: &ForgeAct) -> ForgeAnswer {
    match act {
        ForgeAct::PostReview { head, lines, .. } => {
            // The ids of a forge are unique; the heads of most tests are numbered.
            let last = head.as_str().chars().last().and_then(|c| c.to_digit(10));
            let apart = 1000 * u64::from(last.unwrap_or(1).saturating_sub(1));
            ForgeAnswer::ReviewPosted {
                review: comment_ref(Surface::Review, 100 + apart),
                lines: (0..lines.len() as u64)
                    .map(|n| comment_ref(Surface::Inline, 200 + apart + n))
                    .collect(),
            }
        }
        ForgeAct::PostComment { .. } | ForgeAct::Reply { .. } => ForgeAnswer::Posted {
            comment: comment_ref(Surface::Conversation, 300),
        },
        ForgeAct::Summarize { .. } => ForgeAnswer::Posted {
            comment: comment_ref(Surface::Conversation, 400),
        },
        ForgeAct::Poll { .. } => ForgeAnswer::Polled {
            poll: Box::default(),
        },
        ForgeAct::React { .. }
        | ForgeAct::ResolveThread { .. }
        | ForgeAct::UpdateBody { .. }
        | ForgeAct::MarkReady
        | ForgeAct::SetStatus { .. } => ForgeAnswer::Done,
        ForgeAct::Merge { .. } => ForgeAnswer::Merged {
            sha: Some(CommitSha::new("9".repeat(40))),
        },
    }
}

/// A request for a root with two tasks.
pub fn build_request() -> Request {
    let order = |id: &str, after: &[&str]| TaskOrder {
        id: TaskId::new(id),
        after: after.iter().map(|id| TaskId::new(*id)).collect(),
        request: request(Publish::BranchOnly, AfterEnd::Remove),
    };
    let terms = BuildTerms {
        tasks: vec![order("login", &[]), order("logout", &["login"])],
        max_parallel: NonZeroU32::new(4).unwrap(),
        line: None,
    };
    Request {
        kind: RunKind::Build(Box::new(terms)),
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    }
}

pub fn child_report() -> ChildReport {
    ChildReport {
        number: 3,
        state: ChildState::Ended {
            status: OutcomeStatus::Failed,
            failure: Some(problem()),
        },
        budget: Budget::default(),
        spent: used(1200),
        rounds: 2,
        open_comments: 1,
        branch: Some(BranchName::parse("fix-the-login").unwrap()),
        head_sha: Some(CommitSha::new("b".repeat(40))),
        pull_request: None,
        handoff: None,
        plan: None,
        checked: None,
        outside: Vec::new(),
        tests: Vec::new(),
        landable: Landable::default(),
        merged: None,
    }
}
