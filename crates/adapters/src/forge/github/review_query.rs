//! Reviews, resolved threads and minimised comments: only GraphQL reports them, for many pull
//! requests in one request.

use super::client::Client;
use drive_core::forge::github::review_state;
use drive_core::forge::{Aside, Author, Comment, CommentKey, CommentRef, ReviewState, Surface};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many pages of comments one poll reads. The next poll reads further ones.
pub(super) const COMMENT_PAGES: usize = 20;

/// The lists of a pull request that GraphQL reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Reviews,
    Threads,
    Notes,
}

impl List {
    const ALL: [List; 3] = [List::Reviews, List::Threads, List::Notes];

    fn field(self) -> &'static str {
        match self {
            List::Reviews => "reviews",
            List::Threads => "reviewThreads",
            List::Notes => "comments",
        }
    }

    /// The fields of a page. At most fifty comments of a thread are requested, so a later minimised
    /// comment counts as not minimised.
    fn page(self) -> &'static str {
        match self {
            List::Reviews => {
                "fragment reviews on PullRequestReviewConnection { nodes { databaseId body state \
                 submittedAt updatedAt url isMinimized author { __typename login } commit { oid } } \
                 pageInfo { hasPreviousPage startCursor } } "
            }
            List::Threads => {
                "fragment reviewThreads on PullRequestReviewThreadConnection { nodes { isResolved \
                 comments(first: 50) { nodes { databaseId isMinimized } } } \
                 pageInfo { hasPreviousPage startCursor } } "
            }
            List::Notes => {
                "fragment comments on IssueCommentConnection { nodes { databaseId isMinimized } \
                 pageInfo { hasPreviousPage startCursor } } "
            }
        }
    }
}

/// The data from GraphQL about pull requests, with the forge's time of the reading.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reviews {
    pub(super) read_at: Timestamp,
    pub(super) comments: Vec<Comment>,
    /// Comments that were put aside. A resolved thread is identified by its first comment.
    #[serde(default)]
    asides: Vec<(CommentRef, Aside)>,
}

impl Reviews {
    pub(super) fn add(&mut self, other: Reviews) {
        self.comments.extend(other.comments);
        self.asides.extend(other.asides);
    }

    /// Marks comments of the other lists that were put aside.
    pub(super) fn put_aside(&self, comments: &mut [Comment]) {
        let asides: BTreeMap<CommentRef, Aside> = self.asides.iter().copied().collect();
        for comment in comments {
            let own = comment.key.comment();
            let first = comment.in_reply_to.map(|id| CommentRef { id, ..own });
            let resolved = first.and_then(|first| asides.get(&first));
            let resolved = resolved.filter(|how| **how == Aside::Resolved);
            comment.aside = asides.get(&own).or(resolved).copied();
        }
    }
}

/// A list whose next page must be read: the pull request, the list, and the cursor.
type Wanted = (PrNumber, List, Value);

impl Client {
    pub(super) fn fetch_reviews(
        &self,
        batch: &[PrNumber],
    ) -> Result<Vec<(PrNumber, Reviews)>, Problem> {
        let lists = |pr: &PrNumber| {
            let pr = *pr;
            List::ALL
                .into_iter()
                .map(move |list| (pr, list, Value::Null))
        };
        let mut wanted: Vec<Wanted> = batch.iter().flat_map(lists).collect();
        let mut found: BTreeMap<PrNumber, Reviews> = BTreeMap::new();
        let mut read_at = None;
        for _ in 0..COMMENT_PAGES {
            let (data, date) = self.query(
                &query(&wanted),
                &json!({
                    "owner": self.endpoint.owner(), "name": self.endpoint.name(),
                }),
            )?;
            read_at = read_at.or(date);
            let mut more = Vec::new();
            for (pr, list, _) in &wanted {
                let page = &data["repository"][alias(*pr, *list)][list.field()];
                found.entry(*pr).or_default().read(*pr, *list, page);
                if page["pageInfo"]["hasPreviousPage"] == true {
                    more.push((*pr, *list, page["pageInfo"]["startCursor"].clone()));
                }
            }
            wanted = more;
            if wanted.is_empty() {
                break;
            }
        }
        if !wanted.is_empty() {
            return Err(Problem::new(
                Kind::ForgeListTooLong,
                format!(
                    "a list of `{}` has more than {COMMENT_PAGES} pages",
                    self.repo()
                ),
            ));
        }
        let read_at = read_at.unwrap_or(Timestamp::UNIX_EPOCH);
        for reviews in found.values_mut() {
            reviews.read_at = read_at;
        }
        Ok(found.into_iter().collect())
    }
}

