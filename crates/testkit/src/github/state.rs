//! The state of the simulated GitHub: plain data behind one lock.

use super::clock::SimClock;
use super::git::GitStore;
use super::landing::Landing;
use drive_core::time::Timestamp;
use drive_engine::ports::Clock;
use jiff::SignedDuration;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// When accounts and repositories were created.
pub(crate) const BEGINNING: &str = "2026-01-01T00:00:00Z";

/// The whole simulated GitHub.
pub(crate) struct World {
    pub(crate) clock: SimClock,
    /// How far GitHub's clock is ahead of all others, in seconds.
    pub(crate) skew_seconds: i64,
    pub(crate) users: BTreeMap<String, User>,
    /// Token to login.
    pub(crate) tokens: BTreeMap<String, String>,
    /// When the tokens of apps expire.
    pub(crate) token_ends: BTreeMap<String, Timestamp>,
    pub(crate) apps: Vec<App>,
    /// The number of tokens that apps have received.
    pub(crate) minted: usize,
    /// Whether git needs a token.
    pub(crate) git_needs_token: bool,
    /// Comments that lists hide until this time.
    pub(crate) hidden: BTreeMap<u64, Timestamp>,
    /// Whether lists are reversed.
    pub(crate) reversed: bool,
    pub(crate) repos: BTreeMap<String, Repo>,
    /// Maps former names of repositories to their current names.
    pub(crate) renamed: BTreeMap<String, String>,
    /// Events that were not sent to hooks yet.
    pub(crate) events: Vec<Event>,
    next_id: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: &'static str,
}

pub(crate) struct Repo {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) default_branch: String,
    pub(crate) git: GitStore,
    /// Maps logins to GitHub's names of permissions.
    pub(crate) permissions: BTreeMap<String, &'static str>,
    /// Maps branches to commits, as of the last push.
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) notes: BTreeMap<u64, Note>,
    pub(crate) line_notes: BTreeMap<u64, LineNote>,
    pub(crate) reviews: BTreeMap<u64, Review>,
    pub(crate) statuses: Vec<Status>,
    /// Checks, and the rules of its branches.
    pub(crate) landing: Landing,
    pub(crate) labels: BTreeMap<String, u64>,
    pub(crate) hooks: Vec<Hook>,
    /// The first comments of resolved threads.
    pub(crate) resolved: BTreeSet<u64>,
    /// Hidden comments and reviews.
    pub(crate) minimized: BTreeSet<u64>,
    /// Whether its plan supports drafts.
    pub(crate) has_drafts: bool,
    /// Why new pull requests are refused, if they are.
    pub(crate) no_pulls: Option<String>,
    /// A file that is committed to the base just before the next merge, with its content.
    pub(crate) overtakes: Option<(String, String)>,
    /// Whether it accepts no more writes.
    pub(crate) archived: bool,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: String,
    pub(crate) draft: bool,
    pub(crate) branch: String,
    pub(crate) base: String,
    pub(crate) head_sha: String,
    pub(crate) base_sha: String,
    pub(crate) commits: Vec<String>,
    pub(crate) labels: BTreeSet<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) merged: Option<Merged>,
    /// The head and base whose mergeability was computed, and the result.
    pub(crate) mergeable: Option<(String, String, bool)>,
    /// The head and base that a client asked about, upon which GitHub starts the computation.
    pub(crate) asked: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
    pub(crate) sha: String,
}

/// A comment of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) pr: u64,
    /// `None` after the account was deleted.
    pub(crate) author: Option<String>,
    pub(crate) body: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) reactions: BTreeSet<(String, String)>,
}

/// A comment on a line.
#[derive(Clone, Debug)]
pub(crate) struct LineNote {
    pub(crate) note: Note,
    pub(crate) review: u64,
    pub(crate) path: String,
    /// `None` after a push removed the line.
    pub(crate) line: Option<u64>,
    pub(crate) original_line: u64,
    /// The first of several lines.
    pub(crate) original_start: Option<u64>,
    /// The part of the diff that its author saw.
    pub(crate) hunk: String,
    pub(crate) commit: String,
    pub(crate) original_commit: String,
    pub(crate) in_reply_to: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) note: Note,
    /// GitHub's name of the state, such as `APPROVED`.
    pub(crate) state: &'static str,
    pub(crate) commit: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) context: String,
    pub(crate) state: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) by: String,
    pub(crate) at: Timestamp,
}

