//! Tests the guarantees of the journal with the real database.

use crate::common::{self, RUN, append, at, fixture, owner, request, sandbox_created};
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::problem::Kind;
use drive_core::run::{Event, Run, fold, step};
use drive_core::time::Timestamp;
use drive_engine::lease::{Lease, Whoami};
use drive_engine::ports::{
    Append, Appended, Clock, LeaseAnswer, LeaseToken, Liveness, Owner, RunFilter, Store,
};

fn alive(_: &Owner) -> Liveness {
    Liveness::Alive
}

#[test]
fn an_event_is_folded_once_however_often_it_is_delivered() {
    let fixture = fixture();
    let event = Event::Requested {
        request: Box::new(request()),
    };
    let first = append(&fixture.store, &event, "request", None).unwrap();
    let second = append(&fixture.store, &event, "request", None).unwrap();
    assert!(matches!(first, Appended::Folded(_)));
    assert!(matches!(second, Appended::Duplicate(_)));
    assert_eq!(first.into_run(), second.into_run());
    assert_eq!(fixture.store.journal(&RunId::new(RUN)).unwrap().len(), 1);
}

#[test]
fn an_illegal_event_writes_nothing() {
    let fixture = fixture();
    let problem = append(&fixture.store, &sandbox_created(), "result/x", None).unwrap_err();
    assert_eq!(problem.kind, Kind::IllegalEvent);
    assert_eq!(fixture.store.load(&RunId::new(RUN)).unwrap(), None);
    assert_eq!(fixture.store.journal(&RunId::new(RUN)).unwrap(), []);
}

#[test]
fn of_many_events_delivered_together_each_is_folded_or_refused_by_itself() {
    let fixture = fixture();
    let token = granted(&fixture, 1, &alive);
    let (run, other) = (RunId::new(RUN), RunId::new("r-another"));
    let requested = Event::Requested {
        request: Box::new(request()),
    };
    let (known, stray, made) = ("request", "result/x", "result/createSandbox/1");
    let appends = [
        (&run, requested.clone(), known, Some(token)),
        (&run, requested, known, Some(token)),
        (&other, sandbox_created(), stray, None),
        (&run, Event::CancelAsked, "cancel", Some(LeaseToken(7))),
        (&run, sandbox_created(), made, Some(token)),
    ]
    .map(|(run, event, dedupe, fence)| (run, event, DedupeKey::new(dedupe), fence));
    let appends: Vec<Append<'_>> = appends
        .iter()
        .map(|(run, event, dedupe, fence)| Append {
            run,
            event,
            dedupe,
            at: at(0),
            fence: *fence,
        })
        .collect();
    let answers = fixture.store.append_all(&appends, step).unwrap();
    let words: Vec<Result<&str, Kind>> = answers
        .iter()
        .map(|answer| match answer {
            Ok(Appended::Folded(_)) => Ok("folded"),
            Ok(Appended::Duplicate(_)) => Ok("duplicate"),
            Err(problem) => Err(problem.kind),
        })
        .collect();
    assert_eq!(
        words,
        [
            Ok("folded"),
            Ok("duplicate"),
            Err(Kind::IllegalEvent),
            Err(Kind::LeaseLost),
            Ok("folded")
        ]
    );
    let journal = fixture.store.journal(&run).unwrap();
    let keys: Vec<&str> = journal.iter().map(|entry| entry.dedupe.as_str()).collect();
    assert_eq!(keys, [known, made]);
    assert_eq!(fixture.store.load(&other).unwrap(), None);
}

#[test]
fn the_saved_state_is_the_fold_of_the_journal() {
    let fixture = fixture();
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    append(
        &fixture.store,
        &sandbox_created(),
        "result/createSandbox/1",
        None,
    )
    .unwrap();
    append(&fixture.store, &Event::CancelAsked, "cancel", None).unwrap();
    let id = RunId::new(RUN);
    let journal = fixture.store.journal(&id).unwrap();
    let folded = fold(id.clone(), journal.into_iter().map(|e| (e.event, e.at))).unwrap();
    assert_eq!(fixture.store.load(&id).unwrap(), Some(folded));
}

