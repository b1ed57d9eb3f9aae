//! Tests that the forge is checked before an agent starts: with a refused token, a repository that
//! accepts no writes, or rules against the branch, no run begins.

use crate::spawn::support::{Ended, World, text};
use drive_core::forge::Permission;
use drive_testkit::github::{PullSeen, Simulator};
use serde_json::Value;

const REPO: &str = "acme/widgets";

struct Hub {
    simulator: Simulator,
    world: World,
}

impl Hub {
    /// A clone of a repository on GitHub; `forge` is added to the user's own settings for it.
    fn new(forge: &str) -> Self {
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        let world = World::empty();
        world.shell(&format!("git clone -q {} repo", simulator.git_url(REPO)));
        world.program("script", "cat > /dev/null\necho new > new.txt");
        let hub = Self { simulator, world };
        hub.settle(&hub.simulator.api_url(), forge);
        hub
    }

    fn settle(&self, api_url: &str, forge: &str) {
        self.world.all_settings(&format!(
            "[spawn]\nagent = \"script\"\n[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = \
             {api_url:?}\n{forge}\n[agents.script]\nkind = \"command\"\ncommand = [{:?}]\n",
            self.world.path("bin/script")
        ));
    }

    fn drive(&self, token: Option<&str>, args: &[&str]) -> Ended {
        let mut command = self.world.drive_command(args);
        Ended::from(
            command
                .envs(token.map(|token| ("GITHUB_TOKEN", token)))
                .output()
                .unwrap(),
        )
    }

    fn spawn(&self, token: Option<&str>, args: &[&str]) -> (Option<i32>, Value) {
        let all = [&["spawn", "--json", "Add a file"], args].concat();
        let ended = self.drive(token, &all);
        let document = serde_json::from_str(&ended.stdout).unwrap();
        (ended.code, document)
    }

    /// The exit code and the kind of the error; no run may have begun.
    fn refused(&self, token: Option<&str>) -> (Option<i32>, String) {
        let (code, document) = self.spawn(token, &[]);
        assert_eq!(document["schema"], "drive.error/1", "{document:#}");
        assert!(document["hint"].is_string(), "{document:#}");
        let runs = self.drive(token, &["runs", "list", "--json"]);
        let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
        assert_eq!(runs["runs"], Value::Array(Vec::new()));
        (code, text(&document["kind"]))
    }
}

const TOKEN: Option<&str> = Some(Simulator::TOKEN);

#[test]
fn a_run_that_could_not_publish_does_not_begin() {
    let hub = Hub::new("");
    assert_eq!(
        hub.refused(Some("ghp_unknown")),
        (Some(3), "forgeToken".to_owned())
    );
    hub.simulator.add_person(REPO, "ann", Permission::Read);
    hub.simulator.add_token("ghp_ann", "ann");
    assert_eq!(
        hub.refused(Some("ghp_ann")),
        (Some(3), "forgeForbidden".to_owned())
    );
    hub.simulator.add_rule(REPO, "drive/", "creation", None);
    assert_eq!(hub.refused(TOKEN), (Some(3), "branchRules".to_owned()));
    let (code, run) = hub.spawn(TOKEN, &["--branch", "mine"]);
    assert_eq!(code, Some(0), "another name is allowed: {run:#}");
    hub.simulator.archive(REPO);
    let (code, document) = hub.spawn(TOKEN, &["--branch", "theirs"]);
    assert_eq!(
        (code, text(&document["kind"])),
        (Some(3), "forgeReadOnly".to_owned())
    );
    // Without a pull request, the forge is not contacted.
    hub.simulator.forget_requests();
    let (code, run) = hub.spawn(TOKEN, &["--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(hub.simulator.requests(), []);
}

#[test]
fn a_server_that_cannot_be_reached_fails_the_start_with_what_to_do() {
    let hub = Hub::new("");
    hub.settle("http://127.0.0.1:9", "");
    assert_eq!(hub.refused(TOKEN), (Some(3), "forgeUnreachable".to_owned()));
}

#[test]
fn the_doctor_tells_what_would_keep_a_run_from_publishing() {
    let hub = Hub::new("");
    let access = |token: &str| {
        let ended = hub.drive(Some(token), &["doctor", "--json"]);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "forgeAccess");
        let check = check.unwrap();
        (text(&check["status"]), text(&check["detail"]))
    };
    let fine = "can push and open pull requests in `acme/widgets`".to_owned();
    assert_eq!(access(Simulator::TOKEN), ("ok".to_owned(), fine));
    let wrong = "the forge does not accept the token from `GITHUB_TOKEN`";
    let (status, detail) = access("ghp_unknown");
    assert_eq!(status, "missing");
    assert!(detail.starts_with(wrong), "{detail}");
    hub.simulator.archive(REPO);
    assert_eq!(access(Simulator::TOKEN).0, "missing");
}

#[test]
fn an_app_pushes_and_opens_the_pull_request_with_nothing_but_its_key() {
    let granted = [
        ("contents", "write"),
        ("pull_requests", "write"),
        ("statuses", "write"),
        ("checks", "read"),
        ("metadata", "read"),
    ];
    let hub = Hub::new("app_id = 7\ninstallation_id = 8\nprivate_key_file = \"~/app.pem\"\n");
    let key = hub.world.path("home/app.pem");
    hub.simulator.add_app(7, 8, "drive-app[bot]", &granted);
    hub.simulator.require_git_login();
    let missing = hub.refused(None);
    assert_eq!(missing, (Some(2), "appKeyUnusable".to_owned()));
    std::fs::write(&key, Simulator::other_key()).unwrap();
    assert_eq!(hub.refused(None), (Some(3), "appRefused".to_owned()));
    std::fs::write(&key, Simulator::app_key()).unwrap();
    let (code, run) = hub.spawn(None, &[]);
    assert_eq!(code, Some(0), "{run:#}");
    let pulls: Vec<PullSeen> = hub.simulator.pull_requests(REPO);
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].head_sha, text(&run["headSha"]));
    assert!(!pulls[0].body.contains("ghs_"), "{}", pulls[0].body);
}

#[test]
fn no_agent_reads_the_key_of_the_app() {
    let hub = Hub::new("");
    let granted = [
        ("contents", "write"),
        ("pull_requests", "write"),
        ("statuses", "write"),
        ("checks", "read"),
        ("metadata", "read"),
    ];
    hub.simulator.add_app(7, 8, "drive-app[bot]", &granted);
    // The key is in a folder that agents see: that of their own program.
    let key = hub.world.path("bin/app.pem");
    std::fs::write(&key, Simulator::app_key()).unwrap();
    let other = hub.world.path("bin/other.txt");
    std::fs::write(&other, "seen\n").unwrap();
    hub.world.program(
        "script",
        &format!("cat > /dev/null\ncat {other:?} > seen.txt\ncat {key:?} > key.txt 2>&1\ntrue"),
    );
    hub.settle(
        &hub.simulator.api_url(),
        &format!("app_id = 7\ninstallation_id = 8\nprivate_key_file = {key:?}\n"),
    );
    let (code, run) = hub.spawn(None, &["--branch", "mine"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(hub.world.git("show mine:seen.txt").trim(), "seen");
    let said = hub.world.git("show mine:key.txt");
    assert!(!said.contains("PRIVATE KEY"), "the agent read the key");
}
