//! Polls one repository for changes: a hundred watched pull requests take as many requests as one,
//! and unchanged answers do not count against the limit.
//!
//! Four lists: pull requests by update, conversation and line comments of the whole repository
//! since the cursor, and the reviews of those pull requests that changed. The pull requests come
//! first and give the next cursor, so that everything older than the cursor already existed when
//! the other lists were read. All times are the forge's; our clock is not used.

use super::cache::CachedAnswer;
use super::client::{Client, Reader};
use super::lists::Reading;
use super::read;
use super::refusal::rate_limited;
use super::review_query::{COMMENT_PAGES, Reviews};
use drive_core::Problem;
use drive_core::forge::{Comment, CommentKey, PullRequest, Surface};
use drive_core::ids::{CommentId, PrNumber};
use drive_core::time::Timestamp;
use drive_engine::ports::{Polled, Since};
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};

/// How far each poll reaches back before the cursor: a forge's lists may lag behind its clock.
const OVERLAP: SignedDuration = SignedDuration::from_secs(60);
/// How many pages of changed pull requests are read before each watched one is read separately.
const PULL_PAGES: usize = 10;
/// For how many pull requests reviews are read together.
const REVIEW_BATCH: usize = 25;
/// The missing part while the forge pauses queries.
const REVIEWS_PAUSED: &str = "reviews not read: the rate limit of the forge is reached";

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
        let mut too_many = None;
        let lists: [(&str, Reader<Vec<Comment>>); 2] = [
            ("issues/comments", read::notes),
            ("pulls/comments", read::line_notes),
        ];
        for (path, reader) in lists {
            let (found, reached) = self.changed_comments(path, reader, from)?;
            comments.extend(found);
            if let Some(reached) = reached {
                next = next.min(reached);
                too_many = Some(format!("too many new comments; read up to {reached}"));
            }
        }
        let mut missing = too_many;
        match self.reviews_for_now(&pull_requests, false)? {
            Some(reviews) => {
                reviews.put_aside(&mut comments);
                let changed = reviews.comments.into_iter();
                comments.extend(changed.filter(|review| review.key.updated_at >= from));
            }
            None => {
                next = cursor;
                missing = Some(REVIEWS_PAUSED.to_owned());
            }
        }
        Ok(Polled {
            comments,
            pull_requests,
            next: Since(Some(next)),
            missing,
        })
    }

    /// The first poll reads each pull request separately, because a repository's whole history may
    /// be a hundred times as long.
    fn poll_everything(&self, watched: &BTreeSet<PrNumber>) -> Result<Polled, Problem> {
        let mut pull_requests = Vec::new();
        let mut comments = Vec::new();
        // The forge may wrongly report that nothing changed.
        let anew = Reading::anew(self);
        for pr in watched {
            let url = self.endpoint.rest(&format!("pulls/{pr}"));
            let found = anew.get(&url, read::pull)?;
            let found = found.ok_or_else(|| self.no_pull(*pr))?;
            pull_requests.push(found.value.pull_request);
        }
        for pr in watched {
            let list = |of: &str| format!("{of}/{pr}/comments?per_page=100");
            let notes = anew.pages(&self.endpoint.rest(&list("issues")), read::notes)?;
            let lines = anew.pages(&self.endpoint.rest(&list("pulls")), read::line_notes)?;
            let (Some(notes), Some(lines)) = (notes, lines) else {
                return Err(self.no_pull(*pr));
            };
            comments.extend(notes.into_iter().chain(lines).flatten());
        }
        let mut newest = pull_requests.iter().map(|pr| pr.updated_at).max();
        let mut missing = None;
        match self.reviews_for_now(&pull_requests, true)? {
            Some(reviews) => {
                reviews.put_aside(&mut comments);
                comments.extend(reviews.comments);
            }
            None => {
                newest = None;
                missing = Some(REVIEWS_PAUSED.to_owned());
            }
        }
        for pull_request in &mut pull_requests {
            pull_request.mergeable = None;
        }
        Ok(Polled {
            comments,
            pull_requests,
            next: Since(newest),
            missing,
        })
    }

    /// The watched pull requests that changed, and the time of the newest change of all.
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

    /// Comments since this time. If there are too many for one poll, also the time up to which they
    /// were read.
    ///
    /// Each page starts where the last one ended, by time and not by number: a comment that is
    /// edited meanwhile moves to the end and would move another one to an earlier page.
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
                // There is more than a page within one second, and no finer step than the page.
                None => url = next,
            }
        }
        Ok((all, Some(since)))
    }

    /// The reviews, and comments that were put aside; `None` while the forge refuses because of its
    /// limit. Nothing else waits for them: the next poll starts where this one did.
    fn reviews_for_now(
        &self,
        pulls: &[PullRequest],
        is_whole: bool,
    ) -> Result<Option<Reviews>, Problem> {
        match self.reviews(pulls, is_whole) {
            Ok(reviews) => Ok(Some(reviews)),
            Err(problem) => match self.queries_paused()? {
                Some(_) => Ok(None),
                None => Err(problem),
            },
        }
    }

    /// The reviews of changed pull requests. REST does not report when a review was edited, nor
    /// what was resolved or minimised; GraphQL does, for many pull requests at once. A whole
    /// reading ignores the cache, because not every change updates the time of a pull request.
    fn reviews(&self, pulls: &[PullRequest], is_whole: bool) -> Result<Reviews, Problem> {
        let mut all = Reviews::default();
        let mut stale = Vec::new();
        for pull in pulls {
            match self.kept_reviews(pull)?.filter(|_| !is_whole) {
                Some(reviews) => all.add(reviews),
                None => stale.push(pull.number),
            }
        }
        if let (Some(until), false) = (self.queries_paused()?, stale.is_empty()) {
            return Err(rate_limited(until));
        }
        for batch in stale.chunks(REVIEW_BATCH) {
            for (pr, reviews) in self.fetch_reviews(batch)? {
                self.keep_reviews(self.review_slot(pr), &reviews)?;
                all.add(reviews);
            }
        }
        Ok(all)
    }

    /// Cached reviews that are still valid, because they were read well after their pull request's
    /// last change.
    fn kept_reviews(&self, pull: &PullRequest) -> Result<Option<Reviews>, Problem> {
        let key = self.cache_key(self.review_slot(pull.number));
        let kept = self.cache().load(&key)?;
        let kept = kept.and_then(|kept| serde_json::from_str::<Reviews>(&kept.value).ok());
        let quiet = pull.updated_at.checked_add(OVERLAP);
        let quiet = quiet.unwrap_or(Timestamp::MAX);
        Ok(kept.filter(|kept| kept.read_at > quiet))
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

    /// The cache key for the reviews of a pull request; no such address exists.
    fn review_slot(&self, pr: PrNumber) -> String {
        format!("{}#reviews", self.endpoint.rest(&format!("pulls/{pr}")))
    }
}

fn order(key: &CommentKey) -> (Timestamp, Surface, CommentId) {
    (key.updated_at, key.surface, key.id)
}

/// The time in whole seconds, which is the resolution of `since`.
fn whole_second(at: Timestamp) -> String {
    let second = Timestamp::from_second(at.as_second()).unwrap_or(at);
    second.to_string()
}
