//! Dashboard sessions: browsers that followed a one-time link.
//!
//! The link sets a cookie that scripts cannot read, and that browsers do not send with requests
//! from other sites. The token in forms is derived from it, so nothing else is stored.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST, ORIGIN};
use drive_core::Problem;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The name of the cookie.
const NAME: &str = "drive-session";
/// How long a browser keeps it.
const MAX_AGE_SECS: u32 = 30 * 24 * 60 * 60;
/// The length of a secret: 32 bytes in hexadecimal.
const SECRET: usize = 64;

/// One-time codes and the sessions created with them. Only hashes are stored.
pub trait Logins: Send + Sync {
    /// Uses up a code and returns the secret of a new session; `None` for a code that is unknown,
    /// expired or used.
    fn redeem(&self, code: &str) -> Result<Option<String>, Problem>;
    /// Whether a session with this secret exists and has not expired.
    fn is_session(&self, secret: &str) -> Result<bool, Problem>;
}

/// The hash under which a code or the secret of a session is stored.
pub fn stored_hash(secret: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"drive login\0");
    hash.update(secret.as_bytes());
    hex(&hash.finalize())
}

/// Compares a stored hash with that of a secret, in constant time.
pub fn is_stored_hash_of(stored: &str, secret: &str) -> bool {
    stored
        .as_bytes()
        .ct_eq(stored_hash(secret).as_bytes())
        .into()
}

/// A visitor who is logged in.
#[derive(Clone)]
pub(crate) struct Session {
    secret: String,
}

impl Session {
    /// The session that a request claims to have; unchecked.
    pub(crate) fn claimed(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split(';'));
        let named = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut ours = named.filter(|(name, value)| *name == NAME && is_secret(value));
        ours.next().map(|(_, value)| Self {
            secret: value.to_owned(),
        })
    }

    pub(crate) fn new(secret: String) -> Self {
        Self { secret }
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// The header that sets the cookie.
    pub(crate) fn cookie(&self) -> String {
        let secret = &self.secret;
        format!("{NAME}={secret}; Path=/; Max-Age={MAX_AGE_SECS}; HttpOnly; SameSite=Strict")
    }

    /// The token in every form of this session. It does not reveal the secret.
    pub(crate) fn form_token(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"drive form\0");
        hash.update(self.secret.as_bytes());
        hex(&hash.finalize())
    }

    /// Whether a form was made for this session.
    pub(crate) fn accepts(&self, token: &str) -> bool {
        self.form_token().as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// Whether a text has the form of a secret.
pub(crate) fn is_secret(text: &str) -> bool {
    text.len() == SECRET && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a request that changes something comes from a page of this server.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    let one = |name| {
        let mut all = headers.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(value), None) => value.to_str().ok(),
            (_, _) => None,
        }
    };
    let (Some(origin), Some(host)) = (one(ORIGIN), one(HOST)) else {
        return false;
    };
    let schemes = ["http://", "https://"].iter();
    let mut of_origin = schemes.filter_map(|scheme| origin.strip_prefix(scheme));
    of_origin.any(|name| name == host)
        && fetch_site(headers).is_none_or(|site| site == "same-origin")
}

/// Whether a person followed a link from another site, so that a strict cookie is not sent.
pub(crate) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    matches!(fetch_site(headers), Some("cross-site" | "same-site"))
        && headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate")
}

/// Whether a browser only prefetches the page.
pub(crate) fn is_prefetch(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-moz"]
        .iter()
        .any(|name| headers.contains_key(*name))
}

fn fetch_site(headers: &HeaderMap) -> Option<&str> {
    let site = headers.get("sec-fetch-site")?;
    Some(site.to_str().unwrap_or("unreadable"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_session_is_read_from_its_cookie_and_from_no_other() {
        let secret = "ab".repeat(32);
        let claimed = |cookie: &str| {
            let session = Session::claimed(&headers(&[("cookie", cookie)]));
            session.map(|session| session.secret)
        };
        assert_eq!(
            claimed(&format!("a=b; drive-session={secret}; c=d")),
            Some(secret.clone())
        );
        for bad in [
            String::new(),
            format!("other={secret}"),
            format!("drive-session={secret}0"),
            format!("drive-session={}", "xy".repeat(32)),
            "drive-session=".to_owned(),
        ] {
            assert_eq!(claimed(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_form_token_belongs_to_one_session_and_tells_nothing_of_it() {
        let (one, other) = (Session::new("a".repeat(64)), Session::new("b".repeat(64)));
        assert!(one.accepts(&one.form_token()));
        assert!(!one.accepts(&other.form_token()));
        assert!(!one.accepts(""));
        assert!(!one.form_token().contains(one.secret()));
        let cookie = one.cookie();
        assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"));
    }

    #[test]
    fn only_a_page_of_this_server_may_change_something() {
        let host = ("host", "127.0.0.1:4242");
        let own = ("origin", "http://127.0.0.1:4242");
        assert!(is_from_here(&headers(&[host, own])));
        let same = ("sec-fetch-site", "same-origin");
        assert!(is_from_here(&headers(&[host, own, same])));
        for bad in [
            &[host][..],
            &[own],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://127.0.0.1:4243")],
            &[host, ("origin", "http://evil.example")],
            &[host, ("origin", "127.0.0.1:4242")],
            &[host, own, own],
            &[host, own, ("sec-fetch-site", "same-site")],
            &[host, own, ("sec-fetch-site", "cross-site")],
            &[host, own, ("sec-fetch-site", "none")],
        ] {
            assert!(!is_from_here(&headers(bad)), "{bad:?}");
        }
    }

    #[test]
    fn a_link_followed_from_another_site_is_told_from_a_request_of_its_page() {
        let from = |site, mode| {
            is_from_elsewhere(&headers(&[
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
            ]))
        };
        assert!(from("cross-site", "navigate"));
        assert!(from("same-site", "navigate"));
        assert!(!from("cross-site", "no-cors"));
        assert!(!from("same-origin", "navigate"));
        assert!(!is_from_elsewhere(&HeaderMap::new()));
    }
}
