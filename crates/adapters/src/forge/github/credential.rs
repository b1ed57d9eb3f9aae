//! The token in use: renewed before it expires, and once after the forge refused it.

use super::refusal::is_final;
use super::surroundings::Surroundings;
use super::token::Token;
use drive_core::problem::{Kind, Problem};
use drive_core::secrets::SecretPolicy;
use drive_core::time::{Timestamp, after};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A token that is valid for less than this is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(5 * 60);

/// How long a failed renewal is not repeated; all callers that wait for it get the same answer.
const FAILED_FOR: Duration = Duration::from_secs(30);
/// The same time for a source that could not be reached.
const UNREACHED_FOR: Duration = Duration::from_secs(5);

/// A new token.
#[derive(Debug)]
pub struct Minted {
    /// The token.
    pub token: Token,
    /// How long it is valid, if the source reports that.
    pub lives: Option<Duration>,
    /// Its permissions, if the source reports them, such as `contents` with `write`.
    pub granted: Option<BTreeMap<String, String>>,
}

/// A source that can be asked for a token repeatedly.
pub trait TokenSource: Send + Sync {
    /// Requests a token from the source.
    fn ask(&self, around: &Surroundings) -> Result<Minted, Problem>;
    /// Its name, for people.
    fn describe(&self) -> String;
    /// Advice for people when its tokens are not accepted.
    fn advice(&self) -> String;
    /// Whether git gets its tokens only from drive.
    fn is_for_git(&self) -> bool {
        true
    }
}

/// A token and its source. It displays as its source.
pub struct Credential {
    /// The key for budgets and cached answers. It stays the same when the token is renewed.
    identity: String,
    /// Its source, for people.
    source: String,
    origin: Option<Box<dyn TokenSource>>,
    current: Mutex<Current>,
    secrets: Option<SecretPolicy>,
}

#[derive(Default)]
struct Current {
    token: Option<Token>,
    ends_at: Option<Timestamp>,
    granted: Option<BTreeMap<String, String>>,
    /// The last failed renewal: the token it should have replaced, the time, and the problem.
    failed: Option<(Option<Token>, Timestamp, Problem)>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential(from {})", self.source)
    }
}

impl From<Token> for Credential {
    fn from(token: Token) -> Self {
        Self::fixed(token, "its caller".to_owned())
    }
}

impl Credential {
    /// A token that cannot be renewed, such as one from a variable.
    pub fn fixed(token: Token, source: String) -> Self {
        Self {
            identity: token.fingerprint(),
            source,
            origin: None,
            current: Mutex::new(Current {
                token: Some(token),
                ..Current::default()
            }),
            secrets: None,
        }
    }

    /// A token from a source that can be asked again; `first` is one that it already gave.
    pub fn renewable(identity: String, first: Option<Token>, origin: Box<dyn TokenSource>) -> Self {
        Self {
            identity,
            source: origin.describe(),
            origin: Some(origin),
            current: Mutex::new(Current {
                token: first,
                ..Current::default()
            }),
            secrets: None,
        }
    }

    /// Makes every token known to `secrets`.
    #[must_use]
    pub fn known_to(mut self, secrets: Option<SecretPolicy>) -> Self {
        self.secrets = secrets;
        if let (Some(secrets), Some(token)) = (&self.secrets, &self.lock().token) {
            token.tell(secrets);
        }
        self
    }

    /// The key for budgets and cached answers.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Its source, for people.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether git gets this token only from drive: a token in a variable or from `gh` reaches git by itself.
    pub fn is_for_git(&self) -> bool {
        self.origin
            .as_ref()
            .is_some_and(|origin| origin.is_for_git())
    }

    /// The permissions of the token, if its source reported them.
    pub fn granted(&self) -> Option<BTreeMap<String, String>> {
        self.lock().granted.clone()
    }

    /// The current token. A token that expires soon is renewed; while it is valid, a failed renewal
    /// has no effect.
    pub fn token(&self, around: &Surroundings) -> Result<Token, Problem> {
        let now = around.clock.now();
        let mut current = self.lock();
        let Some(token) = current.token.clone() else {
            return self.renew_locked(&mut current, around);
        };
        let ends_within = |margin| current.ends_at.is_some_and(|end| end <= after(now, margin));
        if !ends_within(RENEW_BEFORE) {
            return Ok(token);
        }
        let has_ended = ends_within(Duration::ZERO);
        match self.renew_locked(&mut current, around) {
            Err(_) if !has_ended => Ok(token),
            renewed => renewed,
        }
    }

    /// Another token than the refused one, given the forge's message. Later callers of a burst of
    /// refusals get the result of the first.
    pub fn renewed(
        &self,
        refused: &Token,
        words: &str,
        around: &Surroundings,
    ) -> Result<Token, Problem> {
        if self.origin.is_none() {
            return Err(self.refused("", words));
        }
        let mut current = self.lock();
        if let Some(token) = current.token.clone().filter(|token| token != refused) {
            return Ok(token);
        }
        let token = self.renew_locked(&mut current, around)?;
        if token != *refused {
            return Ok(token);
        }
        let problem = self.refused("; asked again, it gives the same token", words);
        current.failed = Some((Some(token), around.clock.now(), problem.clone()));
        Err(problem)
    }

    fn renew_locked(&self, current: &mut Current, around: &Surroundings) -> Result<Token, Problem> {
        let now = around.clock.now();
        if let Some((instead_of, at, problem)) = &current.failed
            && *instead_of == current.token
            && now >= *at
            && now < after(*at, not_repeated_for(problem))
        {
            return Err(problem.clone());
        }
        let Some(origin) = &self.origin else {
            return Err(self.refused("", ""));
        };
        match origin.ask(around) {
            Ok(minted) => {
                if let Some(secrets) = &self.secrets {
                    minted.token.tell(secrets);
                }
                *current = Current {
                    token: Some(minted.token.clone()),
                    ends_at: minted.lives.map(|lives| after(now, lives)),
                    granted: minted.granted,
                    failed: None,
                };
                Ok(minted.token)
            }
            Err(problem) => {
                // A requested stop shows nothing about the source.
                if problem.kind != Kind::Interrupted {
                    let at = around.clock.now();
                    current.failed = Some((current.token.clone(), at, problem.clone()));
                }
                Err(problem)
            }
        }
    }

    /// The problem of a token that the forge does not accept.
    fn refused(&self, more: &str, words: &str) -> Problem {
        let source = &self.source;
        let hint = match &self.origin {
            Some(origin) => origin.advice(),
            None => format!(
                "a token from {source} cannot be renewed: set a new one, or use `gh auth login`, \
                 `forge.token_command` or a GitHub App"
            ),
        };
        let problem = Problem::new(
            Kind::ForgeToken,
            format!("the forge does not accept the token from {source}{more}"),
        )
        .hint(hint);
        if words.is_empty() {
            problem
        } else {
            problem.cause(words.to_owned())
        }
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_repeated_for(problem: &Problem) -> Duration {
    if is_final(problem.kind) {
        FAILED_FOR
    } else {
        UNREACHED_FOR
    }
}
