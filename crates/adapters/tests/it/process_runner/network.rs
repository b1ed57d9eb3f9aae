//! Tests hosts by name: a loopback server acts as a public host, and the confined child reaches it,
//! its own servers, and nothing else.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active};
use drive_core::network::{AllowedHost, Reach, Refused, parse_host};
use drive_core::problem::Kind;
use drive_core::process::{LayerName, ProcessReport};
use drive_engine::CancelToken;
use drive_engine::ports::{Isolation, NetworkAccess, OutputSink, ProcessRunner, Stream, Writes};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Functions that every program here can use.
const PRELUDE: &str = r#"
import os, socket, sys, threading
def said(stream):
    parts = []
    while part := stream.recv(65536): parts.append(part)
    return b"".join(parts).decode()
def ask(host, port, text="hello"):
    stream = socket.create_connection((host, port), 20)
    stream.sendall(text.encode()); stream.shutdown(socket.SHUT_WR)
    return said(stream)
def refused(host, port):
    try: return repr(ask(host, port))
    except OSError as error: return type(error).__name__
"#;

/// A server that answers each connection with its own name and what it received.
fn server(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut text = String::new();
                let _ = stream.read_to_string(&mut text);
                let _ = write!(stream, "{name}: {text}");
            });
        }
    });
    address
}

fn reach(entries: &[&str]) -> Reach {
    let named = entries
        .iter()
        .map(|entry| parse_host(entry).unwrap().named());
    Reach {
        hosts: named
            .chain([AllowedHost::public("registry.example")])
            .collect(),
        proxy: None,
    }
}

#[derive(Default)]
struct Told {
    stdout: String,
    stderr: String,
    refused: Vec<Refused>,
}

impl OutputSink for Told {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        match stream {
            Stream::Stdout => self.stdout += &text,
            Stream::Stderr => self.stderr += &text,
        }
    }

    fn refused(&mut self, refused: &Refused) {
        self.refused.push(refused.clone());
    }
}

impl Told {
    fn refused(&self) -> Vec<String> {
        self.refused.iter().map(Refused::to_string).collect()
    }
}

/// Runs a Python program that may reach these hosts.
fn run(scene: &Scene, entries: &[&str], code: &str) -> (ProcessReport, Told) {
    let code = format!("{PRELUDE}{code}");
    let mut spec = scene
        .command("/usr/bin/python3")
        .args(["-c", &code])
        .env("https_proxy", "http://127.0.0.1:9");
    spec.isolation = Isolation {
        writes: Writes::Only(vec![scene.path().to_path_buf()]),
        network: NetworkAccess::Off,
        reach: reach(entries),
        ..Isolation::default()
    };
    let mut told = Told::default();
    let report = scene
        .runner
        .run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut told)
        .unwrap();
    if report.end.is_success() {
        return (report, told);
    }
    panic!("{:?}: {}{}", report.end, told.stdout, told.stderr)
}

/// Whether this user can create a network namespace here.
fn has_networks(report: &ProcessReport) -> bool {
    let has = is_active(report, LayerName::Network);
    if !has {
        lacking(
            LayerName::Network,
            "this user may not make a network namespace",
        );
    }
    has
}

/// The output of the program; `None` if the machine has no network namespaces.
fn printed(scene: &Scene, entries: &[&str], code: &str) -> Option<(String, Vec<String>)> {
    let (report, told) = run(scene, entries, code);
    has_networks(&report).then(|| (told.stdout.clone(), told.refused()))
}

fn scene(hosts: &[(&str, SocketAddr)]) -> Scene {
    let mut scene = Scene::new();
    for (name, server) in hosts {
        scene.runner = scene.runner.with_host(name, *server);
    }
    scene
}

