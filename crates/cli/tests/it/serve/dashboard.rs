//! Tests what the pages show, and what they never do.

use crate::serve::serving::{Reply, Serving};
use crate::spawn::support::{World, text};
use drive_adapters::forge::github::{Budgets, Token};
use drive_adapters::store::{Database, SqliteForgeMemory};
use drive_core::forge::RequestBudget;
use drive_core::time::Timestamp;
use std::sync::Arc;

const HOSTILE: &str = "Fix <script>alert('1')</script> & \"quotes\"";
const HARMLESS: &str =
    "Fix &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;quotes&quot;";

/// A world whose agent commits one file.
fn world() -> World {
    World::with_agent(
        "echo three > c.txt; git add -A; git -c user.name=a -c user.email=a@example.org commit -qm 'Add <b>c</b>'; echo done",
    )
}

fn assert_no_markup_of_others(page: &Reply) {
    for evil in ["<script>", "<img", "<b>", "javascript:"] {
        assert!(!page.body.contains(evil), "{}", page.body);
    }
}

#[test]
fn a_run_is_shown_with_its_record_and_every_word_of_others_is_text() {
    let world = world();
    let (code, run) = world.spawn(&[HOSTILE]);
    assert_eq!(code, Some(0), "{run}");
    let id = text(&run["runId"]);
    let serving = Serving::start(&world, &[], &[]);

    let list = serving.get("/");
    assert_eq!(list.status, 200);
    assert_no_markup_of_others(&list);
    let link = format!("<a href=\"/runs/{id}\">{HARMLESS}</a>");
    for part in [
        link.as_str(),
        &format!("<p class=\"meta\">{id} · spawn · ended "),
        ">succeeded</strong>",
    ] {
        assert!(list.body.contains(part), "{part} is not in {}", list.body);
    }

    let page = serving.get(&format!("/runs/{id}"));
    assert_eq!(page.status, 200);
    assert_no_markup_of_others(&page);
    let commit = text(&run["commits"][0]["sha"]);
    for part in [
        HARMLESS,
        "<dt>state</dt><dd>succeeded</dd>",
        "<dt>kind</dt><dd>spawn</dd>",
        "<dt>tokens</dt><dd>unknown</dd>",
        &format!("<dt>branch</dt><dd>{}</dd>", text(&run["branch"])),
        &format!("<dd>#1 {}</dd>", text(&run["prUrl"])),
        &format!("<li>{}… Add &lt;b&gt;c&lt;/b&gt;</li>", &commit[..10]),
        "<td data-label=\"event\">committing changes</td>",
    ] {
        assert!(page.body.contains(part), "{part} is not in {}", page.body);
    }
    assert_eq!(serving.interrupt().code, Some(0));
}

#[test]
fn a_pull_request_is_shown_with_its_comments_and_without_hidden_markers() {
    let world = world();
    assert_eq!(world.spawn(&[HOSTILE]).0, Some(0));
    let said = world.drive(&[
        "pr",
        "comment",
        "1",
        "<img src=x onerror=alert(1)>",
        "--as",
        "Wim <wim>",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let inline = ["--file", "c.txt", "--line", "1"];
    let said = world.drive(&[&["pr", "comment", "1", "too short"][..], &inline].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.drive(&["pr", "approve", "1"]).code, Some(0));
    let serving = Serving::start(&world, &[], &[]);

    let list = serving.get("/pulls");
    assert_eq!(list.status, 200);
    assert_no_markup_of_others(&list);
    assert!(
        list.body.contains("<a href=\"/pulls/1\">1</a>"),
        "{}",
        list.body
    );
    assert!(list.body.contains(">open</td>"), "{}", list.body);

    let page = serving.get("/pulls/1");
    assert_eq!(page.status, 200);
    assert_no_markup_of_others(&page);
    for part in [
        "&lt;img src=x onerror=alert(1)&gt;",
        "<h3>Wim &lt;wim&gt;</h3>",
        "on c.txt line 1</p>",
        " approved</h3>",
        "<dt>mergeable</dt><dd>yes</dd>",
    ] {
        assert!(page.body.contains(part), "{part} is not in {}", page.body);
    }
    assert!(!page.body.contains("drive:"), "{}", page.body);
    serving.kill();
}

#[test]
fn a_verification_is_listed_and_shown_with_what_failed() {
    let world = world();
    world.all_settings(
        "[[verify.routes]]\nname = \"<b>all</b>\"\npaths = [\"**\"]\ntargeted_tests = [\"sh\", \"-c\", \"echo 'test <i>adds</i> ... FAILED'; exit 1\"]\n",
    );
    let verified = world.drive(&["verify", "--json"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    let id = verified.document()["runId"].as_str().unwrap().to_owned();
    let serving = Serving::start(&world, &[], &[]);
    let list = serving.get("/verifications");
    assert_no_markup_of_others(&list);
    for part in [&format!("<a href=\"/verifications/{id}\">"), ">fail</td>"] {
        assert!(list.body.contains(part), "{part} is not in {}", list.body);
    }
    let page = serving.get(&format!("/verifications/{id}"));
    assert_no_markup_of_others(&page);
    for part in [
        "<dt>category</dt><dd>test</dd>",
        ">&lt;b&gt;all&lt;/b&gt;</td>",
        "<h2>Failing tests</h2>\n<ul>\n<li>&lt;i&gt;adds&lt;/i&gt;</li>",
    ] {
        assert!(page.body.contains(part), "{part} is not in {}", page.body);
    }
    serving.kill();
}

#[test]
fn the_budget_of_the_token_is_shown_as_the_doctor_tells_it() {
    let world = world();
    world.all_settings("[forge]\nkind = \"github\"\nrepo = \"acme/widgets\"\n");
    let token = "ghs_of_nobody";
    let state = world.path("state");
    std::fs::create_dir_all(&state).unwrap();
    let doctor = world
        .drive_command(&["doctor", "--json"])
        .env("GITHUB_TOKEN", token)
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&doctor.stdout).contains(token));
    let file = std::fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.extension()
                .is_some_and(|e| e == "db" || e == "sqlite3")
        })
        .unwrap();
    let memory = SqliteForgeMemory::new(Arc::new(Database::open(&file).unwrap()));
    let resets_at: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
    let budget = RequestBudget {
        limit: 5000,
        remaining: 42,
        resets_at,
        paused_until: None,
    };
    let fingerprint = Token::new(token).unwrap().fingerprint();
    Budgets::store(&memory, &fingerprint, &budget).unwrap();
    drop(memory);

    let serving = Serving::start(&world, &[("GITHUB_TOKEN", token)], &[]);
    let page = serving.get("/budget");
    let words = "42 of 5000 requests left until 2100-01-01T00:00:00Z";
    assert!(page.body.contains(words), "{}", page.body);
    assert!(page.body.contains("acme/widgets"), "{}", page.body);
    assert!(!page.body.contains(token));
    let ended = serving.interrupt();
    assert!(!format!("{ended:?}").contains(token));
}