/// An event for webhooks.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) repo: String,
    pub(crate) kind: EventKind,
    pub(crate) action: &'static str,
    pub(crate) pr: u64,
    pub(crate) id: u64,
    pub(crate) by: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    IssueComment,
    ReviewComment,
    Review,
    PullRequest,
}

impl World {
    pub(crate) fn new(clock: SimClock) -> Self {
        Self {
            clock,
            skew_seconds: 0,
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            token_ends: BTreeMap::new(),
            apps: Vec::new(),
            minted: 0,
            git_needs_token: false,
            hidden: BTreeMap::new(),
            reversed: false,
            repos: BTreeMap::new(),
            renamed: BTreeMap::new(),
            events: Vec::new(),
            next_id: 1000,
        }
    }

    /// Whether lists show a comment now.
    pub(crate) fn shows(&self, comment: u64) -> bool {
        let until = self.hidden.get(&comment);
        until.is_none_or(|until| *until <= self.now())
    }

    /// A list in the current order.
    pub(crate) fn in_todays_order<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.reversed {
            items.reverse();
        }
        items
    }

    /// GitHub's time, in whole seconds like in its answers.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        let skewed = now
            .checked_add(SignedDuration::from_secs(self.skew_seconds))
            .unwrap_or(now);
        Timestamp::from_second(skewed.as_second()).unwrap_or(skewed)
    }

    pub(crate) fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(crate) fn ensure_user(&mut self, login: &str) {
        if self.users.contains_key(login) {
            return;
        }
        let user = User {
            id: self.fresh_id(),
            login: login.to_owned(),
            kind: if login.ends_with("[bot]") {
                "Bot"
            } else {
                "User"
            },
        };
        self.users.insert(login.to_owned(), user);
    }

    pub(crate) fn add_repo(&mut self, owner: &str, name: &str, git: GitStore) {
        self.ensure_user(owner);
        let repo = Repo {
            id: self.fresh_id(),
            owner: owner.to_owned(),
            name: name.to_owned(),
            default_branch: "main".to_owned(),
            git,
            permissions: BTreeMap::from([(owner.to_owned(), "admin")]),
            branches: BTreeMap::new(),
            pulls: BTreeMap::new(),
            notes: BTreeMap::new(),
            line_notes: BTreeMap::new(),
            reviews: BTreeMap::new(),
            statuses: Vec::new(),
            landing: Landing::default(),
            labels: BTreeMap::new(),
            hooks: Vec::new(),
            resolved: BTreeSet::new(),
            minimized: BTreeSet::new(),
            has_drafts: true,
            no_pulls: None,
            overtakes: None,
            archived: false,
            rules: Vec::new(),
        };
        self.repos.insert(format!("{owner}/{name}"), repo);
    }
}

impl World {
    /// The current name of a repository.
    pub(crate) fn current_name(&self, name: &str) -> String {
        let mut name = name;
        while let Some(now) = self.renamed.get(name) {
            name = now;
        }
        name.to_owned()
    }
}

impl Repo {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The first comment of an inline comment's thread.
    pub(crate) fn thread_of(&self, id: u64) -> u64 {
        self.line_notes
            .get(&id)
            .and_then(|note| note.in_reply_to)
            .unwrap_or(id)
    }

    pub(crate) fn note_mut(&mut self, id: u64) -> Option<&mut Note> {
        if let Some(note) = self.notes.get_mut(&id) {
            return Some(note);
        }
        if let Some(line) = self.line_notes.get_mut(&id) {
            return Some(&mut line.note);
        }
        self.reviews.get_mut(&id).map(|review| &mut review.note)
    }
}

impl Pull {
    /// The state in GitHub's REST API.
    pub(crate) fn rest_state(&self) -> &'static str {
        if self.closed_at.is_some() {
            "closed"
        } else {
            "open"
        }
    }

    /// The state in GitHub's GraphQL API.
    pub(crate) fn graphql_state(&self) -> &'static str {
        match (&self.merged, self.closed_at) {
            (Some(_), _) => "MERGED",
            (None, Some(_)) => "CLOSED",
            (None, None) => "OPEN",
        }
    }
}

/// A registered webhook.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) url: String,
    pub(crate) secret: String,
}

/// An app with one installation.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) installation: u64,
    pub(crate) login: String,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) suspended: bool,
}

/// A rule for branches whose name begins with a prefix.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: u64,
    pub(crate) prefix: String,
    pub(crate) kind: String,
    pub(crate) parameters: Option<Value>,
    /// Whether every token may bypass it.
    pub(crate) bypass: bool,
}
