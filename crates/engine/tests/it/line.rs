//! Tests the branch on which tasks land, with fakes.

use drive_core::cruise::train::Coupled;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName, TaskId};
use drive_core::problem::Kind;
use drive_core::run::{
    BranchAt, CarOrder, ContractCheck, LineAct, LineAnswer, ReceiptResult, Shows,
};
use drive_core::verify::Overall;
use drive_engine::CancelToken;
use drive_engine::fakes::{FakeOwner, FakeWorld, REPOSITORY_PATH};
use drive_engine::perform::{Line, OnLine};
use std::path::Path;

use crate::support::{Scene, run_id};

const LINE: &str = "line";

fn line() -> BranchAt {
    BranchAt {
        remote: Some(RemoteName::parse("origin").unwrap()),
        branch: BranchName::parse(LINE).unwrap(),
    }
}

fn act(world: &FakeWorld, owner: &FakeOwner, act: &LineAct) -> Result<LineAnswer, Kind> {
    let performer = owner.performer();
    let base = CommitSha::new(world.repository.branch("main").unwrap());
    let line = Line {
        history: performer.history,
        gate: performer.gate,
        secrets: &performer.secrets,
        repo: Path::new(REPOSITORY_PATH),
        run: &run_id(),
        said: Said::default(),
        base: &base,
        merged: None,
        cancel: &CancelToken::new(),
    };
    let done = line.act(act).map_err(|problem| problem.kind)?;
    let OnLine { answer, warning } = done;
    assert_eq!(warning, None);
    Ok(answer)
}

/// A task whose work is on its own branch.
fn task(world: &FakeWorld, name: &str, from: &str, path: &str) -> CarOrder {
    let repository = &world.repository;
    repository.person_branches("origin", name, from);
    let head = repository.person_pushes("origin", name, path, name);
    CarOrder {
        task: TaskId::new(name),
        title: name.to_owned(),
        head: CommitSha::new(head),
    }
}

fn assembled(answer: LineAnswer) -> Vec<Coupled> {
    let LineAnswer::Assembled { cars, conflict } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(conflict, None);
    cars
}

#[test]
fn a_train_is_assembled_verified_and_landed_once() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let base = CommitSha::new(world.repository.branch("main").unwrap());
    let begin = LineAct::BeginLine {
        line: line(),
        at: base.clone(),
    };
    for _ in 0..2 {
        assert_eq!(act(world, &owner, &begin), Ok(LineAnswer::LineBegun));
    }
    let cars = vec![
        task(world, "a", &base, "a.txt"),
        task(world, "b", &base, "b.txt"),
    ];
    let assemble = LineAct::Assemble {
        onto: base.clone(),
        cars,
    };
    let made = assembled(act(world, &owner, &assemble).unwrap());
    let again = assembled(act(world, &owner, &assemble).unwrap());
    assert_eq!(made, again, "the same train is the same commits");
    let last = &made[1];
    let verify = LineAct::VerifyTrain {
        onto: base.clone(),
        commit: last.commit.clone(),
        tree: last.tree.clone(),
        rules: base.clone(),
    };
    let LineAnswer::TrainVerified { report } = act(world, &owner, &verify).unwrap() else {
        panic!("verified");
    };
    assert_eq!(report.overall, Overall::Pass);
    assert_eq!(report.candidate.merged_tree_sha.as_ref(), Some(&last.tree));
    let land = LineAct::Land {
        line: line(),
        from: base.clone(),
        commit: last.commit.clone(),
        tree: last.tree.clone(),
        offers: Vec::new(),
    };
    for _ in 0..2 {
        assert_eq!(act(world, &owner, &land), Ok(LineAnswer::CarsLanded));
    }
    let tip = Some(last.commit.to_string());
    assert_eq!(world.repository.branch(LINE), tip);
    assert_eq!(world.repository.remote_branch("origin", LINE), tip);
    // Others continue from there: a repeated landing reports where it is, and moves nothing.
    let theirs = world
        .repository
        .person_pushes("origin", LINE, "c.txt", "theirs");
    let moved = LineAnswer::LineMoved {
        tip: Some(CommitSha::new(theirs.clone())),
        is_rewritten: false,
    };
    assert_eq!(act(world, &owner, &land), Ok(moved));
    assert_eq!(world.repository.remote_branch("origin", LINE), Some(theirs));
    assert_eq!(world.repository.lost_commits(), Vec::<String>::new());
}

#[test]
fn a_conflict_names_the_task_its_files_and_those_before_it() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let base = CommitSha::new(world.repository.branch("main").unwrap());
    let cars = vec![
        task(world, "a", &base, "same.txt"),
        task(world, "b", &base, "same.txt"),
        task(world, "c", &base, "c.txt"),
    ];
    let assemble = LineAct::Assemble { onto: base, cars };
    let LineAnswer::Assembled { cars, conflict } = act(world, &owner, &assemble).unwrap() else {
        panic!("assembled");
    };
    assert_eq!(cars.len(), 1);
    let conflict = conflict.unwrap();
    assert_eq!(conflict.task, TaskId::new("b"));
    assert_eq!(conflict.files, ["same.txt"]);
    assert_eq!(conflict.with, [TaskId::new("a")]);
    // A merge that was assembled but did not land is no lost work: its parents contain it.
    assert_eq!(world.repository.lost_commits(), Vec::<String>::new());
}

#[test]
fn a_commit_with_another_tree_than_the_verified_one_does_not_land() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let base = CommitSha::new(world.repository.branch("main").unwrap());
    let begin = LineAct::BeginLine {
        line: line(),
        at: base.clone(),
    };
    act(world, &owner, &begin).unwrap();
    let cars = vec![
        task(world, "a", &base, "a.txt"),
        task(world, "b", &base, "b.txt"),
    ];
    let assemble = LineAct::Assemble {
        onto: base.clone(),
        cars,
    };
    let made = assembled(act(world, &owner, &assemble).unwrap());
    let land = LineAct::Land {
        line: line(),
        from: base.clone(),
        commit: made[1].commit.clone(),
        tree: made[0].tree.clone(),
        offers: Vec::new(),
    };
    assert_eq!(act(world, &owner, &land), Err(Kind::NotMerged));
    let tip = Some(base.to_string());
    assert_eq!(world.repository.branch(LINE), tip);
    assert_eq!(world.repository.remote_branch("origin", LINE), tip);
}

#[test]
fn a_contract_is_checked_on_the_tree_of_the_commit() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let base = CommitSha::new(world.repository.branch("main").unwrap());
    let head = task(world, "a", &base, "a.txt").head;
    let check = |command: &[&str]| ContractCheck {
        task: TaskId::new("a"),
        id: command.join(" "),
        shows: Shows::Claim,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        exit: 0,
        contains: None,
    };
    let checks = vec![check(&["test", "-f", "a.txt"]), check(&["nonsense"])];
    let results = |commit: &CommitSha| {
        let contract = LineAct::CheckContract {
            base: base.clone(),
            commit: commit.clone(),
            checks: checks.clone(),
        };
        let answer = act(world, &owner, &contract).unwrap();
        let LineAnswer::ContractChecked { receipts } = answer else {
            panic!("{answer:?}");
        };
        let results = receipts.into_iter().map(|receipt| receipt.result);
        results.collect::<Vec<_>>()
    };
    let (proven, failed) = (ReceiptResult::Proven, ReceiptResult::Failed);
    assert_eq!(results(&base), [failed, failed]);
    assert_eq!(results(&head), [proven, failed]);
}
