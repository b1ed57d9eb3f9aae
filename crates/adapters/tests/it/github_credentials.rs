//! Tests tokens that expire during the work: apps, commands, `gh`, and variables that cannot be renewed.

use crate::github_support::{REPO, SimPause};
use drive_adapters::Environment;
use drive_adapters::forge::github::{
    App, Bounds, Budgets, Credential, Endpoint, GitHub, MemoryBudgets, MemoryCache, Route,
    Surroundings, Token, find_credential,
};
use drive_adapters::process::BoundedRunner;
use drive_core::forge::Permission;
use drive_core::ids::{BranchName, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::secrets::SecretPolicy;
use drive_core::settings::{ForgeSettings, resolve};
use drive_engine::CancelToken;
use drive_engine::ports::{Forge, NewPullRequest, Post, ProcessRunner, Since};
use drive_testkit::github::{Fault, FaultKind, Simulator};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const APP: u64 = 12;
const INSTALLATION: u64 = 34;
const WRITES: [(&str, &str); 3] = [
    ("contents", "write"),
    ("pull_requests", "write"),
    ("statuses", "write"),
];

struct World {
    simulator: Simulator,
    budgets: Arc<MemoryBudgets>,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        simulator.add_app(APP, INSTALLATION, "drive-app[bot]", &WRITES);
        let world = Self {
            simulator,
            budgets: Arc::default(),
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(world.path("bin")).unwrap();
        world.write("app.pem", &Simulator::app_key());
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn script(&self, name: &str, text: &str) -> String {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), mode).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn around(&self) -> Surroundings {
        let clock = self.simulator.clock().clone();
        Surroundings {
            cache: Arc::new(MemoryCache::default()),
            budgets: self.budgets.clone(),
            clock: Arc::new(clock.clone()),
            pause: Arc::new(SimPause(clock)),
            cancel: CancelToken::new(),
        }
    }

    fn app(&self, id: u64, installation: u64, key: &str) -> App {
        let api = self.simulator.api_url();
        let bounds = Bounds::default();
        App::new(
            id,
            installation,
            &self.path(key),
            &api,
            bounds,
            Route::Direct,
        )
    }

    fn by_app(&self, id: u64, installation: u64, key: &str) -> GitHub {
        let app = self.app(id, installation, key);
        let identity = app.identity();
        self.by(Credential::renewable(identity, None, Box::new(app)))
    }

    fn by(&self, credential: impl Into<Credential>) -> GitHub {
        GitHub::new(
            Endpoint::new(&self.simulator.api_url(), REPO).unwrap(),
            credential,
            Bounds::default(),
            Route::Direct,
            self.around(),
        )
    }

    fn settings(&self, change: impl FnOnce(&mut ForgeSettings)) -> ForgeSettings {
        let mut settings = resolve(&[]).unwrap().settings.forge;
        settings.api_url = self.simulator.api_url();
        change(&mut settings);
        settings
    }

    /// The credential for these settings; `PATH` contains the programs of this folder.
    fn find(&self, settings: &ForgeSettings) -> Result<Option<Credential>, Problem> {
        let path = format!("{}:/bin:/usr/bin", self.path("bin").display());
        let environment = Environment::from_pairs([
            ("PATH", path.as_str()),
            ("HOME", self.folder.path().to_str().unwrap()),
        ]);
        let helper = env!("CARGO_BIN_EXE_drive-supervise");
        let runner: Arc<dyn ProcessRunner> = Arc::new(BoundedRunner::with_helper(helper));
        find_credential(settings, &environment, &runner, &CancelToken::new())
    }

    fn command(&self, script: &str) -> Result<Option<Credential>, Problem> {
        let path = self.script("token", script);
        self.find(&self.settings(|settings| settings.token_command = vec![path]))
    }

    fn statuses(&self) -> Vec<u16> {
        self.simulator
            .requests()
            .iter()
            .map(|one| one.status)
            .collect()
    }

    /// Opens a pull request for this branch.
    fn open(&self, forge: &GitHub) -> PrNumber {
        self.simulator.push_file(REPO, "work", "a.txt", "one\n");
        let new = NewPullRequest {
            title: "Work".to_owned(),
            body: "What it does.".to_owned(),
            branch: BranchName::parse("work").unwrap(),
            base: BranchName::parse("main").unwrap(),
            draft: false,
        };
        forge.open(&new).unwrap().number
    }

    fn comments(&self, pr: PrNumber) -> usize {
        let polled = self.by(Token::new(Simulator::TOKEN).unwrap());
        polled.poll(&[pr], Since(None)).unwrap().comments.len()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.simulator.violations(), Vec::<String>::new());
        }
    }
}

