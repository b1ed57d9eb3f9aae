//! What changed, for one repository at a time: a hundred watched pull requests cost as many
//! requests as one, and nothing when nothing happened.
//!
//! Four lists: pull requests by update, conversation and line comments of the whole repository
//! since the cursor, and the reviews of those pull requests that changed. The pull requests come
//! first and give the next cursor, so that whatever is older than the cursor already stood when the
//! other lists were read. All instants are the forge's; our clock has no say.

use super::cache::CachedAnswer;
use super::client::{Client, Reader};
use super::read;
use super::refusal::rate_limited;
use drive_core::Problem;
use drive_core::forge::github::review_state;
use drive_core::forge::{Author, Comment, CommentKey, PullRequest, ReviewState, Surface};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::time::Timestamp;
use drive_engine::ports::{Polled, Since};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How far each poll reaches back behind the cursor: a forge's lists may lag behind its clock.
const OVERLAP: SignedDuration = SignedDuration::from_secs(60);
/// Pages of comments in one poll. More of them come with the next poll.
const COMMENT_PAGES: usize = 20;
/// Pages of changed pull requests before each watched one is asked for by itself.
const PULL_PAGES: usize = 10;
/// Pull requests whose reviews are asked for together.
const REVIEW_BATCH: usize = 25;

impl Client {
    pub(super) fn poll(&self, watched: &[PrNumber], since: Since) -> Result<Polled, Problem> {
        let watched: BTreeSet<PrNumber> = watched.iter().copied().collect();
        let mut polled = match since.0 {
            Some(cursor) => self.poll_since(&watched, cursor)?,
            None => self.poll_everything(&watched)?,
        };
        let mut seen = BTreeSet::new();
        polled
            .comments
            .retain(|comment| watched.contains(&comment.pr) && seen.insert(comment.key.clone()));
        polled.comments.sort_by_key(|comment| order(&comment.key));
        Ok(polled)
    }

    fn poll_since(
        &self,
        watched: &BTreeSet<PrNumber>,
        cursor: Timestamp,
    ) -> Result<Polled, Problem> {
        let from = cursor.checked_sub(OVERLAP).unwrap_or(cursor);
        let (pull_requests, newest) = self.changed_pulls(watched, from)?;
        let mut next = newest.map_or(cursor, |newest| newest.max(cursor));
        let mut comments = Vec::new();
        let lists: [(&str, Reader<Vec<Comment>>); 2] = [
            ("issues/comments", read::notes),
            ("pulls/comments", read::line_notes),
        ];
        for (path, reader) in lists {
            let (found, reached) = self.changed_comments(path, reader, from)?;
            comments.extend(found);
            next = reached.map_or(next, |reached| next.min(reached));
        }
        match self.reviews_for_now(&pull_requests)? {
            Some(reviews) => {
                comments.extend(reviews.into_iter().filter(|r| r.key.updated_at >= from));
            }
            None => next = cursor,
        }
        Ok(Polled {
            comments,
            pull_requests,
            next: Since(Some(next)),
        })
    }

    /// The first poll asks for each pull request by itself: a repository's whole history may be
    /// a hundred times as long.
    fn poll_everything(&self, watched: &BTreeSet<PrNumber>) -> Result<Polled, Problem> {
        let mut pull_requests = Vec::new();
        let mut comments = Vec::new();
        for pr in watched {
            pull_requests.push(self.details(*pr)?.pull_request);
        }
        for pr in watched {
            let list = self
                .endpoint
                .rest(&format!("issues/{pr}/comments?per_page=100"));
            comments.extend(self.get_all(&list, read::notes)?);
            comments.extend(self.line_notes(*pr)?);
        }
        let mut newest = pull_requests.iter().map(|pr| pr.updated_at).max();
        match self.reviews_for_now(&pull_requests)? {
            Some(reviews) => comments.extend(reviews),
            None => newest = None,
        }
        for pull_request in &mut pull_requests {
            pull_request.mergeable = None;
        }
        Ok(Polled {
            comments,
            pull_requests,
            next: Since(newest),
        })
    }

