//! The same stage on either forge, with scripts or the real CLIs as agents, so that each case is
//! written once.

pub(crate) use crate::stage::until;
use crate::stage::{Ended, Stage, said};
use crate::team::opening::{Hub, Real, simulator_of};
use drive_adapters::clock::SystemClock;
use drive_adapters::environment::{HOME, PATH};
use drive_adapters::forge::local::LocalForge;
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::store::Database;
use drive_adapters::{Environment, StateDir};
use drive_core::forge::{CommentRef, Permission, Surface};
use drive_core::ids::{CommentId, PrNumber};
use drive_engine::ports::Forge;
use drive_testkit::github::Simulator;
use drive_testkit::interop::Cli;
use serde_json::Value;
use std::fs;
use std::sync::Arc;

pub(crate) const REPO: &str = "acme/widgets";

/// A stage, and the forge with its pull requests.
pub(crate) struct Arena {
    pub(crate) stage: Stage,
    pub(crate) simulator: Option<Simulator>,
    pub(crate) real: Option<Real>,
}

/// The pull request of a run as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) body: String,
    /// Whether it is ready for review.
    pub(crate) is_ready: bool,
    pub(crate) is_merged: bool,
    /// Every text on it without hidden lines and without the summary, oldest first.
    pub(crate) texts: Vec<String>,
    /// The summary's row for each reviewed domain.
    pub(crate) rows: Vec<String>,
}

impl Seen {
    /// Removes the only summary from the texts.
    fn without_summary(mut self) -> Self {
        let is_summary = |text: &String| text.contains("\n| review | commit | reviews |\n");
        let (summaries, texts) = self.texts.into_iter().partition(is_summary);
        let summaries: Vec<String> = summaries;
        assert!(summaries.len() < 2, "{summaries:?}");
        let lines = summaries.iter().flat_map(|text| text.lines());
        let rows = lines.filter_map(|line| line.strip_prefix("| [")?.split_once(" |"));
        self.rows = rows.map(|(row, _)| format!("[{row}")).collect();
        self.texts = texts;
        self
    }
}

