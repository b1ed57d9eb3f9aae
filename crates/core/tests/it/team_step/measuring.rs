//! Tests which findings a fixer's round touched, and what else it changed.

use crate::common::{run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, heard, nobody, team};
use drive_core::agent::Role;
use drive_core::forge::inline::{FileDiff, Hunk};
use drive_core::ids::CommitSha;
use drive_core::review::{ChangedPlace, Resolution};
use drive_core::run::{
    ChangedLines, CommitSummary, Effect, EffectResult, ForgeAct, Reviewing, review_stats,
};
use drive_core::settings::TeamMode;

fn commit(n: usize) -> CommitSummary {
    CommitSummary {
        sha: CommitSha::new(format!("{n:040}")),
        subject: format!("Commit {n}"),
    }
}

fn changed(path: &str, line: u64) -> FileDiff {
    FileDiff {
        old_path: Some(path.to_owned()),
        new_path: Some(path.to_owned()),
        hunks: vec![Hunk {
            old: line..line + 1,
            new: line..line + 1,
        }],
        edits: Vec::new(),
    }
}

fn committed(commits: usize, since: &[usize], files: &[FileDiff]) -> EffectResult {
    let lines = |n: &usize| ChangedLines {
        since: commit(*n).sha,
        files: files.to_vec(),
        is_cut: false,
    };
    EffectResult::WorkCommitted {
        head_sha: commit(commits).sha,
        commits: (1..=commits).map(commit).collect(),
        warnings: Vec::new(),
        changed: since.iter().map(lines).collect(),
    }
}

#[test]
fn what_people_fixed_is_measured_when_the_change_is_reviewed_again() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED, APPROVED, APPROVED, APPROVED, APPROVED]);
    let read = |changed| EffectResult::DiffRead {
        diff: "the diff".to_owned(),
        parts: Vec::new(),
        lines: Vec::new(),
        is_cut: false,
        since: None,
        changed,
        quotes: String::new(),
    };
    let lines = ChangedLines {
        since: commit(1).sha,
        files: vec![changed("src/login.rs", 2)],
        is_cut: false,
    };
    scene.answers("readDiff", [read(None), read(Some(lines))]);
    let run = scene.fly(team_request(TeamMode::Github));
    let resolution = Resolution {
        findings: 1,
        resolved: 1,
    };
    assert_eq!(team(&run).record.reviews[0].resolution, Some(resolution));
    assert_eq!(
        team(&run).record.rounds,
        [],
        "nothing was measured of the round"
    );
}

#[test]
fn a_round_is_compared_with_what_was_reviewed_and_its_overreach_is_listed() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let read = |since: Option<&str>| EffectResult::DiffRead {
        diff: "the diff".to_owned(),
        parts: Vec::new(),
        lines: Vec::new(),
        is_cut: false,
        since: since.map(str::to_owned),
        changed: None,
        quotes: String::new(),
    };
    scene.answers("readDiff", [read(None), read(Some("the diff since"))]);
    let files = [changed("src/login.rs", 2), changed("src/other.rs", 7)];
    scene.answers(
        "commitWork",
        [committed(1, &[], &[]), committed(2, &[1], &files)],
    );
    let run = scene.fly(team_request(TeamMode::Github));
    let asked: Vec<&[CommitSha]> = scene
        .performed
        .iter()
        .filter_map(|effect| match effect {
            Effect::CommitWork { since, .. } => Some(since.as_slice()),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [&[][..], &[commit(1).sha]]);
    let record = &team(&run).record;
    let one = Resolution {
        findings: 1,
        resolved: 1,
    };
    assert_eq!(record.reviews[0].resolution, Some(one));
    assert_eq!(
        record.reviews[5].resolution, None,
        "nothing changed after it"
    );
    let place = ChangedPlace {
        file: "src/other.rs".to_owned(),
        line: Some(7),
        lines: 1,
    };
    let round = &record.rounds[0];
    assert_eq!((record.rounds.len(), round.number), (1, 1));
    assert_eq!(round.outside, [place]);
    let told = scene
        .performed
        .iter()
        .rev()
        .find_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::Summarize { body, .. },
                ..
            } => Some(body.as_str()),
            _ => None,
        });
    let told = told.unwrap();
    assert!(
        told.contains(
            "<details><summary>1 place changed outside of what the findings name</summary>\n\n\
             - round 1: `src/other.rs:7`, 1 line\n\n</details>"
        ),
        "{told}"
    );
    let again = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
    let again = &again.clone().nth(5).unwrap().prompt;
    let beyond = "Changed outside of what the findings name:\nsrc/other.rs:7\n\n";
    assert!(again.contains(beyond), "{again}");
    let stats = review_stats([&run]);
    let security = Reviewing {
        agent: "gemini-cli".to_owned(),
        domain: Some("Security".to_owned()),
    };
    let security = &stats[&security];
    assert_eq!((security.reviews, security.rounds), (2, 1));
    assert_eq!(
        (security.findings, security.measured, security.resolved),
        (1, 1, 1)
    );
    assert_eq!((security.declined, security.refuted), (0, 0));
    assert!(security.cost.is_some());
    assert_eq!(stats.len(), 5, "one entry for each domain");
    assert_eq!(run.id, run_id());
}

#[test]
fn a_finding_whose_lines_did_not_change_is_not_resolved() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let files = [changed("src/login.rs", 4)];
    scene.answers(
        "commitWork",
        [committed(1, &[], &[]), committed(2, &[1], &files)],
    );
    let run = scene.fly(team_request(TeamMode::Github));
    let record = &team(&run).record;
    let none = Resolution {
        findings: 1,
        resolved: 0,
    };
    assert_eq!(record.reviews[0].resolution, Some(none));
    assert_eq!(record.rounds[0].outside, [], "it is near the finding");
}

#[test]
fn nothing_is_listed_where_a_person_names_no_place() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut talk = crate::common::comment(5, "rename it everywhere");
    talk.key.surface = drive_core::forge::Surface::Conversation;
    (talk.path, talk.line) = (None, None);
    scene.people = [nobody(), heard(vec![talk])].into();
    let files = [changed("src/other.rs", 7)];
    scene.answers(
        "commitWork",
        [committed(1, &[], &[]), committed(2, &[1], &files)],
    );
    let run = scene.fly(team_request(TeamMode::Github));
    let record = &team(&run).record;
    assert_eq!(
        (record.rounds.len(), record.rounds[0].outside.len()),
        (1, 0)
    );
}
