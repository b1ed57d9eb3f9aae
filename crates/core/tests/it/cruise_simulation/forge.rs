//! A pull request, and the posts of people and drive on it.

use crate::cruise_simulation::clock::Clock;
use crate::cruise_simulation::rng::Rng;
use drive_core::forge::trust::Reason;
use drive_core::forge::{
    Author, Comment, CommentKey, CommentRef, CommentVersion, PrState, ReviewState, Surface,
};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::run::{Approved, Entry, ForgeAct, ForgeAnswer, IgnoredComment, PollResult};
use drive_core::time::Timestamp;
use std::collections::BTreeSet;

/// The maximum time before a new comment appears in a poll.
const LAG: i64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A person who may push.
    Ann,
    /// A person who may not push.
    Mallory,
    Us,
}

pub struct Version {
    pub at: Timestamp,
    pub body: String,
    /// When polls begin to show it, by the steady clock.
    pub shown: i64,
}

pub struct Said {
    pub comment: CommentRef,
    pub by: By,
    pub versions: Vec<Version>,
    pub commit: Option<String>,
    /// The marker by which drive's own posts are found.
    pub proof: Option<String>,
    pub reply_to: Option<CommentRef>,
    pub review: Option<ReviewState>,
    pub deleted: bool,
}

/// An approval, with its begin and end by the steady clock.
pub struct Given {
    pub by: By,
    pub approved: Approved,
    pub from: i64,
    pub until: Option<i64>,
}

pub struct Forge {
    pub pr: Option<PrState>,
    pub said: Vec<Said>,
    pub approvals: Vec<Given>,
    /// The tip of the branch.
    pub head: Option<String>,
    last_id: u64,
    /// Until when every request fails, by the steady clock.
    pub down_until: i64,
    /// When the last poll that drive knows was taken.
    pub looked: Option<i64>,
    /// The last poll before the conclusion.
    pub weighed: Option<i64>,
    /// Whether that poll could not judge everybody.
    pub unsettled: bool,
}