fn post(number: usize) -> (String, String) {
    (
        format!("Text {number}."),
        format!("<!-- drive:{number} -->"),
    )
}

#[test]
fn an_app_renews_its_token_before_it_ends_and_no_request_is_refused() {
    let world = World::new();
    let forge = world.by_app(APP, INSTALLATION, "app.pem");
    let pr = world.open(&forge);
    assert_eq!(world.simulator.app_tokens(), 1);
    world
        .simulator
        .clock()
        .advance(Duration::from_secs(54 * 60));
    forge.fetch(pr).unwrap();
    assert_eq!(world.simulator.app_tokens(), 1, "six minutes are left");
    world.simulator.clock().advance(Duration::from_secs(2 * 60));
    forge.fetch(pr).unwrap();
    assert_eq!(world.simulator.app_tokens(), 2);
    assert!(!world.statuses().contains(&401), "{:?}", world.statuses());
}

#[test]
fn a_renewal_that_fails_while_the_token_lives_costs_nothing() {
    let world = World::new();
    let forge = world.by_app(APP, INSTALLATION, "app.pem");
    let pr = world.open(&forge);
    world
        .simulator
        .clock()
        .advance(Duration::from_secs(56 * 60));
    world.simulator.inject(Fault {
        times: 3,
        ..Fault::next("POST", "/app/", FaultKind::BadGateway)
    });
    forge.fetch(pr).unwrap();
    assert_eq!(world.simulator.app_tokens(), 1);
}

#[test]
fn a_token_that_is_revoked_in_the_middle_is_renewed_and_each_post_stands_once() {
    let world = World::new();
    let forge = world.by_app(APP, INSTALLATION, "app.pem");
    let pr = world.open(&forge);
    for number in 0..4 {
        world.simulator.revoke_app_tokens();
        let (body, marker) = post(number);
        let text = Post {
            body: &body,
            marker: &marker,
        };
        forge.post(pr, text).unwrap();
        forge.post(pr, text).unwrap();
    }
    assert_eq!(world.comments(pr), 4);
    assert_eq!(world.simulator.app_tokens(), 5, "one renewal a refusal");
}

#[test]
fn many_refusals_at_once_cause_one_renewal() {
    let world = World::new();
    let forge = Arc::new(world.by_app(APP, INSTALLATION, "app.pem"));
    let pr = world.open(&forge);
    world.simulator.revoke_app_tokens();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| forge.fetch(pr).unwrap());
        }
    });
    assert_eq!(world.simulator.app_tokens(), 2);
}

#[test]
fn an_app_works_with_a_clock_that_is_hours_off_in_both_directions() {
    for hours in [-5, 3] {
        let world = World::new();
        world.simulator.skew(hours * 3600);
        let forge = world.by_app(APP, INSTALLATION, "app.pem");
        let pr = world.open(&forge);
        world
            .simulator
            .clock()
            .advance(Duration::from_secs(56 * 60));
        forge.fetch(pr).unwrap();
        assert_eq!(world.simulator.app_tokens(), 2, "{hours} hours");
    }
}

#[test]
fn the_budget_of_an_app_outlives_its_tokens() {
    let world = World::new();
    let forge = world.by_app(APP, INSTALLATION, "app.pem");
    let pr = world.open(&forge);
    let identity = world.app(APP, INSTALLATION, "app.pem").identity();
    assert!(world.budgets.load(&identity).unwrap().is_some());
    world.simulator.revoke_app_tokens();
    forge.fetch(pr).unwrap();
    assert!(world.budgets.load(&identity).unwrap().is_some());
    assert!(forge.budget().unwrap().is_some());
}

