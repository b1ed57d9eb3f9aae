//! Tests the pages in a real browser: Debian's `chromium`, headless, controlled by `chromedriver`.

use crate::cruise::crew::{on_local, status};
use crate::serve::serving::{Serving, exchange};
use crate::spawn::support::{World, wait_for};
use crate::stage::ended;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The width of a phone.
const WIDTH: u64 = 375;

/// A running browser, and the driver that controls it.
struct Browser {
    driver: Child,
    /// Stays open, although it is not read further, so that the driver can continue to write.
    _output: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
    session: String,
}

impl Browser {
    /// Starts a browser; `None`, with a message, if the machine has none.
    fn start(mut driver: Command) -> Option<Self> {
        let driver = driver.arg("--port=0").stdout(Stdio::piped()).spawn();
        let Ok(mut driver) = driver else {
            eprintln!("skipped: no chromedriver; `scripts/setup` installs it");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let port = line.split("successfully on port ").nth(1)?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let mut browser = Self {
            driver,
            _output: lines,
            address: SocketAddr::from(([127, 0, 0, 1], port.unwrap())),
            session: String::new(),
        };
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            "mobileEmulation": {"deviceMetrics": {"width": WIDTH, "height": 800, "pixelRatio": 1.0}},
        });
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let started = browser.ask("/session", &wanted);
        browser.session = started["sessionId"].as_str().unwrap().to_owned();
        Some(browser)
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let host = self.address.to_string();
        let headers = [
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
        ];
        let reply = exchange(
            self.address,
            "POST",
            path,
            &headers,
            body.to_string().as_bytes(),
        );
        assert_eq!(reply.status, 200, "{path} {reply:?}");
        let document: Value = serde_json::from_str(&reply.body).unwrap();
        document["value"].clone()
    }

    fn of_session(&self, path: &str, body: &Value) -> Value {
        self.ask(&format!("/session/{}/{path}", self.session), body)
    }

    fn open(&self, url: &str) {
        self.of_session("url", &json!({"url": url}));
    }

    /// The result of a script in the page.
    fn script(&self, script: &str) -> Value {
        self.of_session("execute/sync", &json!({"script": script, "args": []}))
    }

    fn text(&self) -> String {
        let text = self.script("return document.body.innerText");
        text.as_str().unwrap().to_owned()
    }

    /// Asserts that nothing is wider than the screen, and that the console has no messages.
    fn assert_fine(&self) {
        let wide = self.script("return document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= WIDTH, "{wide} pixels wide");
        let log = self.of_session("se/log", &json!({"type": "browser"}));
        assert_eq!(log, json!([]));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let host = self.address.to_string();
            let path = format!("/session/{}", self.session);
            exchange(self.address, "DELETE", &path, &[("Host", &host)], b"");
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

#[test]
fn a_phone_logs_in_by_its_link_and_approves_a_plan_in_two_taps() {
    let (stage, cruise) = on_local();
    let Some(browser) = Browser::start(stage.command("chromedriver")) else {
        stage.drive(&["cruise", "cleanup"]);
        ended(cruise);
        return;
    };
    let serving = Serving::on(&stage);
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    // The test itself used the link of the document.
    let link = stage.drive(&["serve", "--link"]).document["login"].clone();
    browser.open(link.as_str().unwrap());
    wait_for("the first page", || browser.text().contains("Needs you"));
    browser.assert_fine();
    browser.script("document.querySelector('.g-you a').click()");
    wait_for("the run", || browser.text().contains("Approve the plan"));
    browser.assert_fine();
    browser.script("document.querySelector('button.main').click()");
    wait_for("the notice", || {
        browser.text().contains("The approval was delivered.")
    });
    browser.assert_fine();
    let end = ended(cruise);
    assert_eq!(end.document["runId"], id.as_str(), "{end:?}");
    assert_eq!(end.document["status"], "succeeded");
    wait_for("the end", || browser.text().contains("succeeded"));
    browser.assert_fine();
    drop(browser);
    serving.kill();
}

#[test]
fn an_open_page_shows_a_new_run_by_itself() {
    let world = World::with_agent("echo three > c.txt; echo done");
    let Some(browser) = Browser::start(world.command("chromedriver")) else {
        return;
    };
    let serving = Serving::start(&world, &[], &[]);
    let link = world.drive(&["serve", "--link", "--json"]).document();
    browser.open(link["login"].as_str().unwrap());
    wait_for("the first page", || browser.text().contains("No runs yet"));
    browser.script("document.mark = 'not loaded again'");
    assert_eq!(world.spawn(&["Show <b>up</b> alone"]).0, Some(0));
    wait_for("the run", || {
        browser.text().contains("Show <b>up</b> alone")
    });
    assert_eq!(browser.script("return document.mark"), "not loaded again");
    browser.assert_fine();
    drop(browser);
    serving.kill();
}