impl Reviews {
    fn read(&mut self, pr: PrNumber, list: List, page: &Value) {
        let nodes = page["nodes"].as_array().into_iter().flatten();
        match list {
            List::Reviews => self
                .comments
                .extend(nodes.filter_map(|one| review(pr, one))),
            List::Threads => nodes.for_each(|thread| self.read_thread(thread)),
            List::Notes => nodes.for_each(|one| self.read_minimized(Surface::Conversation, one)),
        }
    }

    fn read_thread(&mut self, thread: &Value) {
        let comments = thread["comments"]["nodes"].as_array();
        let mut comments = comments.into_iter().flatten().peekable();
        if let (true, Some(id)) = (
            thread["isResolved"] == true,
            comments
                .peek()
                .and_then(|first| first["databaseId"].as_u64()),
        ) {
            self.asides
                .push((named(Surface::Inline, id), Aside::Resolved));
        }
        comments.for_each(|one| self.read_minimized(Surface::Inline, one));
    }

    fn read_minimized(&mut self, surface: Surface, node: &Value) {
        if let (true, Some(id)) = (node["isMinimized"] == true, node["databaseId"].as_u64()) {
            self.asides.push((named(surface, id), Aside::Minimized));
        }
    }
}

fn named(surface: Surface, id: u64) -> CommentRef {
    CommentRef {
        surface,
        id: CommentId::new(id),
    }
}

fn alias(pr: PrNumber, list: List) -> String {
    format!("p{pr}{}", list.field())
}

fn query(wanted: &[Wanted]) -> String {
    let mut pulls = String::new();
    for (pr, list, before) in wanted {
        let (alias, field) = (alias(*pr, *list), list.field());
        let before = match before.as_str() {
            Some(cursor) => format!(", before: {}", json!(cursor)),
            None => String::new(),
        };
        pulls.push_str(&format!(
            "{alias}: pullRequest(number: {pr}) {{ {field}(last: 100{before}) {{ ...{field} }} }} "
        ));
    }
    // GraphQL refuses unused fragments.
    let is_used = |list: &List| wanted.iter().any(|(_, one, _)| one == list);
    let used = List::ALL.into_iter().filter(is_used);
    let pages: String = used.map(List::page).collect();
    format!(
        "query($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ \
         {pulls} }} }} {pages}"
    )
}

/// A review from GraphQL; `None` for pending ones and empty shells.
fn review(pr: PrNumber, node: &Value) -> Option<Comment> {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let instant = |name: &str| text(name).parse::<Timestamp>().ok();
    let (state, body) = (review_state(text("state")), text("body"));
    let empty = state == ReviewState::Commented && body.trim().is_empty();
    if text("state") == "PENDING" || empty {
        return None;
    }
    let created_at = instant("submittedAt").or(instant("updatedAt"))?;
    let is_bot = node["author"]["__typename"] == "Bot";
    let login = node["author"]["login"].as_str();
    Some(Comment {
        key: CommentKey {
            surface: Surface::Review,
            id: CommentId::new(node["databaseId"].as_u64()?),
            updated_at: instant("updatedAt").unwrap_or(created_at),
        },
        pr,
        author: Author {
            // GraphQL omits the suffix that REST shows.
            login: login.map(|login| {
                if is_bot && !login.ends_with("[bot]") {
                    format!("{login}[bot]")
                } else {
                    login.to_owned()
                }
            }),
            is_bot,
        },
        body: body.to_owned(),
        path: None,
        line: None,
        origin: None,
        commit: node["commit"]["oid"].as_str().and_then(CommitSha::parse),
        in_reply_to: None,
        review: Some(state),
        created_at,
        url: node["url"].as_str().map(str::to_owned),
        aside: (node["isMinimized"] == true).then_some(Aside::Minimized),
    })
}
