//! The loopback addresses that stand for hosts inside a network namespace.

use super::dns::{Answer, Query};
use drive_core::network::{Host, Reach, Refused};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The address of the tree's name server, which is also the default of programs that find no
/// `/etc/resolv.conf`.
pub(in super::super) const RESOLVER: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);

/// The number before the first address that a host can get.
const BASE: u32 = 0x7f01_0000;
/// The maximum number of names that may match patterns in one run.
const MOST_NAMES: u32 = 4096;
/// Ports that every host may have. No process in the tree can listen on them, because it lacks the privilege.
const WEB: [u16; 2] = [80, 443];

/// The target of a requested connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) may_be_private: bool,
}

/// The addresses of the reachable hosts. They are computed twice from the same list with the same
/// result: inside for the listeners and files, and outside for the relay.
pub(in super::super) struct Names {
    reach: Reach,
    addresses: BTreeMap<String, IpAddr>,
    hosts: BTreeMap<IpAddr, Vec<String>>,
    given: u32,
}

impl Names {
    pub(in super::super) fn new(reach: &Reach) -> Self {
        let mut names = Self {
            reach: reach.clone(),
            addresses: BTreeMap::new(),
            hosts: BTreeMap::new(),
            given: 0,
        };
        for allowed in &reach.hosts {
            if let Host::Exact(name) = &allowed.host {
                names.give(name);
            }
        }
        names
    }

    fn give(&mut self, name: &str) -> IpAddr {
        if let Some(address) = self.addresses.get(name) {
            return *address;
        }
        let address = match name.parse() {
            Ok(literal) => literal,
            Err(_) if name == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Err(_) => {
                self.given += 1;
                IpAddr::V4((BASE + self.given).into())
            }
        };
        self.addresses.insert(name.to_owned(), address);
        self.hosts.entry(address).or_default().push(name.to_owned());
        address
    }

    /// The addresses to listen on: a host's own address for ports of its own, and all addresses for
    /// the other ports, because names that match a pattern get their addresses later.
    pub(in super::super) fn listeners(&self) -> Vec<SocketAddr> {
        if self.reach.is_nothing() {
            return Vec::new();
        }
        let mut everywhere = WEB.to_vec();
        let patterns = self.reach.hosts.iter();
        let patterns = patterns.filter(|allowed| matches!(allowed.host, Host::Below(_)));
        everywhere.extend(patterns.flat_map(|allowed| &allowed.ports));
        everywhere.sort_unstable();
        everywhere.dedup();
        let any = |port: &u16| SocketAddr::from((Ipv4Addr::UNSPECIFIED, *port));
        let mut all: Vec<SocketAddr> = everywhere.iter().map(any).collect();
        for (address, hosts) in &self.hosts {
            let routes = hosts.iter().filter_map(|host| self.reach.find(host));
            for port in routes.flat_map(|route| route.ports) {
                let at = SocketAddr::new(*address, port);
                let is_new = address.is_ipv6() || !everywhere.contains(&port);
                if is_new && !all.contains(&at) {
                    all.push(at);
                }
            }
        }
        all
    }

