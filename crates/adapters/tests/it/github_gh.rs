//! Tests the real `gh` and the real git with the simulator, to show that the simulator matches what
//! `gh` expects of GitHub.

use drive_core::forge::{Permission, Surface};
use drive_testkit::github::Simulator;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const REPO: &str = "acme/widgets";

struct Desk {
    simulator: Simulator,
    home: TempDir,
}

impl Desk {
    /// A private home with a pushed branch `feat`; `None` if `gh` is not installed.
    fn start() -> Option<Self> {
        if Command::new("gh").arg("--version").output().is_err() {
            println!("skipped: `gh` is not installed");
            return None;
        }
        let desk = Self {
            simulator: Simulator::start(),
            home: tempfile::tempdir().unwrap(),
        };
        desk.simulator.add_repo("acme", "widgets");
        desk.simulator.add_token("ghs_reviewer", "rita");
        desk.simulator.add_person(REPO, "rita", Permission::Write);
        desk.git(&[
            "clone",
            "-q",
            "http://github.localhost/acme/widgets.git",
            "widgets",
        ]);
        desk.commit("feat", "src/lib.rs", "one\ntwo\nthree\n");
        Some(desk)
    }

    fn checkout(&self) -> std::path::PathBuf {
        self.home.path().join("widgets")
    }

    /// Commits in the clone and pushes over HTTP.
    fn commit(&self, branch: &str, file: &str, content: &str) {
        let dir = self.checkout();
        let at = |args: &[&str]| self.in_checkout(args);
        at(&["checkout", "-q", "-B", branch]);
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        at(&["add", "-A"]);
        at(&["commit", "-q", "-m", "Work"]);
        at(&["push", "-q", "-u", "origin", branch]);
    }

    fn in_checkout(&self, args: &[&str]) -> String {
        let dir = self.checkout();
        let mut all = vec!["-C", dir.to_str().unwrap()];
        all.extend(args);
        self.git(&all)
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self.run("git", Simulator::TOKEN, self.home.path(), args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, program: &str, token: &str, cwd: &Path, args: &[impl AsRef<OsStr>]) -> Output {
        let proxy = format!("http://{}", self.simulator.address());
        let home = self.home.path();
        Command::new(program)
            .args(args)
            .current_dir(cwd)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("GH_CONFIG_DIR", home.join("gh"))
            // `gh` caches answers of the server below the temporary folder.
            .env("TMPDIR", home)
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("GH_HOST", "github.localhost")
            .env("GH_TOKEN", token)
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("HTTP_PROXY", &proxy)
            .env("HTTPS_PROXY", &proxy)
            .env("http_proxy", &proxy)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.com")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.com")
            .output()
            .unwrap()
    }

