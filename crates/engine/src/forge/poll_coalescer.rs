//! Coalesces polls: all runs that poll the same repository at the same time share one request.
//!
//! A thousand pull requests that are due at the same time cost one poll: callers that arrive during
//! a poll share the next one. A poll also shows changes on other pull requests; the runs that watch
//! those are woken before their timers.

use crate::ports::{Polled, Since};
use drive_core::forge::{CommentKey, PrState};
use drive_core::ids::PrNumber;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many pull requests are tracked.
const MOST_WATCHED: usize = 10_000;

/// One poll of a repository.
type Poll = dyn Fn(&[PrNumber], Since) -> Result<Polled, Problem> + Send + Sync;

/// Polls one repository.
pub(crate) struct PollCoalescer {
    poll: Box<Poll>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    tickets: u64,
    /// Callers that wait for the next poll, by ticket.
    waiting: BTreeMap<u64, Waiter>,
    answers: BTreeMap<u64, Result<Polled, Problem>>,
    /// Every tracked pull request, with the time up to which it was read.
    watched: BTreeMap<PrNumber, Timestamp>,
    /// Tracked pull requests with later changes.
    touched: BTreeSet<PrNumber>,
    /// The comments that a poll has reported.
    noticed: BTreeSet<CommentKey>,
    /// Whether a poll is in progress.
    polling: bool,
}

#[derive(Clone, Copy)]
struct Waiter {
    pr: PrNumber,
    from: Timestamp,
}

