//! One look at a forge for all runs that ask at the same time.
//!
//! A thousand pull requests that are due together cost one poll of their repository, not a thousand:
//! whoever asks while somebody looks is part of the next look.

use crate::ports::{Polled, Since};
use drive_core::Problem;
use drive_core::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One poll of a repository.
type Poll = dyn Fn(&[u64], Since) -> Result<Polled, Problem> + Send + Sync;

/// Looks at one forge.
pub(crate) struct Lookout {
    poll: Box<Poll>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    tickets: u64,
    /// Who waits for the next look.
    asked: BTreeMap<u64, Ask>,
    answers: BTreeMap<u64, Result<Polled, Problem>>,
    /// Whether somebody looks now.
    looking: bool,
}

#[derive(Clone, Copy)]
struct Ask {
    pr: u64,
    from: Timestamp,
}

impl Lookout {
    pub(crate) fn new(
        poll: impl Fn(&[u64], Since) -> Result<Polled, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self {
            poll: Box::new(poll),
            queue: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// What changed on a pull request. It takes at most two looks: the one that is under way, which
    /// may have begun too early, and the next.
    pub(crate) fn look(&self, pr: u64, since: Since) -> Result<Polled, Problem> {
        // A first look asks for everything, which no other run wants to know.
        let Some(from) = since.0 else {
            return (self.poll)(&[pr], since);
        };
        let mut queue = self.lock();
        queue.tickets += 1;
        let ticket = queue.tickets;
        queue.asked.insert(ticket, Ask { pr, from });
        loop {
            if let Some(answer) = queue.answers.remove(&ticket) {
                return answer;
            }
            if queue.looking {
                let waited = self.changed.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.looking = true;
            let mut turn = Turn {
                lookout: self,
                asked: std::mem::take(&mut queue.asked),
                answer: Err(gone()),
            };
            drop(queue);
            turn.answer = self.look_for(turn.asked.values());
            drop(turn);
            queue = self.lock();
        }
    }

    fn look_for<'a>(
        &self,
        asked: impl Iterator<Item = &'a Ask> + Clone,
    ) -> Result<Polled, Problem> {
        let watched: Vec<u64> = asked.clone().map(|ask| ask.pr).collect();
        let from = asked.map(|ask| ask.from).min();
        (self.poll)(&watched, Since(from))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody's turn to look for all. However it ends, everybody is answered.
struct Turn<'a> {
    lookout: &'a Lookout,
    asked: BTreeMap<u64, Ask>,
    answer: Result<Polled, Problem>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.lookout.lock();
        for (ticket, ask) in &self.asked {
            let answer = match &self.answer {
                Ok(polled) => Ok(ask.part_of(polled)),
                Err(problem) => Err(problem.clone()),
            };
            queue.answers.insert(*ticket, answer);
        }
        queue.looking = false;
        self.lookout.changed.notify_all();
    }
}

impl Ask {
    fn part_of(&self, polled: &Polled) -> Polled {
        let mine = |pr: u64| pr == self.pr;
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
            // Another run may have looked from an earlier instant.
            next: Since(polled.next.0.max(Some(self.from))),
        }
    }
}

fn gone() -> Problem {
    Problem::environment(
        "internal",
        "looking at the forge failed inside drive itself",
    )
    .hint("this is a bug of drive: please report it; the next look tries again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::forge::{PrState, PullRequest};
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{scope, yield_now};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pull_request(number: u64) -> PullRequest {
        PullRequest {
            number,
            title: String::new(),
            body: String::new(),
            state: PrState::Open,
            draft: false,
            branch: String::new(),
            base: String::new(),
            head_sha: String::new(),
            mergeable: None,
            updated_at: at(0),
            url: String::new(),
        }
    }

    fn answer(watched: &[u64], next: i64) -> Polled {
        Polled {
            comments: Vec::new(),
            pull_requests: watched.iter().copied().map(pull_request).collect(),
            next: Since(Some(at(next))),
        }
    }

    /// What each look asked for.
    type Looks = Arc<Mutex<Vec<(Vec<u64>, Since)>>>;

    /// A lookout whose looks wait to be let go.
    fn held(next: i64) -> (Arc<Lookout>, Sender<Result<(), Problem>>, Looks) {
        let (let_go, gate) = channel();
        let gate = Mutex::new(gate);
        let looks = Looks::default();
        let seen = looks.clone();
        let lookout = Lookout::new(move |watched, since| {
            seen.lock().unwrap().push((watched.to_vec(), since));
            let gate = gate.lock().unwrap();
            gate.recv().expect("the test lets go")?;
            Ok(answer(watched, next))
        });
        (Arc::new(lookout), let_go, looks)
    }

    #[test]
    fn all_who_ask_while_somebody_looks_share_the_next_look() {
        let (lookout, let_go, looks) = held(9);
        scope(|threads| {
            let first = threads.spawn(|| lookout.look(1, Since(Some(at(5)))));
            while looks.lock().unwrap().is_empty() {
                yield_now();
            }
            let others: Vec<_> = (2..=40)
                .map(|pr| {
                    let lookout = lookout.clone();
                    threads.spawn(move || lookout.look(pr, Since(Some(at(pr as i64)))))
                })
                .collect();
            while lookout.lock().asked.len() < 39 {
                yield_now();
            }
            let_go.send(Ok(())).unwrap();
            let_go.send(Ok(())).unwrap();
            assert_eq!(first.join().unwrap(), Ok(answer(&[1], 9)));
            for (pr, other) in (2..=40).zip(others) {
                // Nobody is sent back to before the instant it had reached.
                let mine = answer(&[pr], 9.max(pr as i64));
                assert_eq!(other.join().unwrap(), Ok(mine), "{pr}");
            }
        });
        let looks = looks.lock().unwrap();
        let mut watched = looks[1].0.clone();
        watched.sort_unstable();
        assert_eq!(looks.len(), 2);
        assert_eq!(looks[0], (vec![1], Since(Some(at(5)))));
        assert_eq!(
            (watched, looks[1].1),
            ((2..=40).collect(), Since(Some(at(2))))
        );
        let queue = lookout.lock();
        assert!(queue.asked.is_empty() && queue.answers.is_empty() && !queue.looking);
    }

    #[test]
    fn a_look_that_fails_fails_for_all_who_shared_it_and_the_next_one_is_another() {
        let (lookout, let_go, _) = held(9);
        let broken = Problem::environment("offline", "no route");
        let_go.send(Err(broken.clone())).unwrap();
        assert_eq!(lookout.look(1, Since(Some(at(5)))), Err(broken));
        let_go.send(Ok(())).unwrap();
        assert_eq!(lookout.look(1, Since(Some(at(5)))), Ok(answer(&[1], 9)));
    }

    #[test]
    fn a_first_look_is_nobodys_business_and_waits_for_nobody() {
        let (lookout, let_go, looks) = held(9);
        lookout.lock().looking = true;
        let_go.send(Ok(())).unwrap();
        assert_eq!(lookout.look(7, Since(None)), Ok(answer(&[7], 9)));
        assert_eq!(looks.lock().unwrap().as_slice(), [(vec![7], Since(None))]);
    }

    #[test]
    fn a_look_that_panics_leaves_nobody_waiting() {
        let lookout = Lookout::new(|_, _| panic!("inside the forge"));
        let look = || lookout.look(1, Since(Some(at(5))));
        for _ in 0..2 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
            assert!(caught.is_err());
            assert!(!lookout.lock().looking);
        }
    }
}
