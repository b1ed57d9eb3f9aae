//! Checks the `Host` header, against DNS rebinding.
//!
//! A page of another site can make a browser resolve its own name to this machine and then read the answers.
//! Such a request has that site's name in its host header; it cannot contain an address or a configured name.

use axum::http::HeaderMap;
use axum::http::header::HOST;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

/// The accepted host names, in addition to every address and `localhost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(BTreeSet<String>);

impl Hosts {
    /// Accepts these names. Letter case does not matter.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter();
        Self(names.map(|name| name.as_ref().to_lowercase()).collect())
    }

    /// Whether a request names an accepted host.
    pub(super) fn accept(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        host.to_str().is_ok_and(|host| self.allows(host))
    }

    fn allows(&self, host: &str) -> bool {
        if let Some(rest) = host.strip_prefix('[') {
            let Some((address, port)) = rest.split_once(']') else {
                return false;
            };
            return address.parse::<Ipv6Addr>().is_ok() && is_port_suffix(port);
        }
        let name = match host.split_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            Some(_) => return false,
            None => host,
        };
        let name = name.to_lowercase();
        name.parse::<IpAddr>().is_ok() || name == "localhost" || self.0.contains(&name)
    }
}

fn is_port_suffix(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_that_were_asked_for_are_answered_and_nobody_elses() {
        let hosts = Hosts::new(["Drive.Example"]);
        for good in [
            "127.0.0.1:4242",
            "127.0.0.1",
            "192.168.7.9:80",
            "[::1]:4242",
            "[::1]",
            "LOCALHOST:9",
            "drive.example:443",
        ] {
            assert!(hosts.allows(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:4242",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:80",
            "127.0.0.1:http",
            "[::1]evil.example",
            "[evil.example]",
            "[::1",
            "::1",
        ] {
            assert!(!hosts.allows(bad), "{bad}");
        }
    }

    #[test]
    fn two_hosts_or_none_are_refused() {
        let hosts = Hosts::default();
        let mut headers = HeaderMap::new();
        assert!(!hosts.accept(&headers));
        headers.append(HOST, "127.0.0.1".parse().unwrap());
        assert!(hosts.accept(&headers));
        headers.append(HOST, "127.0.0.1".parse().unwrap());
        assert!(!hosts.accept(&headers));
    }
}