#[test]
fn every_answer_forbids_scripts_of_others_frames_and_keeping() {
    let world = world();
    let serving = Serving::start(&world, &[], &[]);
    let host = serving.address.to_string();
    let origin = format!("http://{host}");
    let own = [
        ("Host", host.as_str()),
        ("Cookie", serving.cookie.as_str()),
        ("Origin", origin.as_str()),
    ];
    let replies = [
        (200, serving.get("/")),
        (200, serving.get("/pulls")),
        (200, serving.get("/verifications")),
        (404, serving.get("/verifications/none")),
        (404, serving.get("/verifications/..%2f..%2fetc")),
        (200, serving.get("/budget")),
        (200, serving.get("/style.css")),
        (404, serving.get("/runs/none")),
        (404, serving.get("/pulls/9")),
        (404, serving.get("/pulls/..%2f..%2fetc")),
        (404, serving.get("/elsewhere")),
        (200, serving.get("/favicon.svg")),
        (200, serving.get("/live.js")),
        (401, serving.get("/login")),
        (401, serving.stranger("/")),
        (401, serving.ask("POST", "/", &[("Host", "localhost")], b"")),
        (405, serving.ask("POST", "/", &own, b"")),
        (405, serving.ask("DELETE", "/pulls/1", &own, b"")),
    ];
    let policy = "content-security-policy: default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    for (status, reply) in &replies {
        assert_eq!(reply.status, *status, "{reply:?}");
        for header in [
            policy,
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: same-origin",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(reply.head.contains(header), "{header}: {}", reply.head);
        }
        assert!(!reply.head.contains("access-control-allow"));
        let scripts = reply.body.matches("<script").count();
        let own = reply
            .body
            .matches("<script src=\"/live.js\" defer></script>");
        assert_eq!(scripts, own.count(), "{}", reply.body);
    }
    serving.kill();
}

#[test]
fn a_foreign_name_is_refused_before_anything_is_shown() {
    let world = world();
    assert_eq!(world.spawn(&["say nothing of this"]).0, Some(0));
    let serving = Serving::start(&world, &[], &["--host", "drive.example"]);
    let port = serving.address.port();
    let status = |host: &str| {
        let headers = [("Host", host), ("Cookie", serving.cookie.as_str())];
        let reply = serving.ask("GET", "/", &headers, b"");
        let shown = reply.body.contains("say nothing of this");
        assert_eq!(shown, reply.status == 200, "{reply:?}");
        reply.status
    };
    assert_eq!(status(&format!("rebound.example:{port}")), 421);
    assert_eq!(status("127.0.0.1.rebound.example"), 421);
    assert_eq!(status(&format!("localhost:{port}")), 200);
    assert_eq!(status("drive.example"), 200);
    assert_eq!(serving.ask("GET", "/", &[], b"").status, 421);
    serving.kill();
}

#[test]
fn outside_a_repository_runs_are_shown_and_the_rest_says_why_not() {
    let world = world();
    assert_eq!(world.spawn(&["a task"]).0, Some(0));
    world.shell("mkdir elsewhere");
    let elsewhere = world.path("elsewhere");
    let serving = Serving::start(&world, &[], &["--repo", elsewhere.to_str().unwrap()]);
    assert!(serving.get("/").body.contains("a task"));
    for path in ["/pulls", "/budget"] {
        let page = serving.get(path);
        assert_eq!(page.status, 200);
        assert!(page.body.contains("repository"), "{}", page.body);
    }
    serving.kill();
}