everyone! {
    fn a_host_that_is_allowed_is_reached_by_its_name_on_its_ports() {
        let scene = scene(&[("registry.example", server("registry")), ("git.example", server("git"))]);
        let code = r#"
print(ask("registry.example", 443)); print(ask("registry.example", 80)); print(ask("git.example", 2222))
print(refused("git.example", 443)); print("https_proxy" in os.environ)
"#;
        let Some((printed, refused)) = printed(&scene, &["git.example:2222"], code) else { return };
        assert_eq!(
            printed,
            "registry: hello\nregistry: hello\ngit: hello\nConnectionResetError\nFalse\n"
        );
        assert_eq!(refused, ["wanted `git.example:443`: add it to `allow_hosts`"]);
    }

    fn a_name_below_an_allowed_domain_is_reached_and_others_are_refused_by_name() {
        let scene = scene(&[("a.b.example", server("below"))]);
        let code = r#"
print(ask("a.b.example", 443))
for _ in range(3): print(refused("c.example", 443))
print(refused("b.example", 80))
"#;
        let Some((printed, refused)) = printed(&scene, &["*.b.example"], code) else { return };
        assert_eq!(printed, "below: hello\ngaierror\ngaierror\ngaierror\ngaierror\n");
        assert_eq!(
            refused,
            ["wanted `c.example`: add it to `allow_hosts`", "wanted `b.example`: add it to `allow_hosts`"]
        );
    }

    fn a_question_over_a_connection_is_answered_as_well() {
        let code = r#"
question = b"\1\2\1\0\0\1\0\0\0\0\0\0\4much\7example\0\0\1\0\1"
stream = socket.create_connection(("127.0.0.1", 53), 10)
stream.sendall(len(question).to_bytes(2, "big") + question); stream.shutdown(socket.SHUT_WR)
answer = stream.recv(99); print(answer[5] & 15)
"#;
        let Some((printed, refused)) = printed(&Scene::new(), &[], code) else { return };
        assert_eq!((printed.as_str(), refused.len()), ("3\n", 1));
    }

    fn a_server_of_this_machine_is_reached_only_if_the_user_named_it() {
        let (named, other) = (server("model"), server("other"));
        let code = format!(
            r#"print(ask("127.0.0.1", {})); print(refused("127.0.0.1", {}))"#,
            named.port(),
            other.port()
        );
        let entry = format!("127.0.0.1:{}", named.port());
        let Some((printed, _)) = printed(&Scene::new(), &[&entry], &code) else { return };
        assert_eq!(printed, "model: hello\nConnectionRefusedError\n");
        let entry = format!("localhost:{}", named.port());
        let code = format!(r#"print(ask("localhost", {}))"#, named.port());
        let (_, told) = run(&Scene::new(), &[&entry], &code);
        assert_eq!(told.stdout, "model: hello\n");
    }

    fn an_address_that_the_user_named_is_reached() {
        let scene = scene(&[("10.9.8.7", server("model"))]);
        let code = r#"print(ask("10.9.8.7", 11434)); print(refused("10.9.8.6", 11434))"#;
        let Some((printed, _)) = printed(&scene, &["10.9.8.7:11434"], code) else { return };
        assert_eq!(printed, "model: hello\nOSError\n");
    }

    fn a_name_that_leads_to_this_machine_is_refused_unless_the_user_named_it() {
        // The list declares the host public, but its name resolves to this machine.
        let scene = Scene::new();
        let port = server("inner").port();
        let mut hosts = reach(&[]);
        hosts.hosts.push(parse_host(&format!("127.0.0.1:{port}")).unwrap());
        let code = format!(r#"{PRELUDE}print(refused("127.0.0.1", {port}))"#);
        let mut spec = scene.command("/usr/bin/python3").args(["-c", &code]);
        spec.isolation = Isolation {
            writes: Writes::Only(Vec::new()),
            network: NetworkAccess::Off,
            reach: hosts,
            ..Isolation::default()
        };
        let mut told = Told::default();
        let report = scene.runner.run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut told).unwrap();
        if !has_networks(&report) {
            return;
        }
        assert_eq!(told.stdout, "ConnectionResetError\n");
        assert_eq!(
            told.refused(),
            ["wanted `127.0.0.1`, whose name leads to 127.0.0.1 in your own network"]
        );
    }

    fn an_allowed_host_that_does_not_answer_is_named() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let scene = scene(&[("registry.example", closed)]);
        let code = r#"print(refused("registry.example", 443))"#;
        let Some((printed, refused)) = printed(&scene, &[], code) else { return };
        assert_eq!(printed, "ConnectionResetError\n");
        assert!(refused[0].starts_with("could not reach `registry.example:443`: "), "{refused:?}");
    }

    fn its_own_servers_work_beside_the_hosts() {
        let scene = scene(&[("registry.example", server("registry"))]);
        let code = r#"
def serve(listener):
    stream, _ = listener.accept(); stream.sendall(b"own " + stream.recv(99)); stream.close()
for address in ("127.0.0.1", "0.0.0.0", "::1", "::"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 8080), family=family) as listener:
        threading.Thread(target=serve, args=(listener,)).start()
        print(ask("::1" if ":" in address else "localhost", 8080))
print(ask("registry.example", 443))
"#;
        let Some((printed, refused)) = printed(&scene, &[], code) else { return };
        assert_eq!(printed, "own hello\n".repeat(4) + "registry: hello\n");
        assert!(refused.is_empty(), "{refused:?}");
    }

    fn streams_flow_both_ways_for_as_long_as_they_last() {
        // Alternates between question and answer, with more bytes than any buffer holds.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
            }
        });
        let scene = scene(&[("registry.example", address)]);
        let code = r#"
