//! Tests hooks in settings and forged commit-graphs, with which an agent tries to deceive drive's git.

use crate::sandbox_escape::{PROGRAMS, Stage};
use drive_engine::ports::Sandboxes;

/// The hook is configured in the sandbox's settings and in the user's own.
#[test]
fn no_hook_of_the_settings_runs_on_what_drive_does() {
    let hook = "git config hook.mine.event reference-transaction; git config --add hook.mine.event post-index-change; git config hook.mine.command $EVIL";
    for folder in ["$PWD", "$USERS"] {
        let stage = Stage::new();
        let deed = format!("set -e; cd {folder}; {hook}");
        let done = stage.script(&deed);
        assert!(done.status.success(), "{done:?}");
        stage.let_drive_work();
        assert!(!stage.out.exists(), "{folder}");
        // Since git 2.54.
        let control = Stage::new();
        control.script(&format!("{deed}; git update-ref refs/heads/planted HEAD"));
        if !control.out.exists() {
            eprintln!("skipped: this git runs no hooks of settings");
            return;
        }
    }
}

/// A reviewer or a fixer comes after the primary of a team, and works with git itself. That each attack comes
/// through where nothing is mended is shown beside the attacks.
#[test]
fn no_program_that_an_agent_names_runs_in_the_git_of_the_next_agent() {
    let mut wrong = Vec::new();
    for attack in PROGRAMS {
        let stage = Stage::new();
        stage.do_it(attack);
        let _ = stage.world.sandboxes().mend(&stage.sandbox, None);
        drop(stage.collect());
        assert!(
            !stage.out.exists(),
            "{}: it ran in drive's git",
            attack.name
        );
        let output = stage.script(attack.control);
        if stage.out.exists() {
            wrong.push(format!("{}: {output:?}", attack.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Git trusts a commit-graph over the commits that it lists.
#[test]
fn no_forged_commit_graph_deceives_what_is_taken() {
    let stage = Stage::new();
    let done = stage.script(
        "set -e; git commit -q --allow-empty -m one; git commit -q --allow-empty -m two; \
         git commit-graph write --reachable",
    );
    assert!(done.status.success(), "{done:?}");
    let file = stage.sandbox.path.join(".git/objects/info/commit-graph");
    let mut graph = std::fs::read(&file).unwrap();
    forget_parents(&mut graph);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, graph).unwrap();
    let deceived = stage.script("git -c core.commitGraph=true rev-list --count HEAD");
    assert_eq!(deceived.stdout, b"1\n", "the control: {deceived:?}");
    let work = stage.collect().unwrap();
    assert!(work.builds_on_base, "{work:?}");
    assert_eq!(work.commits.len(), 3, "{work:?}");
    let subjects = stage.world.git(["log", "--format=%s", "drive/one"]);
    assert!(subjects.starts_with("leftovers\ntwo\none\n"), "{subjects}");
}

/// Changes a commit-graph so that every commit in it has no parents.
fn forget_parents(graph: &mut [u8]) {
    const NONE: [u8; 4] = [0x70, 0, 0, 0];
    let number = |bytes: &[u8]| {
        let bytes: [u8; 8] = bytes.try_into().unwrap();
        usize::try_from(u64::from_be_bytes(bytes)).unwrap()
    };
    let rows: Vec<Vec<u8>> = graph[8..].chunks(12).map(<[u8]>::to_vec).collect();
    let row = rows.iter().position(|row| row[..4] == *b"CDAT").unwrap();
    let (from, to) = (number(&rows[row][4..]), number(&rows[row + 1][4..]));
    for commit in graph[from..to].chunks_mut(20 + 16) {
        commit[20..24].copy_from_slice(&NONE);
        commit[24..28].copy_from_slice(&NONE);
    }
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
