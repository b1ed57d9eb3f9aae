//! Tests pull requests on the simulated GitHub: a real push over HTTP, and the API with its failures.

use crate::spawn::agents::{KEEPS_ITS_PROMPT, assert_it_got_the_prompt, warnings};
use crate::spawn::stops::{ended, signal, wait_for_cancel};
use crate::spawn::support::{Ended, World, text, wait_for};
use drive_testkit::github::{Fault, FaultKind, PullSeen, Simulator};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Child, Stdio};

const REPO: &str = "acme/widgets";
const WRITES_A_FILE: &str = "echo 'I add a file.'; echo new > new.txt";

/// A clone of a repository on GitHub.
struct Clone {
    hub: Simulator,
    world: World,
}

impl Clone {
    fn with_agent(script: &str) -> Self {
        let hub = Simulator::start();
        hub.add_repo("acme", "widgets");
        let world = World::empty();
        world.shell(&format!("git clone -q {} repo", hub.git_url(REPO)));
        world.program("script", &format!("cat > /dev/null\n{script}"));
        world.all_settings(&format!(
            "[spawn]\nagent = \"script\"\n[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n[agents.script]\nkind = \"command\"\ncommand = [{:?}]\n",
            hub.api_url(),
            world.path("bin/script")
        ));
        Self { hub, world }
    }

