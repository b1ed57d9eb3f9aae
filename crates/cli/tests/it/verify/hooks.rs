//! Tests `drive hooks`: the pre-push hook with the real git.

use crate::verify::support::Scene;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A repository with a bare remote whose `main` is the base, and a check that `src/a` is not broken.
fn cloned() -> Scene {
    let scene = Scene::me();
    scene.settings(
        "[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ncompile = [\"sh\", \"-c\", \"! grep broken src/a\"]\nskip = \"not tested here\"\n",
    );
    scene.shell("git init -q --bare -b main remote.git && cd repo && git remote add origin ../remote.git && git push -q origin main");
    scene
}

fn git(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command: Command = scene.command("git");
    command.args(arguments).current_dir(scene.path("repo"));
    command.output().unwrap()
}

fn hooks(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String, String) {
    let all = [&["hooks"], arguments].concat();
    let output = scene.drive(&all).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn commit(scene: &Scene, branch: &str, content: &str) {
    scene.shell(&format!(
        "cd repo && git switch -qc {branch} main && echo {content} >> src/a && git commit -qam {branch}"
    ));
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o111 == 0o111
}

#[test]
fn a_push_of_a_failing_change_is_refused_and_a_green_one_goes_through() {
    let scene = cloned();
    let (code, stdout, stderr) = hooks(&scene, &["install"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("git push --no-verify"), "{stdout}");
    commit(&scene, "bad", "broken");
    commit(&scene, "good", "fine");

    let refused = git(&scene, &["push", "-q", "origin", "bad"]);
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{stderr}");
    assert!(
        stderr.contains("\nverification: fail (") && stderr.contains("git push --no-verify"),
        "{stderr}"
    );
    let pushed = git(&scene, &["push", "-q", "origin", "good"]);
    let stderr = String::from_utf8_lossy(&pushed.stderr).into_owned();
    assert!(pushed.status.success(), "{stderr}");
    assert!(stderr.contains("\nverification: pass ("), "{stderr}");
    let branches = "git -C remote.git for-each-ref --format='%(refname)'";
    assert_eq!(scene.shell(branches), "refs/heads/good\nrefs/heads/main");

    let both = git(&scene, &["push", "-q", "origin", "good", "bad"]);
    assert!(!both.status.success(), "one failing tip refuses the push");
    let round = git(&scene, &["push", "-q", "--no-verify", "origin", "bad"]);
    assert!(round.status.success());
    // Commits on the remote's main branch need no verification, and neither does a deletion.
    let tag = git(
        &scene,
        &["push", "-q", "origin", "main:refs/tags/v1", ":bad"],
    );
    let stderr = String::from_utf8_lossy(&tag.stderr).into_owned();
    assert!(tag.status.success(), "{stderr}");
    assert!(!stderr.contains("verif"), "{stderr}");
    assert_eq!(
        scene.shell(branches),
        "refs/heads/good\nrefs/heads/main\nrefs/tags/v1"
    );
    scene.assert_nothing_is_left();
}

#[test]
fn the_base_is_what_the_remote_has_now() {
    let scene = cloned();
    hooks(&scene, &["install"]);
    // Another person added a requirement to the remote's default branch.
    scene.shell("git clone -q remote.git other && cd other && sed -i 's/broken/fine/' drive.toml && git commit -qam stricter && git branch -m trunk && git push -q origin trunk && git -C ../remote.git symbolic-ref HEAD refs/heads/trunk");
    commit(&scene, "good", "fine");
    let pushed = git(&scene, &["push", "-q", "origin", "good"]);
    let stderr = String::from_utf8_lossy(&pushed.stderr).into_owned();
    assert!(!pushed.status.success(), "{stderr}");
    assert!(stderr.contains("\nverification: fail ("), "{stderr}");
}

#[test]
fn the_first_push_to_an_empty_remote_is_verified_as_a_whole() {
    let scene = cloned();
    scene.shell("git init -q --bare -b main empty.git");
    hooks(&scene, &["install"]);
    let url = scene.path("empty.git");
    let pushed = git(&scene, &["push", "-q", url.to_str().unwrap(), "main"]);
    let stderr = String::from_utf8_lossy(&pushed.stderr).into_owned();
    assert!(pushed.status.success(), "{stderr}");
    assert!(stderr.contains("\nverification: pass ("), "{stderr}");
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_removes_it() {
    let scene = cloned();
    let state = |arguments: &[&str]| {
        let (code, stdout, stderr) = hooks(&scene, arguments);
        assert_eq!(code, Some(0), "{stderr}");
        let document = crate::document::read(&stdout);
        document["state"].as_str().unwrap().to_owned()
    };
    let hook = scene.path("repo/.git/hooks/pre-push");
    assert_eq!(state(&["uninstall", "--json"]), "absent");
    assert_eq!(state(&["install", "--json"]), "installed");
    assert!(is_executable(&hook));
    assert_eq!(state(&["install", "--json"]), "unchanged");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(state(&["install", "--json"]), "installed");
    assert!(is_executable(&hook));
    assert_eq!(state(&["uninstall", "--json"]), "removed");
    assert!(!hook.exists());
}

#[test]
fn a_hook_of_somebody_else_stays() {
    let scene = cloned();
    let hook = scene.path("repo/.git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    let (code, _, stderr) = hooks(&scene, &["install"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("is a hook that drive did not write") && stderr.contains("hint: "),
        "{stderr}"
    );
    assert_eq!(hooks(&scene, &["uninstall"]).0, Some(0));
    assert_eq!(
        std::fs::read_to_string(&hook).unwrap(),
        "#!/bin/sh\nexit 0\n"
    );
    std::fs::remove_file(&hook).unwrap();
    std::os::unix::fs::symlink("/dev/null", &hook).unwrap();
    assert_eq!(hooks(&scene, &["install"]).0, Some(2));
}

#[test]
fn the_hook_goes_where_git_looks_for_it() {
    let scene = cloned();
    scene.shell("cd repo && git worktree add -q ../linked && git config core.hooksPath my/hooks");
    let mut command = scene.drive(&["hooks", "install"]);
    assert!(
        command
            .current_dir(scene.path("repo/src"))
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(is_executable(&scene.path("repo/my/hooks/pre-push")));

    scene.shell("cd repo && git config --unset core.hooksPath");
    let mut command = scene.drive(&["hooks", "install"]);
    assert!(
        command
            .current_dir(scene.path("linked"))
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(is_executable(&scene.path("repo/.git/hooks/pre-push")));
    scene.shell("cd linked && echo broken >> src/a && git commit -qam broken");
    let mut push = scene.command("git");
    push.args(["push", "-q", "origin", "linked"])
        .current_dir(scene.path("linked"));
    let refused = push.output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && stderr.contains("\nverification: fail ("),
        "{stderr}"
    );

    scene.shell(&format!(
        "git config --global core.hooksPath '{}'",
        scene.path("shared").display()
    ));
    let (code, _, stderr) = hooks(&scene, &["install"]);
    assert_eq!(code, Some(0));
    assert!(
        stderr.contains("warning: `core.hooksPath` names a folder outside"),
        "{stderr}"
    );
    assert!(is_executable(&scene.path("shared/pre-push")));
}

#[test]
fn a_revision_of_several_words_is_verified_as_any_other() {
    let scene = cloned();
    assert_eq!(hooks(&scene, &["install"]).0, Some(0));
    scene.shell("cd repo && git switch -qc bad main && echo broken >> src/a && git commit -qam 'a bad thing'");
    for revision in ["bad^{/bad thing}", ":/bad thing"] {
        let refspec = format!("{revision}:refs/heads/x");
        let pushed = git(&scene, &["push", "-q", "origin", &refspec]);
        assert!(!pushed.status.success(), "{revision}: {pushed:?}");
    }
    assert_eq!(
        scene.shell("git -C remote.git for-each-ref refs/heads/x"),
        ""
    );
}

#[test]
fn a_forced_push_to_the_default_branch_is_verified_as_it_will_stand() {
    let scene = cloned();
    // The base fixes what the branch broke earlier: merged it passes, alone it fails.
    scene.shell("cd repo && git switch -qc early main && echo broken >> src/b && git add -A && git commit -qm early && git switch -q main && git merge -q early && git rm -q src/b && git commit -qm mended && git push -q origin main");
    let settings = "[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ncompile = [\"test\", \"!\", \"-e\", \"src/b\"]\nskip = \"not tested here\"\n";
    std::fs::write(scene.path("repo/drive.toml"), settings).unwrap();
    scene.shell("cd repo && git commit -qam stricter && git push -q origin main");
    assert_eq!(hooks(&scene, &["install"]).0, Some(0));
    let before = scene.shell("git -C remote.git rev-parse main");
    let forced = git(&scene, &["push", "-q", "--force", "origin", "early:main"]);
    assert!(!forced.status.success(), "{forced:?}");
    assert_eq!(scene.shell("git -C remote.git rev-parse main"), before);
}
