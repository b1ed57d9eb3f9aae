//! Rate-limited requests: conditional reads, which may be retried, and writes, which never are.

use super::budget;
use super::cache::{CacheKey, CachedAnswer, HttpCache};
use super::credential::Credential;
use super::endpoint::Endpoint;
use super::paging;
use super::refusal::{date, is_final, limited_until, message, rate_limited, refused, unreadable};
use super::surroundings::Surroundings;
use super::token::Token;
use super::transport::{Ask, DIFF, JSON, Reply, Transport};
use drive_core::forge::{RequestBudget, rate_limit};
use drive_core::problem::{Kind, Problem};
use drive_core::time::{Timestamp, after};
use drive_engine::ports::GoAhead;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Method;

/// How often a read is tried.
const ATTEMPTS: u32 = 4;

/// One parsed page of an answer.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) value: T,
    pub(super) next: Option<String>,
    /// Whether the forge reported that the cached page is current.
    pub(super) is_kept: bool,
}

/// The result of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// The forge answered.
    Answered(Reply),
    /// It is unknown whether the write happened. Check before repeating it.
    Unknown(Problem),
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nothing was sent, or the forge refused the request without processing it.
    Unsent(Problem),
    /// The request may have been processed.
    Unknown(Problem),
}

impl From<Failed> for Problem {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unsent(problem) | Failed::Unknown(problem) => problem,
        }
    }
}

/// Parses a body.
pub(super) type Reader<T> = fn(&[u8]) -> Result<T, serde_json::Error>;

pub(super) struct Client {
    pub(super) endpoint: Endpoint,
    transport: Transport,
    pub(super) around: Surroundings,
    pub(super) credential: Arc<Credential>,
}

impl Client {
    pub(super) fn new(
        endpoint: Endpoint,
        transport: Transport,
        credential: Credential,
        around: Surroundings,
    ) -> Self {
        Self {
            endpoint,
            transport,
            around,
            credential: Arc::new(credential),
        }
    }

    pub(super) fn repo(&self) -> String {
        self.endpoint.repo()
    }

    pub(super) fn budget(&self) -> Result<Option<RequestBudget>, Problem> {
        self.around.budgets.load(self.credential.identity())
    }

    /// The separate budget of one of the forge's APIs.
    pub(super) fn budget_of(&self, api: &str) -> Result<Option<RequestBudget>, Problem> {
        self.around.budgets.load(&self.apart(api))
    }

    /// Stores that budget.
    pub(super) fn store_budget_of(&self, api: &str, budget: &RequestBudget) -> Result<(), Problem> {
        self.around.budgets.store(&self.apart(api), budget)
    }

    fn apart(&self, api: &str) -> String {
        format!("{}#{api}", self.credential.identity())
    }

    pub(super) fn cache(&self) -> &dyn HttpCache {
        self.around.cache.as_ref()
    }

    pub(super) fn cache_key(&self, url: String) -> CacheKey {
        CacheKey {
            token: self.credential.identity().to_owned(),
            url,
        }
    }

