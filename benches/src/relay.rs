//! A host that is reached by name, through the relay, against the same server reached directly.

use crate::table::{Row, median};
use drive_adapters::process::BoundedRunner;
use drive_core::network::{AllowedHost, Reach};
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, Discard, Isolation, NetworkAccess, ProcessRunner, Writes};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// The hidden argument that makes the binary the client.
pub(crate) const CLIENT: &str = "__client";

const HOST: &str = "registry.example";
const BYTES: usize = 2 << 30;
const CHUNK: usize = 1 << 18;
const ROUNDS: usize = 5;

/// Measures the cost of the relay.
pub(crate) fn run() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = serve();
    let runner = BoundedRunner::new().with_host(HOST, server);
    let through = |place: &str, network, reach: Reach| {
        let spec = client(folder.path(), place, network, reach);
        median(ROUNDS, || {
            let report = runner.run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut Discard);
            let report = report.expect("the client runs");
            assert!(report.end.is_success(), "{}", report.stderr.tail_text());
        })
    };
    let direct = through(&server.to_string(), NetworkAccess::Open, Reach::default());
    let reach = Reach {
        hosts: vec![AllowedHost::public(HOST)],
        proxy: None,
    };
    let relayed = through(&format!("{HOST}:443"), NetworkAccess::Off, reach);
    let rate =
        |time: Duration| format!("{:.0} MiB/s", BYTES as f64 / 1048576.0 / time.as_secs_f64());
    vec![Row {
        what: "2 GiB from a host that is reached by name".to_owned(),
        plain: rate(direct),
        ours: rate(relayed),
        result: format!(
            "{:.2} of the speed",
            direct.as_secs_f64() / relayed.as_secs_f64()
        ),
        bound: "≥ 0.70".to_owned(),
    }]
}

/// Sends everything to every client.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a server");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let chunk = vec![b'x'; CHUNK];
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            for _ in 0..BYTES / CHUNK {
                stream.write_all(&chunk).expect("the client reads");
            }
        }
    });
    address
}

fn client(folder: &Path, place: &str, network: NetworkAccess, reach: Reach) -> CommandSpec {
    let program = std::env::current_exe().expect("the benchmark itself");
    let mut spec = CommandSpec::new(program, folder).args([CLIENT, place]);
    spec.isolation = Isolation {
        writes: Writes::Only(vec![folder.to_path_buf()]),
        network,
        reach,
        ..Isolation::default()
    };
    spec
}

/// Takes everything that `place` sends.
pub(crate) fn receive(place: &str) {
    let mut stream = TcpStream::connect(place).expect("the server");
    let (mut chunk, mut got) = (vec![0; CHUNK], 0);
    loop {
        match stream.read(&mut chunk).expect("the server goes on") {
            0 => break,
            count => got += count,
        }
    }
    assert_eq!(got, BYTES, "everything came");
}