    /// The watched pull requests that changed, and when the newest change of all was.
    fn changed_pulls(
        &self,
        watched: &BTreeSet<PrNumber>,
        from: Timestamp,
    ) -> Result<(Vec<PullRequest>, Option<Timestamp>), Problem> {
        let mut changed: BTreeMap<PrNumber, PullRequest> = BTreeMap::new();
        let mut newest = None;
        let mut url = self
            .endpoint
            .rest("pulls?state=all&sort=updated&direction=desc&per_page=20");
        for _ in 0..PULL_PAGES {
            let page = self.get(&url, read::pulls)?;
            newest = newest.max(page.value.first().map(|pr| pr.updated_at));
            let reached = page.value.iter().any(|pr| pr.updated_at < from);
            for pr in page.value {
                if pr.updated_at >= from && watched.contains(&pr.number) {
                    changed.entry(pr.number).or_insert(pr);
                }
            }
            match page.next {
                Some(next) if !reached => url = next,
                Some(_) | None => return Ok((changed.into_values().collect(), newest)),
            }
        }
        for number in watched {
            let pr = self.details(*number)?.pull_request;
            if pr.updated_at >= from {
                changed.insert(*number, pr);
            }
        }
        Ok((changed.into_values().collect(), newest))
    }

    /// Comments from then on. When there are too many for one poll, also how far it got.
    ///
    /// Each page starts where the last one ended, by time and not by number: a comment that is
    /// edited meanwhile moves to the end and would push another one across a page's border.
    fn changed_comments(
        &self,
        path: &str,
        reader: Reader<Vec<Comment>>,
        from: Timestamp,
    ) -> Result<(Vec<Comment>, Option<Timestamp>), Problem> {
        let mut all: Vec<Comment> = Vec::new();
        let mut since = from;
        let first = |since: Timestamp| {
            self.endpoint.rest(&format!(
                "{path}?sort=updated&direction=asc&per_page=100&since={}",
                whole_second(since)
            ))
        };
        let mut url = first(since);
        for _ in 0..COMMENT_PAGES {
            let page = self.get(&url, reader)?;
            let last = page.value.iter().map(|c| c.key.updated_at).max();
            all.extend(page.value);
            let Some(next) = page.next else {
                return Ok((all, None));
            };
            match last.filter(|last| *last > since) {
                Some(last) => {
                    since = last;
                    url = first(since);
                }
                // More than a page within one second: there is no finer step than the page.
                None => url = next,
            }
        }
        Ok((all, Some(since)))
    }

    /// The reviews; `None` while the forge tells none because too many were asked for. Nothing else has
    /// to wait for them: the next poll starts where this one did.
    fn reviews_for_now(&self, pulls: &[PullRequest]) -> Result<Option<Vec<Comment>>, Problem> {
        match self.reviews(pulls) {
            Ok(reviews) => Ok(Some(reviews)),
            Err(problem) => match self.queries_paused()? {
                Some(_) => Ok(None),
                None => Err(problem),
            },
        }
    }

    /// The reviews of pull requests that changed. REST does not tell when a review was edited;
    /// GraphQL does, for many pull requests at once.
    fn reviews(&self, pulls: &[PullRequest]) -> Result<Vec<Comment>, Problem> {
        let mut all = Vec::new();
        let mut stale = Vec::new();
        for pull in pulls {
            match self.kept_reviews(pull)? {
                Some(reviews) => all.extend(reviews),
                None => stale.push(pull.number),
            }
        }
        if let (Some(until), false) = (self.queries_paused()?, stale.is_empty()) {
            return Err(rate_limited(until));
        }
        for batch in stale.chunks(REVIEW_BATCH) {
            for (pr, reviews) in self.fetch_reviews(batch)? {
                let url = self.review_slot(pr);
                let comments = reviews.comments.clone();
                self.keep_reviews(url, &reviews)?;
                all.extend(comments);
            }
        }
        Ok(all)
    }

