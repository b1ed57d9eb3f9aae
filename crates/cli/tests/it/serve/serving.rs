//! A `drive serve` that runs, and a browser that does only what it is told.

use crate::spawn::support::{Ended, World};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

/// Protects against hanging; no test depends on how long anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a world.
pub(crate) struct Serving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) document: Value,
    told: String,
    pub(crate) address: SocketAddr,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Serving {
    /// Starts it on a free port, with these variables and arguments besides.
    pub(crate) fn start(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let listen = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut child = world
            .drive_command(&[&listen, args].concat())
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut told = String::new();
        let document = loop {
            if stdout.read_line(&mut told).unwrap() == 0 {
                let ended = Ended::from(child.wait_with_output().unwrap());
                panic!("it ended before it listened: {told} {ended:?}");
            }
            if serde_json::from_str::<Value>(&told).is_ok() {
                break crate::document::read(&told);
            }
        };
        let url = document["url"].as_str().unwrap().to_owned();
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        Self {
            child,
            stdout,
            document,
            told,
            address,
        }
    }

    /// Asks for a page as a browser at this machine does.
    pub(crate) fn get(&self, path: &str) -> Reply {
        let host = self.address.to_string();
        self.ask("GET", path, &[("Host", &host)], b"")
    }

    /// Sends exactly these headers.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Reply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// Ends it as Ctrl-C does, and takes everything it ever said.
    pub(crate) fn interrupt(mut self) -> Ended {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        self.stdout.read_to_string(&mut self.told).unwrap();
        let mut stderr = String::new();
        let mut said = self.child.stderr.take().unwrap();
        said.read_to_string(&mut stderr).unwrap();
        Ended {
            code: self.child.wait().unwrap().code(),
            stdout: std::mem::take(&mut self.told),
            stderr,
        }
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
