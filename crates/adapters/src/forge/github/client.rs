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

/// One page of an answer, understood.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) value: T,
    pub(super) next: Option<String>,
    /// Whether the forge said that it is as it was kept.
    pub(super) is_kept: bool,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// The forge said so.
    Answered(Reply),
    /// Nobody knows whether it happened. Look before doing it again.
    Unknown(Problem),
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nothing was sent, or nothing but what the forge refused to look at.
    Unsent(Problem),
    /// It may have happened.
    Unknown(Problem),
}

impl From<Failed> for Problem {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unsent(problem) | Failed::Unknown(problem) => problem,
        }
    }
}

/// How a body becomes a value.
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

    /// The budget of one of the forge's APIs apart from the rest.
    pub(super) fn budget_of(&self, api: &str) -> Result<Option<RequestBudget>, Problem> {
        self.around.budgets.load(&self.apart(api))
    }

    /// Keeps it.
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

    /// Something that must be there.
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

    /// Something, or `None` where the forge says that there is nothing.
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

    /// Something that may be as it was kept. Without anything kept the whole answer is asked for.
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
                    // What was kept is of no use: the next attempt asks for everything.
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

    /// The text of a change.
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

    /// Sends a write, within the pace that the forge asks for. It is sent again only when the forge
    /// refused it for a limit, which is to say before doing anything.
    pub(super) fn write(
        &self,
        method: Method,
        url: &str,
        body: &Value,
    ) -> Result<Written, Problem> {
        let written = self.write_if(method, url, body, &mut || Ok(true))?;
        written.ok_or_else(|| Problem::new(Kind::Internal, "a write was stopped by nobody"))
    }

    /// The same, if it still may be sent when its turn has come: a wait can take minutes. `None` where
    /// it was not sent.
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

    /// Brings something about exactly once: `look` for it, `act`, and when the outcome is unknown
    /// look again before acting again.
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
                // A forge may need a moment until a list shows what was just made.
                Act::Unknown(problem) if attempt >= ATTEMPTS || self.settle(attempt).is_err() => {
                    return Err(problem);
                }
                Act::Unknown(_) => attempt += 1,
            }
        }
    }

    /// Gives the forge a moment. An error when somebody wants to stop.
    pub(super) fn settle(&self, attempt: u32) -> Result<(), Problem> {
        self.pause(rate_limit::backoff(attempt))
    }

    /// Repeats a read until it works, a limit is too far away, or patience ends.
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

    /// What comes after a page is told with every answer, also where the page is as it was.
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

    /// Keeps an answer. Only ever called with a value that the whole body was read into.
    fn keep<T: Serialize>(
        &self,
        key: &CacheKey,
        page: &Page<T>,
        reply: &Reply,
    ) -> Result<(), Problem> {
        let Some(etag) = reply.header("etag") else {
            return Ok(());
        };
        // More may follow a full page without a change to it, and its tag would not tell.
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

    /// Remembers what the answer tells about the budget.
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
        // A pause that somebody else was asked for still holds, whatever this answer says.
        let paused = known.as_ref().and_then(|known| known.paused_until);
        told.paused_until = told
            .paused_until
            .max(paused.filter(|until| *until > self.now()));
        // An answer that costs nothing changes nothing, and so writes nothing.
        if known.as_ref() == Some(&told) {
            return Ok(());
        }
        self.around.budgets.store(self.credential.identity(), &told)
    }

    /// Sends once, and once more with a renewed token where the forge did not accept it: such a
    /// refusal did nothing.
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

    /// Reads the end of something elsewhere, without the token.
    pub(super) fn send_elsewhere(&self, url: &str, most: (usize, u64)) -> Result<Reply, Problem> {
        self.transport.get_elsewhere(url, most, &self.around.cancel)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.around.clock.now()
    }
}

/// How one attempt at a read went.
pub(super) enum Turn<T> {
    Done(T),
    /// The answer was of no use; another attempt may bring a better one.
    Failed(Problem),
    /// No attempt can bring a better answer now.
    Over(Problem),
    /// The forge said no.
    Refused(Reply),
}

/// How one attempt at a write went.
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
