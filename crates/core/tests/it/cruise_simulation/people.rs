//! Actions of people, and other incidents of a cruise, at random moments.

use crate::cruise_simulation::clock::{HOUR, MINUTE, SECOND};
use crate::cruise_simulation::forge::{By, Given};
use crate::cruise_simulation::git::PlanText;
use crate::cruise_simulation::rng::Rng;
use crate::cruise_simulation::sim::{Sim, Who};
use drive_core::agent::Budget;
use drive_core::forge::{PrState, ReviewState, Surface};
use drive_core::ids::CommitSha;
use drive_core::run::{Approved, Ask, Event};

/// A text in every untrusted comment.
pub const EVIL: &str = "EVIL";

pub struct People {
    /// The time of the next action, by the steady clock.
    pub next: i64,
    left: u64,
    said: u64,
    /// Whether a person closed the pull request by mistake.
    regrets: bool,
    pub injected: Vec<String>,
    /// Heads that were approved from the command line.
    pub approved: Vec<String>,
}

#[derive(Clone, Copy)]
enum Deed {
    Comment,
    StrangersComment,
    Nothing,
    Edit,
    Delete,
    Approve,
    ApproveOld,
    AskPoll,
    AskComment,
    AskApprove,
    AskApproveOld,
    AskExtend,
    Cleanup,
    Merge,
    Close,
    Dismiss,
    Object,
    Push,
    ForcePush,
    Reopen,
    ClockBack,
    Outage,
    Kill,
    LoseJournal,
    Stop,
}

const DEEDS: [(u64, Deed); 24] = [
    (30, Deed::Comment),
    (8, Deed::StrangersComment),
    (4, Deed::Nothing),
    (12, Deed::Edit),
    (1, Deed::Delete),
    (6, Deed::Approve),
    (3, Deed::ApproveOld),
    (8, Deed::AskPoll),
    (8, Deed::AskComment),
    (3, Deed::AskApprove),
    (2, Deed::AskApproveOld),
    (4, Deed::AskExtend),
    (1, Deed::Cleanup),
    (2, Deed::Merge),
    (1, Deed::Close),
    (2, Deed::ClockBack),
    (3, Deed::Outage),
    (3, Deed::Kill),
    (3, Deed::Dismiss),
    (3, Deed::Object),
    (5, Deed::Push),
    (2, Deed::ForcePush),
    (4, Deed::Reopen),
    (1, Deed::LoseJournal),
];

/// Incidents of a team, which gets no requests.
const TEAM_DEEDS: [(u64, Deed); 11] = [
    (30, Deed::Comment),
    (8, Deed::StrangersComment),
    (4, Deed::Nothing),
    (12, Deed::Edit),
    (1, Deed::Delete),
    (1, Deed::Merge),
    (1, Deed::Close),
    (3, Deed::Outage),
    (5, Deed::Push),
    (2, Deed::ForcePush),
    (1, Deed::Stop),
];

impl People {
    pub fn new(rng: &mut Rng) -> Self {
        Self {
            next: rng.between(0, 20 * MINUTE),
            left: rng.below(14),
            said: 0,
            regrets: false,
            injected: Vec::new(),
            approved: Vec::new(),
        }
    }

    /// Performs one action, and chooses the time of the next.
    pub fn act(sim: &mut Sim) {
        let people = &mut sim.people;
        if people.left == 0 {
            people.next = i64::MAX;
            return;
        }
        people.left -= 1;
        let (least, most) = sim.rng.weighed(&[
            (4, (0, 30 * SECOND)),
            (4, (30 * SECOND, 10 * MINUTE)),
            (3, (10 * MINUTE, HOUR)),
            (1, (HOUR, 9 * HOUR)),
        ]);
        let wait = sim.rng.between(least, most);
        people.next = sim.world.clock.steady + wait;
        let deed = if std::mem::take(&mut people.regrets) {
            Deed::Reopen
        } else {
            match sim.who {
                Who::Cruise => sim.rng.weighed(&DEEDS),
                Who::Team => sim.rng.weighed(&TEAM_DEEDS),
            }
        };
        if needs_pull_request(deed) && !sim.world.forge.is_open() {
            return;
        }
        do_it(sim, deed);
    }

    fn text(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what} {}", self.said)
    }
}

fn needs_pull_request(deed: Deed) -> bool {
    !matches!(
        deed,
        Deed::AskPoll
            | Deed::AskComment
            | Deed::AskExtend
            | Deed::Cleanup
            | Deed::Reopen
            | Deed::ClockBack
            | Deed::Outage
            | Deed::Kill
            | Deed::Stop
    )
}

