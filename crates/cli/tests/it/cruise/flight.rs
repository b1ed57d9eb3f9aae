//! Tests one whole cruise: twelve tasks with every kind of failure, on both forges and with owners
//! that are killed.

use super::building::{report, stage, states, task, that_fail};
use super::building_deaths::{Deaths, diamond, on_github, processes};
use crate::cruise::crew::{REPO, fixes, until};
use crate::stage::{Stage, said};
use drive_testkit::github::Simulator;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// A diamond whose western task fails its tests first; two tasks that conflict; two that pass alone
/// and break each other; one that always fails; and those that depend on them.
fn twelve() -> Vec<Value> {
    let mut tasks = vec![
        // They run in parallel, so the second one to land conflicts.
        task("one", "Add one to list.txt", &[], "one.txt"),
        task("two", "Add two to list.txt", &[], "two.txt"),
        task("fails", "Write fails.txt bad", &[], "fails.txt"),
        task("after", "Write after.txt six", &["fails"], "after.txt"),
        task("left", "Write left.txt one", &[], "left.txt"),
        task("right", "Write right.txt two", &[], "right.txt"),
        task(
            "last",
            "Write last.txt four",
            &["left", "right"],
            "last.txt",
        ),
        task("join", "Write join.txt five", &["one", "two"], "join.txt"),
    ];
    // Each is about a line, not about a file of its own.
    for (at, word) in [(0, "one"), (1, "two")] {
        let command = format!("grep -x {word} list.txt && echo found");
        tasks[at]["acceptance"][0]["command"][2] = command.into();
    }
    tasks.extend(diamond());
    assert_eq!(tasks.len(), 12);
    tasks
}

const TOP_AGAIN: &str = "EDIT(s/Write top.txt one/Write top.txt uno/)";
const ONE_MORE: &str = "ADD c";
const OTHER_WORDS: &str = "EDIT(s/Write last.txt four/Write last.txt cinq/)";

/// The stage of the cruise, and its forge.
struct Sky {
    stage: Stage,
    github: Option<Simulator>,
}

impl Sky {
    fn local() -> Self {
        let sky = Self {
            stage: stage(&twelve()),
            github: None,
        };
        sky.commit_one_domain();
        sky
    }

    fn github() -> Self {
        let (github, stage) = on_github(&twelve());
        let sky = Self {
            stage,
            github: Some(github),
        };
        sky.commit_one_domain();
        sky.stage.git(&["push", "--quiet", "origin", "main"]);
        sky
    }

    /// Configures a single review domain for the twelve tasks: other tests cover several.
    fn commit_one_domain(&self) {
        let path = self.stage.path("repo/drive.toml");
        let settings = fs::read_to_string(&path).unwrap();
        let one = "[review]\ndomains = [\"GeneralPolish\"]\n";
        fs::write(path, settings.replacen("[review]\n", one, 1)).unwrap();
        self.stage
            .git(&["commit", "--quiet", "--all", "--message=One domain"]);
    }

    fn comment(&self, text: &str) {
        match &self.github {
            Some(github) => drop(github.comment(REPO, "ann", 1, text)),
            None => self.order(&["pr", "comment", "1", text]),
        }
    }

    fn merge(&self) {
        match &self.github {
            Some(github) => github.merge_pull(REPO, "ann", 1),
            None => self.order(&["pr", "merge", "1"]),
        }
    }

    fn order(&self, args: &[&str]) {
        let ended = self.stage.drive(args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    fn said(&self) -> Vec<String> {
        match &self.github {
            Some(github) => github.conversation(REPO, 1),
            None => said(&self.stage.pull_request()),
        }
    }

    /// Every commit that people saw on a branch, oldest first.
    fn positions(&self, branch: &str) -> Vec<String> {
        match &self.github {
            Some(github) => {
                self.stage.git(&["fetch", "--quiet", "origin"]);
                github.positions(REPO, branch)
            }
            None => {
                let name = format!("refs/heads/{branch}");
                let log = self.stage.git(&["reflog", "show", "--format=%H", &name]);
                log.lines().rev().map(str::to_owned).collect()
            }
        }
    }
}

/// The actions of people in a cruise, each at its moment.
struct People<'s> {
    sky: &'s Sky,
    /// The number of actions so far.
    did: u32,
    comments: Vec<String>,
    /// The one of the two conflicting tasks that did not land.
    other: Option<&'static str>,
}

impl<'s> People<'s> {
    fn of(sky: &'s Sky) -> Self {
        Self {
            sky,
            did: 0,
            comments: Vec::new(),
            other: None,
        }
    }