#[test]
fn the_journal_is_append_only_even_for_somebody_with_the_database() {
    let fixture = fixture();
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    let raw = rusqlite::Connection::open(&fixture.path).unwrap();
    for sql in ["UPDATE events SET body = '{}'", "DELETE FROM events"] {
        let error = raw.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("the journal is append-only"), "{error}");
    }
}

#[test]
fn an_effect_is_claimed_once_per_owner_and_counts_its_attempts() {
    let fixture = fixture();
    let id = RunId::new(RUN);
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    let first = granted(&fixture, 1, &alive);
    let claimed = fixture.store.claim(&id, first).unwrap();
    assert_eq!(
        claimed
            .iter()
            .map(|c| (c.key.clone(), c.attempt))
            .collect::<Vec<_>>(),
        [(EffectKey::new("createSandbox/1"), 1)]
    );
    assert_eq!(fixture.store.claim(&id, first).unwrap(), []);
    let second = granted(&fixture, 2, &|_| Liveness::Dead);
    let again = fixture.store.claim(&id, second).unwrap();
    assert_eq!(again.iter().map(|c| c.attempt).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_late_writer_is_fenced_off() {
    let fixture = fixture();
    let first = granted(&fixture, 1, &alive);
    let second = granted(&fixture, 2, &|_| Liveness::Dead);
    let event = Event::Requested {
        request: Box::new(request()),
    };
    let late = append(&fixture.store, &event, "request", Some(first)).unwrap_err();
    assert_eq!(late.kind, Kind::LeaseLost);
    assert_eq!(fixture.store.claim(&RunId::new(RUN), first).unwrap(), []);
    assert!(
        !fixture
            .store
            .renew(&RunId::new(RUN), first, at(90))
            .unwrap()
    );
    append(&fixture.store, &event, "request", Some(second)).unwrap();
}

#[test]
fn one_failed_probe_proves_no_death() {
    let fixture = fixture();
    granted(&fixture, 1, &alive);
    let ask = |liveness: Liveness, now: i64| {
        fixture
            .store
            .acquire(
                &RunId::new(RUN),
                &owner(2),
                at(now),
                at(now + 60),
                &move |_| liveness,
            )
            .unwrap()
    };
    let held = LeaseAnswer::Held {
        owner: owner(1),
        expires_at: at(60),
    };
    assert_eq!(ask(Liveness::Alive, 10), held);
    assert_eq!(ask(Liveness::Unknown, 10), held);
    assert_eq!(
        ask(Liveness::Alive, 600),
        held,
        "a suspended but living owner keeps its run"
    );
    assert_eq!(
        ask(Liveness::Unknown, 600),
        LeaseAnswer::Granted(LeaseToken(2))
    );
}

#[test]
fn a_lease_whose_owner_cannot_be_read_runs_out_by_itself() {
    let fixture = fixture();
    assert_eq!(granted(&fixture, 1, &alive), LeaseToken(1));
    let connection = rusqlite::Connection::open(&fixture.path).unwrap();
    connection
        .execute("UPDATE leases SET owner = '{\"kind\": \"newer\"}'", [])
        .unwrap();
    let ask = |now| {
        let (run, dead) = (RunId::new(RUN), |_: &_| Liveness::Dead);
        let answer = fixture
            .store
            .acquire(&run, &owner(2), at(now), at(now + 60), &dead);
        matches!(answer.unwrap(), LeaseAnswer::Granted(_))
    };
    assert_eq!((ask(10), ask(61)), (false, true));
}

/// A clock that stands still.
struct Stands(std::sync::Mutex<i64>);

impl Clock for Stands {
    fn now(&self) -> Timestamp {
        at(*self.0.lock().unwrap())
    }
}

#[test]
fn a_beat_that_fails_is_made_up_for_and_ends_nothing_before_the_lease_is_in_danger() {
    struct Here;
    impl Whoami for Here {
        fn owner(&self) -> Owner {
            owner(1)
        }
        fn liveness(&self, _: &Owner) -> Liveness {
            Liveness::Alive
        }
    }
    let (fixture, clock) = (fixture(), Stands(std::sync::Mutex::new(0)));
    let run = RunId::new(RUN);
    let lease = Lease::acquire(&fixture.store, &clock, &Here, &run).unwrap();
    let lease = lease.unwrap_or_else(|owner| panic!("{owner:?}"));
    let connection = rusqlite::Connection::open(&fixture.path).unwrap();
    let rename = |from: &str, to: &str| {
        let sql = format!("ALTER TABLE {from} RENAME TO {to}");
        connection.execute(&sql, []).unwrap();
    };
    let beat = |now| {
        *clock.0.lock().unwrap() = now;
        lease.beat().map_err(|problem| problem.kind)
    };
    rename("leases", "elsewhere");
    assert_eq!(beat(20), Ok(true));
    rename("elsewhere", "leases");
    assert_eq!(beat(21), Ok(true));
    rename("leases", "elsewhere");
    assert_eq!(beat(60), Ok(true));
    assert_eq!(beat(61), Err(Kind::Database));
    rename("elsewhere", "leases");
}

#[test]
fn a_dead_owner_on_this_machine_is_replaced_at_once() {
    let fixture = fixture();
    assert_eq!(granted(&fixture, 1, &alive), LeaseToken(1));
    assert_eq!(granted(&fixture, 2, &|_| Liveness::Dead), LeaseToken(2));
}

#[test]
fn a_lease_that_was_given_back_is_free_and_its_token_is_not_used_again() {
    let fixture = fixture();
    let first = granted(&fixture, 1, &alive);
    fixture.store.release(&RunId::new(RUN), first).unwrap();
    assert_eq!(granted(&fixture, 2, &alive), LeaseToken(2));
}

#[test]
fn a_run_written_by_a_newer_drive_is_refused_by_name() {
    let fixture = fixture();
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    let raw = rusqlite::Connection::open(&fixture.path).unwrap();
    raw.execute("UPDATE runs SET format = 99", []).unwrap();
    let problem = fixture.store.load(&RunId::new(RUN)).unwrap_err();
    assert_eq!(
        (problem.kind, problem.message.as_str()),
        (Kind::NewerDatabase, "cannot read the state of run `r1`")
    );
}

#[test]
fn only_living_runs_are_listed_as_active() {
    let fixture = fixture();
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    let other = RunId::new("r2");
    let cancel = DedupeKey::new("cancel");
    let ended = Append {
        run: &other,
        event: &Event::CancelAsked,
        dedupe: &cancel,
        at: at(1),
        fence: None,
    };
    fixture.store.append(&ended, step).unwrap();
    let ids = |filter| -> Vec<String> {
        let runs: Vec<Run> = fixture.store.list(filter, 10).unwrap();
        runs.iter().map(|run| run.id.to_string()).collect()
    };
    assert_eq!(ids(RunFilter::Active), ["r1"]);
    assert_eq!(ids(RunFilter::All), ["r2", "r1"]);
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let fixture = fixture();
    append(
        &fixture.store,
        &Event::Requested {
            request: Box::new(request()),
        },
        "request",
        None,
    )
    .unwrap();
    std::thread::scope(|threads| {
        for writer in 0..8 {
            let store = fixture.open_again();
            threads.spawn(move || {
                for n in 0..25 {
                    append(
                        &store,
                        &Event::CancelAsked,
                        &format!("cancel/{writer}/{n}"),
                        None,
                    )
                    .unwrap();
                }
            });
        }
    });
    let journal = fixture.store.journal(&RunId::new(RUN)).unwrap();
    let numbers: Vec<u64> = journal.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=201).collect::<Vec<u64>>());
}

fn granted(
    fixture: &common::Fixture,
    pid: i32,
    liveness: &dyn Fn(&drive_engine::ports::Owner) -> Liveness,
) -> LeaseToken {
    match fixture
        .store
        .acquire(&RunId::new(RUN), &owner(pid), at(0), at(60), liveness)
        .unwrap()
    {
        LeaseAnswer::Granted(token) => token,
        LeaseAnswer::Held { owner, .. } => panic!("held by {owner:?}"),
    }
}
