//! Examples of every kind of event.

use super::*;

/// Every kind of event, with every kind of result and note.
pub fn events() -> Vec<Event> {
    let key = EffectKey::new("runAgent/1");
    let on_forge = |answer| EffectResult::OnForge { answer };
    let results = [
        EffectResult::BranchChosen {
            branch: BranchName::parse("fix-the-login").unwrap(),
        },
        EffectResult::DiffRead {
            diff: DIFF.into(),
            parts: Vec::new(),
            lines: parse_diff(DIFF),
            is_cut: false,
            since: None,
            changed: None,
            quotes: String::new(),
        },
        on_forge(ForgeAnswer::ReviewPosted {
            review: comment_ref(Surface::Review, 100),
            lines: vec![comment_ref(Surface::Inline, 200)],
        }),
        on_forge(ForgeAnswer::Posted {
            comment: comment_ref(Surface::Conversation, 300),
        }),
        on_forge(ForgeAnswer::Merged {
            sha: Some(CommitSha::new("9".repeat(40))),
        }),
        on_forge(ForgeAnswer::NotMerged {
            reason: "its head moved".into(),
        }),
        on_forge(ForgeAnswer::BaseMoved),
        on_forge(ForgeAnswer::Queued),
        on_forge(ForgeAnswer::Done),
        EffectResult::SandboxCreated {
            sandbox: Box::new(sandbox()),
        },
        agent_ended(Some(Failure::TimedOut {
            bound: TimeBound::Idle,
        })),
        EffectResult::ProcessEnded,
        committed(1),
        EffectResult::Pushed,
        EffectResult::BranchMoved {
            remote_head: Some(CommitSha::new("d".repeat(40))),
        },
        integrated('f'),
        replaced('f'),
        conflicted(),
        EffectResult::RolledBack { kept: Some(kept()) },
        EffectResult::PullRequestOpened {
            pull_request: Published {
                number: PrNumber::new(7),
                url: "local:7".into(),
            },
        },
        EffectResult::SandboxRemoved {
            kept: Some(kept()),
            branch: None,
        },
        EffectResult::Delivered,
        EffectResult::Notified,
        verification::verified(verification::passed(&"b".repeat(40), &verification::base())),
        EffectResult::Failed { problem: problem() },
    ];
    let notes = [
        Note::Launched {
            argv: vec!["/bin/claude".into(), "-p".into()],
        },
        Note::Waiting {
            reason: "a permission".into(),
        },
        Note::Permission {
            tool: "Bash(ls)".into(),
            granted: true,
            rule: "allow[0]".into(),
        },
        Note::Command {
            line: "cargo test".into(),
        },
        Note::Warning {
            text: "unknown version".into(),
        },
        Note::Used { spent: used(1200) },
        Note::Steering {
            files: vec!["AGENTS.md".into()],
        },
    ];
    let mut all = vec![
        Event::Requested {
            request: Box::new(request(pull_request(), AfterEnd::Remove)),
        },
        Event::Requested {
            request: Box::new(team_request(TeamMode::Github)),
        },
        Event::ProcessStarted {
            key: key.clone(),
            identity: identity(42),
        },
        Event::CancelAsked,
        Event::OwnerLost,
        Event::Requested {
            request: Box::new(build_request()),
        },
        Event::ChildReported {
            child: RunId::new("r20261115-0942-k3f9a+login"),
            report: Box::new(child_report()),
        },
        Event::Resumed { granted: None },
        Event::Continued {
            task: "Mention the tests".into(),
        },
        Event::Resumed {
            granted: Some(Budget {
                tokens: None,
                cost: Cost::from_usd(5.0),
            }),
        },
    ];
    all.extend(notes.map(|note| Event::Noted {
        key: key.clone(),
        note,
    }));
    all.extend(results.map(|result| Event::EffectEnded {
        key: key.clone(),
        result,
    }));
    all.extend(cruise::events());
    all
}

/// A notice for a person about a task.
pub fn notice() -> drive_core::run::Notice {
    drive_core::run::Notice {
        event: drive_core::run::NoticeEvent::Blocked,
        run_id: run_id(),
        kind: drive_core::run::RunCommand::Cruise,
        repo: "/repo".into(),
        title: "task `login` is blocked: Fix the login".into(),
        reason: "a test fails".into(),
        task: Some(TaskId::new("login")),
        command: Some("drive cruise retry login".into()),
        url: Some("https://example.com/pull/7".into()),
        at: at(5),
    }
}
