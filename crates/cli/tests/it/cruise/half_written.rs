//! Tests an owner that is killed while its fixer rewrites a file in place, piece by piece.
//!
//! No moment depends on the speed of the machine. In half of the kills, the fixer waits at a chosen
//! place in its file to be killed. The others come a seeded time after the fixer ended, while its
//! work is committed, pushed and answered, or a seeded time after the owner started.

use crate::cruise::crew::{APPROVES, REPO, commit_of, kill, sandbox, status, until};
use crate::stage::Stage;
use drive_core::forge::Permission;
use drive_testkit::github::Simulator;
use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of kills of each kind, in one test of fifty.
const HELD: usize = 25;
const AFTER_FIXER: usize = 12;
const AFTER_START: usize = 13;
/// The maximum wait for the moment of a kill.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plans, and fixes by rewriting `facts.txt` in place: it empties the file, copies the old content,
/// then writes two lines for each comment and the last line. At its start it reads which kill comes
/// next and where it must wait for it, so that the fixer of a killed owner is not mistaken for the
/// next one. It does not repair a half-written file, which loses one more line.
const PRIMARY: &str = r#"
cat > /dev/null
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan user auth", "branch_name": "user-auth"}\n```\n' ;;
planner)
  printf 'The plan.\n\n```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["x"], "depends_on": [], "paths": []}]\n```\n' > plan.md
  printf 'begin\nend\n' > facts.txt
  echo planned ;;
fixer)
  next=$(cat @NEXT@)
  number=${next% *} place=${next#* }
  meet() {
    [ "$place" = "$1" ] || return 0
    mkdir -p .cruise; : > ".cruise/met-$number"
    n=0
    while [ "$(cat @NEXT@)" = "$next" ] && [ $n -lt 6000 ]; do n=$((n + 1)); sleep 0.02; done
  }
  ids=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT")
  remarks=$(sed -n 's/.*"body": "Remark \([0-9]*\)".*/\1/p' "$DRIVE_INPUT")
  old=$(cat facts.txt)
  exec 3> facts.txt
  meet emptied
  sleep 0.02
  printf '%s\n' "$old" | sed '$d' >&3
  meet copied
  for remark in $remarks; do
    sleep 0.02
    echo "$remark is begun" >&3
    meet begun
    sleep 0.02
    echo "$remark is done" >&3
  done
  sleep 0.02
  echo end >&3
  exec 3>&-
  meet written
  list=
  for id in $ids; do list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"done\"}"; done
  printf '```json\n{"comments": [%s]}\n```\n' "$list"
  [ "$place" != ended ] || mkdir -p .cruise; : > ".cruise/met-$number" ;;
esac
"#;

/// Places where the fixer waits to be killed.
const PLACES: [&str; 4] = ["emptied", "copied", "begun", "written"];

/// When the owner is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// While the fixer waits at this place.
    Held(&'static str),
    /// This long after the fixer reported its result.
    AfterFixer(Duration),
    /// This long after the owner started.
    AfterStart(Duration),
}

impl Moment {
    /// The place that the fixer is told.
    fn place(self) -> &'static str {
        match self {
            Moment::Held(place) => place,
            Moment::AfterFixer(_) => "ended",
            Moment::AfterStart(_) => "nowhere",
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1);
        (self.0 >> 33) % most
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }

    /// Fifty moments of known kinds in a seeded order.
    fn moments(&mut self) -> Vec<Moment> {
        let mut all: Vec<Moment> = Vec::new();
        all.extend((0..HELD).map(|n| Moment::Held(PLACES[n % PLACES.len()])));
        all.extend((0..AFTER_FIXER).map(|_| Moment::AfterFixer(self.millis(250))));
        all.extend((0..AFTER_START).map(|_| Moment::AfterStart(self.millis(500))));
        for last in (1..all.len()).rev() {
            let other = self.below(last as u64 + 1);
            all.swap(last, usize::try_from(other).unwrap());
        }
        all
    }
}

struct World {
    simulator: Simulator,
    stage: Stage,
    /// The number of comments so far; they are named from 1.
    asked: u32,
}

