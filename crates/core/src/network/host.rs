use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The default ports of a host.
const WEB: [u16; 2] = [443, 80];

/// A host that may be reached, or all hosts below a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedHost {
    /// The host.
    pub host: Host,
    /// The ports.
    pub ports: Vec<u16>,
    /// Whether the user named it.
    is_named: bool,
}

/// The name of a host, or a pattern of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Host {
    /// This name or address, in lowercase.
    Exact(String),
    /// Every name that ends with a dot and this domain.
    Below(String),
}

impl AllowedHost {
    /// A well-known public host, on the web ports.
    pub fn public(name: &str) -> Self {
        Self {
            host: Host::Exact(name.to_owned()),
            ports: WEB.to_vec(),
            is_named: false,
        }
    }

    /// The host, marked as named by the user.
    #[must_use]
    pub fn named(mut self) -> Self {
        self.is_named = true;
        self
    }

    /// The address, if it is written as one; `None` for a name.
    pub fn address(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Exact(host) if host == "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            Host::Exact(host) => host.parse().ok(),
            Host::Below(_) => None,
        }
    }

    /// Whether this entry covers `name`, which is in lowercase and without a final dot.
    pub(super) fn matches(&self, name: &str) -> bool {
        match &self.host {
            Host::Exact(host) => host == name,
            Host::Below(domain) => name
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        }
    }

    /// Whether the host may have a private address. A pattern may not: the owner of the domain
    /// chooses the addresses below it.
    pub(super) fn may_be_private(&self) -> bool {
        self.is_named && matches!(self.host, Host::Exact(_))
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Exact(host) if host.contains(':') => write!(f, "[{host}]")?,
            Host::Exact(host) => f.write_str(host)?,
            Host::Below(domain) => write!(f, "*.{domain}")?,
        }
        match self.ports[..] {
            [port] => write!(f, ":{port}"),
            _ => Ok(()),
        }
    }
}

/// Parses `host`, `host:port` or `*.example.com`, the last with an optional port; the error says
/// what is wrong.
pub fn parse_host(entry: &str) -> Result<AllowedHost, &'static str> {
    if entry.contains('/') {
        return Err("it is an address of a page: write only the host, such as `example.com`");
    }
    let (name, port) = split_port(entry)?;
    let ports = match port {
        None => WEB.to_vec(),
        Some(port) => match port.parse() {
            Ok(port) if port != 0 => vec![port],
            Ok(_) | Err(_) => return Err("its port is not a number from 1 to 65535"),
        },
    };
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    let host = match name.strip_prefix("*.") {
        Some(domain) if is_name(domain) && !is_numeric(domain) => Host::Below(domain.to_owned()),
        None if name == "::1" || name.parse::<Ipv4Addr>().is_ok() => Host::Exact(name.to_owned()),
        None if name.parse::<Ipv6Addr>().is_ok() => {
            return Err("of the IPv6 addresses only `[::1]` can be allowed: use a name");
        }
        None if is_name(name) && !is_numeric(name) => Host::Exact(name.to_owned()),
        Some(_) | None => {
            return Err("write `host`, `host:port` or `*.example.com`");
        }
    };
    Ok(AllowedHost {
        host,
        ports,
        is_named: false,
    })
}

/// The host and port of a URL such as `https://me@host:8443/path`.
pub fn host_of_url(url: &str) -> Option<AllowedHost> {
    let (scheme, rest) = url.split_once("://")?;
    let place = rest.split(['/', '?', '#']).next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let has_port = place
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    if has_port {
        return parse_host(place).ok();
    }
    let port = if scheme.eq_ignore_ascii_case("http") {
        80
    } else {
        443
    };
    parse_host(&format!("{place}:{port}")).ok()
}

fn split_port(entry: &str) -> Result<(&str, Option<&str>), &'static str> {
    let brackets = "write an IPv6 address in brackets: `[::1]:8080`";
    if let Some(rest) = entry.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or(brackets)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((address, Some(port))),
            None if rest.is_empty() => Ok((address, None)),
            None => Err(brackets),
        };
    }
    match entry.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Err(brackets),
        Some((name, port)) => Ok((name, Some(port))),
        None => Ok((entry, None)),
    }
}

/// Whether the name can be looked up. Underscores are not allowed in host names but are in use.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Whether the last part is a number: old programs read such a name as an address.
fn is_numeric(name: &str) -> bool {
    name.rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_ports_and_patterns_are_read_back_as_written() {
        for entry in [
            "example.com",
            "example.com:8443",
            "*.example.com",
            "*.example.com:22",
            "localhost:8080",
            "127.0.0.1:11434",
            "[::1]:11434",
            "registry",
        ] {
            assert_eq!(
                parse_host(entry).map(|host| host.to_string()),
                Ok(entry.to_owned())
            );
        }
        assert_eq!(
            parse_host("Example.COM.").unwrap().to_string(),
            "example.com"
        );
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for entry in [
            "",
            "*",
            "*.",
            "a..b",
            "https://example.com",
            "example.com/path",
            "example.com:0",
            "example.com:99999",
            "example.com:https",
            "::1",
            "[::1",
            "[::1]8",
            "[2001:db8::1]:80",
            "a b",
            "exa*mple.com",
            "1.2.3",
            "*.1.2.3.4",
            "me@host",
        ] {
            assert!(parse_host(entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_pattern_matches_below_its_domain_and_nothing_beside_it() {
        let pattern = parse_host("*.example.com").unwrap();
        for (name, matches) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            (".example.com", false),
            ("badexample.com", false),
            ("example.com.evil", false),
        ] {
            assert_eq!(pattern.matches(name), matches, "{name}");
        }
    }
}