    /// Reads something that must exist.
    pub(super) fn get<T>(&self, url: &str, read: Reader<T>) -> Result<Page<T>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        self.get_optional(url, read)?.ok_or_else(|| {
            Problem::new(
                Kind::ForgeNotFound,
                format!("not found in `{}`", self.repo()),
            )
            .hint("check `forge.repo`, and that the token can see it")
        })
    }

    /// Reads something; `None` if the forge reports that it does not exist.
    pub(super) fn get_optional<T>(
        &self,
        url: &str,
        read: Reader<T>,
    ) -> Result<Option<Page<T>>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let kept = self.cache().load(&self.cache_key(url.to_owned()))?;
        self.get_unless_kept(url, read, kept)
    }

    /// Reads something that may be unchanged since it was cached. Without a cached answer,
    /// everything is read.
    pub(super) fn get_unless_kept<T>(
        &self,
        url: &str,
        read: Reader<T>,
        mut kept: Option<CachedAnswer>,
    ) -> Result<Option<Page<T>>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let key = self.cache_key(url.to_owned());
        self.repeat(|| {
            let reply = self.send(Ask {
                method: Method::GET,
                url,
                etag: kept.as_ref().map(|kept| kept.etag.as_str()),
                accept: JSON,
                body: None,
            })?;
            self.observe(&reply)?;
            match reply.status {
                304 => match kept.take().map(|kept| restore(kept, &self.repo())) {
                    Some(Ok(page)) => Ok(Turn::Done(Some(self.continued(page, &reply)))),
                    // The cached answer is unusable, so the next attempt reads everything.
                    Some(Err(problem)) => Ok(Turn::Failed(problem)),
                    None => Ok(Turn::Failed(refused(&reply, &self.repo()))),
                },
                200 => match read(&reply.body) {
                    Ok(value) => {
                        let page = self.page(value, &reply);
                        self.keep(&key, &page, &reply)?;
                        Ok(Turn::Done(Some(page)))
                    }
                    Err(error) => Ok(Turn::Failed(unreadable(&self.repo(), error))),
                },
                404 | 410 => Ok(Turn::Done(None)),
                _ => Ok(Turn::Refused(reply)),
            }
        })
    }

    /// Reads the diff of a change.
    pub(super) fn get_diff(&self, url: &str) -> Result<String, Problem> {
        self.repeat(|| {
            let reply = self.send(Ask {
                method: Method::GET,
                url,
                etag: None,
                accept: DIFF,
                body: None,
            })?;
            self.observe(&reply)?;
            match reply.status {
                200 => Ok(Turn::Done(
                    String::from_utf8_lossy(&reply.body).into_owned(),
                )),
                _ => Ok(Turn::Refused(reply)),
            }
        })
    }

    /// Sends a write, within the forge's rate limit. It is only repeated if the forge refused it
    /// because of a limit, which means that it did nothing.
    pub(super) fn write(
        &self,
        method: Method,
        url: &str,
        body: &Value,
    ) -> Result<Written, Problem> {
        let written = self.write_if(method, url, body, &mut || Ok(true))?;
        written.ok_or_else(|| Problem::new(Kind::Internal, "an unconditional write was not sent"))
    }

    /// Like `write`, if it is still allowed when its turn comes, because a wait can take minutes.
    /// `None` if it was not sent.
    pub(super) fn write_if(
        &self,
        method: Method,
        url: &str,
        body: &Value,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<Option<Written>, Problem> {
        let mut until = self.now();
        for _ in 0..ATTEMPTS {
            self.await_turn()?;
            self.await_write()?;
            if !go_ahead()? {
                return Ok(None);
            }
            let sent = self.send(Ask {
                method: method.clone(),
                url,
                etag: None,
                accept: JSON,
                body: Some(body.to_string().into_bytes()),
            });
            let reply = match sent {
                Ok(reply) => reply,
                Err(Failed::Unsent(problem)) => return Err(problem),
                Err(Failed::Unknown(problem)) => return Ok(Some(Written::Unknown(problem))),
            };
            self.observe(&reply)?;
            match limited_until(&reply, self.now()) {
                Some(named) => {
                    until = named;
                    self.pause_all(until)?;
                }
                None if reply.status >= 500 => {
                    return Ok(Some(Written::Unknown(refused(&reply, &self.repo()))));
                }
                None => return Ok(Some(Written::Answered(reply))),
            }
        }
        Err(rate_limited(until))
    }

    /// Does something exactly once: calls `look` and then `act`, and if the result of `act` is
    /// unknown, looks again before acting again.
    pub(super) fn once<T>(
        &self,
        look: impl Fn() -> Result<Option<T>, Problem>,
        mut act: impl FnMut() -> Result<Act<T>, Problem>,
    ) -> Result<T, Problem> {
        let mut attempt = 1;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            match act()? {
                Act::Done(value) => return Ok(value),
                // It may take the forge a moment until a list shows a new item.
                Act::Unknown(problem) if attempt >= ATTEMPTS || self.settle(attempt).is_err() => {
                    return Err(problem);
                }
                Act::Unknown(_) => attempt += 1,
            }
        }
    }

    /// Pauses for a moment, so that the forge can settle. Fails if a stop was requested.
    pub(super) fn settle(&self, attempt: u32) -> Result<(), Problem> {
        self.pause(rate_limit::backoff(attempt))
    }

    /// Repeats a read until it succeeds, a limit is too far away, or the attempts are used up.
    pub(super) fn repeat<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Turn<T>, Problem>,
    ) -> Result<T, Problem> {
        let mut last = None;
        for number in 1..=ATTEMPTS {
            self.await_turn()?;
            match attempt() {
                Ok(Turn::Done(value)) => return Ok(value),
                Ok(Turn::Failed(problem)) => last = Some(problem),
                Ok(Turn::Over(problem)) => return Err(problem),
                Ok(Turn::Refused(reply)) => {
                    if let Some(until) = limited_until(&reply, self.now()) {
                        self.pause_all(until)?;
                        last = Some(rate_limited(until));
                        continue;
                    }
                    let problem = refused(&reply, &self.repo());
                    if reply.status < 500 {
                        return Err(problem);
                    }
                    last = Some(problem);
                }
                Err(problem) if is_final(problem.kind) => return Err(problem),
                Err(problem) => last = Some(problem),
            }
            if number < ATTEMPTS && self.settle(number).is_err() {
                break;
            }
        }
        Err(last.unwrap_or_else(|| rate_limited(self.now())))
    }

    fn page<T>(&self, value: T, reply: &Reply) -> Page<T> {
        let page = Page {
            value,
            next: None,
            is_kept: false,
        };
        self.continued(page, reply)
    }

    /// The page with its next address, which every answer contains, even if the page is unchanged.
    fn continued<T>(&self, page: Page<T>, reply: &Reply) -> Page<T> {
        let Some(link) = reply.header("link") else {
            return page;
        };
        let next = paging::next_link(link);
        Page {
            next: next.filter(|url| self.endpoint.is_own(url)),
            ..page
        }
    }

    /// Caches an answer. Only called with a value that was parsed from the complete body.
    fn keep<T: Serialize>(
        &self,
        key: &CacheKey,
        page: &Page<T>,
        reply: &Reply,
    ) -> Result<(), Problem> {
        let Some(etag) = reply.header("etag") else {
            return Ok(());
        };
        // A full page may get a successor without changing itself, and its tag would not show that.
        if page.next.is_none() && paging::is_full(&key.url, &reply.body) {
            return Ok(());
        }
        let Ok(value) = serde_json::to_string(&page.value) else {
            return Ok(());
        };
        self.around.cache.store(
            key,
            &CachedAnswer {
                etag: etag.to_owned(),
                value,
                next: page.next.clone(),
            },
        )
    }

    /// Stores the budget that an answer reports.
    pub(super) fn observe(&self, reply: &Reply) -> Result<(), Problem> {
        let Some(mut told) = budget::describe_budget(reply) else {
            return Ok(());
        };
        if told.remaining == 0 {
            let theirs = date(reply).unwrap_or_else(|| self.now());
            let wait = told.resets_at.as_second() - theirs.as_second();
            let wait = Duration::from_secs(u64::try_from(wait).unwrap_or(0));
            told.paused_until = Some(after(self.now(), wait));
        }
        let known = self.budget()?;
        // A pause that another process was asked for still applies, whatever this answer says.
        let paused = known.as_ref().and_then(|known| known.paused_until);
        told.paused_until = told
            .paused_until
            .max(paused.filter(|until| *until > self.now()));
        // An answer that changes no budget writes nothing.
        if known.as_ref() == Some(&told) {
            return Ok(());
        }
        self.around.budgets.store(self.credential.identity(), &told)
    }

    /// Sends a request, and repeats it with a renewed token if the forge did not accept the first:
    /// such a refusal did nothing.
    pub(super) fn send(&self, ask: Ask<'_>) -> Result<Reply, Failed> {
        let around = &self.around;
        let token = self.credential.token(around).map_err(Failed::Unsent)?;
        let send = |token: &Token| {
            let sent = self.transport.send(ask.clone(), token, &around.cancel);
            sent.map_err(Failed::Unknown)
        };
        let reply = send(&token)?;
        if reply.status != 401 {
            return Ok(reply);
        }
        let renewed = self.credential.renewed(&token, &message(&reply), around);
        send(&renewed.map_err(Failed::Unsent)?)
    }

    /// Reads the end of something on another server, without the token.
    pub(super) fn send_elsewhere(&self, url: &str, most: (usize, u64)) -> Result<Reply, Problem> {
        self.transport.get_elsewhere(url, most, &self.around.cancel)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.around.clock.now()
    }
}

/// The result of one attempt to read.
pub(super) enum Turn<T> {
    Done(T),
    /// The answer was unusable; another attempt may succeed.
    Failed(Problem),
    /// No further attempt can succeed now.
    Over(Problem),
    /// The forge refused the request.
    Refused(Reply),
}

/// The result of one attempt to write.
pub(super) enum Act<T> {
    Done(T),
    Unknown(Problem),
}

fn restore<T: DeserializeOwned>(kept: CachedAnswer, repo: &str) -> Result<Page<T>, Problem> {
    let value = serde_json::from_str(&kept.value).map_err(|error| unreadable(repo, error))?;
    Ok(Page {
        value,
        next: kept.next,
        is_kept: true,
    })
}
