//! Tests attacks through a sandbox's repository: an agent writes git's own files, and drive's git
//! works there afterwards. Each attack runs twice. With drive it must have no effect outside, and
//! with plain git (the control) it must succeed, otherwise it would prove nothing.

use crate::support::{World, write};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

/// The agent's actions, and what a person with plain git would do next, as shell scripts in the
/// sandbox. `$OUT` is a file outside that must not be created or changed, `$USERS` the user's git
/// folder, `$EVIL` a program that writes `$OUT`.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    deed: &'static str,
    pub(crate) control: &'static str,
}

const fn attack(name: &'static str, deed: &'static str, control: &'static str) -> Attack {
    Attack {
        name,
        deed,
        control,
    }
}

const ADD: &str = "git add -A";
const COMMIT: &str = "git add -A; git commit -qm work";
const STATUS: &str = "git status --porcelain";

/// Programs that git is configured to run.
pub(crate) const PROGRAMS: &[Attack] = &[
    attack(
        "a monitor of files",
        "git config core.fsmonitor $EVIL",
        STATUS,
    ),
    attack(
        "a hook",
        "cp $EVIL .git/hooks/pre-commit 2>/dev/null || { mkdir -p .git/hooks; cp $EVIL .git/hooks/pre-commit; }",
        COMMIT,
    ),
    attack(
        "a hook of every ref",
        "mkdir -p .git/hooks; cp $EVIL .git/hooks/reference-transaction",
        COMMIT,
    ),
    attack(
        "a hook of the index",
        "mkdir -p .git/hooks; cp $EVIL .git/hooks/post-index-change",
        ADD,
    ),
    attack(
        "a folder of hooks in the tree",
        "mkdir hooks; cp $EVIL hooks/pre-commit; git config core.hooksPath hooks",
        COMMIT,
    ),
    attack(
        "a filter of the tree's attributes",
        "echo '* filter=f' > .gitattributes; git config filter.f.clean $EVIL",
        ADD,
    ),
    attack(
        "a filter of git's own attributes",
        "mkdir -p .git/info; echo '* filter=f' > .git/info/attributes; git config filter.f.clean $EVIL",
        ADD,
    ),
    attack(
        "a filter process",
        "echo '* filter=f' > .gitattributes; git config filter.f.process $EVIL; git config filter.f.required false",
        ADD,
    ),
    attack(
        "a filter of another attributes file",
        "echo '* filter=f' > .git/mine; git config core.attributesFile \"$PWD/.git/mine\"; git config filter.f.clean $EVIL",
        ADD,
    ),
    attack(
        "settings in another file",
        "printf '[core]\\n\\tfsmonitor = %s\\n' $EVIL > .git/more; git config include.path more",
        STATUS,
    ),
    attack(
        "settings for a branch",
        "printf '[core]\\n\\tfsmonitor = %s\\n' $EVIL > .git/more; git config 'includeIf.onbranch:**.path' more",
        STATUS,
    ),
    attack(
        "settings of a worktree",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = %s\\n' $EVIL > .git/config.worktree",
        STATUS,
    ),
    attack(
        "a program that signs",
        "git config gpg.program $EVIL; git config commit.gpgSign true",
        "git commit -q --allow-empty -m x || true",
    ),
    attack(
        "a converter for diffs",
        "echo '*.txt diff=d' > .gitattributes; git config diff.d.textconv $EVIL; echo more >> a.txt",
        "git diff",
    ),
    attack(
        "a program for diffs",
        "git config diff.external $EVIL; echo more >> a.txt",
        "git diff",
    ),
    attack(
        "a driver for merges",
        "echo 'a.txt merge=m' > .git/info/attributes; git config merge.m.driver $EVIL",
        "git checkout -qb one; echo 1 > a.txt; git commit -qam 1; git checkout -qb two HEAD~1; echo 2 > a.txt; git commit -qam 2; git merge -q one || true",
    ),
    attack(
        "a helper for passwords",
        "git config credential.helper $EVIL",
        "echo url=https://x.example | git credential fill || true",
    ),
    attack(
        "a program for transport",
        "git config core.sshCommand $EVIL; git remote add there ssh://x.example/x || git remote set-url there ssh://x.example/x",
        "git fetch -q there || true",
    ),
    attack(
        "a filter by the name of LFS",
        "echo '* filter=lfs' > .gitattributes; git config filter.lfs.clean $EVIL; git config filter.lfs.process $EVIL; git config filter.lfs.required true; printf '[lfs]\\n\\tstandalonetransferagent = e\\n[lfs \"customtransfer.e\"]\\n\\tpath = %s\\n' $EVIL > .lfsconfig",
        ADD,
    ),
    attack(
        "an alias",
        "git config alias.st \"!$EVIL\"; git config alias.add \"!$EVIL\"; git config alias.commit \"!$EVIL\"",
        "git st",
    ),
    attack(
        "an editor",
        "git config core.editor $EVIL; git config sequence.editor $EVIL",
        "git commit -q --allow-empty || true",
    ),
    attack(
        "a program that updates a submodule",
        "git init -q lib; cd lib; git commit -q --allow-empty -m one; cd ..; printf '[submodule \"lib\"]\\n\\tpath = lib\\n\\turl = ./lib\\n' > .gitmodules; git update-index --add --cacheinfo 160000,$(git -C lib rev-parse HEAD),lib; git -C lib commit -q --allow-empty -m two; git config submodule.lib.url ./lib; git config submodule.lib.active true; git config submodule.lib.update \"!$EVIL\"",
        "git submodule update || true",
    ),
    attack(
        "settings of a repository inside",
        "git init -q inner; cd inner; git config core.fsmonitor $EVIL; echo x > x; cd ..; git config status.submoduleSummary true",
        "cd inner; git status",
    ),
    attack(
        "settings of a submodule",
        "git init -q lib; cd lib; git commit -q --allow-empty -m lib; git config core.fsmonitor $EVIL; cd ..; printf '[submodule \"lib\"]\\n\\tpath = lib\\n\\turl = ./lib\\n' > .gitmodules; git update-index --add --cacheinfo 160000,$(git -C lib rev-parse HEAD),lib",
        STATUS,
    ),
];

