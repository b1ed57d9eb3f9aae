//! The token that git proves itself with to the forge's server, where drive has one that git's own
//! settings do not know.

use super::Git;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Gives the password for one server, as it is now: a token that is renewed.
#[derive(Clone)]
pub struct GitLogin {
    /// The server, such as `https://github.com/`.
    pub server: String,
    /// The user and the password; `None` where there is none now.
    pub password: Arc<dyn Fn() -> Option<(String, String)> + Send + Sync>,
}

impl fmt::Debug for GitLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitLogin({})", self.server)
    }
}

/// Shared by every copy of a [`Git`].
pub(super) type Logins = Arc<RwLock<Option<GitLogin>>>;

impl Git {
    /// Proves itself to one server like this from now on. Every copy of this git does.
    pub fn log_in(&self, login: GitLogin) {
        let mut logins = self.logins.write().unwrap_or_else(PoisonError::into_inner);
        *logins = Some(login);
    }

    /// Settings for calls to a remote. They travel by environment, which others cannot read. The
    /// empty one clears what the repository's own settings add: two such headers are refused.
    pub(super) fn login_settings(&self) -> Vec<(String, String)> {
        let logins = self.logins.read().unwrap_or_else(PoisonError::into_inner);
        let login = logins.clone();
        drop(logins);
        let Some((server, (user, password))) =
            login.and_then(|login| Some((login.server, (login.password)()?)))
        else {
            return Vec::new();
        };
        let key = format!("http.{server}.extraHeader");
        let encoded = base64(format!("{user}:{password}").as_bytes());
        let header = format!("Authorization: Basic {encoded}");
        vec![(key.clone(), String::new()), (key, header)]
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = crate::base64::encode(bytes, ALPHABET);
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}