    fn look(&mut self, now: &Value) {
        if let Some(github) = &self.sky.github {
            // The simulator's limits use its own clock.
            github.clock().advance(Duration::from_secs(10));
        }
        let states = by_task(now);
        let state = |task: &str| states.get(task).map_or("", String::as_str);
        let waits = now["waitingFor"].as_str().unwrap_or_default();
        match self.did {
            // A landed task is not as they want it.
            0 if state("top") == "landed" => self.say(TOP_AGAIN),
            // They want one more task, and change one that was not started.
            1 if !state("top-2").is_empty() => {
                self.say(ONE_MORE);
                self.say(OTHER_WORDS);
            }
            // Everything that can land has landed; the others depend on a blocked task.
            3 if self.is_settled(&states) => {
                let other = match (state("left"), state("right")) {
                    ("landed", "blocked") => "right",
                    ("blocked", "landed") => "left",
                    both => panic!("{both:?}"),
                };
                assert_eq!(state("fails"), "blocked", "{now:#}");
                assert_eq!((state("after"), state("last")), ("pending", "pending"));
                self.other = Some(other);
                self.say(&format!("EDIT(s/{other}.txt/{other}-side.txt/g)"));
            }
            4 if state("last") == "landed" => {
                self.did += 1;
                self.sky.order(&["cruise", "skip", "fails"]);
            }
            // The rule of verification names the files of `left` and `right`, so a person must
            // merge a change of them.
            5 if waits.contains("no person approved") => {
                self.did += 1;
                self.sky.merge();
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.sky.comment(text);
        self.comments.push(text.to_owned());
        self.did += 1;
    }

    /// Whether nothing can continue without a person.
    fn is_settled(&self, states: &BTreeMap<String, String>) -> bool {
        let is_there = ["top-2", "c"].iter().all(|id| states.contains_key(*id));
        is_there
            && states.iter().all(|(id, state)| match id.as_str() {
                "fails" => state == "blocked",
                "left" | "right" => state == "landed" || state == "blocked",
                "after" | "last" => true,
                _ => state == "landed",
            })
    }
}

fn by_task(now: &Value) -> BTreeMap<String, String> {
    let split = |line: String| {
        let (id, state) = line.split_once(' ').unwrap();
        (id.to_owned(), state.to_owned())
    };
    states(now).into_iter().map(split).collect()
}

/// Runs the cruise, and checks its invariants. Returns the number of killed owners.
fn require_flight(sky: &Sky, deaths: Deaths) -> u32 {
    let stage = &sky.stage;
    let mut people = People::of(sky);
    let (ended, died) = deaths.let_fly(stage, |now| people.look(now));
    eprintln!("{died} owners were killed");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(people.did, 6, "{ended:?}");
    let id = ended.document["runId"].as_str().unwrap();
    let now = stage.drive(&["cruise", "status", id]).document;
    let other = people.other.unwrap();
    require_states(&now);
    let branch = ended.document["branch"].as_str().unwrap();
    require_landed(sky, branch, other);
    require_answers(&sky.said(), &people.comments);
    let audit = report(stage);
    for task in audit["tasks"].as_array().unwrap() {
        let is_missing = task["id"] == "fails";
        let status = match task["id"].as_str().unwrap() {
            "fails" => "missing",
            // A validator judges its only entry, and none named a file.
            "c" => "partial",
            _ => "implemented",
        };
        assert_eq!(task["status"], status, "{task:#}");
        let evidence = task["evidence"].as_array().unwrap().iter();
        let mut run = evidence.filter(|one| !is_missing && one["command"].is_array());
        assert!(run.all(|one| one["result"] == "proven"), "{task:#}");
    }
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    until("the end of every process", || processes(stage).is_empty());
    if let Some(github) = &sky.github {
        assert_eq!(github.violations(), Vec::<String>::new());
    }
    died
}

fn require_states(now: &Value) {
    let states = by_task(now);
    assert_eq!(states.len(), 14, "{now:#}");
    for (id, state) in &states {
        let wanted = if id == "fails" { "skipped" } else { "landed" };
        assert_eq!(state, wanted, "{id}: {now:#}");
    }
    let attempts = |id: &str| {
        let tasks = now["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["id"] == id).unwrap();
        task["attempts"].as_u64().unwrap()
    };
    assert_eq!(attempts("fails"), 3, "{now:#}");
    assert_eq!(attempts("west"), 2, "{now:#}");
    assert_eq!(attempts("one") + attempts("two"), 3, "{now:#}");
    assert_eq!(attempts("left") + attempts("right"), 5, "{now:#}");
}

/// Asserts that each task is on the base once, and that neither branch ever pointed to a failing tree.
fn require_landed(sky: &Sky, branch: &str, other: &str) {
    let stage = &sky.stage;
    let at = |branch: &str| match &sky.github {
        Some(_) => format!("origin/{branch}"),
        None => branch.to_owned(),
    };
    for branch in ["main", branch] {
        let positions = sky.positions(branch);
        assert!(positions.len() > 1, "{branch}: {positions:?}");
        assert_eq!(
            positions.last(),
            Some(&stage.git(&["rev-parse", &at(branch)]))
        );
        let fail = that_fail(stage, positions.iter().map(String::as_str));
        assert_eq!(fail, Vec::<String>::new(), "{branch}");
    }
    let base = at("main");
    let file = |name: &str| stage.try_git(&["show", &format!("{base}:{name}")]);
    for (name, word) in [
        ("top", "uno"),
        ("west", "two"),
        ("east", "three"),
        ("end", "four"),
        ("join", "five"),
        ("after", "six"),
        ("last", "cinq"),
        ("c", "three"),
    ] {
        assert_eq!(file(&format!("{name}.txt")).as_deref(), Ok(word), "{name}");
    }
    let list = file("list.txt").unwrap();
    let mut words: Vec<&str> = list.lines().collect();
    words.sort_unstable();
    assert_eq!(words, ["one", "two"]);
    for gone in [format!("{other}.txt"), "fails.txt".into(), "plan.md".into()] {
        assert!(file(&gone).is_err(), "{gone}");
    }
    for side in ["left", "right"] {
        let name = if side == other { "-side.txt" } else { ".txt" };
        assert!(file(&format!("{side}{name}")).is_ok(), "{side}");
    }
    let merges = stage.git(&["log", "--format=%s", &base, "--grep=^Merge task"]);
    let mut merged: Vec<&str> = merges.lines().filter_map(|l| l.split('`').nth(1)).collect();
    merged.sort_unstable();
    assert_eq!(
        merged,
        [
            "after", "c", "east", "end", "join", "last", "left", "one", "right", "top", "top-2",
            "two", "west"
        ],
        "{merges}"
    );
}

/// Asserts that each comment has one answer.
fn require_answers(said: &[String], comments: &[String]) {
    let fixes = fixes(said.to_vec());
    assert_eq!(comments.len(), 4);
    assert_eq!(fixes.len(), comments.len(), "{said:#?}");
    for comment in comments {
        let quotes = |text: &&String| text.starts_with("> ") && text.contains(comment.as_str());
        assert_eq!(
            said.iter().filter(quotes).count(),
            1,
            "{comment}: {said:#?}"
        );
    }
}

#[test]
fn twelve_tasks_fly_to_the_base_of_the_local_forge() {
    require_flight(&Sky::local(), Deaths::NONE);
}

#[test]
fn twelve_tasks_fly_to_the_base_on_github() {
    require_flight(&Sky::github(), Deaths::NONE);
}

/// Owners die for some time, every second one with its git commands.
fn deaths(seed: u64) -> Deaths {
    Deaths {
        most: 100,
        during: Duration::from_secs(40),
        lives: 50..1000,
        with_git: true,
        seed,
    }
}

#[test]
fn twelve_tasks_fly_although_owners_die_on_the_way() {
    let died = require_flight(&Sky::local(), deaths(18));
    assert!(died >= 15, "{died}");
}

#[test]
fn twelve_tasks_fly_on_github_although_owners_die_on_the_way() {
    let died = require_flight(&Sky::github(), deaths(81));
    assert!(died >= 15, "{died}");
}
