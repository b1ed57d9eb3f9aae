//! Tests where the server listens, how it reports that, and how it ends.

use crate::serve::serving::Serving;
use crate::spawn::support::{Ended, World};
use serde_json::json;

#[test]
fn one_document_is_printed_when_it_listens_and_none_when_it_is_interrupted() {
    let world = World::with_agent("true");
    let serving = Serving::start(&world, &[], &[]);
    let url = format!("http://{}", serving.address);
    assert!(serving.address.ip().is_loopback());
    let login = serving.document["login"].as_str().unwrap();
    assert!(login.starts_with(&format!("{url}/login?code=")), "{login}");
    assert_eq!(
        serving.document,
        json!({
            "schema": "drive.serve/1", "url": url, "dashboard": true, "login": login, "webhooks": null
        })
    );
    assert_eq!(serving.get("/").status, 200);
    let ended = serving.interrupt();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document()["url"], url);
    assert_eq!(world.survivors(), Vec::<String>::new());
}

#[test]
fn an_address_that_others_reach_needs_consent() {
    let world = World::with_agent("true");
    let refused = |args: &[&str]| -> (Option<i32>, String) {
        let ended = world.drive(&[&["serve", "--json"], args].concat());
        ended.failure()
    };
    let kind = |name: &str| (Some(2), name.to_owned());
    assert_eq!(refused(&["--listen", "0.0.0.0:0"]), kind("listenExposed"));
    assert_eq!(refused(&["--listen", "[::]:0"]), kind("listenExposed"));
    // Without a secret, nothing may be shown to other machines.
    let exposed = ["--listen", "0.0.0.0:0", "--expose", "webhooks"];
    assert_eq!(refused(&exposed), kind("nothingToServe"));
    assert_eq!(refused(&["--listen", "everywhere"]).0, Some(2));
}

#[test]
fn a_port_that_is_taken_fails_with_one_document() {
    let world = World::with_agent("true");
    let serving = Serving::start(&world, &[], &[]);
    let taken = serving.address.to_string();
    let ended: Ended = world.drive(&["serve", "--json", "--listen", &taken]);
    assert_eq!(ended.failure(), (Some(3), "listenFailed".to_owned()));
    serving.kill();
}

#[test]
fn a_person_reads_where_it_listens_and_that_webhooks_are_off() {
    let world = World::with_agent("true");
    let mut child = world.start(&["serve", "--listen", "127.0.0.1:0"]);
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        line
    };
    let first = line();
    assert!(first.starts_with("dashboard  http://127.0.0.1:"), "{first}");
    let login = line();
    assert!(login.starts_with("login      http://127.0.0.1:"), "{login}");
    assert_eq!(
        line(),
        "webhooks   off; set `DRIVE_WEBHOOK_SECRET` to the webhook's secret\n"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