/// Generates a test of each case for the local forge and for the simulated GitHub.
macro_rules! on_both_forges {
    ($($case:ident),+ $(,)?) => {
        mod local {
            $(#[test] fn $case() { super::$case(crate::team::arena::Arena::local()); })+
        }
        mod simulated {
            $(#[test] fn $case() { super::$case(crate::team::arena::Arena::simulated()); })+
        }
    };
}
pub(crate) use on_both_forges;

impl Arena {
    pub(crate) fn local() -> Self {
        Self::of_scripts(Hub::Local)
    }

    pub(crate) fn simulated() -> Self {
        Self::of_scripts(Hub::Simulated)
    }

    /// A stage whose scripts are written later.
    fn of_scripts(hub: Hub) -> Self {
        let (simulator, settings) = simulator_of(hub);
        let stage = match &simulator {
            None => Stage::new("", ""),
            Some(simulator) => Stage::clone_of(&simulator.git_url(REPO), &settings, "", ""),
        };
        let arena = Self {
            stage,
            simulator,
            real: None,
        };
        arena.admits_people();
        arena
    }

    /// Whether its forge is the simulator.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulator.is_some()
    }

    /// Adds ann, who may write, and mallory, who may only read.
    pub(crate) fn admits_people(&self) {
        match &self.simulator {
            None => {
                let forge = self.local_forge();
                forge.set_permission("ann", Permission::Write).unwrap();
                forge.set_permission("mallory", Permission::Read).unwrap();
            }
            Some(simulator) => {
                simulator.add_person(REPO, "ann", Permission::Write);
                simulator.add_person(REPO, "mallory", Permission::Read);
            }
        }
    }

    /// The names of the primary and the reviewer in the settings.
    pub(crate) fn names(&self) -> (&'static str, &'static str) {
        match &self.real {
            None => ("primary", "reviewer"),
            Some(real) => (Cli::Claude.name(), real.reviewer.name()),
        }
    }

    /// Runs a team of these scripts to its end.
    pub(crate) fn team(&self, mode: &str, primary: &str, reviewer: &str) -> Ended {
        self.cast(primary, reviewer);
        self.flies(mode)
    }

    /// Runs the team to its end.
    pub(crate) fn flies(&self, mode: &str) -> Ended {
        self.checked(self.stage.team(mode))
    }

    pub(crate) fn cast(&self, primary: &str, reviewer: &str) {
        self.stage.script("primary", primary);
        self.stage.script("reviewer", reviewer);
    }

    /// Returns the result after checking that GitHub's rules were respected.
    pub(crate) fn checked(&self, ended: Ended) -> Ended {
        if let Some(simulator) = &self.simulator {
            assert_eq!(simulator.violations(), Vec::<String>::new());
        }
        ended
    }

    /// The pull request, if it is open already.
    pub(crate) fn look(&self) -> Option<Seen> {
        match &self.simulator {
            None => {
                let shown = self.stage.drive(&["pr", "show", "1"]);
                (shown.code == Some(0)).then(|| {
                    let seen = Seen {
                        body: text(&shown.document["body"]),
                        is_ready: shown.document["draft"] != true,
                        is_merged: shown.document["state"] == "merged",
                        texts: said(&shown.document),
                        rows: Vec::new(),
                    };
                    seen.without_summary()
                })
            }
            Some(simulator) => simulator.look(REPO, 1).map(|seen| {
                let seen = Seen {
                    body: seen.body,
                    is_ready: !seen.draft,
                    is_merged: seen.merged,
                    texts: seen.texts.iter().map(|text| visible(text)).collect(),
                    rows: Vec::new(),
                };
                seen.without_summary()
            }),
        }
    }

    /// The description of the pull request with this number.
    pub(crate) fn body_of(&self, number: u64) -> String {
        match &self.simulator {
            None => {
                let shown = self.stage.drive(&["pr", "show", &number.to_string()]);
                text(&shown.document["body"])
            }
            Some(simulator) => simulator.look(REPO, number).expect("a pull request").body,
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.look().expect("a pull request")
    }

    /// Posts a person's comment in the conversation.
    pub(crate) fn comment(&self, who: &str, words: &str) {
        match &self.simulator {
            None => {
                let args = ["pr", "comment", "1", "--as", who, "--body", words];
                let written = self.stage.drive(&args);
                assert_eq!(written.code, Some(0), "{written:?}");
            }
            Some(simulator) => {
                simulator.comment(REPO, who, 1, words);
            }
        }
    }

    /// Posts a person's comment on a line of the diff.
    pub(crate) fn comment_on_line(&self, who: &str, file: &str, line: u64, words: &str) {
        match &self.simulator {
            None => {
                let number = line.to_string();
                let place = ["--file", file, "--line", &number];
                let said = ["pr", "comment", "1", "--as", who, "--body", words];
                let written = self.stage.drive(&[&said[..], &place[..]].concat());
                assert_eq!(written.code, Some(0), "{written:?}");
            }
            Some(simulator) => {
                simulator.comment_on_line(REPO, who, 1, file, line, words);
            }
        }
    }

    /// Rewrites the description as a person.
    pub(crate) fn rewrite_body(&self, rewrite: &dyn Fn(&str) -> String) {
        match &self.simulator {
            None => {
                let body = rewrite(&self.seen().body);
                self.local_forge()
                    .update_body(PrNumber::new(1), &body)
                    .unwrap();
            }
            Some(simulator) => simulator.rewrite_body(REPO, 1, rewrite),
        }
    }

    /// Commits to the base as another person.
    pub(crate) fn commit_to_base(&self, file: &str, words: &str) -> String {
        match &self.simulator {
            None => {
                fs::write(self.stage.path(&format!("repo/{file}")), words).unwrap();
                self.stage.git(&["add", file]);
                self.stage.git(&["commit", "--quiet", "--message=On main"]);
                self.stage.git(&["rev-parse", "main"])
            }
            Some(simulator) => simulator.push_file(REPO, "main", file, words),
        }
    }

    /// The newest statuses of a commit on GitHub, each with its context.
    pub(crate) fn statuses(&self, sha: &str) -> Vec<(String, String)> {
        self.simulator.as_ref().unwrap().statuses(REPO, sha)
    }

    /// Another person commits to the base just before the next merge on GitHub.
    pub(crate) fn overtake_merge(&self, file: &str, words: &str) {
        let simulator = self.simulator.as_ref().unwrap();
        simulator.overtake_next_merge(REPO, file, words);
    }

    /// A commit of the pull request's branch, or a file in one.
    pub(crate) fn published(&self, revision: &str) -> String {
        match &self.simulator {
            None => self.stage.git(&["show", "-s", "--format=%H", revision]),
            Some(_) => {
                self.stage.git(&["fetch", "--quiet", "origin"]);
                let there = format!("origin/{revision}");
                self.stage.git(&["show", "-s", "--format=%H", &there])
            }
        }
    }

    /// Waits in the given domain until [`go`](Self::go), then runs the script.
    pub(crate) fn waits_in(&self, domain: &str, then: &str) -> String {
        let go = self.stage.path("agents/go");
        format!(
            "if [ \"$DRIVE_DOMAIN\" = {domain:?} ]; then\n\
             n=0; while [ ! -e {go:?} ] && [ $n -lt 1200 ]; do n=$((n + 1)); sleep 0.1; done\nfi\n{then}"
        )
    }

    /// Waits until the pull request is open, which is before the first review.
    pub(crate) fn until_open(&self) {
        until("the pull request", || self.look().is_some());
    }

    pub(crate) fn go(&self) {
        let go = match &self.real {
            None => self.stage.path("agents/go"),
            Some(real) => real.go(),
        };
        fs::write(go, "").unwrap();
    }

    /// Whether the thread of an inline comment is resolved.
    pub(crate) fn is_resolved(&self, remark: &Value) -> bool {
        let comment = CommentRef {
            surface: Surface::Inline,
            id: CommentId::new(remark["comment"]["id"].as_u64().unwrap()),
        };
        match &self.simulator {
            None => self.local_forge().is_resolved(comment).unwrap(),
            Some(simulator) => simulator.is_resolved(REPO, comment),
        }
    }

    pub(crate) fn is_held_by_the_kernel(&self) -> bool {
        let doctor = self.stage.drive(&["doctor"]).document;
        doctor["checks"].as_array().unwrap().iter().any(|check| {
            let name = check["name"].as_str().unwrap_or_default();
            name.contains("writeScope") && check["status"] == "ok"
        })
    }

    fn local_forge(&self) -> LocalForge {
        let environment = Environment::from_pairs([
            (HOME, self.stage.home().into_os_string()),
            (PATH, std::env::var_os("PATH").unwrap_or_default()),
        ]);
        let state = StateDir::open(&environment).unwrap();
        let database = Arc::new(Database::open(&state.database()).unwrap());
        let git = Git::new(Arc::new(BoundedRunner::new()), &environment);
        let repo = self.stage.path("repo/.git");
        LocalForge::open(database, git, Arc::new(SystemClock), &repo).unwrap()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn visible(text: &str) -> String {
    let visible = text.split("\n\n<!-- drive:").next().unwrap_or_default();
    visible.trim_end().to_owned()
}