/// Files outside that git is tricked into writing.
const WRITES: &[Attack] = &[
    attack(
        "the index is a link",
        "cp .git/index $OUT.before; mv .git/index .git/real; ln -s $OUT .git/index; cp .git/real $OUT.copy",
        "cp .git/real $OUT; git add -A",
    ),
    attack(
        "the log is a link",
        "mkdir -p .git/logs; ln -sf $OUT .git/logs/HEAD",
        COMMIT,
    ),
    attack(
        "the message is a link",
        "ln -sf $OUT .git/COMMIT_EDITMSG",
        COMMIT,
    ),
    attack(
        "the settings are a link",
        "ln -sf $OUT .git/config",
        "git config user.x y",
    ),
    attack(
        "what was fetched is a link",
        "ln -sf $OUT .git/FETCH_HEAD",
        "git fetch -q . HEAD",
    ),
    attack(
        "packed refs are a link",
        "ln -sf $OUT .git/packed-refs",
        "git pack-refs --all",
    ),
    attack(
        "a folder of objects is a link",
        "mkdir $OUT.d 2>/dev/null || true; for n in $(seq 0 255); do d=$(printf %02x $n); rm -rf .git/objects/$d; ln -s $OUT.d .git/objects/$d; done",
        "echo new | git hash-object -w --stdin >/dev/null; test -n \"$(ls $OUT.d)\" && echo x > $OUT",
    ),
    attack(
        "the branches are the user's",
        "rm -rf .git/refs/heads; ln -s $USERS/refs/heads .git/refs/heads",
        "git update-ref refs/heads/planted HEAD; test -e $USERS/refs/heads/planted && echo x > $OUT",
    ),
    attack(
        "the common folder is the user's",
        "echo $USERS > .git/commondir",
        "git update-ref refs/heads/planted HEAD; test -e $USERS/refs/heads/planted && echo x > $OUT",
    ),
    attack(
        "the tree is the user's",
        "git config core.worktree $USERS/..",
        "rm -f $USERS/../a.txt; git checkout -qf HEAD -- . && test -e $USERS/../a.txt && echo x > $OUT",
    ),
    attack(
        "the git folder is the user's",
        "rm -rf .git; echo \"gitdir: $USERS\" > .git",
        "git update-ref refs/heads/planted HEAD; test -e $USERS/refs/heads/planted && echo x > $OUT",
    ),
];

