//! Tests who can see the dashboard.

use crate::serve::serving::{Reply, Serving};
use crate::spawn::support::World;

const TASK: &str = "say nothing of this";
/// An agent that changes something.
const WORKS: &str = "echo three > c.txt; echo done";

fn world() -> World {
    let world = World::with_agent(WORKS);
    assert_eq!(world.spawn(&[TASK]).0, Some(0));
    world
}

/// The path of a login link.
fn path(serving: &Serving, link: &str) -> String {
    let url = format!("http://{}", serving.address);
    link.trim().strip_prefix(&url).unwrap().to_owned()
}

fn assert_shows_nothing(reply: &Reply) {
    assert!(!reply.body.contains(TASK), "{reply:?}");
    assert_eq!(reply.cookie(), None, "{reply:?}");
}

#[test]
fn a_login_link_works_once_and_its_session_outlives_the_server() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    assert!(serving.get("/").body.contains(TASK));
    let used = path(&serving, serving.document["login"].as_str().unwrap());
    let again = serving.stranger(&used);
    assert_eq!(again.status, 401);
    assert_shows_nothing(&again);
    let cookie = serving.cookie.clone();
    serving.kill();

    let next = Serving::start(&world, &[], &[]);
    let host = next.address.to_string();
    let headers = [("Host", host.as_str()), ("Cookie", cookie.as_str())];
    assert_eq!(next.ask("GET", "/", &headers, b"").status, 200);
    next.kill();
}

#[test]
fn a_visitor_without_a_cookie_is_told_how_to_get_a_link_and_nothing_else() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    for path in [
        "/",
        "/runs/none",
        "/pulls",
        "/verifications",
        "/budget",
        "/elsewhere",
    ] {
        let reply = serving.stranger(path);
        assert_eq!(reply.status, 401, "{path}");
        assert!(reply.body.contains("drive serve --link"), "{reply:?}");
        assert_shows_nothing(&reply);
    }
    let host = serving.address.to_string();
    for cookie in [
        "drive-session=",
        &format!("drive-session={}", "0".repeat(64)),
    ] {
        let headers = [("Host", host.as_str()), ("Cookie", cookie)];
        assert_eq!(
            serving.ask("GET", "/", &headers, b"").status,
            401,
            "{cookie}"
        );
    }
    for code in ["", "x", &"0".repeat(64)] {
        let reply = serving.stranger(&format!("/login?code={code}"));
        assert_eq!(reply.status, 401, "{code}");
        assert_shows_nothing(&reply);
    }
    serving.kill();
}

#[test]
fn a_new_link_comes_from_another_terminal_of_the_same_user() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    let linked = world.drive(&["serve", "--link"]);
    assert_eq!(linked.code, Some(0), "{linked:?}");
    let path = path(&serving, &linked.stdout);
    let reply = serving.stranger(&path);
    assert_eq!(reply.status, 200, "{reply:?}");
    let cookie = reply.cookie().unwrap();
    assert_ne!(cookie, serving.cookie);
    for property in ["httponly", "samesite=strict", "path=/"] {
        assert!(reply.head.contains(property), "{}", reply.head);
    }
    let json = world.drive(&["serve", "--link", "--json"]).document();
    assert!(json["login"].as_str().unwrap().contains("/login?code="));
    serving.kill();
}

#[test]
fn a_browser_that_looks_ahead_does_not_use_the_link_up() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    let path = path(&serving, &world.drive(&["serve", "--link"]).stdout);
    let host = serving.address.to_string();
    let headers = [("Host", host.as_str()), ("Sec-Purpose", "prefetch")];
    assert_eq!(serving.ask("GET", &path, &headers, b"").status, 401);
    assert_ne!(
        serving.ask("HEAD", &path, &[("Host", &host)], b"").status,
        200
    );
    assert_eq!(serving.stranger(&path).status, 200);
    serving.kill();
}

#[test]
fn a_link_in_a_chat_continues_on_a_page_of_this_server() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    let host = serving.address.to_string();
    let from_chat = |path: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "navigate"),
        ];
        serving.ask("GET", path, &headers, b"")
    };
    let page = from_chat("/runs/r1?done=stop");
    assert_eq!(page.status, 200);
    assert!(
        page.body
            .contains("http-equiv=\"refresh\" content=\"0;url=/runs/r1?done=stop\""),
        "{}",
        page.body
    );
    assert_shows_nothing(&page);
    let page = from_chat("//evil.example/");
    assert!(!page.body.contains("evil.example"), "{}", page.body);
    serving.kill();
}

#[test]
fn only_a_form_of_this_session_on_this_server_does_anything() {
    let world = World::with_agent(WORKS);
    assert_eq!(world.spawn(&["a task"]).0, Some(0));
    let serving = Serving::start(&world, &[], &[]);
    let page = serving.get("/pulls/1").body;
    let token = &page.split("name=\"token\" value=\"").nth(1).unwrap()[..64];
    let body = format!("do=close&token={token}");
    let host = serving.address.to_string();
    let own = format!("http://{host}");
    let post = |cookie: &str, origin: &str, site: &str, body: &str| {
        let mut headers = vec![("Host", host.as_str())];
        for (name, value) in [
            ("Cookie", cookie),
            ("Origin", origin),
            ("Sec-Fetch-Site", site),
        ] {
            if !value.is_empty() {
                headers.push((name, value));
            }
        }
        serving
            .ask("POST", "/pulls/1", &headers, body.as_bytes())
            .status
    };
    let cookie = serving.cookie.as_str();
    assert_eq!(post("", &own, "same-origin", &body), 401);
    for (origin, site) in [
        ("http://evil.example", "cross-site"),
        ("http://evil.example", ""),
        ("null", ""),
        ("", ""),
        ("", "same-origin"),
        (own.as_str(), "same-site"),
        (own.as_str(), "cross-site"),
    ] {
        assert_eq!(post(cookie, origin, site, &body), 403, "{origin} {site}");
    }
    let foreign = format!("do=close&token={}", "0".repeat(64));
    for bad in ["do=close", &foreign] {
        assert_eq!(post(cookie, &own, "same-origin", bad), 403, "{bad}");
    }
    let merge = format!("do=merge&token={token}");
    assert_eq!(post(cookie, &own, "same-origin", &merge), 400);
    assert!(serving.get("/pulls/1").body.contains("<dd>open</dd>"));
    assert_eq!(post(cookie, &own, "", &body), 303);
    assert!(serving.get("/pulls/1").body.contains("<dd>closed</dd>"));
    serving.kill();
}