    fn drive(&self, args: &[&str]) -> Ended {
        let mut command = self.world.drive_command(args);
        Ended::from(
            command
                .env("GITHUB_TOKEN", Simulator::TOKEN)
                .output()
                .unwrap(),
        )
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = self.world.drive_command(args);
        command
            .env("GITHUB_TOKEN", Simulator::TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn spawn(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ended = self.drive(&[&["spawn", "--json"], args].concat());
        (ended.code, ended.run())
    }

    /// The branches on GitHub other than `main`, with their commits.
    fn pushed(&self) -> Vec<(String, String)> {
        let all = self.world.git("ls-remote --heads origin");
        all.lines()
            .filter_map(|line| line.split_once("\trefs/heads/"))
            .filter(|(_, branch)| *branch != "main")
            .map(|(sha, branch)| (branch.to_owned(), sha.to_owned()))
            .collect()
    }

    /// The pull requests, without the layers of this machine at the end of their descriptions.
    fn pull_requests(&self) -> Vec<PullSeen> {
        let mut all = self.hub.pull_requests(REPO);
        for pull in &mut all {
            let (body, layers) = pull.body.split_once("\n\nIsolation: every layer ").unwrap();
            assert!(!layers.contains('\n') || layers.ends_with('\n'), "{layers}");
            pull.body = format!("{body}\n");
        }
        all
    }
}

/// The pull request that a run should have.
fn expected(run: &Value) -> PullSeen {
    PullSeen {
        number: 1,
        title: "Add a file".to_owned(),
        body: format!(
            "I add a file.\n\n<details><summary>Task</summary>\n\nAdd a \
             file\n\n</details>\n\nRun `{}`, agent `script`.\n",
            text(&run["runId"])
        ),
        branch: text(&run["branch"]),
        head_sha: text(&run["headSha"]),
        base: "main".to_owned(),
    }
}

#[test]
fn the_branch_is_pushed_and_one_pull_request_is_opened_that_names_the_run() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    let (code, run) = clone.spawn(&["Add a file"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(
        clone.pushed(),
        [(text(&run["branch"]), text(&run["headSha"]))]
    );
    assert_eq!(clone.pull_requests(), [expected(&run)]);
    assert_eq!(
        (&run["prNumber"], text(&run["prUrl"])),
        (
            &1.into(),
            format!("http://{}/{REPO}/pull/1", clone.hub.address())
        )
    );
    assert_eq!(clone.hub.violations(), Vec::<String>::new());
    clone.world.assert_nothing_is_left();
}

#[test]
fn a_coder_of_a_repository_on_github_gets_the_prompt() {
    let clone = Clone::with_agent("");
    clone.world.program("script", KEEPS_ITS_PROMPT);
    let (code, run) = clone.spawn(&["Do it"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_it_got_the_prompt(&clone.world, &text(&run["branch"]));
}

#[test]
fn without_a_pull_request_nothing_is_pushed_and_nobody_is_asked() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    clone.hub.forget_requests();
    let (code, run) = clone.spawn(&["Add a file", "--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(run["prNumber"], Value::Null);
    assert_eq!(clone.hub.requests(), []);
    assert_eq!(clone.pushed(), []);
    assert_eq!(clone.world.branches(), [text(&run["branch"])]);
}

#[test]
fn an_answer_that_is_lost_after_the_opening_makes_no_second_pull_request() {
    for kind in [
        FaultKind::BadGatewayAfterApplying,
        FaultKind::CutShort,
        FaultKind::BadGateway,
    ] {
        let clone = Clone::with_agent(WRITES_A_FILE);
        clone.hub.inject(Fault::next("POST", "/pulls", kind));
        let (code, run) = clone.spawn(&["Add a file"]);
        assert_eq!(code, Some(0), "{kind:?}: {run:#}");
        assert_eq!(clone.hub.pending_faults(), 0, "{kind:?}");
        assert_eq!(run["prNumber"], 1, "{kind:?}");
        assert_eq!(clone.pull_requests(), [expected(&run)]);
    }
}

#[test]
fn a_forge_that_never_opens_one_leaves_the_work_pushed_and_says_so() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    clone.hub.inject(Fault {
        times: 100,
        ..Fault::next("POST", "/pulls", FaultKind::Unavailable)
    });
    let ended = clone.drive(&["spawn", "Add a file"]);
    let run = &clone.drive(&["runs", "list", "--json"]).document()["runs"][0];
    assert_eq!(
        (ended.code, text(&run["status"])),
        (Some(3), "failed".into()),
        "{run:#}"
    );
    assert_eq!(
        clone.pushed(),
        [(text(&run["branch"]), text(&run["headSha"]))],
        "{run:#}"
    );
    assert_eq!(clone.pull_requests(), Vec::<PullSeen>::new());
    let branch = format!("branch   {} at ", text(&run["branch"]));
    assert!(ended.stdout.starts_with(&branch), "{ended:?}");
    assert!(ended.stderr.contains("answered `503`"), "{ended:?}");
    assert!(ended.stderr.contains("hint: "), "{ended:?}");
    clone.world.assert_nothing_is_left();
}

#[test]
fn a_refused_push_leaves_the_work_on_the_local_branch_and_says_why() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    clone
        .hub
        .refuse_pushes(REPO, "no file may be larger than 100 MB");
    let (code, run) = clone.spawn(&["Add a file", "--branch", "mine"]);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(3), "pushRefused".into()), "{run:#}");
    let said = run["failure"].to_string();
    assert!(said.contains("no file may be larger"), "{said}");
    assert!(
        said.contains("the work is on the local branch `mine`"),
        "{said}"
    );
    assert_eq!(clone.world.files("mine"), "README.md new.txt");
    assert_eq!(clone.pull_requests(), Vec::<PullSeen>::new());
    clone.world.assert_nothing_is_left();
}

#[test]
fn a_branch_that_only_the_remote_has_is_refused_before_anything_is_made() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    let theirs = clone.hub.push_file(REPO, "mine", "theirs.txt", "theirs\n");
    clone.hub.open_pull(REPO, "ann", "mine");
    // Their commit is an ancestor of the work: a push would be a fast-forward.
    clone.world.git("pull -q --ff-only origin mine");
    let before = clone.hub.pull_requests(REPO);
    let refused = clone.drive(&["spawn", "Add a file", "--branch", "mine", "--json"]);
    assert_eq!(refused.failure(), (Some(2), "branchExists".into()));
    let problem = refused.document();
    assert_eq!(
        (text(&problem["message"]), text(&problem["hint"])),
        (
            "branch `mine` already exists on `origin`".into(),
            "pass `--branch` with another name, or leave it out".into()
        )
    );
    let runs = clone.drive(&["runs", "list", "--json"]).document();
    assert_eq!(runs["runs"], Value::Array(Vec::new()), "no agent started");
    assert_eq!(clone.pushed(), [("mine".into(), theirs)]);
    assert_eq!(clone.hub.pull_requests(REPO), before);
    let here = clone
        .world
        .git("for-each-ref refs/heads refs/drive --format='%(refname)'");
    assert_eq!(here, "refs/heads/main");
    clone.world.assert_nothing_is_left();
}

#[test]
fn a_token_that_ends_while_the_agent_works_is_said_and_the_work_stays_on_the_branch() {
    let clone = Clone::with_agent(&format!("sleep 3; {WRITES_A_FILE}"));
    let child = clone.start(&["spawn", "--json", "Add a file", "--branch", "mine"]);
    let asked = |one: &drive_testkit::github::Logged| one.target.contains("/rules/branches/");
    wait_for("the first requests", || {
        clone.hub.requests().iter().any(asked)
    });
    clone.hub.revoke_token(Simulator::TOKEN);
    let ended = ended(child);
    let run = ended.run();
    assert_eq!(ended.code, Some(3), "{run:#}");
    assert_eq!(text(&run["failure"]["kind"]), "forgeToken", "{run:#}");
    assert_eq!(text(&run["branch"]), "mine", "{run:#}");
    assert_eq!(clone.world.files("mine"), "README.md new.txt");
    assert!(!ended.stdout.contains(Simulator::TOKEN), "{ended:?}");
}

#[test]
fn two_interrupts_do_not_wait_for_a_forge_that_hangs_and_the_work_is_on_its_branch() {
    let clone = Clone::with_agent(WRITES_A_FILE);
    let hang = FaultKind::HangAfterApplying;
    clone.hub.inject(Fault::next("POST", "/pulls", hang));
    let child = clone.start(&["spawn", "Add a file", "--branch", "mine", "--json"]);
    let asked = |one: &drive_testkit::github::Logged| one.method == "POST";
    wait_for("the opening", || clone.hub.requests().iter().any(asked));
    signal(&child, Signal::INT);
    wait_for_cancel(&clone.world);
    signal(&child, Signal::INT);
    let ended = ended(child);
    let run = ended.run();
    assert_eq!(
        (ended.code, text(&run["status"]), text(&run["branch"])),
        (Some(130), "cancelled".into(), "mine".into()),
        "{run:#}"
    );
    // Its deadline would have produced another message.
    assert_eq!(
        warnings(&run),
        format!(
            "an operation was interrupted: interrupted while waiting for `{}`",
            clone.hub.address()
        )
    );
    assert_eq!(clone.world.files("mine"), "README.md new.txt");
    assert_eq!(clone.pushed(), [("mine".into(), text(&run["headSha"]))]);
    clone.world.assert_nothing_is_left();
}

#[test]
fn a_secret_in_a_commit_is_not_pushed_until_its_file_is_allowed() {
    const SECRET: &str = "s3cr3t-Value-0123456789abcdef";
    let clone = Clone::with_agent("printf 'one\\nkey=%s\\n' \"$MY_TOKEN\" > key.txt");
    let settings = clone
        .world
        .path("home/.config/infinite-improbability-drive/config.toml");
    let text_of = std::fs::read_to_string(&settings).unwrap();
    let with_env = format!("{text_of}env = [\"MY_TOKEN\"]\n");
    std::fs::write(&settings, &with_env).unwrap();
    let drive = |args: &[&str]| {
        let mut command = clone.world.drive_command(args);
        command.env("GITHUB_TOKEN", Simulator::TOKEN);
        Ended::from(command.env("MY_TOKEN", SECRET).output().unwrap())
    };
    let ended = drive(&["spawn", "Add a key", "--json"]);
    let run = ended.run();
    assert_eq!(
        (ended.code, text(&run["status"])),
        (Some(1), "needsHuman".to_owned())
    );
    let failure = &run["failure"];
    assert_eq!(text(&failure["kind"]), "secretInCommit");
    assert!(
        text(&failure["message"]).contains("`key.txt:2`"),
        "{failure}"
    );
    assert!(text(&failure["hint"]).contains("secrets.allow = [\"key.txt\"]"));
    assert!(!ended.stdout.contains(SECRET), "{ended:?}");
    assert_eq!(clone.pushed(), []);
    assert_eq!(clone.pull_requests(), []);

    std::fs::write(
        &settings,
        format!("{with_env}[secrets]\nallow = [\"key.txt\"]\n"),
    )
    .unwrap();
    let ended = drive(&["runs", "resume", &text(&run["runId"]), "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(clone.pushed().len(), 1);
    let all = clone.hub.pull_requests(REPO);
    assert_eq!(all.len(), 1);
    assert!(all[0].body.contains("`keys`: MY_TOKEN "), "{:?}", all[0]);
}