impl World {
    fn new() -> Self {
        let simulator = Simulator::start();
        simulator.add_repo("acme", "widgets");
        simulator.add_person(REPO, "ann", Permission::Write);
        let settings = format!(
            "[cruise]\npoll_initial = \"100ms\"\npoll_max = \"300ms\"\nmax_rounds = 1000\n\
             [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
            simulator.api_url()
        );
        let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, "", APPROVES);
        // The file is beside the script, where an agent sees it.
        let next = stage.path("agents/next");
        stage.script(
            "primary",
            &PRIMARY.replace("@NEXT@", next.to_str().unwrap()),
        );
        Self {
            simulator,
            stage,
            asked: 0,
        }
    }

    /// Announces the next kill; a living fixer that waits for an earlier one continues.
    fn announce(&self, number: usize, place: &str) {
        let new = self.stage.path("agents/new");
        fs::write(&new, format!("{number} {place}\n")).unwrap();
        fs::rename(new, self.stage.path("agents/next")).unwrap();
    }

    fn ask(&mut self) {
        self.asked += 1;
        let text = format!("Remark {:03}", self.asked);
        self.simulator.comment(REPO, "ann", 1, &text);
    }

    /// The replies by the comment that they quote.
    fn replies(&self) -> BTreeMap<u32, Vec<String>> {
        let mut all: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for text in self.simulator.conversation(REPO, 1) {
            let quoted = text
                .split_once("Remark ")
                .filter(|(before, _)| !before.is_empty());
            if let Some(number) = quoted.map(|(_, rest)| &rest[..3]) {
                all.entry(number.parse().unwrap()).or_default().push(text);
            }
        }
        all
    }

    fn is_all_answered(&self) -> bool {
        self.replies().len() == self.asked as usize
    }

    /// Waits until a fixer reports that it reached this kill, and ensures that there is work: after
    /// an answered comment it writes another. An owner that ends by itself is replaced.
    fn wait_for_fixer(&mut self, number: usize, owner: &mut Child) {
        // An agent may write only in its sandbox.
        let met = sandbox(&self.stage).join(format!(".cruise/met-{number}"));
        let deadline = Instant::now() + PATIENCE;
        while !met.exists() {
            if Instant::now() > deadline {
                let (at, replies) = (status(&self.stage), self.replies());
                panic!("no fixer met kill {number} at {at:#}, after {replies:#?}");
            }
            if owner.try_wait().unwrap().is_some() {
                *owner = self.stage.start(&["cruise", "resume"]);
            }
            let is_open = !self.simulator.pull_requests(REPO).is_empty();
            if is_open && self.is_all_answered() {
                self.ask();
                if self.asked.is_multiple_of(3) {
                    self.ask();
                }
            }
            sleep(Duration::from_millis(10));
        }
    }
}

/// Kills the owner of one cruise fifty times, and then lets it answer everything.
fn fifty_kills(seed: u64) {
    let mut world = World::new();
    let mut args: &[&str] = &["cruise", "run", "--plan-only", "Add user auth"];
    for (number, moment) in Random(seed).moments().into_iter().enumerate() {
        world.announce(number, moment.place());
        let mut owner = world.stage.start(args);
        if number == 0 {
            until("the cruise", || status(&world.stage)["id"].is_string());
        }
        match moment {
            Moment::Held(_) => world.wait_for_fixer(number, &mut owner),
            Moment::AfterFixer(wait) => {
                world.wait_for_fixer(number, &mut owner);
                sleep(wait);
            }
            Moment::AfterStart(wait) => sleep(wait),
        }
        kill(owner);
        args = &["cruise", "resume"];
    }
    world.announce(HELD + AFTER_FIXER + AFTER_START, "nowhere");
    let owner = world.stage.start(args);
    until("the answers", || world.is_all_answered());
    // Once one more comment is answered, everything before it was read and handled.
    world.ask();
    until("the last answer", || world.is_all_answered());
    kill(owner);
    world.check();
    let cleaned = world.stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
}

impl World {
    fn check(&self) {
        self.stage.git(&["fetch", "--quiet", "origin"]);
        let replies = self.replies();
        let asked: Vec<u32> = (1..=self.asked).collect();
        assert_eq!(replies.keys().copied().collect::<Vec<_>>(), asked);
        for (number, texts) in &replies {
            let [text] = texts.as_slice() else {
                panic!("remark {number} was answered more than once: {texts:#?}");
            };
            assert!(text.contains("Fixed in "), "{text}");
            let commit = commit_of(text);
            let branch = "origin/user-auth";
            self.stage
                .git(&["merge-base", "--is-ancestor", commit, branch]);
            assert!(self.fixed_in(commit).contains(number), "{text}");
        }
        let mut before = Vec::new();
        let history = ["log", "--reverse", "--format=%H", "main..origin/user-auth"];
        for commit in self.stage.git(&history).lines() {
            let fixed = self.fixed_in(commit);
            assert!(fixed.starts_with(&before), "{commit} loses {before:?}");
            before = fixed;
        }
        before.sort_unstable();
        assert_eq!(before, asked);
    }

    /// The comments that the file in a commit handles; the file must be complete.
    fn fixed_in(&self, commit: &str) -> Vec<u32> {
        let file = self.stage.git(&["show", &format!("{commit}:facts.txt")]);
        let lines: Vec<&str> = file.lines().collect();
        let ["begin", fixes @ .., "end"] = lines.as_slice() else {
            panic!("{commit} holds a half-written file: {file:?}");
        };
        let fixed = fixes.chunks(2).map(|two| {
            let number = two[0].split_once(' ').map_or("", |(number, _)| number);
            let whole = [format!("{number} is begun"), format!("{number} is done")];
            assert_eq!(two, whole, "{commit} holds half a fix: {file:?}");
            number.parse().unwrap()
        });
        fixed.collect()
    }
}

#[test]
fn every_answered_fix_outlives_fifty_kills_seed_1() {
    fifty_kills(1);
}

#[test]
fn every_answered_fix_outlives_fifty_kills_seed_2() {
    fifty_kills(2);
}

#[test]
fn every_answered_fix_outlives_fifty_kills_seed_3() {
    fifty_kills(3);
}

#[test]
fn every_answered_fix_outlives_fifty_kills_seed_4() {
    fifty_kills(4);
}
