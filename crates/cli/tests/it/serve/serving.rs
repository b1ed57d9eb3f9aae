//! A running `drive serve`, and a browser without any behaviour of its own, for tests.

use crate::spawn::support::{Ended, World};
use crate::stage::Stage;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A guard against hanging; no test depends on this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server of a world.
pub(crate) struct Serving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) document: Value,
    told: String,
    pub(crate) address: SocketAddr,
    /// The cookie of a browser that followed the login link.
    pub(crate) cookie: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The cookie that it sets, in the form in which a browser returns it.
    pub(crate) fn cookie(&self) -> Option<String> {
        let set = self.head.split("set-cookie: ").nth(1)?;
        Some(set.split(';').next()?.to_owned())
    }
}

impl Serving {
    /// Starts the server on a free port, with these additional variables and arguments.
    pub(crate) fn start(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let listen = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut command = world.drive_command(&[&listen, args].concat());
        command.envs(variables.iter().copied());
        Self::of(command)
    }

    /// Starts the server on a stage.
    pub(crate) fn on(stage: &Stage) -> Self {
        let mut command = stage.command(env!("CARGO_BIN_EXE_drive"));
        command.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
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
        let mut serving = Self {
            child,
            stdout,
            document,
            told,
            address,
            cookie: String::new(),
        };
        if let Some(login) = serving.document["login"].as_str() {
            let path = login.strip_prefix(&url).unwrap().to_owned();
            let reply = serving.stranger(&path);
            assert_eq!(reply.status, 200, "{reply:?}");
            serving.cookie = reply.cookie().unwrap();
        }
        serving
    }

    /// Requests a page without the cookie.
    pub(crate) fn stranger(&self, path: &str) -> Reply {
        let host = self.address.to_string();
        self.ask("GET", path, &[("Host", &host)], b"")
    }

    /// Requests a page like a browser on this machine.
    pub(crate) fn get(&self, path: &str) -> Reply {
        let host = self.address.to_string();
        let headers = [("Host", host.as_str()), ("Cookie", &self.cookie)];
        self.ask("GET", path, &headers, b"")
    }

    /// Sends the form of a page like a browser on this machine; `fields` are encoded already.
    pub(crate) fn send(&self, path: &str, fields: &str) -> Reply {
        let page = self.get(path);
        let token = page.body.split("name=\"token\" value=\"").nth(1);
        let token = token.unwrap_or_else(|| panic!("no form: {}", page.body));
        let body = format!("token={}&{fields}", &token[..64]);
        let host = self.address.to_string();
        let origin = format!("http://{host}");
        let headers = [
            ("Host", host.as_str()),
            ("Cookie", &self.cookie),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.ask("POST", path, &headers, body.as_bytes())
    }

    /// Sends exactly these headers.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        exchange(self.address, method, path, headers, body)
    }

    /// Ends the server like Ctrl-C, and returns all of its output.
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

    /// Kills the server like a crash.
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

/// Sends one request and reads its complete answer.
pub(crate) fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(answer.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.trim_end().to_lowercase();
    let mut body = String::new();
    // Some servers keep the connection open.
    let length = head.split("\r\ncontent-length:").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
    if method != "HEAD" {
        let mut rest = answer.take(length.unwrap_or(u64::MAX));
        rest.read_to_string(&mut body).unwrap();
    }
    Reply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body,
    }
}