/// Files that make git wait forever.
const HANGS: &[Attack] = &[
    attack(
        "the head is a pipe",
        "rm .git/HEAD; mkfifo .git/HEAD",
        STATUS,
    ),
    attack(
        "the settings are a pipe",
        "rm .git/config; mkfifo .git/config",
        STATUS,
    ),
    attack(
        "the index is a pipe",
        "rm .git/index; mkfifo .git/index",
        STATUS,
    ),
    attack(
        "packed refs are a pipe",
        "rm -f .git/packed-refs; mkfifo .git/packed-refs",
        "git for-each-ref",
    ),
    attack(
        "a branch is a pipe",
        "git symbolic-ref HEAD refs/heads/pipe; mkfifo .git/refs/heads/pipe",
        "git rev-parse HEAD",
    ),
    attack(
        "attributes are a pipe",
        "mkdir -p .git/info; rm -f .git/info/attributes; mkfifo .git/info/attributes",
        ADD,
    ),
    attack(
        "what is ignored is a pipe",
        "mkdir -p .git/info; rm -f .git/info/exclude; mkfifo .git/info/exclude",
        STATUS,
    ),
    attack(
        "borrowed objects are a pipe",
        "rm -f .git/objects/info/alternates; mkfifo .git/objects/info/alternates",
        STATUS,
    ),
    attack(
        "settings lead to a pipe",
        "mkfifo .git/more; git config include.path more",
        STATUS,
    ),
    attack(
        "attributes lead to a pipe",
        "mkfifo .git/more; git config core.attributesFile \"$PWD/.git/more\"",
        ADD,
    ),
];

/// A world with a sandbox, and the paths that the scripts may use.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) sandbox: Sandbox,
    pub(crate) out: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        // Neither below the home nor below the sandboxes, so that it does not become visible by accident.
        let outside = world.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let out = outside.join("written");
        let evil = sandbox.path.join("evil.sh");
        write(
            &evil,
            &format!("#!/bin/sh\necho x >> {}\ncat\n", out.display()),
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(evil, mode).unwrap();
        Self {
            world,
            sandbox,
            out,
        }
    }

    pub(crate) fn script(&self, text: &str) -> Output {
        let mut command = self.world.command(&self.sandbox.path, [""; 0]);
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command = Command::new("timeout");
        command
            .args(["-k", "1", "4", "sh", "-c", text])
            .current_dir(&self.sandbox.path)
            .env_clear()
            .envs(environment)
            .env("OUT", &self.out)
            .env("USERS", self.world.repo.join(".git"))
            .env("EVIL", self.sandbox.path.join("evil.sh"))
            .output()
            .unwrap()
    }

    pub(crate) fn do_it(&self, attack: &Attack) {
        let done = self.script(&format!("set -e\n{}", attack.deed));
        assert!(done.status.success(), "{}: {done:?}", attack.name);
    }

    /// Does what drive does after an agent: repair, commit, and save. Some of it is refused, which is fine.
    pub(crate) fn let_drive_work(&self) {
        let _ = self.world.sandboxes().mend(&self.sandbox, None);
        self.let_careless_drive_work();
    }

    /// The same without the repair.
    fn let_careless_drive_work(&self) {
        drop(self.collect());
        let _ = self.world.sandboxes().remove(&self.sandbox);
    }

    pub(crate) fn collect(&self) -> Result<CollectedWork, Problem> {
        let sandbox = &self.sandbox;
        let leftovers = Leftovers {
            run: RunId::new("r-one"),
            message: "leftovers".into(),
        };
        let git = self.world.builder();
        git.collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
    }

    /// The user's files and refs, without those that drive adds under its own names.
    fn users(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut open = vec![self.world.repo.clone(), self.out.with_file_name("")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let text = path.to_string_lossy();
                if text.ends_with(".git/objects") || text.contains("/drive/") {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    open.push(path);
                } else {
                    all.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        all
    }
}

/// Fails if the action hangs.
fn within<T: Send + 'static>(name: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(act()));
    let answer = answer.recv_timeout(Duration::from_secs(120));
    answer.unwrap_or_else(|_| panic!("{name}: it hangs, or panicked"))
}