    /// Reviews read well after the last change of their pull request are still right.
    fn kept_reviews(&self, pull: &PullRequest) -> Result<Option<Vec<Comment>>, Problem> {
        let key = self.cache_key(self.review_slot(pull.number));
        let kept = self.cache().load(&key)?;
        let kept = kept.and_then(|kept| serde_json::from_str::<Reviews>(&kept.value).ok());
        let quiet = pull.updated_at.checked_add(OVERLAP);
        let quiet = quiet.unwrap_or(Timestamp::MAX);
        Ok(kept
            .filter(|kept| kept.read_at > quiet)
            .map(|kept| kept.comments))
    }

    fn keep_reviews(&self, url: String, reviews: &Reviews) -> Result<(), Problem> {
        let Ok(value) = serde_json::to_string(reviews) else {
            return Ok(());
        };
        let answer = CachedAnswer {
            etag: String::new(),
            value,
            next: None,
        };
        self.cache().store(&self.cache_key(url), &answer)
    }

    /// Where the reviews of a pull request are kept; no such address exists.
    fn review_slot(&self, pr: PrNumber) -> String {
        format!("{}#reviews", self.endpoint.rest(&format!("pulls/{pr}")))
    }

    fn fetch_reviews(&self, batch: &[PrNumber]) -> Result<Vec<(PrNumber, Reviews)>, Problem> {
        let mut out = Vec::new();
        let mut wanted: Vec<(PrNumber, Value)> =
            batch.iter().map(|pr| (*pr, Value::Null)).collect();
        let mut comments: BTreeMap<PrNumber, Vec<Comment>> = BTreeMap::new();
        let mut read_at = None;
        for _ in 0..COMMENT_PAGES {
            let (data, date) = self.query(
                &review_query(&wanted),
                &json!({
                    "owner": self.endpoint.owner(), "name": self.endpoint.name(),
                }),
            )?;
            read_at = read_at.or(date);
            let mut more = Vec::new();
            for (pr, _) in &wanted {
                let page = &data["repository"][format!("p{pr}")]["reviews"];
                let nodes = page["nodes"].as_array().into_iter().flatten();
                let reviews = nodes.filter_map(|node| review(*pr, node));
                comments.entry(*pr).or_default().extend(reviews);
                if page["pageInfo"]["hasPreviousPage"] == true {
                    more.push((*pr, page["pageInfo"]["startCursor"].clone()));
                }
            }
            wanted = more;
            if wanted.is_empty() {
                break;
            }
        }
        let read_at = read_at.unwrap_or(Timestamp::UNIX_EPOCH);
        for (pr, comments) in comments {
            out.push((pr, Reviews { read_at, comments }));
        }
        Ok(out)
    }
}

/// The reviews of one pull request, and the forge's time when they were read.
#[derive(Debug, Serialize, Deserialize)]
struct Reviews {
    read_at: Timestamp,
    comments: Vec<Comment>,
}

fn review_query(wanted: &[(PrNumber, Value)]) -> String {
    let mut pulls = String::new();
    for (pr, before) in wanted {
        let before = match before.as_str() {
            Some(cursor) => format!(", before: {}", json!(cursor)),
            None => String::new(),
        };
        pulls.push_str(&format!(
            "p{pr}: pullRequest(number: {pr}) {{ reviews(last: 100{before}) {{ ...page }} }} "
        ));
    }
    format!(
        "query($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ \
         {pulls} }} }} fragment page on PullRequestReviewConnection {{ nodes {{ databaseId body \
         state submittedAt updatedAt url author {{ __typename login }} commit {{ oid }} }} \
         pageInfo {{ hasPreviousPage startCursor }} }}"
    )
}

/// A review as GraphQL tells it; `None` for pending ones and empty shells.
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
            // GraphQL leaves out the suffix that REST shows.
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
    })
}

fn order(key: &CommentKey) -> (Timestamp, Surface, CommentId) {
    (key.updated_at, key.surface, key.id)
}

/// `since` has a resolution of seconds.
fn whole_second(at: Timestamp) -> String {
    let second = Timestamp::from_second(at.as_second()).unwrap_or(at);
    second.to_string()
}