fn do_it(sim: &mut Sim, deed: Deed) {
    let rng = &mut sim.rng;
    let clock = &sim.world.clock;
    let forge = &mut sim.world.forge;
    match deed {
        Deed::Comment => {
            let text = sim.people.text("please");
            let marker = if rng.percent(10) {
                "\n[REVIEW COMPLETE]"
            } else {
                ""
            };
            let surface = rng.weighed(&[
                (2, Surface::Conversation),
                (2, Surface::Inline),
                (1, Surface::Review),
            ]);
            let head = sim.world.git.remote_head();
            forge
                .say(surface, By::Ann, text + marker, clock, rng)
                .commit = head;
        }
        Deed::StrangersComment => {
            let text = sim.people.text(EVIL);
            forge.say(Surface::Conversation, By::Mallory, text, clock, rng);
        }
        Deed::Nothing => {
            let text = rng.weighed(&[(1, ""), (1, "  \n"), (2, "[REVIEW COMPLETE]")]);
            forge.say(Surface::Conversation, By::Ann, text.to_owned(), clock, rng);
        }
        Deed::Edit | Deed::Delete => {
            let by_people: Vec<usize> = (0..forge.said.len())
                .filter(|at| forge.said[*at].by != By::Us && !forge.said[*at].deleted)
                .collect();
            if by_people.is_empty() {
                return;
            }
            let at = by_people[rng.below(by_people.len() as u64) as usize];
            if let Deed::Delete = deed {
                forge.said[at].deleted = true;
                return;
            }
            let text = match forge.said[at].by {
                By::Mallory => sim.people.text(EVIL),
                By::Ann | By::Us => sim.people.text("rather"),
            };
            forge.edit(at, text, clock, rng);
        }
        Deed::Approve | Deed::ApproveOld => {
            let Some(head) = sim.world.git.remote_head() else {
                return;
            };
            let head = match deed {
                Deed::ApproveOld => crate::cruise_simulation::git::Git::sha(1),
                _ => head,
            };
            let by = rng.weighed(&[(4, By::Ann), (1, By::Mallory)]);
            let name = format!("{by:?}").to_lowercase();
            forge.take_back(by, clock);
            forge.approvals.push(Given {
                by,
                approved: Approved {
                    by: name,
                    head: CommitSha::new(head),
                },
                from: clock.steady,
                until: None,
            });
            let said = forge.say(Surface::Review, by, String::new(), clock, rng);
            said.review = Some(ReviewState::Approved);
        }
        Deed::Merge => forge.pr = Some(PrState::Merged),
        Deed::Close => {
            forge.pr = Some(PrState::Closed);
            // Sometimes by mistake.
            if rng.percent(50) {
                sim.people.next = clock.steady + rng.between(1, 30 * SECOND);
                sim.people.regrets = true;
            }
        }
        Deed::Reopen => {
            if forge.pr == Some(PrState::Closed) {
                forge.pr = Some(PrState::Open);
            }
        }
        Deed::Dismiss => forge.take_back(By::Ann, clock),
        Deed::Object => {
            forge.take_back(By::Ann, clock);
            let text = sim.people.text("not yet");
            let said = forge.say(Surface::Review, By::Ann, text, clock, rng);
            said.review = Some(ReviewState::ChangesRequested);
            said.commit = sim.world.git.remote_head();
        }
        Deed::Push | Deed::ForcePush => {
            let plan = rng.weighed(&[(6, PlanText::Sound), (1, PlanText::Broken)]);
            let git = &mut sim.world.git;
            match deed {
                Deed::Push => git.others_push(plan, clock.steady),
                _ => git.others_rewrite(plan, clock.steady),
            }
        }
        Deed::LoseJournal => sim.lose_journal(),
        Deed::ClockBack => sim.world.clock.offset -= HOUR,
        Deed::Outage => {
            let length = rng.weighed(&[(3, MINUTE), (2, HOUR), (1, 5 * HOUR)]);
            forge.down_until = clock.steady + rng.between(1, length);
        }
        Deed::Kill => sim.die(),
        Deed::Stop => sim.stop(),
        Deed::AskPoll
        | Deed::AskComment
        | Deed::AskApprove
        | Deed::AskApproveOld
        | Deed::AskExtend
        | Deed::Cleanup => ask(sim, deed),
    }
}

/// Delivers a request from another terminal, whether an owner is alive or not.
fn ask(sim: &mut Sim, deed: Deed) {
    let ask = match deed {
        Deed::AskPoll => {
            sim.polls += 1;
            Ask::Poll
        }
        Deed::AskComment => {
            let text = sim.people.text("from the terminal");
            sim.people.injected.push(text.clone());
            Ask::Comment {
                id: text.replace(' ', "-"),
                author: "ann".to_owned(),
                text,
            }
        }
        Deed::AskApprove | Deed::AskApproveOld => {
            let head = match deed {
                Deed::AskApproveOld => Some(crate::cruise_simulation::git::Git::sha(1)),
                _ => sim.run.work.head_sha.as_deref().map(str::to_owned),
            };
            let head = head.unwrap_or_default();
            sim.people.approved.push(head.clone());
            let by = "ann".to_owned();
            Ask::Approve {
                by,
                head: CommitSha::new(head),
            }
        }
        Deed::AskExtend => {
            let rounds = u32::try_from(sim.rng.below(3)).expect("small");
            sim.polls += rounds.max(1);
            let budget = Budget {
                tokens: Some(sim.rng.below(4_000)),
                cost: None,
            };
            Ask::Extend { budget, rounds }
        }
        _ => Ask::Cleanup,
    };
    let is_once = matches!(ask, Ask::Poll | Ask::Extend { .. });
    let times = 1 + u32::from(sim.rng.percent(10) && !is_once);
    for _ in 0..times {
        let name = sim.name("ask");
        let ask = ask.clone();
        if sim.run.outcome.is_none() {
            sim.deliver(Event::Asked { ask }, name);
        }
    }
}
