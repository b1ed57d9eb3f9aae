use serde::{Deserialize, Serialize};
use std::fmt;

/// The variables that name a proxy, the most specific one first.
const PROXIES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// The variables that name the proxy's exceptions.
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The proxy that the user's variables name, of any kind.
pub struct ChosenProxy<'a> {
    /// The variable.
    pub name: &'static str,
    /// The variable's value.
    pub address: &'a str,
    /// The hosts that are reached without the proxy.
    pub exceptions: &'a str,
}

/// The proxy that the user's variables name.
pub fn chosen_proxy<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<ChosenProxy<'a>> {
    let exceptions = EXCEPTIONS.iter().find_map(|name| variable(name));
    PROXIES.into_iter().find_map(|name| {
        Some(ChosenProxy {
            name,
            address: variable(name).filter(|address| !address.is_empty())?,
            exceptions: exceptions.unwrap_or(""),
        })
    })
}

/// An HTTP proxy that supports `CONNECT`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// The proxy's host name or address.
    pub host: String,
    /// The proxy's port.
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
    /// Hosts and domains that are reached without the proxy.
    direct: Vec<String>,
}

/// Omits the password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

impl Proxy {
    /// The proxy that the variables name, and the variable whose proxy cannot be used.
    pub fn of_variables<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> (Option<Self>, Option<&'static str>) {
        let chosen = chosen_proxy(variable);
        let read = |chosen: &ChosenProxy<'_>| Self::parse(chosen.address, chosen.exceptions);
        let proxy = chosen.as_ref().and_then(read);
        let unusable = chosen.filter(|_| proxy.is_none()).map(|chosen| chosen.name);
        (proxy, unusable)
    }

    /// Parses a proxy from the values of `HTTPS_PROXY` and `NO_PROXY`; `None` if it is not an
    /// unencrypted HTTP proxy.
    pub fn parse(address: &str, exceptions: &str) -> Option<Self> {
        let rest = match address.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return None,
            None => address,
        };
        let place = rest.split('/').next()?;
        let (login, place) = match place.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, place),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => (host, port.parse().ok()?),
            Some(_) | None => (place, 80),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let direct = exceptions.split([',', ' ']).map(|entry| {
            let entry = entry.trim().to_ascii_lowercase();
            entry
                .trim_start_matches("*.")
                .trim_start_matches('.')
                .to_owned()
        });
        (!host.is_empty()).then(|| Self {
            host: host.to_owned(),
            port,
            authorization: login.map(|login| format!("Basic {}", base64(&unescaped(login)))),
            direct: direct.filter(|entry| !entry.is_empty()).collect(),
        })
    }

    /// Whether `host` is reached without the proxy. Every host of this machine is.
    pub fn passes_by(&self, host: &str) -> bool {
        let is_here = host == "localhost"
            || host
                .parse()
                .is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        let is_below = |entry: &String| {
            host.strip_suffix(entry.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        is_here
            || self
                .direct
                .iter()
                .any(|entry| entry == "*" || is_below(entry))
    }
}

/// Decodes escapes such as `%41`.
fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3);
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(code) if *byte == b'%' => {
                all.push(code);
                at += 3;
            }
            Some(_) | None => {
                all.push(*byte);
                at += 1;
            }
        }
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let [first, second, third] = [0, 1, 2].map(|at| chunk.get(at).copied().unwrap_or(0));
        let group = u32::from_be_bytes([0, first, second, third]);
        for sextet in 0..4 {
            let index = (group >> (18 - 6 * sextet)) & 63;
            let is_there = sextet <= chunk.len();
            text.push(if is_there {
                ALPHABET[index as usize] as char
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_in_the_address_becomes_a_header() {
        let proxy = Proxy::parse("http://me:p%40ss@proxy.corp:3128/", "").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.corp", 3128));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert!(!format!("{proxy:?}").contains("bWU6"));
        assert_eq!(base64(b"a"), "YQ==");
        assert_eq!(base64(b"ab"), "YWI=");
        assert_eq!(base64(b"abc"), "YWJj");
    }

    #[test]
    fn proxies_that_need_another_protocol_are_not_read() {
        for address in [
            "https://proxy:443",
            "socks5://proxy:1080",
            "",
            "http://",
            "http://p:x",
        ] {
            assert_eq!(Proxy::parse(address, ""), None, "{address}");
        }
        assert_eq!(Proxy::parse("proxy", "").unwrap().port, 80);
        assert_eq!(Proxy::parse("http://[::1]:8080", "").unwrap().host, "::1");
    }

    #[test]
    fn exceptions_and_this_machine_are_reached_without_the_proxy() {
        let proxy = Proxy::parse("proxy:1", "corp, .inner.example,*.deep.example").unwrap();
        for (host, passes) in [
            ("corp", true),
            ("git.corp", true),
            ("inner.example", true),
            ("a.deep.example", true),
            ("nocorp", false),
            ("example", false),
            ("localhost", true),
            ("127.0.0.1", true),
            ("::1", true),
        ] {
            assert_eq!(proxy.passes_by(host), passes, "{host}");
        }
        assert!(
            Proxy::parse("proxy:1", "*")
                .unwrap()
                .passes_by("any.example")
        );
    }
}