#[test]
fn both_forms_of_a_private_key_are_read() {
    let world = World::new();
    world.write("pkcs8.pem", &Simulator::app_key_pkcs8());
    let forge = world.by_app(APP, INSTALLATION, "pkcs8.pem");
    world.open(&forge);
}

#[test]
fn an_app_that_cannot_be_used_says_why_and_asks_once() {
    let world = World::new();
    world.write("garbage.pem", "not a key");
    world.write("other.pem", &Simulator::other_key());
    let table = [
        (APP, INSTALLATION, "missing.pem", Kind::AppKeyUnusable, 0),
        (APP, INSTALLATION, "garbage.pem", Kind::AppKeyUnusable, 0),
        (APP, INSTALLATION, "other.pem", Kind::AppRefused, 1),
        (99, INSTALLATION, "app.pem", Kind::AppRefused, 1),
        (APP, 99, "app.pem", Kind::AppRefused, 1),
    ];
    for (app, installation, key, kind, requests) in table {
        world.simulator.forget_requests();
        let forge = world.by_app(app, installation, key);
        let problem = forge.fetch(PrNumber::new(1)).unwrap_err();
        assert_eq!(problem.kind, kind, "{key} {problem}");
        assert!(problem.hint.is_some(), "{key}");
        assert!(!problem.message.contains("PRIVATE"), "{problem}");
        // The next call gets the same problem, without a request.
        assert_eq!(forge.fetch(PrNumber::new(1)).unwrap_err(), problem);
        assert_eq!(world.simulator.requests().len(), requests, "{key}");
    }
    world.simulator.suspend_apps();
    let forge = world.by_app(APP, INSTALLATION, "app.pem");
    let problem = forge.fetch(PrNumber::new(1)).unwrap_err();
    assert_eq!(
        problem.message,
        "installation 34 of GitHub App 12 is suspended"
    );
}

#[test]
fn a_token_from_a_variable_is_refused_once_and_the_reason_says_that_it_cannot_be_renewed() {
    let world = World::new();
    let forge = world.by(Credential::fixed(
        Token::new("ghp_old").unwrap(),
        "`GITHUB_TOKEN`".to_owned(),
    ));
    let problem = forge.fetch(PrNumber::new(1)).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeToken);
    assert_eq!(
        problem.message,
        "the forge does not accept the token from `GITHUB_TOKEN`"
    );
    assert!(problem.hint.unwrap().contains("cannot be renewed"));
    assert_eq!(world.statuses(), [401]);
}

#[test]
fn a_command_is_asked_again_after_a_refusal() {
    let world = World::new();
    world.simulator.add_token("ghp_one", "drive-bot");
    world.write("now", "ghp_one");
    let now = world.path("now");
    let found = world.command(&format!("echo asked >> {now:?}.log; cat {now:?}"));
    let secrets = SecretPolicy::default();
    let credential = found.unwrap().unwrap().known_to(Some(secrets.clone()));
    assert_eq!(credential.source(), "`forge.token_command`");
    let identity = credential.identity().to_owned();
    let forge = world.by(credential);
    let pr = world.open(&forge);
    world.simulator.revoke_token("ghp_one");
    world.simulator.add_token("ghp_two", "drive-bot");
    world.write("now", "ghp_two");
    let (body, marker) = post(1);
    forge
        .post(
            pr,
            Post {
                body: &body,
                marker: &marker,
            },
        )
        .unwrap();
    assert_eq!(world.comments(pr), 1);
    let asked = std::fs::read_to_string(world.path("now.log")).unwrap();
    assert_eq!(asked.lines().count(), 2);
    assert!(world.budgets.load(&identity).unwrap().is_some());
    // From now on both tokens are secrets.
    let redacted = secrets.secrets().redact("ghp_one and ghp_two");
    assert_eq!(redacted, "[redacted] and [redacted]");
}