impl Forge {
    pub fn new() -> Self {
        Self {
            pr: None,
            said: Vec::new(),
            approvals: Vec::new(),
            head: None,
            last_id: 10,
            down_until: -1,
            looked: None,
            weighed: None,
            unsettled: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.pr == Some(PrState::Open)
    }

    pub fn say(
        &mut self,
        surface: Surface,
        by: By,
        body: String,
        clock: &Clock,
        rng: &mut Rng,
    ) -> &mut Said {
        self.last_id += 1;
        let lag = match by {
            By::Us => 0,
            By::Ann | By::Mallory => rng.between(0, LAG),
        };
        self.said.push(Said {
            comment: CommentRef {
                surface,
                id: CommentId::new(self.last_id),
            },
            by,
            versions: vec![Version {
                at: clock.forge(),
                body,
                shown: clock.steady + lag,
            }],
            commit: None,
            proof: None,
            reply_to: None,
            review: None,
            deleted: false,
        });
        self.said.last_mut().expect("it was just said")
    }

    /// Edits a comment, in a later second than the version before.
    pub fn edit(&mut self, at: usize, body: String, clock: &Clock, rng: &mut Rng) {
        let said = &mut self.said[at];
        let before = said.versions.last().map_or(clock.forge(), |one| one.at);
        let later = Timestamp::from_second(before.as_second() + 1).expect("in range");
        said.versions.push(Version {
            at: clock.forge().max(later),
            body,
            shown: clock.steady + rng.between(0, LAG),
        });
    }

    pub fn find(&self, comment: CommentRef) -> Option<&Said> {
        let mut said = self.said.iter();
        said.find(|one| one.comment == comment && !one.deleted)
    }

    pub fn proven(&self, proof: &str) -> Option<&Said> {
        let mut said = self.said.iter();
        said.find(|one| one.proof.as_deref() == Some(proof))
    }

    /// Posts with a marker, unless such a post exists already.
    fn post(
        &mut self,
        surface: Surface,
        name: &str,
        body: &str,
        clock: &Clock,
        rng: &mut Rng,
    ) -> (CommentRef, bool) {
        if let Some(said) = self.proven(name) {
            return (said.comment, false);
        }
        let said = self.say(surface, By::Us, body.to_owned(), clock, rng);
        said.proof = Some(name.to_owned());
        (said.comment, true)
    }

    /// Performs an act. `None` if its comment no longer exists.
    pub fn act(
        &mut self,
        act: &ForgeAct,
        name: &str,
        clock: &Clock,
        rng: &mut Rng,
    ) -> Option<ForgeAnswer> {
        Some(match act {
            ForgeAct::Poll {
                since, approvals, ..
            } => ForgeAnswer::Polled {
                poll: Box::new(self.look(*since, *approvals, clock, rng)),
            },
            ForgeAct::PostReview { body, lines, .. } => {
                let (review, _) = self.post(Surface::Review, name, body, clock, rng);
                // A forge that cannot place an inline comment puts it into the review's text.
                let places = if rng.percent(15) && self.proven(&format!("{name}/line/0")).is_none()
                {
                    0
                } else {
                    lines.len()
                };
                let refs = lines.iter().take(places).enumerate().map(|(n, line)| {
                    let name = format!("{name}/line/{n}");
                    self.post(Surface::Inline, &name, &line.body, clock, rng).0
                });
                let lines = refs.collect();
                ForgeAnswer::ReviewPosted { review, lines }
            }
            ForgeAct::PostComment { body } => ForgeAnswer::Posted {
                comment: self.post(Surface::Conversation, name, body, clock, rng).0,
            },
            ForgeAct::Reply { to, body } => {
                self.find(*to)?;
                let surface = match to.surface {
                    Surface::Inline => Surface::Inline,
                    Surface::Conversation | Surface::Review => Surface::Conversation,
                };
                let (comment, is_new) = self.post(surface, name, body, clock, rng);
                if is_new {
                    let last = self.said.last_mut()?;
                    last.reply_to = Some(*to);
                }
                ForgeAnswer::Posted { comment }
            }
            ForgeAct::Summarize {
                comment: Some(comment),
                ..
            } => {
                self.find(*comment)?;
                ForgeAnswer::Posted { comment: *comment }
            }
            ForgeAct::Summarize {
                comment: None,
                body,
            } => {
                let (comment, _) = self.post(Surface::Conversation, name, body, clock, rng);
                ForgeAnswer::Posted { comment }
            }
            ForgeAct::React { comment } | ForgeAct::ResolveThread { comment } => {
                self.find(*comment)?;
                ForgeAnswer::Done
            }
            ForgeAct::UpdateBody { .. } | ForgeAct::MarkReady | ForgeAct::SetStatus { .. } => {
                ForgeAnswer::Done
            }
            ForgeAct::Merge { .. } => match rng.below(10) {
                0 => ForgeAnswer::BaseMoved,
                1 => ForgeAnswer::NotMerged {
                    reason: "a check is missing".to_owned(),
                },
                _ => {
                    self.pr = Some(PrState::Merged);
                    ForgeAnswer::Merged { sha: None }
                }
            },
        })
    }

    /// The result of a poll: comments may be late, repeated and in any order, but none is left out for good.
    fn look(
        &self,
        since: Option<Timestamp>,
        mut approvals: bool,
        clock: &Clock,
        rng: &mut Rng,
    ) -> PollResult {
        let overlap = Timestamp::from_millisecond(clock.forge().as_millisecond() - 2 * LAG);
        let mut seen = PollResult {
            state: self.pr,
            head: self.head.clone().map(CommitSha::new),
            next: overlap.ok(),
            ..PollResult::default()
        };
        let is_news = |version: &&Version| {
            version.shown <= clock.steady && since.is_none_or(|since| version.at >= since)
        };
        for said in self.said.iter().filter(|said| !said.deleted) {
            let mut versions: Vec<&Version> = said.versions.iter().filter(is_news).collect();
            // A cache may still show the previous version.
            if versions.len() > 1 && !rng.percent(30) {
                versions.drain(..versions.len() - 1);
            }
            let is_verdict = matches!(
                said.review,
                Some(ReviewState::Approved | ReviewState::ChangesRequested)
            );
            approvals |= is_verdict && !versions.is_empty();
            for version in versions {
                match said.by {
                    By::Us => seen.answered.extend(said.proof.clone()),
                    By::Ann if rng.percent(3) => {
                        seen.next = since;
                        seen.ignored.push(ignored(said, Reason::PermissionUnknown));
                    }
                    By::Ann if version.body.trim().is_empty() => {}
                    By::Ann => {
                        for _ in 0..=u32::from(rng.percent(10)) {
                            seen.comments.push(comment(said, version));
                        }
                    }
                    By::Mallory => {
                        seen.ignored.push(ignored(said, Reason::NoWritePermission));
                    }
                }
            }
        }
        // A dismissal is not an event: the current approvals are returned on request.
        if approvals {
            let trusted = self.approvals.iter();
            let trusted = trusted.filter(|one| one.by == By::Ann && one.until.is_none());
            seen.approvals = Some(trusted.map(|one| one.approved.clone()).collect());
        }
        rng.shuffle(&mut seen.comments);
        seen
    }

    /// Withdraws an approval as its author.
    pub fn take_back(&mut self, by: By, clock: &Clock) {
        for one in self.approvals.iter_mut().filter(|one| one.by == by) {
            one.until.get_or_insert(clock.steady);
        }
    }

    /// Whether a trusted person approved this head, as far as the last poll could show.
    pub fn approves(&self, head: &str) -> bool {
        let looked = self.weighed.unwrap_or(-1);
        self.approvals.iter().any(|one| {
            let stood = one.from <= looked && one.until.is_none_or(|until| looked < until);
            one.by == By::Ann && one.approved.head == CommitSha::new(head) && stood
        })
    }

    /// The newest version of each trusted comment in the last poll that requests something.
    pub fn to_answer(&self) -> BTreeSet<CommentVersion> {
        let Some(looked) = self.looked else {
            return BTreeSet::new();
        };
        let trusted = self
            .said
            .iter()
            .filter(|said| said.by == By::Ann && !said.deleted);
        trusted
            .filter_map(|said| {
                let shown = said.versions.iter().filter(|one| one.shown <= looked);
                let newest = shown.max_by_key(|one| one.at)?;
                // Praise in an approval requests nothing.
                let entry = Entry::of_comment(&comment(said, newest), newest.at)?;
                Some(entry.key)
            })
            .collect()
    }
}

fn key(said: &Said, version: &Version) -> CommentKey {
    CommentKey {
        surface: said.comment.surface,
        id: said.comment.id,
        updated_at: version.at,
    }
}

fn comment(said: &Said, version: &Version) -> Comment {
    Comment {
        key: key(said, version),
        pr: PrNumber::new(7),
        author: Author {
            login: Some("ann".to_owned()),
            is_bot: false,
        },
        body: version.body.clone(),
        path: None,
        line: None,
        origin: None,
        commit: said.commit.clone().map(CommitSha::new),
        in_reply_to: None,
        review: said.review,
        created_at: said.versions[0].at,
        url: None,
        aside: None,
    }
}

fn ignored(said: &Said, reason: Reason) -> IgnoredComment {
    IgnoredComment {
        comment: said.comment,
        author: Some(format!("{:?}", said.by).to_lowercase()),
        reason,
    }
}