impl PollCoalescer {
    pub(crate) fn new(
        poll: impl Fn(&[PrNumber], Since) -> Result<Polled, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self {
            poll: Box::new(poll),
            queue: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Returns what changed on a pull request. Waits for at most two polls: the running one, which
    /// may have started too early, and the next.
    pub(crate) fn poll(&self, pr: PrNumber, since: Since) -> Result<Polled, Problem> {
        // A first poll reads everything, which no other run can use.
        let Some(from) = since.0 else {
            return (self.poll)(&[pr], since);
        };
        let mut queue = self.lock();
        queue.tickets += 1;
        let ticket = queue.tickets;
        queue.waiting.insert(ticket, Waiter { pr, from });
        queue.watch(pr, from);
        loop {
            if let Some(answer) = queue.answers.remove(&ticket) {
                return answer;
            }
            if queue.polling {
                let waited = self.changed.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.polling = true;
            let mut shared = SharedPoll {
                coalescer: self,
                waiting: std::mem::take(&mut queue.waiting),
                answer: Err(panicked()),
            };
            let watched: Vec<PrNumber> = queue.watched.keys().copied().collect();
            drop(queue);
            let from = shared.waiting.values().map(|waiter| waiter.from).min();
            shared.answer = (self.poll)(&watched, Since(from));
            drop(shared);
            queue = self.lock();
        }
    }

    /// Records that a pull request is watched and was read up to this time, or that it is no longer watched.
    pub(crate) fn follow(&self, pr: PrNumber, read_to: Option<Timestamp>) {
        let mut queue = self.lock();
        match read_to {
            Some(read_to) if queue.watched.len() < MOST_WATCHED => {
                queue.watched.entry(pr).or_insert(read_to);
            }
            Some(_) => {}
            None => drop(queue.watched.remove(&pr)),
        }
    }

    /// Takes the pull requests with changes that no run knows yet.
    pub(crate) fn take_touched(&self) -> BTreeSet<PrNumber> {
        std::mem::take(&mut self.lock().touched)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One poll for all waiting callers. Dropping it answers them, even after a panic.
struct SharedPoll<'a> {
    coalescer: &'a PollCoalescer,
    waiting: BTreeMap<u64, Waiter>,
    answer: Result<Polled, Problem>,
}

impl Drop for SharedPoll<'_> {
    fn drop(&mut self) {
        let mut queue = self.coalescer.lock();
        if let Ok(polled) = &self.answer {
            queue.notice(polled, &self.waiting);
        }
        for (ticket, waiter) in &self.waiting {
            let answer = match &self.answer {
                Ok(polled) => Ok(waiter.part_of(polled)),
                Err(problem) => Err(problem.clone()),
            };
            queue.answers.insert(*ticket, answer);
        }
        queue.polling = false;
        self.coalescer.changed.notify_all();
    }
}

impl Queue {
    fn watch(&mut self, pr: PrNumber, from: Timestamp) {
        self.watched.insert(pr, from);
        self.touched.remove(&pr);
        if self.watched.len() > MOST_WATCHED {
            self.watched.pop_first();
        }
    }

    /// Records changes on pull requests that no caller asked about. A closed one is reported once.
    fn notice(&mut self, polled: &Polled, asked: &BTreeMap<u64, Waiter>) {
        let asked: BTreeSet<PrNumber> = asked.values().map(|waiter| waiter.pr).collect();
        if self.noticed.len() > MOST_WATCHED {
            self.noticed.clear();
        }
        let mut news = BTreeMap::new();
        for one in &polled.comments {
            // A forge's times are in seconds, and polls overlap, so the same comment is only reported once.
            let is_first = self.noticed.insert(one.key.clone());
            let known = self.watched.get(&one.pr);
            if is_first && known.is_some_and(|known| one.key.updated_at >= *known) {
                news.insert(one.pr, one.key.updated_at);
            }
        }
        for one in &polled.pull_requests {
            let known = self.watched.get(&one.number);
            if known.is_some_and(|known| one.updated_at > *known) {
                news.insert(one.number, one.updated_at);
            }
        }
        for (pr, at) in news {
            self.watched
                .entry(pr)
                .and_modify(|known| *known = at.max(*known));
            if !asked.contains(&pr) {
                self.touched.insert(pr);
            }
        }
        let ended = polled.pull_requests.iter();
        for one in ended.filter(|one| one.state != PrState::Open) {
            self.watched.remove(&one.number);
        }
    }
}

impl Waiter {
    fn part_of(&self, polled: &Polled) -> Polled {
        let mine = |pr: PrNumber| pr == self.pr;
        Polled {
            comments: polled
                .comments
                .iter()
                .filter(|comment| mine(comment.pr))
                .cloned()
                .collect(),
            pull_requests: polled
                .pull_requests
                .iter()
                .filter(|one| mine(one.number))
                .cloned()
                .collect(),
            // Another run may have polled from an earlier time.
            next: Since(polled.next.0.max(Some(self.from))),
            missing: polled.missing.clone(),
        }
    }
}

fn panicked() -> Problem {
    Problem::new(Kind::Internal, "polling the forge failed inside drive")
        .hint("this is a bug in drive; please report it (the next poll retries)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::forge::PullRequest;
    use drive_core::ids::{BranchName, CommitSha};
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{scope, yield_now};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pull_request(number: u64) -> PullRequest {
        PullRequest {
            number: PrNumber::new(number),
            title: String::new(),
            body: String::new(),
            state: PrState::Open,
            draft: false,
            branch: BranchName::parse("x").unwrap(),
            base: BranchName::parse("main").unwrap(),
            head_sha: CommitSha::new("a".repeat(40)),
            mergeable: None,
            merged_sha: None,
            updated_at: at(0),
            url: String::new(),
        }
    }

    fn answer(watched: &[u64], next: i64) -> Polled {
        Polled {
            comments: Vec::new(),
            pull_requests: watched.iter().copied().map(pull_request).collect(),
            next: Since(Some(at(next))),
            missing: None,
        }
    }

    /// The arguments of every poll.
    type Polls = Arc<Mutex<Vec<(Vec<u64>, Since)>>>;

    /// A coalescer whose polls each wait for a message.
    fn held(next: i64) -> (Arc<PollCoalescer>, Sender<Result<(), Problem>>, Polls) {
        let (let_go, gate) = channel();
        let gate = Mutex::new(gate);
        let polls = Polls::default();
        let seen = polls.clone();
        let coalescer = PollCoalescer::new(move |watched, since| {
            let watched: Vec<u64> = watched.iter().copied().map(PrNumber::get).collect();
            seen.lock().unwrap().push((watched.clone(), since));
            let gate = gate.lock().unwrap();
            gate.recv().expect("the test lets go")?;
            Ok(answer(&watched, next))
        });
        (Arc::new(coalescer), let_go, polls)
    }

    #[test]
    fn callers_during_a_poll_share_the_next_one() {
        let (coalescer, let_go, polls) = held(9);
        scope(|threads| {
            let first = threads.spawn(|| coalescer.poll(PrNumber::new(1), Since(Some(at(5)))));
            while polls.lock().unwrap().is_empty() {
                yield_now();
            }
            let others: Vec<_> = (2..=40)
                .map(|pr| {
                    let coalescer = coalescer.clone();
                    let number = PrNumber::new(pr);
                    threads.spawn(move || coalescer.poll(number, Since(Some(at(pr as i64)))))
                })
                .collect();
            while coalescer.lock().waiting.len() < 39 {
                yield_now();
            }
            let_go.send(Ok(())).unwrap();
            let_go.send(Ok(())).unwrap();
            assert_eq!(first.join().unwrap(), Ok(answer(&[1], 9)));
            for (pr, other) in (2..=40).zip(others) {
                // No caller goes back to an earlier time than it had reached.
                let mine = answer(&[pr], 9.max(pr as i64));
                assert_eq!(other.join().unwrap(), Ok(mine), "{pr}");
            }
        });
        let polls = polls.lock().unwrap();
        let mut watched = polls[1].0.clone();
        watched.sort_unstable();
        assert_eq!(polls.len(), 2);
        assert_eq!(polls[0], (vec![1], Since(Some(at(5)))));
        assert_eq!(
            (watched, polls[1].1),
            ((1..=40).collect(), Since(Some(at(2))))
        );
        let queue = coalescer.lock();
        assert!(queue.waiting.is_empty() && queue.answers.is_empty() && !queue.polling);
    }

    #[test]
    fn a_failed_poll_fails_for_its_callers_only() {
        let (coalescer, let_go, _) = held(9);
        let broken = Problem::new(Kind::ForgeUnreachable, "no route");
        let_go.send(Err(broken.clone())).unwrap();
        assert_eq!(
            coalescer.poll(PrNumber::new(1), Since(Some(at(5)))),
            Err(broken)
        );
        let_go.send(Ok(())).unwrap();
        assert_eq!(
            coalescer.poll(PrNumber::new(1), Since(Some(at(5)))),
            Ok(answer(&[1], 9))
        );
    }

    #[test]
    fn a_first_poll_is_not_shared_and_does_not_wait() {
        let (coalescer, let_go, polls) = held(9);
        coalescer.lock().polling = true;
        let_go.send(Ok(())).unwrap();
        assert_eq!(
            coalescer.poll(PrNumber::new(7), Since(None)),
            Ok(answer(&[7], 9))
        );
        assert_eq!(polls.lock().unwrap().as_slice(), [(vec![7], Since(None))]);
    }

    #[test]
    fn a_poll_that_panics_leaves_no_caller_waiting() {
        let coalescer = PollCoalescer::new(|_, _| panic!("inside the forge"));
        let poll = || coalescer.poll(PrNumber::new(1), Since(Some(at(5))));
        for _ in 0..2 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll));
            assert!(caught.is_err());
            assert!(!coalescer.lock().polling);
        }
    }

    #[test]
    fn a_poll_for_one_pull_request_tells_what_happened_on_the_others_once() {
        let coalescer = PollCoalescer::new(|watched, _| {
            let mut polled = answer(&[], 30);
            for pr in watched {
                let mut changed = pull_request(pr.get());
                changed.updated_at = at(20);
                polled.pull_requests.push(changed);
            }
            Ok(polled)
        });
        let poll = |pr, from| {
            coalescer
                .poll(PrNumber::new(pr), Since(Some(at(from))))
                .unwrap()
        };
        poll(1, 5);
        poll(2, 25);
        assert_eq!(
            coalescer.take_touched(),
            BTreeSet::new(),
            "both asked themselves"
        );
        coalescer.lock().watch(PrNumber::new(3), at(10));
        let mine = poll(2, 26);
        assert_eq!(mine.pull_requests.len(), 1, "each is told of its own");
        assert_eq!(coalescer.take_touched(), BTreeSet::from([PrNumber::new(3)]));
        poll(2, 27);
        assert_eq!(
            coalescer.take_touched(),
            BTreeSet::new(),
            "nothing happened since"
        );
    }
}
