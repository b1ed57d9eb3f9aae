//! Tests notices to a person: each is sent once, and nothing waits for it.

use super::{ended, next, pending, status, to_the_end};
use crate::common::{agent_ended, at, build_request, child_report, good, request, run_id};
use drive_core::agent::{Budget, Cost, Failure, Overrun, Usage};
use drive_core::ids::{EffectKey, PrNumber, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AfterEnd, ChildReport, ChildState, Effect, EffectResult, Event, Note, Notice, NoticeEvent,
    OutcomeStatus, Parent, Publish, Published, Request, Run, Spent, Wants, read_run, step,
    write_run,
};

fn telling() -> Request {
    Request {
        notify: true,
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    }
}

fn begun(request: Request) -> Run {
    let request = Box::new(request);
    next(Run::new(run_id()), Event::Requested { request })
}

fn open(run: &Run) -> Vec<&Notice> {
    let effects = run.notices.open.iter().map(|open| &open.effect);
    let notices = effects.map(|effect| match effect {
        Effect::Notify { notice } => notice.as_ref(),
        other => panic!("{other:?}"),
    });
    notices.collect()
}

fn handed_over(run: Run, result: EffectResult) -> Run {
    let key = run.notices.next().unwrap().key.clone();
    next(run, Event::EffectEnded { key, result })
}

fn warnings(run: &Run) -> Vec<&str> {
    let all = run.warnings.iter().map(String::as_str);
    all.filter(|text| text.contains("notify")).collect()
}

fn failed(kind: Kind) -> EffectResult {
    EffectResult::Failed {
        problem: Problem::new(kind, "`notify.command` failed: exit code 1"),
    }
}

/// The agent of a run reports its usage so far.
fn used(run: Run, tokens: u64) -> Run {
    let spent = Spent {
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
        cost: None,
    };
    let key = EffectKey::new("runAgent/1");
    let note = Note::Used { spent };
    next(run, Event::Noted { key, note })
}

fn working(tokens: u64) -> Run {
    let run = begun(Request {
        budget: Budget {
            tokens: Some(tokens),
            cost: Cost::from_usd(20.0),
        },
        ..telling()
    });
    let made = good(run.pending.values().next().unwrap());
    ended(run, made)
}

#[test]
fn a_run_that_succeeded_is_told_once_after_it_has_ended() {
    let (run, order) = to_the_end(begun(telling()));
    assert!(
        order.iter().all(|key| !key.starts_with("notify")),
        "{order:?}"
    );
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
    let [notice] = open(&run)[..] else {
        panic!("{:?}", run.notices)
    };
    assert_eq!(notice.event, NoticeEvent::Done);
    assert_eq!(notice.title, "done: Fix the login");
    assert_eq!(notice.reason, "its work is on branch `drive/fix-the-login`");
    let command = format!("drive runs show {}", run_id());
    assert_eq!(notice.command, Some(command));
    let (format, text) = (drive_core::run::STATE_FORMAT, write_run(&run).unwrap());
    assert_eq!(read_run(format, &text).unwrap(), run);
    let told = handed_over(run, EffectResult::Notified);
    assert_eq!(told.outbox().count(), 0);
    assert_eq!(warnings(&told), [""; 0]);
}

#[test]
fn a_run_of_somebody_who_wants_no_notices_decides_none() {
    let (run, _) = to_the_end(begun(request(Publish::BranchOnly, AfterEnd::Remove)));
    assert!(run.notices.is_empty());
}

#[test]
fn a_child_leaves_telling_to_its_root() {
    let (run, _) = to_the_end(begun(Request {
        parent: Some(Parent {
            run: run_id(),
            task: TaskId::new("login"),
        }),
        ..telling()
    }));
    assert!(run.outcome.is_some() && run.notices.is_empty());
}

#[test]
fn a_program_that_fails_is_one_warning_and_changes_nothing_else() {
    let run = used(working(1000), 850);
    let at_work = pending(&run).len();
    let run = handed_over(run, failed(Kind::NotifyFailed));
    assert_eq!(pending(&run).len(), at_work);
    let run = ended(run, agent_ended(None));
    let (run, _) = to_the_end(run);
    let run = handed_over(run, failed(Kind::NotifyFailed));
    assert_eq!(
        warnings(&run),
        ["could not notify you: `notify.command` failed: exit code 1"]
    );
    assert_eq!(run.outbox().count(), 0);
}

#[test]
fn a_program_that_hangs_is_not_started_for_every_notice_that_waited() {
    let run = used(working(1000), 850);
    let (run, _) = to_the_end(ended(run, agent_ended(None)));
    assert_eq!(open(&run).len(), 2, "{:?}", run.notices);
    let key = run.notices.next().unwrap().key.clone();
    assert!(run.wants(&key) && !run.wants(&run.notices.open[1].key));
    let run = handed_over(run, failed(Kind::NotifyTimedOut));
    assert_eq!(run.outbox().count(), 0);
}