streams = [socket.create_connection(("registry.example", 443), 20) for _ in range(20)]
for turn in range(200):
    for stream in streams:
        stream.sendall(b"x" * 100)
        got = 0
        while got < 100: got += len(stream.recv(100 - got))
sent = os.urandom(1 << 20) * 24
def send(): streams[0].sendall(sent); streams[0].shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send); thread.start()
back = b"".join(iter(lambda: streams[0].recv(1 << 20), b""))
thread.join(); print(back == sent)
"#;
        let Some((printed, _)) = printed(&scene, &[], code) else { return };
        assert_eq!(printed, "True\n");
    }

    fn more_connections_than_the_relay_carries_wait_for_their_turn() {
        let scene = scene(&[("registry.example", server("registry"))]);
        let code = r#"
streams = [socket.create_connection(("registry.example", 443), 20) for _ in range(200)]
while streams:
    stream = streams.pop(0); stream.sendall(b"x"); stream.shutdown(socket.SHUT_WR)
    assert said(stream) == "registry: x"
print("all")
"#;
        let Some((printed, _)) = printed(&scene, &[], code) else { return };
        assert!(printed.ends_with("all\n"), "{printed}");
    }

    fn a_command_that_reaches_no_host_reports_the_names_it_wanted() {
        let code = format!(r#"{PRELUDE}
print(refused("registry.example", 443)); print(refused("127.0.0.1", 443))
listener = socket.create_server(("127.0.0.1", 8080))
def serve():
    stream, _ = listener.accept(); stream.recv(99); stream.close()
threading.Thread(target=serve).start(); print(repr(ask("localhost", 8080)))
"#);
        for reports_names in [true, false] {
            let scene = Scene::new();
            let mut spec = scene.command("/usr/bin/python3").args(["-c", &code]);
            spec.isolation = Isolation {
                writes: Writes::Only(Vec::new()),
                network: NetworkAccess::Off,
                reports_names,
                ..Isolation::default()
            };
            let mut told = Told::default();
            let report = scene.runner.run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut told).unwrap();
            if !has_networks(&report) {
                return;
            }
            assert_eq!(told.stdout, "gaierror\nConnectionRefusedError\n''\n", "{}", told.stderr);
            let expected: &[Refused] = &[Refused::NotAllowed { host: "registry.example".to_owned() }];
            assert_eq!(told.refused, if reports_names { expected } else { &[] });
        }
    }

    fn without_a_network_namespace_hosts_are_not_restricted_and_that_is_named_or_refused() {
        for gone in [LayerName::Network, LayerName::View] {
            let scene = Scene::without(&[gone]);
            let port = server("machine").port();
            let code = format!(r#"print(ask("127.0.0.1", {port}), "https_proxy" in os.environ)"#);
            let (report, told) = run(&scene, &[], &code);
            assert!(!is_active(&report, LayerName::Network));
            assert_eq!(told.stdout, "machine: hello True\n");
            let mut spec = scene.command("true");
            spec.isolation = Isolation {
                writes: Writes::Only(Vec::new()),
                network: NetworkAccess::Off,
                reach: reach(&[]),
                required: true,
                ..Isolation::default()
            };
            let problem = scene.try_run(&spec).unwrap_err();
            assert_eq!(problem.kind, Kind::IsolationMissing, "{problem}");
        }
    }
}
