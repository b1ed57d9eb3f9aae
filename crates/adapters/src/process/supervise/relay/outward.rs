//! Connections from the relay to the real hosts.

use super::names::Target;
use drive_core::network::{Proxy, Refused, is_public};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The timeout for connecting to one address.
const CONNECT: Duration = Duration::from_secs(15);
/// The maximum number of addresses of a host that are tried.
const MOST_ADDRESSES: usize = 4;
/// The timeout for connecting through a proxy.
const PROXY: Duration = Duration::from_secs(60);
/// The maximum size of a proxy's answer.
const MOST_HEADER: usize = 16 * 1024;

/// How hosts are reached.
pub(super) struct Outward {
    pub(super) proxy: Option<Proxy>,
    /// Hosts with a fixed address, which is treated as public.
    pub(super) pins: BTreeMap<String, SocketAddr>,
}

impl Outward {
    /// Connects to `target`.
    pub(super) fn connect(&self, target: &Target) -> Result<TcpStream, Refused> {
        let unreachable = |error: io::Error| Refused::Unreachable {
            host: format!("{}:{}", target.host, target.port),
            error: error.to_string(),
        };
        if let Some(address) = self.pins.get(&target.host) {
            return TcpStream::connect_timeout(address, CONNECT).map_err(unreachable);
        }
        let proxy = self.proxy.as_ref();
        if let Some(proxy) = proxy.filter(|proxy| !proxy.passes_by(&target.host)) {
            return through(proxy, target).map_err(|error| {
                let place = format!("the proxy {}:{}: {error}", proxy.host, proxy.port);
                unreachable(io::Error::other(place))
            });
        }
        let found = resolve(&target.host, target.port).map_err(unreachable)?;
        let allowed = permitted(target, found)?;
        let stream = connect_first(&allowed).map_err(unreachable)?;
        match own_address(&stream).filter(|_| !target.may_be_private) {
            Some(address) => Err(Refused::PrivateAddress {
                host: target.host.clone(),
                address,
            }),
            None => Ok(stream),
        }
    }
}

/// The address of a connection that ends on this same machine, which may have a public address.
fn own_address(stream: &TcpStream) -> Option<IpAddr> {
    let (near, far) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
    (near.ip() == far.ip()).then_some(far.ip())
}

/// The addresses to which a connection is allowed.
fn permitted(target: &Target, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
    let is_allowed = |at: &SocketAddr| target.may_be_private || is_public(at.ip());
    let private = found.iter().find(|at| !is_allowed(at)).map(SocketAddr::ip);
    let allowed: Vec<SocketAddr> = found.into_iter().filter(is_allowed).collect();
    match private {
        Some(address) if allowed.is_empty() => Err(Refused::PrivateAddress {
            host: target.host.clone(),
            address,
        }),
        Some(_) | None => Ok(allowed),
    }
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let all = (host, port).to_socket_addrs()?;
    // The families alternate, so that a host is reached even if one family does not work.
    let (fours, sixes): (Vec<_>, Vec<_>) = all.partition(SocketAddr::is_ipv4);
    let mut mixed = Vec::new();
    let (mut sixes, mut fours) = (sixes.into_iter(), fours.into_iter());
    while mixed.len() < MOST_ADDRESSES {
        let both = [sixes.next(), fours.next()];
        if both == [None, None] {
            break;
        }
        mixed.extend(both.into_iter().flatten());
    }
    Ok(mixed)
}

fn connect_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn through(proxy: &Proxy, target: &Target) -> io::Result<TcpStream> {
    let mut stream = connect_first(&resolve(&proxy.host, proxy.port)?)?;
    stream.set_read_timeout(Some(PROXY))?;
    let place = format!("{}:{}", target.host, target.port);
    let login = proxy.authorization.iter();
    let login: String = login
        .map(|value| format!("Proxy-Authorization: {value}\r\n"))
        .collect();
    let request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login}\r\n");
    stream.write_all(request.as_bytes())?;
    // Reads single bytes: everything after the header belongs to the connection.
    let mut header = Vec::new();
    while !header.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if header.len() == MOST_HEADER || stream.read(&mut byte)? == 0 {
            return Err(io::Error::other("it answered something else than HTTP"));
        }
        header.extend(byte);
    }
    stream.set_read_timeout(None)?;
    let header = String::from_utf8_lossy(&header);
    let status = header.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => Ok(stream),
        Some(_) | None => Err(io::Error::other(format!("it answered `{}`", status.trim()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(may_be_private: bool) -> Target {
        Target {
            host: "api.example".to_owned(),
            port: 443,
            may_be_private,
        }
    }

    #[test]
    fn a_name_that_leads_into_the_own_network_is_refused_unless_the_user_named_it() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let both = || vec![at("10.0.0.1:443"), at("1.1.1.1:443")];
        assert_eq!(
            permitted(&target(false), both()),
            Ok(vec![at("1.1.1.1:443")])
        );
        assert_eq!(permitted(&target(true), both()), Ok(both()));
        let refused = permitted(&target(false), vec![at("169.254.169.254:80")]);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "wanted `api.example`, whose name leads to 169.254.169.254 in your own network"
        );
    }

    #[test]
    fn a_connection_that_this_machine_answers_itself_is_recognised() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let own = TcpStream::connect(at).unwrap();
        assert_eq!(own_address(&own), Some(at.ip()));
        // Looks like a connection to another machine: the two ends have different addresses.
        let other = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .unwrap();
        let near = "127.0.0.1:0".parse::<SocketAddr>().unwrap();
        rustix::net::bind(&socket, &near).unwrap();
        rustix::net::connect(&socket, &other.local_addr().unwrap()).unwrap();
        assert_eq!(own_address(&TcpStream::from(socket)), None);
    }

    fn behind(answer: &'static str) -> (Result<TcpStream, Refused>, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                asked.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        let outward = Outward {
            proxy: Proxy::parse(&format!("http://me:pw@127.0.0.1:{port}"), ""),
            pins: BTreeMap::new(),
        };
        let connected = outward.connect(&target(false));
        (connected, server.join().unwrap())
    }

    #[test]
    fn a_proxy_is_asked_to_connect_and_what_follows_is_the_connection() {
        let (connected, asked) = behind("HTTP/1.1 200 Established\r\nX: y\r\n\r\nhello");
        assert_eq!(
            asked,
            "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\nProxy-Authorization: \
             Basic bWU6cHc=\r\n\r\n"
        );
        let mut rest = String::new();
        connected.unwrap().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "hello");
    }

    #[test]
    fn a_proxy_that_refuses_is_named() {
        let (connected, _) = behind("HTTP/1.1 407 Login please\r\n\r\n");
        let text = connected.unwrap_err().to_string();
        assert!(
            text.contains("`api.example:443`: the proxy 127.0.0.1:"),
            "{text}"
        );
        assert!(
            text.ends_with("it answered `HTTP/1.1 407 Login please`"),
            "{text}"
        );
    }
}