/// The ways in which drive works after an agent.
const BOTH: &[fn(&Stage)] = &[Stage::let_drive_work, Stage::let_careless_drive_work];

/// Runs every attack; `came` checks whether the control succeeded.
fn try_all(
    attacks: &'static [Attack],
    works: &'static [fn(&Stage)],
    came: fn(&Stage, &Output) -> bool,
) {
    let mut wrong = Vec::new();
    for attack in attacks {
        for work in works {
            let (before, after, out) = within(attack.name, move || {
                let stage = Stage::new();
                stage.do_it(attack);
                let before = stage.users();
                work(&stage);
                (before, stage.users(), stage.out.exists())
            });
            if out || before != after {
                wrong.push(format!("{}: came through", attack.name));
            }
        }
        let stage = Stage::new();
        stage.do_it(attack);
        let output = stage.script(attack.control);
        if !came(&stage, &output) {
            wrong.push(format!("{}: the control failed: {output:?}", attack.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrote(stage: &Stage, _: &Output) -> bool {
    std::fs::metadata(&stage.out).is_ok_and(|meta| meta.len() > 0)
}

#[test]
fn no_program_that_an_agent_names_runs_outside() {
    try_all(PROGRAMS, BOTH, wrote);
}

#[test]
fn no_link_among_gits_files_leads_a_write_outside() {
    try_all(WRITES, BOTH, wrote);
}

#[test]
fn no_pipe_among_gits_files_holds_drive_up() {
    try_all(HANGS, &BOTH[..1], |_, output| {
        output.status.code() == Some(124)
    });
}

/// Objects that git reads outside because of a sandbox's files do not get into the commit.
#[test]
fn no_object_of_another_repository_comes_along() {
    let stage = Stage::new();
    let other = stage.world.path().join("other");
    std::fs::create_dir(&other).unwrap();
    stage.world.git_in(&other, ["init", "-q"]);
    write(&other.join("secret.txt"), "the secret\n");
    let blob = stage
        .world
        .git_in(&other, ["hash-object", "-w", "secret.txt"]);
    let objects = other.join(".git/objects");
    let deed = format!(
        "set -e; echo {} >> .git/objects/info/alternates; git update-index --add --cacheinfo \
         100644,{blob},stolen.txt; git commit -qm stolen; git cat-file -p HEAD:stolen.txt",
        objects.display()
    );
    let done = stage.script(&deed);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(said, "the secret\n", "the control: {done:?}");
    stage.let_drive_work();
    let has = stage
        .world
        .command(&stage.world.repo, ["cat-file", "-e", &blob]);
    assert!(!has_succeeded(has), "the user's repository has it now");
}

fn has_succeeded(mut command: Command) -> bool {
    command.output().unwrap().status.success()
}

/// What a sandbox's files make git show inside is not what is transferred.
#[test]
fn no_replaced_commit_and_no_graft_deceives_what_is_taken() {
    for deed in [
        "git replace HEAD $(git commit-tree -m evil HEAD^{tree})",
        "echo \"$(git rev-parse HEAD)\" > .git/info/grafts",
    ] {
        let stage = Stage::new();
        let shown = "git log --format=%s --name-only | cat";
        let honest = stage.script(&format!("set -e; rm evil.sh; {COMMIT}; {shown}"));
        let done = stage.script(&format!("set -e; mkdir -p .git/info; {deed}; {shown}"));
        assert_ne!(done.stdout, honest.stdout, "the control: {done:?}");
        stage.let_drive_work();
        let world = &stage.world;
        let taken = world.git(["log", "--format=%s", "--name-only", "drive/one"]);
        let honest = String::from_utf8_lossy(&honest.stdout).into_owned();
        assert_eq!(taken, honest.trim_end(), "{deed}");
    }
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