    fn try_gh(&self, token: &str, args: &[&str]) -> Result<String, String> {
        let output = self.run("gh", token, &self.checkout(), args);
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn gh(&self, args: &[&str]) -> String {
        let answer = self.try_gh(Simulator::TOKEN, args);
        answer.unwrap_or_else(|errors| panic!("gh {args:?}: {errors}"))
    }

    fn view(&self, fields: &str) -> Value {
        let text = self.gh(&["pr", "view", "1", "-R", REPO, "--json", fields]);
        serde_json::from_str(&text).unwrap()
    }

    fn create(&self) -> String {
        self.gh(&[
            "pr", "create", "--base", "main", "--head", "feat", "--title", "A title", "--body",
            "A body", "--draft",
        ])
    }

    fn done(&self) {
        assert_eq!(self.simulator.violations(), Vec::<String>::new());
    }
}

#[test]
fn gh_creates_and_views_a_pull_request() {
    let Some(desk) = Desk::start() else { return };
    assert_eq!(desk.create(), "http://github.localhost/acme/widgets/pull/1");
    let head = desk.in_checkout(&["rev-parse", "HEAD"]);
    let fields = "number,title,body,state,isDraft,headRefName,baseRefName,headRefOid,mergedAt,\
                  closed,reviewDecision,mergeable";
    assert_eq!(
        desk.view(fields),
        json!({
            "number": 1, "title": "A title", "body": "A body", "state": "OPEN", "isDraft": true,
            "headRefName": "feat", "baseRefName": "main", "headRefOid": head.trim(),
            "mergedAt": null, "closed": false, "reviewDecision": "", "mergeable": "MERGEABLE",
        })
    );
    let list = desk.gh(&[
        "pr",
        "list",
        "-R",
        REPO,
        "--head",
        "feat",
        "--json",
        "number,url",
    ]);
    assert_eq!(
        serde_json::from_str::<Value>(&list).unwrap(),
        json!([{"number": 1, "url": "http://github.localhost/acme/widgets/pull/1"}])
    );
    desk.gh(&["pr", "ready", "1", "-R", REPO]);
    assert_eq!(desk.view("isDraft"), json!({"isDraft": false}));
    let diff = desk.gh(&["pr", "diff", "1", "-R", REPO]);
    assert!(diff.contains("+three"), "{diff}");
    desk.done();
}

#[test]
fn gh_comments_and_reads_comments() {
    let Some(desk) = Desk::start() else { return };
    desk.create();
    let url = desk.gh(&["pr", "comment", "1", "-R", REPO, "--body", "please fix"]);
    assert!(url.starts_with("http://github.localhost/acme/widgets/pull/1#issuecomment-"));
    let line = desk
        .simulator
        .comment_on_line(REPO, "rita", 1, "src/lib.rs", 2, "why?");
    assert_eq!(line.surface, Surface::Inline);
    let reply = format!("repos/{REPO}/pulls/1/comments/{}/replies", line.id);
    desk.gh(&["api", &reply, "-f", "body=because"]);
    let bodies = desk.gh(&[
        "api",
        &format!("repos/{REPO}/pulls/1/comments"),
        "--paginate",
        "--jq",
        ".[].body",
    ]);
    assert_eq!(bodies, "why?\nbecause");
    for n in 0..31 {
        desk.simulator
            .comment(REPO, "rita", 1, &format!("remark {n}"));
    }
    let path = format!("repos/{REPO}/issues/1/comments?per_page=10");
    let all = desk.gh(&["api", &path, "--paginate", "--jq", ".[].id"]);
    assert_eq!(all.lines().count(), 32);
    let seen = desk.view("comments");
    assert_eq!(seen["comments"].as_array().unwrap().len(), 32);
    assert_eq!(seen["comments"][0]["body"], "please fix");
    assert_eq!(desk.gh(&["api", "user", "--jq", ".login"]), "drive-bot");
    desk.done();
}

#[test]
fn gh_reviews_but_not_its_own_pull_request() {
    let Some(desk) = Desk::start() else { return };
    desk.create();
    let own = [
        "pr",
        "review",
        "1",
        "-R",
        REPO,
        "--request-changes",
        "--body",
        "no",
    ];
    let refused = desk.try_gh(Simulator::TOKEN, &own).unwrap_err();
    assert!(
        refused.contains("Can not request changes on your own pull request"),
        "{refused}"
    );
    let approve = ["pr", "review", "1", "-R", REPO, "--approve"];
    let refused = desk.try_gh(Simulator::TOKEN, &approve).unwrap_err();
    assert!(
        refused.contains("Can not approve your own pull request"),
        "{refused}"
    );
    desk.try_gh("ghs_reviewer", &own).unwrap();
    assert_eq!(
        desk.view("reviewDecision"),
        json!({"reviewDecision": "CHANGES_REQUESTED"})
    );
    desk.try_gh("ghs_reviewer", &approve).unwrap();
    let seen = desk.view("reviewDecision,reviews");
    assert_eq!(seen["reviewDecision"], "APPROVED");
    let states: Vec<&Value> = seen["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["state"])
        .collect();
    assert_eq!(states, ["CHANGES_REQUESTED", "APPROVED"]);
    assert!(desk.try_gh("ghs_nobody", &["api", "user"]).is_err());
    desk.done();
}

#[test]
fn gh_merges_and_closes() {
    let Some(desk) = Desk::start() else { return };
    desk.create();
    let head = desk.in_checkout(&["rev-parse", "HEAD"]);
    let status = format!("repos/{REPO}/statuses/{}", head.trim());
    desk.gh(&[
        "api",
        &status,
        "-f",
        "state=success",
        "-f",
        "context=drive/review",
    ]);
    let checks = desk.view("statusCheckRollup");
    assert_eq!(checks["statusCheckRollup"][0]["context"], "drive/review");
    desk.gh(&["pr", "ready", "1", "-R", REPO]);
    desk.gh(&["pr", "merge", "1", "-R", REPO, "--merge"]);
    assert_eq!(desk.view("state"), json!({"state": "MERGED"}));
    desk.in_checkout(&["fetch", "-q", "origin"]);
    let parents = desk.in_checkout(&["log", "-1", "--format=%P", "origin/main"]);
    assert!(
        parents.contains(head.trim()),
        "a real merge commit: {parents}"
    );

    desk.in_checkout(&["checkout", "-q", "-B", "other", "origin/main"]);
    desk.commit("other", "b.txt", "b\n");
    desk.gh(&[
        "pr", "create", "--base", "main", "--head", "other", "--title", "T", "--body", "B",
    ]);
    desk.gh(&["pr", "close", "2", "-R", REPO, "--delete-branch"]);
    let branches = desk.in_checkout(&["ls-remote", "--heads", "origin"]);
    assert!(!branches.contains("refs/heads/other"), "{branches}");
    desk.done();
}

/// Sends one document like `gh`.
fn graphql(simulator: &Simulator, query: &str, variables: &Value) -> Value {
    let agent = ureq::Agent::config_builder()
        .proxy(None)
        .build()
        .new_agent();
    let body = json!({"query": query, "variables": variables}).to_string();
    let answer = agent
        .post(format!("{}/graphql", simulator.api_url()))
        .header("authorization", format!("Bearer {}", Simulator::TOKEN))
        .send(body);
    let text = answer.unwrap().body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_query_that_an_old_and_a_new_gh_send_is_answered() {
    let recorded = include_str!("../../../testkit/data/github/gh-queries.json");
    let recorded: Vec<Value> = serde_json::from_str(recorded).unwrap();
    let mut refused = Vec::new();
    for one in &recorded {
        let query = one["query"].as_str().unwrap();
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        simulator.push_file(REPO, "feat", "a.rs", "one\n");
        if !query.contains("createPullRequest") {
            simulator.open_pull(REPO, "rita", "feat");
        }
        let ids = graphql(
            &simulator,
            "query { repository(owner: \"acme\", name: \"widgets\") { id pullRequests(first: 1) { nodes { id } } } }",
            &json!({}),
        );
        let ids = &ids["data"]["repository"];
        let id = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        let variables = one["variables"]
            .to_string()
            .replace("PR_7", &id(&ids["pullRequests"]["nodes"][0]["id"]))
            .replace("\"R_1\"", &ids["id"].to_string())
            .replace(":7,", ":1,")
            .replace(":7}", ":1}");
        let answer = graphql(
            &simulator,
            query,
            &serde_json::from_str(&variables).unwrap(),
        );
        if answer["errors"].is_array() || !answer["data"].is_object() {
            refused.push(format!(
                "{}: {} for {query} {variables}",
                one["gh"], answer["errors"]
            ));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!(recorded.len(), 38);
}
