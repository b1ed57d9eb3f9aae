//! Tests `forge.kind = "auto"` with a real repository, its remote and an environment.

use crate::local_forge::world::World;
use drive_adapters::Environment;
use drive_adapters::forge::{ForgeHost, open};
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::store::Database;
use drive_core::forge::choice::Chosen;
use drive_core::problem::Kind;
use drive_core::settings::{ForgeKind, ForgeSettings, resolve};
use drive_engine::CancelToken;
use drive_engine::ports::{Clock, ProcessRunner};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// The choice for these settings and variables; `PATH` contains only git and `bin`.
fn chosen(
    world: &World,
    change: impl FnOnce(&mut ForgeSettings),
    variables: &[(&str, &str)],
) -> Result<(Chosen, String), Kind> {
    let mut settings = resolve(&[]).unwrap().settings.forge;
    change(&mut settings);
    let bin = world.repo.join("../bin");
    let mut pairs = vec![("HOME", world.repo.join("../home")), ("PATH", bin)];
    pairs.extend(variables.iter().map(|(name, value)| (*name, value.into())));
    let environment = Environment::from_pairs(pairs);
    let runner: Arc<dyn ProcessRunner> = Arc::new(BoundedRunner::new());
    let database = Database::open(&world.repo.join("../select.sqlite3")).unwrap();
    let clock: Arc<dyn Clock> = world.clock.clone();
    let host = ForgeHost {
        environment: &environment,
        runner: &runner,
        secrets: None,
        git: &Git::new(runner.clone(), &environment),
        database: &Arc::new(database),
        clock: &clock,
        cancel: &CancelToken::new(),
    };
    let selected = open(&settings, &host, &world.repo);
    selected
        .map(|selected| (selected.choice.chosen, selected.choice.why))
        .map_err(|problem| problem.kind)
}

/// A repository whose remote is on GitHub, with its own `PATH`.
fn world(remote: Option<&str>) -> World {
    let world = World::bare();
    let bin = world.repo.join("../bin");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.exists());
    std::os::unix::fs::symlink(git.unwrap(), bin.join("git")).unwrap();
    if let Some(remote) = remote {
        world.git(["remote", "add", "origin", remote]);
    }
    world
}

fn install_gh(world: &World, script: &str) {
    let gh = world.repo.join("../bin/gh");
    std::fs::write(&gh, script).unwrap();
    std::fs::set_permissions(&gh, PermissionsExt::from_mode(0o755)).unwrap();
}

fn github() -> Chosen {
    Chosen::Github {
        repo: "octo/hello".to_owned(),
    }
}

const REMOTE: Option<&str> = Some("git@github.com:octo/hello.git");

#[test]
fn a_remote_on_github_and_a_token_mean_github() {
    let world = world(REMOTE);
    let why = |name: &str| {
        format!("remote `origin` is `octo/hello` on `github.com`, with a token from `{name}`")
    };
    for name in ["GITHUB_TOKEN", "GH_TOKEN"] {
        assert_eq!(
            chosen(&world, |_| {}, &[(name, "secret-text")]),
            Ok((github(), why(name)))
        );
    }
    install_gh(&world, "#!/bin/sh\necho secret-text\n");
    assert_eq!(
        chosen(&world, |_| {}, &[]),
        Ok((github(), why("gh auth token")))
    );
}

#[test]
fn no_remote_there_or_no_token_means_local_and_says_so() {
    let token = [("GITHUB_TOKEN", "secret-text")];
    let cases = [
        (REMOTE, &[][..], "no token for `octo/hello`"),
        (None, &token[..], "no remote `origin`"),
        (
            Some("git@gitlab.com:octo/hello.git"),
            &token[..],
            "remote `origin` is on `gitlab.com`, not on `github.com`",
        ),
        (
            Some("../elsewhere.git"),
            &token[..],
            "remote `origin` is not the URL of a repository on a server",
        ),
    ];
    for (remote, variables, why) in cases {
        let world = world(remote);
        assert_eq!(
            chosen(&world, |_| {}, variables),
            Ok((Chosen::Local, why.to_owned())),
            "{remote:?}"
        );
    }
}

#[test]
fn gh_is_not_asked_where_its_answer_does_not_decide() {
    let world = world(Some("git@gitlab.com:octo/hello.git"));
    install_gh(&world, "#!/bin/sh\n: > \"$HOME/asked\"\necho secret-text\n");
    let (forge, _) = chosen(&world, |_| {}, &[]).unwrap();
    assert_eq!(forge, Chosen::Local);
    let local = |settings: &mut ForgeSettings| settings.kind = ForgeKind::Local;
    assert_eq!(chosen(&world, local, &[]).unwrap().0, Chosen::Local);
    assert_eq!(world.file("../home/asked"), None);
}

#[test]
fn github_asked_for_by_name_without_a_token_is_an_error() {
    let world = world(REMOTE);
    let github = |settings: &mut ForgeSettings| settings.kind = ForgeKind::Github;
    assert_eq!(chosen(&world, github, &[]), Err(Kind::TokenMissing));
}