#[test]
fn a_command_that_gives_the_refused_token_again_is_told_and_not_asked_for_every_request() {
    let world = World::new();
    let log = world.path("log");
    let found = world.command(&format!("echo asked >> {log:?}; echo ghp_unknown"));
    let forge = world.by(found.unwrap().unwrap());
    for _ in 0..3 {
        let problem = forge.fetch(PrNumber::new(1)).unwrap_err();
        assert_eq!(problem.kind, Kind::ForgeToken);
        assert_eq!(
            problem.message,
            "the forge does not accept the token from `forge.token_command`; asked again, it gives \
             the same token"
        );
    }
    let asked = std::fs::read_to_string(log).unwrap();
    assert_eq!(
        asked.lines().count(),
        2,
        "at the start and after the refusal"
    );
}

#[test]
fn a_command_that_prints_no_token_says_why_without_what_it_printed() {
    let world = World::new();
    let table = [
        ("echo s3cret; exit 3", "it failed (exit code 3)"),
        ("echo s3cret; echo s3cret", "it printed more than one line"),
        ("true", "it printed nothing that can be a token"),
        (
            "echo s3cret words",
            "it printed nothing that can be a token",
        ),
    ];
    for (script, why) in table {
        let problem = world.command(script).unwrap_err();
        assert_eq!(problem.kind, Kind::TokenCommandFailed);
        let expected = format!("`forge.token_command` printed no token: {why}");
        assert_eq!(problem.message, expected, "{script}");
        assert!(!format!("{problem:?}").contains("s3cret"), "{problem:?}");
    }
    let missing = vec![world.path("nothing").to_str().unwrap().to_owned()];
    let settings = world.settings(|settings| settings.token_command = missing);
    let problem = world.find(&settings).unwrap_err();
    assert_eq!(problem.kind, Kind::TokenCommandFailed);
}

#[test]
fn a_command_that_hangs_is_ended() {
    let world = World::new();
    let start = Instant::now();
    let problem = world.command("sleep 600").unwrap_err();
    assert_eq!(
        problem.message,
        "`forge.token_command` printed no token: it took longer than 20s"
    );
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn the_app_comes_before_the_command_and_the_command_before_variables_and_gh() {
    let world = World::new();
    world.script("bin/gh", "echo ghp_of_gh");
    let command = world.script("token", "echo ghp_of_command");
    let source = |change: &dyn Fn(&mut ForgeSettings)| {
        let settings = world.settings(|settings| change(settings));
        let found = world.find(&settings).unwrap().unwrap();
        found.source().to_owned()
    };
    let app = |settings: &mut ForgeSettings| {
        settings.app_id = Some(APP);
        settings.installation_id = Some(INSTALLATION);
        settings.private_key_file = Some("~/app.pem".to_owned());
        settings.token_command = vec![command.clone()];
    };
    assert_eq!(source(&app), "GitHub App 12");
    let by_command = |settings: &mut ForgeSettings| {
        settings.token_command = vec![command.clone()];
        settings.token_env = "HOME".to_owned();
    };
    assert_eq!(source(&by_command), "`forge.token_command`");
    let variable = |settings: &mut ForgeSettings| settings.token_env = "HOME".to_owned();
    assert_eq!(source(&variable), "`HOME`");
    assert_eq!(source(&|_| {}), "`gh auth token`");
}

#[test]
fn gh_is_asked_again_after_a_refusal() {
    let world = World::new();
    world.simulator.add_token("gho_one", "drive-bot");
    world
        .simulator
        .add_person(REPO, "drive-bot", Permission::Write);
    world.write("now", "gho_one");
    world.script("bin/gh", &format!("cat {:?}", world.path("now")));
    let credential = world.find(&world.settings(|_| {})).unwrap().unwrap();
    let forge = world.by(credential);
    let pr = world.open(&forge);
    world.simulator.revoke_token("gho_one");
    world.simulator.add_token("gho_two", "drive-bot");
    world.write("now", "gho_two");
    forge.fetch(pr).unwrap();
    assert!(world.statuses().contains(&401));
}
