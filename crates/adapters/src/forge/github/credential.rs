//! The token in use: renewed before it ends, and once after the forge refused it.

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

/// A token that has less left than this is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(5 * 60);

/// How long a failed renewal is not repeated: everybody who waited for it gets the same answer.
const FAILED_FOR: Duration = Duration::from_secs(30);
/// The same for a source that was only not reached.
const UNREACHED_FOR: Duration = Duration::from_secs(5);

/// A new token.
#[derive(Debug)]
pub struct Minted {
    /// The token.
    pub token: Token,
    /// How long it lives, if the source tells.
    pub lives: Option<Duration>,
    /// What it may do, if the source tells: `contents` to `write`.
    pub granted: Option<BTreeMap<String, String>>,
}

/// Something that can be asked for a token more than once.
pub trait TokenSource: Send + Sync {
    /// Requests a token from the source.
    fn ask(&self, around: &Surroundings) -> Result<Minted, Problem>;
    /// Its name, as a person is told.
    fn describe(&self) -> String;
    /// What a person does when its tokens are not accepted.
    fn advice(&self) -> String;
    /// Whether git knows its tokens only from drive.
    fn is_for_git(&self) -> bool {
        true
    }
}

/// A token and where it comes from. It prints as its source.
pub struct Credential {
    /// What budgets and cached answers belong to. It stays the same when the token is renewed.
    identity: String,
    /// Its place, as a person is told.
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
    /// The last renewal that failed: instead of which token, when, and why.
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

    /// A source that is asked for tokens; `first` is one that it already gave.
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

    /// The same, which tells `secrets` about every token.
    #[must_use]
    pub fn known_to(mut self, secrets: Option<SecretPolicy>) -> Self {
        self.secrets = secrets;
        if let (Some(secrets), Some(token)) = (&self.secrets, &self.lock().token) {
            token.tell(secrets);
        }
        self
    }

    /// What budgets and cached answers belong to.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Its place, as a person is told.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether git has no other way to this token: a variable and `gh` reach git by themselves.
    pub fn is_for_git(&self) -> bool {
        self.origin
            .as_ref()
            .is_some_and(|origin| origin.is_for_git())
    }

    /// What the token may do, if its source told.
    pub fn granted(&self) -> Option<BTreeMap<String, String>> {
        self.lock().granted.clone()
    }

    /// The token to use now. One that ends soon is renewed; while it lives, a renewal that fails
    /// costs nothing.
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

    /// Another token than the one that the forge refused, with its words. Whoever comes late in a
    /// burst of refusals gets what the first one got.
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
                // A stop that was asked for says nothing about the source.
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