#[test]
fn most_of_a_budget_is_told_once_and_again_only_after_it_was_raised() {
    let run = used(working(1000), 700);
    assert_eq!(open(&run).len(), 0);
    let run = used(used(run, 800), 900);
    let [notice] = open(&run)[..] else {
        panic!("{:?}", run.notices)
    };
    assert_eq!(notice.event, NoticeEvent::Budget);
    assert_eq!(notice.title, "80% of the budget is used: Fix the login");
    let command = format!("drive runs extend {} --cost 5", run_id());
    assert_eq!(notice.command, Some(command));
}

#[test]
fn a_run_that_used_up_its_budget_says_how_it_goes_on() {
    let run = used(working(1000), 1100);
    assert_eq!(open(&run).len(), 0);
    let overrun = Overrun::Tokens {
        allowed: 1000,
        used: 1200,
    };
    let over = agent_ended(Some(Failure::Budget { overrun }));
    let (run, _) = to_the_end(ended(run, over));
    let notices = open(&run);
    let last = notices.last().unwrap();
    assert_eq!(last.event, NoticeEvent::Budget, "{notices:?}");
    assert!(
        last.command
            .as_ref()
            .unwrap()
            .starts_with("drive runs extend "),
        "{last:?}"
    );
    assert_eq!(notices.len(), 1, "{notices:?}");
}

#[test]
fn a_person_who_stopped_a_run_is_not_told_of_it() {
    let run = next(begun(telling()), Event::CancelAsked);
    let (run, _) = to_the_end(run);
    assert_eq!(status(&run).0, OutcomeStatus::Cancelled);
    assert!(run.notices.is_empty());
}

#[test]
fn a_resumed_run_tells_its_new_end_and_not_the_old_one() {
    let run = next(begun(telling()), Event::OwnerLost);
    let (run, _) = to_the_end(run);
    assert_eq!(open(&run).len(), 1);
    assert_eq!(open(&run)[0].event, NoticeEvent::Failed);
    let run = handed_over(run, EffectResult::Notified);
    let event = Event::Resumed { granted: None };
    let run = step(run, event, at(60)).unwrap().0;
    assert_eq!(open(&run).len(), 0);
}

#[test]
fn a_notice_that_was_begun_is_known_to_be() {
    let (run, _) = to_the_end(begun(telling()));
    let key = run.notices.next().unwrap().key.clone();
    let note = Note::Launched { argv: Vec::new() };
    let run = next(run, Event::Noted { key, note });
    assert!(run.notices.next().unwrap().begun);
    let key = run.notices.next().unwrap().key.clone();
    let result = EffectResult::Delivered;
    assert!(step(run, Event::EffectEnded { key, result }, at(0)).is_err());
}

#[test]
fn a_cruise_that_is_ready_names_the_merge() {
    let told = |id: String, url: &str, wants| {
        let mut run = begun(Request {
            notify: true,
            ..build_request()
        });
        let child = run.children.values().next().unwrap().clone();
        run.children.clear();
        let id = RunId::new(id);
        run.children.insert(id.clone(), child);
        let why = "merge or close the pull request, or comment on it".into();
        let report = Box::new(ChildReport {
            number: 1,
            state: ChildState::NeedsPerson { why, wants },
            pull_request: Some(Published {
                number: PrNumber::new(7),
                url: url.into(),
            }),
            ..child_report()
        });
        let run = next(run, Event::ChildReported { child: id, report });
        open(&run).last().copied().cloned().unwrap()
    };
    let (whole, task) = (
        format!("{}++validate", run_id()),
        format!("{}+login", run_id()),
    );
    let here = told(whole.clone(), "local:7", Wants::Merge);
    assert_eq!(here.event, NoticeEvent::NeedsYou);
    assert_eq!(here.command.as_deref(), Some("drive pr merge 7"));
    assert!(
        here.reason
            .starts_with("the built commits are ready to merge: merge"),
        "{here:?}"
    );
    assert_eq!((here.task, here.url), (None, None));
    let there = told(whole, "https://h/7", Wants::Merge);
    assert_eq!(
        (there.command, there.url.as_deref()),
        (None, Some("https://h/7"))
    );
    let approval = told(task, "https://h/9", Wants::Approval);
    assert_eq!(approval.task, Some(TaskId::new("login")));
    assert_eq!(
        (approval.command, approval.url.as_deref()),
        (None, Some("https://h/9"))
    );
}