    /// Addresses that the loopback interface needs in addition.
    pub(in super::super) fn foreign_addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.hosts.keys().filter_map(|address| match address {
            IpAddr::V4(v4) if !v4.is_loopback() => Some(*v4),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        })
    }

    /// The files in which programs look up names.
    pub(in super::super) fn files(&self, machine: &str) -> [(&'static str, String); 2] {
        let mut hosts = format!(
            "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.0.1 {machine}\n"
        );
        for (name, address) in &self.addresses {
            let is_name = name.parse::<IpAddr>().is_err() && name != "localhost";
            if is_name {
                hosts.push_str(&format!("{address} {name}\n"));
            }
        }
        let resolver = format!("nameserver {}\n", RESOLVER.ip());
        [("/etc/hosts", hosts), ("/etc/resolv.conf", resolver)]
    }

    /// The host that has this address.
    pub(super) fn host_at(&self, address: IpAddr) -> Option<&str> {
        self.hosts.get(&address)?.first().map(String::as_str)
    }

    /// The target of a connection to this address.
    pub(super) fn target(&self, at: SocketAddr) -> Option<Target> {
        let hosts = self.hosts.get(&at.ip().to_canonical())?;
        hosts.iter().find_map(|host| {
            let route = self.reach.find(host)?;
            route.ports.contains(&at.port()).then(|| Target {
                host: host.clone(),
                port: at.port(),
                may_be_private: route.may_be_private,
            })
        })
    }

    /// Answers a name query, and reports a refused host. No query ever leaves the machine.
    pub(super) fn answer(&mut self, query: &Query<'_>) -> (Answer, Option<Refused>) {
        let name = query.name.as_str();
        // Other names would be copied as they are into a proxy request and into messages.
        if !query.is_plain() {
            return (Answer::NoSuchName, None);
        }
        let address = if name == "localhost" || name.ends_with(".localhost") {
            Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
        } else if self.addresses.contains_key(name)
            || (self.given < MOST_NAMES && self.reach.find(name).is_some())
        {
            Some(self.give(name))
        } else {
            None
        };
        match address {
            Some(IpAddr::V4(v4)) if query.asks_for_address() => (Answer::Address(v4), None),
            Some(_) => (Answer::Nothing, None),
            None => {
                let is_reverse = name.ends_with(".arpa");
                let refused = (!is_reverse).then(|| Refused::NotAllowed {
                    host: name.to_owned(),
                });
                (Answer::NoSuchName, refused)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::network::{AllowedHost, parse_host};

    fn names(named: &[&str]) -> Names {
        let hosts = named.iter().map(|entry| parse_host(entry).unwrap().named());
        Names::new(&Reach {
            hosts: hosts.chain([AllowedHost::public("pypi.org")]).collect(),
            proxy: None,
        })
    }

    fn ask(names: &mut Names, name: &str) -> (Answer, Option<Refused>) {
        names.answer(&Query::about(name))
    }

    #[test]
    fn each_host_has_an_address_and_only_ports_of_its_own_have_listeners() {
        let names = names(&[
            "git.corp:22",
            "127.0.0.1:11434",
            "localhost:8080",
            "10.0.0.9",
            "[::1]:7",
        ]);
        let listeners: Vec<String> = names
            .listeners()
            .iter()
            .map(SocketAddr::to_string)
            .collect();
        assert_eq!(
            listeners,
            [
                "0.0.0.0:80",
                "0.0.0.0:443",
                "127.0.0.1:11434",
                "127.0.0.1:8080",
                "127.1.0.1:22",
                "[::1]:7"
            ]
        );
        assert_eq!(
            names.foreign_addresses().collect::<Vec<_>>(),
            [Ipv4Addr::new(10, 0, 0, 9)]
        );
        let target = |at: &str| names.target(at.parse().unwrap()).map(|target| target.host);
        assert_eq!(target("127.1.0.1:22").as_deref(), Some("git.corp"));
        assert_eq!(target("127.1.0.1:443"), None);
        assert_eq!(target("127.0.0.1:8080").as_deref(), Some("localhost"));
        assert_eq!(target("127.0.0.1:11434").as_deref(), Some("127.0.0.1"));
        assert_eq!(target("127.0.0.1:443"), None);
        assert_eq!(target("10.0.0.9:443").as_deref(), Some("10.0.0.9"));
        let [(_, hosts), (_, resolver)] = names.files("me");
        assert!(
            hosts.contains("127.1.0.1 git.corp\n127.1.0.2 pypi.org\n"),
            "{hosts}"
        );
        assert!(
            hosts.contains("127.0.0.1 me\n") && !hosts.contains("10.0.0.9"),
            "{hosts}"
        );
        assert_eq!(resolver, "nameserver 127.0.0.1\n");
    }

    #[test]
    fn a_name_that_matches_a_pattern_gets_an_address_and_any_other_is_refused_by_name() {
        let mut names = names(&["*.example.com"]);
        let fake = Ipv4Addr::new(127, 1, 0, 2);
        for _ in 0..2 {
            assert_eq!(
                ask(&mut names, "a.example.com"),
                (Answer::Address(fake), None)
            );
        }
        let target = names.target(SocketAddr::from((fake, 443))).unwrap();
        assert_eq!(
            (target.host.as_str(), target.may_be_private),
            ("a.example.com", false)
        );
        let refused = Some(Refused::NotAllowed {
            host: "example.com".to_owned(),
        });
        assert_eq!(
            ask(&mut names, "example.com"),
            (Answer::NoSuchName, refused)
        );
        assert_eq!(
            ask(&mut names, "1.0.0.127.in-addr.arpa"),
            (Answer::NoSuchName, None)
        );
        assert_eq!(
            ask(&mut names, "x.localhost"),
            (Answer::Address(Ipv4Addr::LOCALHOST), None)
        );
    }

    #[test]
    fn a_name_that_is_none_matches_no_pattern() {
        let mut names = names(&["*.example.com"]);
        for name in [
            "evil.net:443 http/1.1\r\nx: .example.com",
            "a b.example.com",
            "..example.com",
            ".example.com",
        ] {
            assert_eq!(
                ask(&mut names, name),
                (Answer::NoSuchName, None),
                "{name:?}"
            );
        }
    }

    #[test]
    fn the_number_of_names_of_a_pattern_is_limited() {
        let mut names = names(&["*.example.com"]);
        for number in 0..MOST_NAMES + 10 {
            ask(&mut names, &format!("n{number}.example.com"));
        }
        assert_eq!(names.given, MOST_NAMES);
        assert_eq!(ask(&mut names, "more.example.com").0, Answer::NoSuchName);
    }
}
