//! Tests the branch on which tasks land with real git: merges without a checkout, and compare-and-swap.

mod assembling;
mod landing;

use crate::support::World;
use drive_core::Problem;
use drive_core::cruise::train::Coupled;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId, TaskId};
use drive_core::run::{BranchAt, CarOrder, LineAct, LineAnswer};
use drive_core::secrets::SecretPolicy;
use drive_engine::CancelToken;
use drive_engine::perform::{Line, OnLine};

/// A repository with a bare remote `origin`, both with `main` at the first commit.
struct Scene {
    world: World,
    base: CommitSha,
    secrets: SecretPolicy,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let remote = world.path().join("remote.git");
        let remote = remote.to_str().unwrap();
        world.git(["init", "-q", "--bare", remote]);
        world.git(["remote", "add", "origin", remote]);
        world.git(["push", "-q", "origin", "main"]);
        let base = CommitSha::new(world.git(["rev-parse", "HEAD"]));
        Self {
            world,
            base,
            secrets: SecretPolicy::default(),
        }
    }

    fn try_act(&self, act: &LineAct) -> Result<OnLine, Problem> {
        let (git, run) = (self.world.builder(), RunId::new("r-1"));
        Line {
            history: &git,
            gate: None,
            secrets: &self.secrets,
            repo: &self.world.repo,
            run: &run,
            said: Said::default(),
            base: &self.base,
            merged: None,
            cancel: &CancelToken::new(),
        }
        .act(act)
    }

    fn act(&self, act: &LineAct) -> LineAnswer {
        let OnLine { answer, warning } = self.try_act(act).unwrap();
        assert_eq!(warning, None);
        answer
    }

    /// A task that changes these files, starting from a commit.
    fn task(&self, name: &str, from: &CommitSha, files: &[(&str, &str)]) -> CarOrder {
        let world = &self.world;
        world.git(["checkout", "-q", "--detach", from]);
        for (path, text) in files {
            world.write(path, text);
        }
        let head = CommitSha::new(world.commit(name));
        world.git(["branch", "-f", &format!("task/{name}"), &head]);
        world.git(["checkout", "-q", "main"]);
        CarOrder {
            task: TaskId::new(name),
            title: format!("Do {name}"),
            head,
        }
    }

    fn assemble(&self, onto: &CommitSha, cars: &[&CarOrder]) -> LineAnswer {
        let cars = cars.iter().map(|car| (*car).clone()).collect();
        let onto = onto.clone();
        self.act(&LineAct::Assemble { onto, cars })
    }

    fn assembled(&self, onto: &CommitSha, cars: &[&CarOrder]) -> Vec<Coupled> {
        match self.assemble(onto, cars) {
            LineAnswer::Assembled {
                cars,
                conflict: None,
            } => cars,
            other => panic!("{other:?}"),
        }
    }

    fn local(&self, branch: &str) -> Option<CommitSha> {
        let found = self
            .world
            .git(["branch", "--list", "--format=%(objectname)", branch]);
        CommitSha::parse(&found)
    }

    fn remote(&self, branch: &str) -> Option<CommitSha> {
        let full = format!("refs/heads/{branch}");
        let found = self.world.git(["ls-remote", "origin", &full]);
        CommitSha::parse(found.split('\t').next().unwrap())
    }

    fn begin(&self, line: &BranchAt) {
        let (line, at) = (line.clone(), self.base.clone());
        let begun = self.act(&LineAct::BeginLine { line, at });
        assert_eq!(begun, LineAnswer::LineBegun);
    }

    fn land(&self, line: &BranchAt, from: &CommitSha, car: &Coupled) -> LineAct {
        LineAct::Land {
            line: line.clone(),
            from: from.clone(),
            commit: car.commit.clone(),
            tree: car.tree.clone(),
            offers: Vec::new(),
        }
    }

    /// Installs a hook of the remote that runs before it accepts a push.
    fn remote_hook(&self, script: &str) {
        let path = self.world.path().join("remote.git/hooks/update");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
}

fn line(remote: Option<&str>) -> BranchAt {
    BranchAt {
        remote: remote.map(|name| RemoteName::parse(name).unwrap()),
        branch: BranchName::parse("cruise").unwrap(),
    }
}
