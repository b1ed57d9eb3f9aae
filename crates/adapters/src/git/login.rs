//! The token with which git logs in to the forge's server, if git's own settings do not contain it.

use std::fmt;
use std::sync::{Arc, RwLock};

/// Provides the current password for one server; a token may be renewed.
#[derive(Clone)]
pub struct GitLogin {
    /// The server, such as `https://github.com/`.
    pub server: String,
    /// The user and the password; `None` if there is none now.
    pub password: Arc<dyn Fn() -> Option<(String, String)> + Send + Sync>,
}

impl fmt::Debug for GitLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitLogin({})", self.server)
    }
}

/// Shared by every copy of a [`Git`](super::Git).
pub(super) type Logins = Arc<RwLock<Option<GitLogin>>>;

pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = crate::base64::encode(bytes, ALPHABET);
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}
