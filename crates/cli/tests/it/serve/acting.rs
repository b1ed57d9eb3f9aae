//! Tests the actions of a person on the pages, without scripts in the browser.

use crate::cruise::crew::{kill, on_local, status, until, until_quiet};
use crate::serve::serving::Serving;
use crate::spawn::support::{World, wait_for};
use crate::stage::{ended, said};

#[test]
fn a_plan_is_commented_on_and_approved_on_its_page() {
    let (stage, cruise) = on_local();
    let serving = Serving::on(&stage);
    let first = serving.get("/").body;
    let needs_you = first.split("id=\"working\"").next().unwrap();
    assert!(needs_you.contains("Add user auth"), "{first}");
    assert!(needs_you.contains("the plan waits for your approval"));
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let path = format!("/runs/{id}");
    assert!(needs_you.contains(&format!("drive cruise approve {id}")));

    let told = serving.send(&path, "do=comment&text=Mention+%3Cb%3Etests%3C%2Fb%3E");
    assert_eq!(told.status, 303, "{told:?}");
    assert!(
        told.head
            .contains(&format!("location: {path}?done=comment"))
    );
    until_quiet(&stage, 1);
    let texts = said(&stage.pull_request());
    assert!(
        texts
            .iter()
            .any(|text| text.contains("Mention <b>tests</b>")),
        "{texts:#?}"
    );

    let old = "0".repeat(40);
    let moved = serving.send(&path, &format!("do=approve&head={old}"));
    assert_eq!(moved.status, 409);
    assert!(moved.body.contains("has moved on"), "{moved:?}");
    let page = serving.get(&path).body;
    let head = page.split("name=\"head\" value=\"").nth(1).unwrap();
    let approved = serving.send(&path, &format!("do=approve&head={}", &head[..40]));
    assert_eq!(approved.status, 303, "{approved:?}");
    let done = serving.get(&format!("{path}?done=approve")).body;
    assert!(done.contains("The approval was delivered."), "{done}");
    let end = ended(cruise);
    assert_eq!(end.document["status"], "succeeded", "{end:?}");
    let first = serving.get("/").body;
    assert!(
        first
            .split("id=\"done\"")
            .nth(1)
            .unwrap()
            .contains("Add user auth"),
        "{first}"
    );
    serving.kill();
}

#[test]
fn where_no_process_owns_a_run_the_page_names_the_command() {
    let (stage, cruise) = on_local();
    let serving = Serving::on(&stage);
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let path = format!("/runs/{id}");
    let page = serving.get(&path);
    kill(cruise);
    for (form, command) in [
        ("do=poll", format!("drive cruise fix {id}")),
        ("do=stop", format!("drive cruise cleanup {id}")),
        ("do=extend&rounds=2", format!("drive runs extend {id}")),
    ] {
        let reply = serving.send(&path, form);
        assert_eq!(reply.status, 409, "{form} {reply:?}");
        assert!(reply.body.contains(&command), "{form} {reply:?}");
    }
    assert!(page.body.contains("Stop and save work"));
    serving.kill();
}

#[test]
fn a_run_is_stopped_on_its_page_and_its_work_is_saved() {
    let world = World::with_agent("echo half > half.txt; sleep 300");
    let mut child = world.start(&["spawn", "--json", "Take your time"]);
    let serving = Serving::start(&world, &[], &[]);
    let id = || {
        let list = world.drive(&["runs", "list", "--json"]).document();
        list["runs"][0]["runId"].as_str().map(str::to_owned)
    };
    wait_for("the run", || id().is_some());
    let path = format!("/runs/{}", id().unwrap());
    wait_for("the agent", || serving.get(&path).body.contains(" works"));
    let stopped = serving.send(&path, "do=stop");
    assert_eq!(stopped.status, 303, "{stopped:?}");
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    until("the end", || {
        serving.get(&path).body.contains(">cancelled</strong>")
    });
    serving.kill();
}

#[test]
fn a_local_pull_request_is_commented_on_approved_and_closed_on_its_page() {
    let world = World::with_agent(
        "echo three > c.txt; git add -A; git -c user.name=a -c user.email=a@example.org commit -qm c; echo done",
    );
    assert_eq!(world.spawn(&["a task"]).0, Some(0));
    let serving = Serving::start(&world, &[], &[]);
    let said = serving.send("/pulls/1", "do=comment&text=Well+done%21");
    assert_eq!(said.status, 303, "{said:?}");
    let page = serving.get("/pulls/1").body;
    assert!(page.contains("<pre>Well done!</pre>"), "{page}");
    let head = &page.split("name=\"head\" value=\"").nth(1).unwrap()[..40];
    let old = serving.send("/pulls/1", &format!("do=approve&head={}", "0".repeat(40)));
    assert_eq!(old.status, 409, "{old:?}");
    let approved = serving.send("/pulls/1", &format!("do=approve&head={head}"));
    assert_eq!(approved.status, 303, "{approved:?}");
    assert!(serving.get("/pulls/1").body.contains(" approved</h3>"));
    assert_eq!(serving.send("/pulls/1", "do=close").status, 303);
    let page = serving.get("/pulls/1").body;
    assert!(
        page.contains("<dd>closed</dd>") && !page.contains("<form"),
        "{page}"
    );
    serving.kill();
}
