//! Tests misbehaving agents: whatever they do to their sandbox, the outcome is clear and no work is lost.

use crate::spawn::support::{World, text};
use serde_json::Value;

/// Makes its own commit.
pub(crate) const COMMIT: &str =
    "git add -A && git -c user.name=x -c user.email=x@example.org commit -q -m";

pub(crate) fn flown(script: &str) -> (World, Option<i32>, Value) {
    flown_with("", script)
}

pub(crate) fn flown_with(settings: &str, script: &str) -> (World, Option<i32>, Value) {
    let world = World::with_agent(script);
    world.settings(settings);
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    world.assert_nothing_is_left();
    (world, code, run)
}

pub(crate) fn warnings(run: &Value) -> String {
    let all = run["warnings"].as_array().unwrap();
    all.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn one_that_changes_nothing_is_a_clear_outcome_without_commit_or_branch() {
    let (world, code, run) = flown("echo 'There is nothing to do.'; touch a.txt");
    assert_eq!(
        (code, text(&run["status"])),
        (Some(1), "failed".into()),
        "{run:#}"
    );
    assert_eq!(text(&run["failure"]["kind"]), "nothingChanged");
    assert_eq!(
        (&run["branch"], &run["commits"]),
        (&Value::Null, &serde_json::json!([]))
    );
    assert_eq!(
        world.git("for-each-ref --format='%(refname)'"),
        "refs/heads/main"
    );
    let list = world.drive(&["pr", "list", "--json"]).document();
    assert_eq!(list["pullRequests"], serde_json::json!([]));
}

#[test]
fn one_that_deletes_everything_has_a_commit_that_says_so() {
    let (world, code, run) = flown("rm -rf ./* ");
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(
        (&run["changes"]["files"], &run["changes"]["deletions"]),
        (&2.into(), &2.into())
    );
    assert_eq!(world.files("mine"), "");
    assert_eq!(world.files("main"), "a.txt src/b.txt");
}

#[test]
fn one_that_goes_for_its_git_file_has_its_work_committed_all_the_same() {
    let (world, code, run) =
        flown("echo new > new.txt; rm -f .git; echo 'gitdir: /nowhere' > .git; true");
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt");
}

#[test]
fn one_that_commits_by_itself_keeps_its_commits_and_gets_one_for_the_rest() {
    let script = format!("echo x > x.txt; {COMMIT} 'My own'; echo y > y.txt");
    let (world, code, run) = flown(&script);
    assert_eq!(code, Some(0), "{run:#}");
    let subjects: Vec<String> = run["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| text(&c["subject"]))
        .collect();
    assert_eq!(subjects, ["My own", "Do it"]);
    assert_eq!(world.git("log --format=%s main..mine"), "Do it\nMy own");
    assert_eq!(world.files("mine"), "a.txt src/b.txt x.txt y.txt");
}

#[test]
fn one_that_commits_everything_by_itself_gets_no_commit_besides() {
    let script = format!("echo x > x.txt; {COMMIT} 'My own'");
    let (world, code, run) = flown(&script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("log --format=%s main..mine"), "My own");
    assert_eq!(run["prNumber"], 1);
}

#[test]
fn one_that_switches_branches_has_its_commits_on_the_runs_branch() {
    let script = format!(
        "git checkout -q -b elsewhere; echo x > x.txt; {COMMIT} 'Elsewhere'; echo y > y.txt"
    );
    let (world, code, run) = flown(&script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(text(&run["branch"]), "mine");
    assert_eq!(world.git("log --format=%s main..mine"), "Do it\nElsewhere");
    assert_eq!(
        warnings(&run),
        "the agent switched to elsewhere; its commits are now on `mine`"
    );
    assert_eq!(world.git("for-each-ref refs/heads/elsewhere"), "");
}

#[test]
fn one_that_detaches_its_head_has_its_commits_on_the_runs_branch() {
    let script = format!("git checkout -q --detach; echo x > x.txt; {COMMIT} 'Nowhere'");
    let (world, code, run) = flown(&script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("log --format=%s main..mine"), "Nowhere");
    assert_eq!(
        warnings(&run),
        "the agent switched to no branch; its commits are now on `mine`"
    );
}

#[test]
fn one_that_leaves_a_rebase_half_done_has_all_of_it_kept() {
    let script = format!(
        "git checkout -q -b other; echo theirs > a.txt; {COMMIT} 'Theirs'
git checkout -q mine; echo ours > a.txt; {COMMIT} 'Ours'
git -c user.name=x -c user.email=x@example.org rebase other > /dev/null 2>&1 || true"
    );
    let (world, code, run) = flown(&script);
    assert_eq!(
        code,
        Some(0),
        "what was committed before it counts: {run:#}"
    );
    assert_eq!(world.git("log --format=%s main..mine"), "Ours");
    let kept = text(&run["kept"][0]);
    assert!(
        world.git(&format!("show {kept}:a.txt")).contains("<<<<<<<"),
        "{run:#}"
    );
    assert_eq!(
        world.git(&format!("log --format=%s --grep=Theirs {kept}")),
        "Theirs"
    );
    assert!(
        warnings(&run).contains("left a rebase unfinished"),
        "{run:#}"
    );
}

#[test]
fn one_that_only_leaves_a_merge_half_done_is_told_apart_from_one_that_did_nothing() {
    let script = format!(
        "git checkout -q -b other; echo theirs > a.txt; {COMMIT} 'Theirs'
git checkout -q mine; git -c user.name=x -c user.email=x@example.org merge --no-commit --no-ff other > /dev/null"
    );
    let (world, code, run) = flown(&script);
    assert_eq!(
        (code, text(&run["failure"]["kind"])),
        (Some(1), "nothingOnBranch".into()),
        "{run:#}"
    );
    assert_eq!(
        world.git(&format!("show {}:a.txt", text(&run["kept"][0]))),
        "theirs"
    );
}

#[test]
fn one_that_writes_a_gigabyte_has_it_committed_and_is_told_that_forges_refuse_it() {
    const BYTES: u64 = 1 << 30;
    let (world, code, run) = flown(&format!("head -c {BYTES} /dev/zero > big.bin"));
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("cat-file -s mine:big.bin"), BYTES.to_string());
    assert_eq!(run["changes"]["listed"][0]["insertions"], Value::Null);
    assert_eq!(
        warnings(&run),
        "`big.bin` has 1073 MB; GitHub warns over 50 MB and refuses files over 100 MB"
    );
}

#[test]
fn one_that_commits_a_large_file_itself_is_told_also_where_it_takes_it_away_again() {
    let script = format!(
        "head -c 60000000 /dev/zero > big.bin; git add big.bin; {COMMIT} Big
git rm -q big.bin; {COMMIT} Small; echo x > x.txt"
    );
    let (_, code, run) = flown(&script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(
        warnings(&run),
        "`big.bin` has 60 MB; GitHub warns over 50 MB and refuses files over 100 MB"
    );
}

#[test]
fn one_that_fails_has_its_work_kept_and_its_last_words_shown() {
    let (world, code, run) = flown("echo half > half.txt; echo 'no more ideas' >&2; exit 7");
    assert_eq!(
        (code, text(&run["status"])),
        (Some(1), "failed".into()),
        "{run:#}"
    );
    let failure = run["failure"].to_string();
    assert!(
        failure.contains('7') && failure.contains("no more ideas"),
        "{failure}"
    );
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
    assert_eq!(run["prNumber"], Value::Null);
}

#[test]
fn one_that_is_killed_is_a_failure_with_its_work_kept() {
    let (world, code, run) = flown("echo half > half.txt; kill -9 $$");
    assert_eq!(
        (code, text(&run["status"])),
        (Some(1), "failed".into()),
        "{run:#}"
    );
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
}

#[test]
fn one_that_prints_garbage_is_heard_out() {
    let (_, code, run) = flown("head -c 300000 /dev/urandom; echo x > x.txt");
    assert_eq!(code, Some(0), "{run:#}");
}

#[test]
fn one_that_prints_garbage_for_events_is_a_failure_by_that_name() {
    let world = World::with_agent("");
    let claude = world.program(
        "claude",
        "case \"$*\" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac\nread -r prompt; echo x > x.txt; head -c 300000 /dev/urandom | base64",
    );
    world.settings(&format!(
        "[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{claude:?}]\n"
    ));
    let (code, run) = world.spawn(&["Do it", "--agent", "claude-code"]);
    assert_eq!(
        (code, text(&run["failure"]["kind"])),
        (Some(3), "agentGarbage".into()),
        "{run:#}"
    );
    assert_eq!(world.files(&text(&run["kept"][0])), "a.txt src/b.txt x.txt");
    world.assert_nothing_is_left();
}

#[test]
fn one_that_does_not_read_its_prompt_may_do_its_work_all_the_same() {
    let world = World::with_agent("");
    world.program("script", "exec < /dev/null; echo x > x.txt");
    let (code, run) = world.spawn(&[&"read this ".repeat(10_000)]);
    assert_eq!(code, Some(0), "{run:#}");
    world.assert_nothing_is_left();
}

#[test]
fn file_names_of_an_agent_move_no_cursor_and_reach_no_branch() {
    for name in ["evil\\033[2Jname", "x\\npull     #9"] {
        let world = World::with_agent(&format!("echo x > \"$(printf '{name}')\""));
        let ended = world.drive(&["spawn", "Do it"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = ended.stdout.clone() + &ended.stderr;
        assert!(told.contains("has a control character"), "{ended:?}");
        assert!(!told.contains('\u{1b}'), "{ended:?}");
        assert!(!told.contains("\npull     #9"), "{ended:?}");
        assert!(
            ended.stdout.contains("saved    refs/drive/kept/"),
            "{ended:?}"
        );
    }
}

#[test]
fn the_files_of_a_repository_inside_the_sandbox_are_committed_and_it_is_named() {
    let world = World::with_agent("git init -q inner; echo x > inner/x.txt");
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.files("mine"), "a.txt inner/x.txt src/b.txt");
    assert!(
        warnings(&run).contains("`inner` was a nested repository"),
        "{run:#}"
    );
    world.assert_nothing_is_left();
}

#[test]
fn one_that_wants_a_host_which_is_not_allowed_has_it_named_in_its_run() {
    let wants = "getent hosts refused.example";
    let (world, code, run) = flown(&format!("echo x > x.txt; {wants}; {wants}; true"));
    assert_eq!(code, Some(0), "{run:#}");
    let told = "agent `script` wanted `refused.example`: add it to `allow_hosts`";
    assert_eq!(warnings(&run), told);
    let shown = world.drive(&["runs", "show", &text(&run["runId"])]).stdout;
    assert!(shown.contains(&format!("warning: {told}")), "{shown}");
}

/// Stores its prompt and its input in the sandbox, so that they are committed.
pub(crate) const KEEPS_ITS_PROMPT: &str = "cat > prompt.txt; cp \"$DRIVE_INPUT\" input.json";

/// Asserts that an agent that stores its prompt got it.
pub(crate) fn assert_it_got_the_prompt(world: &World, branch: &str) {
    let prompt = world.git(&format!("show {branch}:prompt.txt"));
    for words in ["\n\nDo it\n\n", "Do not push", "Your last message becomes"] {
        assert!(prompt.contains(words), "{prompt}");
    }
    let input = world.git(&format!("show {branch}:input.json"));
    let input: Value = serde_json::from_str(&input).unwrap();
    assert_eq!(input["task"], "Do it");
}

#[test]
fn a_coder_gets_the_prompt_and_an_override_of_it() {
    let world = World::with_agent("");
    world.program("script", KEEPS_ITS_PROMPT);
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_it_got_the_prompt(&world, "mine");
    world.shell(
        "mkdir -p repo/.drive/prompts; echo 'Briefly: {{task}}' > repo/.drive/prompts/code.md",
    );
    let (code, run) = world.spawn(&["Do it", "--branch", "briefly"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("show briefly:prompt.txt"), "Briefly: Do it");
    world.shell("echo 'Nothing.' > repo/.drive/prompts/code.md");
    let refused = world.drive(&["spawn", "Do it", "--json"]);
    assert_eq!(refused.failure().1, "promptInputMissing", "{refused:?}");
}
