//! Tests the sources of the token, with our own `gh` in a private `PATH`, and what the doctor
//! reports about it.

use drive_adapters::doctor::{Check, Doctor, Need, Status};
use drive_adapters::forge::github::{Budgets, FoundToken, Token, find_token};
use drive_adapters::process::BoundedRunner;
use drive_adapters::store::{Database, SqliteForgeMemory};
use drive_adapters::{Environment, StateDir};
use drive_core::forge::RequestBudget;
use drive_core::problem::{Kind, Problem};
use drive_core::settings::resolve;
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::ports::ProcessRunner;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A home that contains only a folder for programs.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.path("bin")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn gh(&self, script: &str) {
        let gh = self.path("bin/gh");
        std::fs::write(&gh, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn environment(&self, more: &[(&str, &str)]) -> Environment {
        let own = [
            ("PATH", self.path("bin")),
            ("HOME", self.path("")),
            ("DRIVE_STATE_DIR", self.path("state")),
        ];
        let own = own.map(|(name, value)| (name, value.into_os_string()));
        let more = more.iter().map(|(name, value)| (*name, (*value).into()));
        Environment::from_pairs(own.into_iter().chain(more))
    }

    /// The token and its source.
    fn find(&self, more: &[(&str, &str)]) -> Option<FoundToken> {
        self.find_until(&CancelToken::new(), more).unwrap()
    }

    fn find_until(
        &self,
        cancel: &CancelToken,
        more: &[(&str, &str)],
    ) -> Result<Option<FoundToken>, Problem> {
        let environment = self.environment(more);
        let host = "ghe.example.org";
        find_token(&environment, "MINE", host, runner().as_ref(), cancel)
    }
}

fn runner() -> Arc<dyn ProcessRunner> {
    let helper = env!("CARGO_BIN_EXE_drive-supervise");
    Arc::new(BoundedRunner::with_helper(helper))
}

fn found(token: &str, source: &str) -> Option<FoundToken> {
    let token = Token::new(token).unwrap();
    let source = source.to_owned();
    Some(FoundToken { token, source })
}

#[test]
fn the_first_of_the_own_variable_ghs_variable_and_gh_itself_is_taken() {
    let home = Home::new();
    home.gh("echo gho_asked");
    let (mine, ghs) = (("MINE", "ghp_mine"), ("GH_TOKEN", "ghp_ghs"));
    assert_eq!(home.find(&[mine, ghs]), found("ghp_mine", "`MINE`"));
    assert_eq!(home.find(&[ghs]), found("ghp_ghs", "`GH_TOKEN`"));
    assert_eq!(home.find(&[]), found("gho_asked", "`gh auth token`"));
    let unusable = ("MINE", "two words");
    assert_eq!(home.find(&[unusable, ghs]), found("ghp_ghs", "`GH_TOKEN`"));
}

#[test]
fn gh_is_asked_for_this_host_and_sees_no_other_variable() {
    let home = Home::new();
    home.gh(r#"[ "$*" = "auth token --hostname ghe.example.org" ] && [ -z "$SECRET" ] && echo gho_asked"#);
    let asked = home.find(&[("SECRET", "of somebody else")]);
    assert_eq!(asked, found("gho_asked", "`gh auth token`"));
}

#[test]
fn a_gh_that_fails_or_talks_means_no_token() {
    let home = Home::new();
    assert_eq!(home.find(&[]), None, "not installed");
    for script in [
        "echo gho_asked; exit 1",
        "exit 0",
        "echo 'no oauth token found'",
        "echo gho_one; echo gho_two",
        "kill -9 $$",
    ] {
        home.gh(script);
        assert_eq!(home.find(&[]), None, "{script}");
    }
}

#[test]
fn a_gh_that_hangs_ends_when_a_stop_is_asked_for_and_proves_nothing() {
    let home = Home::new();
    home.gh("echo $$ > \"$HOME/asked\"; while :; do /bin/sleep 300; done");
    let cancel = CancelToken::new();
    let asked = home.path("asked");
    let stop = cancel.clone();
    let stopper = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read_to_string(&asked)
            .unwrap_or_default()
            .is_empty()
        {
            assert!(Instant::now() < deadline, "gh was never asked");
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.cancel(Urgency::Graceful);
    });
    let problem = home.find_until(&cancel, &[]).unwrap_err();
    stopper.join().unwrap();
    assert_eq!(
        problem,
        Problem::new(Kind::Interrupted, "`gh auth token` was stopped")
    );
    let pid = std::fs::read_to_string(home.path("asked")).unwrap();
    assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists());
    // A variable needs no `gh`, so a stop does not matter.
    let found_anyway = home.find_until(&cancel, &[("MINE", "ghp_mine")]);
    assert_eq!(found_anyway.unwrap(), found("ghp_mine", "`MINE`"));
}

fn budget_check(home: &Home, more: &[(&str, &str)]) -> Option<Check> {
    let doctor = Doctor {
        environment: &home.environment(more),
        runner: &runner(),
        cancel: &CancelToken::new(),
        settings: &resolve(&[]).unwrap().settings,
        folder: &home.path(""),
    };
    let mut checks = doctor.examine().into_iter();
    checks.find(|check| check.name == "forgeBudget")
}

#[test]
fn the_doctor_shows_what_the_token_may_still_ask() {
    let home = Home::new();
    let fine = |detail: &str| {
        Some(Check {
            name: "forgeBudget".to_owned(),
            status: Status::Ok,
            detail: detail.to_owned(),
            hint: None,
            need: Need::Optional,
        })
    };
    let token = ("GH_TOKEN", "ghp_ghs");
    assert_eq!(budget_check(&home, &[]), None);
    let unused = fine("no requests with this token yet");
    assert_eq!(budget_check(&home, &[token]), unused);

    let state_dir = StateDir::open(&home.environment(&[])).unwrap();
    let database = Arc::new(Database::open(&state_dir.database()).unwrap());
    let told = RequestBudget {
        limit: 5000,
        remaining: 4321,
        resets_at: "2999-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
        paused_until: None,
    };
    let fingerprint = Token::new("ghp_ghs").unwrap().fingerprint();
    Budgets::store(&SqliteForgeMemory::new(database), &fingerprint, &told).unwrap();
    let left = fine("4321 of 5000 requests left until 2999-01-01T00:00:00Z");
    assert_eq!(budget_check(&home, &[token]), left);
    assert_eq!(budget_check(&home, &[("GH_TOKEN", "ghp_other")]), unused);
}
