//! Network access by host name: which hosts a process may reach, and why a connection was refused.
//!
//! An allow-list of hosts does not keep a process from sending data to an allowed host.

mod host;
mod proxy;

pub use host::{AllowedHost, Host, host_of_url, parse_host};
pub use proxy::{ChosenProxy, Proxy, chosen_proxy};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// The maximum number of hosts in settings: each distinct port needs a listening socket.
pub const MOST_HOSTS: usize = 100;

/// Variables that name a network's proxies. curl and wget only read the lowercase names.
pub const PROXY_VARIABLES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Variables that name the certificates of a network.
pub const CERTIFICATE_VARIABLES: [&str; 8] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
];

/// The public package registries: Cargo, npm and Yarn, PyPI, Go, Maven and Gradle, RubyGems,
/// Packagist, NuGet and Hex, and the hosts from which their tools are installed.
pub const REGISTRIES: [&str; 27] = [
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    "registry.npmjs.org",
    "registry.npmjs.com",
    "registry.yarnpkg.com",
    "repo.yarnpkg.com",
    "nodejs.org",
    "pypi.org",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "sum.golang.org",
    "go.dev",
    "dl.google.com",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "plugins-artifacts.gradle.org",
    "services.gradle.org",
    "downloads.gradle.org",
    "rubygems.org",
    "index.rubygems.org",
    "repo.packagist.org",
    "api.nuget.org",
    "repo.hex.pm",
    "hex.pm",
];

/// Network access of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    /// Everything that the machine can reach.
    #[default]
    Open,
    /// Only its own loopback, and the allowed hosts.
    Off,
}

/// The outside hosts that a process may reach. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The hosts.
    pub hosts: Vec<AllowedHost>,
    /// The proxy that connections to them go through.
    pub proxy: Option<Proxy>,
}

/// How to reach a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The allowed ports.
    pub ports: Vec<u16>,
    /// Whether the user named the host, so that it may have an address of this machine or its network.
    pub may_be_private: bool,
}

impl Reach {
    /// Access to the package registries, through the proxy that the variables name. Also returns
    /// the variable whose proxy cannot be used.
    pub fn registries<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> (Self, Option<&'static str>) {
        let (proxy, unusable) = Proxy::of_variables(variable);
        let hosts = REGISTRIES.map(AllowedHost::public).to_vec();
        (Self { hosts, proxy }, unusable)
    }

    /// Whether no host can be reached.
    pub fn is_nothing(&self) -> bool {
        self.hosts.is_empty()
    }

    /// How to reach `name`; `None` if it is not allowed.
    pub fn find(&self, name: &str) -> Option<Route> {
        let mut route = None;
        for allowed in self.hosts.iter().filter(|allowed| allowed.matches(name)) {
            let Route {
                ports,
                may_be_private,
            } = route.get_or_insert(Route {
                ports: Vec::new(),
                may_be_private: false,
            });
            ports.extend(
                allowed
                    .ports
                    .iter()
                    .filter(|port| !ports.contains(port))
                    .collect::<Vec<_>>(),
            );
            *may_be_private |= allowed.may_be_private();
        }
        route
    }
}

/// A refused connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "because")]
pub enum Refused {
    /// The settings do not allow the host.
    NotAllowed {
        /// The host that was refused.
        host: String,
    },
    /// The name resolves to an address in the user's own network, and the user did not name the host.
    PrivateAddress {
        /// The host that resolved to it.
        host: String,
        /// The address.
        address: IpAddr,
    },
    /// The host is allowed, but did not answer.
    Unreachable {
        /// The host that did not answer.
        host: String,
        /// The reason.
        error: String,
    },
}

impl Refused {
    /// The host's name, with its port if known.
    pub fn host(&self) -> &str {
        match self {
            Refused::NotAllowed { host }
            | Refused::PrivateAddress { host, .. }
            | Refused::Unreachable { host, .. } => host,
        }
    }

    /// The refusal as text, with the advice on how to allow a host that is not allowed.
    pub fn with_remedy(&self, remedy: &str) -> String {
        match self {
            Refused::NotAllowed { host } => format!("wanted `{host}`: {remedy}"),
            // The text does not say how to allow it: whoever controls the name chooses the address.
            Refused::PrivateAddress { host, address } => {
                format!("wanted `{host}`, whose name leads to {address} in your own network")
            }
            Refused::Unreachable { host, error } => {
                format!("could not reach `{host}`: {error}")
            }
        }
    }
}

/// The text for the user of an agent.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_remedy("add it to `allow_hosts`"))
    }
}

/// Whether an address belongs to the public network, and not to this machine or the user's network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, third, _] = v4.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            let is_test = first == 198 && second & 0xfe == 18;
            let is_protocol = first == 192 && second == 0 && third == 0;
            !(first == 0
                || first >= 240
                || is_shared
                || is_test
                || is_protocol
                || v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_multicast())
        }
        IpAddr::V6(v6) => {
            let segments = v6.segments();
            // IPv6 addresses that contain an IPv4 address: mapped, translated, 6to4.
            let inner = match segments {
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    Some((high, low))
                }
                _ => None,
            };
            let inner = inner.map(|(high, low)| (u32::from(high) << 16 | u32::from(low)).into());
            match v6.to_ipv4_mapped().or(inner) {
                Some(v4) => is_public(IpAddr::V4(v4)),
                // Global unicast is 2000::/3.
                None => segments[0] & 0xe000 == 0x2000,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(named: &[&str]) -> Reach {
        Reach {
            hosts: named
                .iter()
                .map(|entry| parse_host(entry).unwrap().named())
                .chain(REGISTRIES.iter().map(|host| AllowedHost::public(host)))
                .collect(),
            proxy: None,
        }
    }

    #[test]
    fn a_host_is_reached_on_the_ports_of_all_its_entries() {
        let reach = reach(&["api.example", "api.example:8443", "*.example:22"]);
        let route = reach.find("api.example").unwrap();
        assert_eq!(route.ports, [443, 80, 8443, 22]);
        assert!(route.may_be_private);
        assert_eq!(reach.find("other"), None);
        assert_eq!(reach.find("example"), None);
    }

    #[test]
    fn only_a_host_that_the_user_named_may_be_private() {
        let reach = reach(&["registry.corp", "*.corp"]);
        assert!(reach.find("registry.corp").unwrap().may_be_private);
        assert!(!reach.find("elsewhere.corp").unwrap().may_be_private);
        assert!(!reach.find("pypi.org").unwrap().may_be_private);
    }

    #[test]
    fn addresses_of_the_machine_and_of_its_network_are_not_public() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.8",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a01:203",
            "2002:7f00:1::",
            "::127.0.0.1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn every_registry_is_a_host() {
        for registry in REGISTRIES {
            assert_eq!(
                parse_host(registry).map(|host| host.to_string()),
                Ok(registry.to_owned())
            );
        }
    }
}
