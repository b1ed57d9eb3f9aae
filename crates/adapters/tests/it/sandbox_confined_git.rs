//! Tests git in a sandbox: which layers it needs, and that the sandbox's own settings have no effect.

use crate::support::{FixedClock, World, helper, write};
use drive_adapters::git::{Git, Touches};
use drive_adapters::process::BoundedRunner;
use drive_adapters::sandbox::GitSandboxes;
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::process::{Layer, LayerName, Presence, ProcessIdentity, ProcessReport};
use drive_core::sandbox::{Sandbox, SandboxNote};
use drive_engine::CancelToken;
use drive_engine::ports::{
    CollectedWork, CommandSpec, Containment, IsolationMode, Leftovers, OutputSink, Place,
    ProcessRunner, Sandboxes, Started, VersionControl,
};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn collect_with(git: &Git, sandbox: &Sandbox) -> Result<CollectedWork, Problem> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    git.collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
}

/// Git on a machine that lacks a layer.
fn without(world: &World, layer: LayerName, mode: IsolationMode) -> Git {
    let runner = BoundedRunner::with_helper(helper()).without(&[layer]);
    Git::new(Arc::new(runner), &world.environment()).with_isolation(mode)
}

fn sandboxes_of(world: &World, git: Git) -> GitSandboxes {
    GitSandboxes::open(git, Arc::new(FixedClock), &world.root, &world.state).unwrap()
}

fn script(path: &Path, text: &str) {
    write(path, text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

#[test]
fn git_is_refused_where_a_required_layer_is_missing_and_the_sandbox_stays() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let own = |args: &[&str]| world.git_in(&sandbox.path, args);
    own(&["commit", "-q", "--allow-empty", "-m", "not taken yet"]);
    let commit = own(&["rev-parse", "HEAD"]);
    write(&sandbox.path.join("work.txt"), "the work\n");
    let before = world.git(["for-each-ref"]);
    let git = without(&world, LayerName::View, IsolationMode::Require);
    let refused = collect_with(&git, &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::IsolationMissing);
    let sandboxes = sandboxes_of(&world, git);
    let refused = sandboxes.create(&world.spec("two")).unwrap_err();
    assert_eq!(refused.kind, Kind::IsolationMissing);
    let refused = sandboxes.mend(&sandbox, None).unwrap_err();
    assert_eq!(refused.kind, Kind::IsolationMissing);
    let refused = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::IsolationMissing);
    assert!(sandbox.path.join("work.txt").is_file());
    assert_eq!(own(&["rev-parse", "HEAD"]), commit);
    assert_eq!(world.git(["for-each-ref"]), before);
}

#[test]
fn a_missing_layer_is_named_where_none_is_required() {
    let world = World::new();
    let git = without(&world, LayerName::View, IsolationMode::Auto);
    let sandbox = sandboxes_of(&world, git)
        .create(&world.spec("one"))
        .unwrap();
    // Without a view, files of root stay root's, too.
    let names_view = |note: &SandboxNote| matches!(note, SandboxNote::GitNotConfined { layers } if layers.contains(&LayerName::View));
    assert!(sandbox.notes.iter().any(names_view), "{:?}", sandbox.notes);
    let whole = world.sandboxes().create(&world.spec("two")).unwrap();
    let is_missing = |note: &SandboxNote| matches!(note, SandboxNote::GitNotConfined { .. });
    assert!(!whole.notes.iter().any(is_missing), "{:?}", whole.notes);
}

#[test]
fn the_name_under_a_commit_is_the_users_whatever_the_sandboxs_settings_say() {
    let world = World::new();
    world.git(["config", "author.name", "Ann the author"]);
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    for key in ["user", "author", "committer"] {
        for part in ["name", "email"] {
            world.git_in(&sandbox.path, ["config", &format!("{key}.{part}"), "evil"]);
        }
    }
    write(&sandbox.path.join("work.txt"), "the work\n");
    collect_with(&world.builder(), &sandbox).unwrap();
    let shown = ["log", "-1", "--format=%an %ae %cn %ce", "drive/one"];
    assert_eq!(
        world.git(shown),
        "Ann the author ann@example.org Ann ann@example.org"
    );
}

#[test]
fn a_filter_that_an_agent_set_does_not_run_once_the_sandbox_was_mended() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let program = sandbox.path.join(".git/filter");
    let ran = sandbox.path.join(".git/ran");
    script(
        &program,
        &format!("#!/bin/sh\necho >> {}\ncat\n", ran.display()),
    );
    let plant = || {
        let set = ["config", "filter.f.clean", program.to_str().unwrap()];
        world.git_in(&sandbox.path, set);
        write(&sandbox.path.join(".git/info/attributes"), "* filter=f\n");
        script(
            &sandbox.path.join(".git/hooks/post-checkout"),
            "#!/bin/sh\n",
        );
    };
    plant();
    write(&sandbox.path.join("work.txt"), "the work\n");
    assert_eq!(
        sandboxes.mend(&sandbox, None).unwrap(),
        Vec::<String>::new()
    );
    collect_with(&world.builder(), &sandbox).unwrap();
    assert!(!ran.exists());
    assert!(!sandbox.path.join(".git/hooks").exists());
    for save in [
        |s: &GitSandboxes, it: &Sandbox| s.roll_back(it, &it.base_sha).map(drop),
        |s: &GitSandboxes, it: &Sandbox| s.keep(it).map(drop),
    ] {
        plant();
        write(&sandbox.path.join("work.txt"), "other work\n");
        save(&sandboxes, &sandbox).unwrap();
        assert!(!ran.exists());
    }
    plant();
    write(&sandbox.path.join("control.txt"), "runs\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    assert!(ran.exists(), "the control");
}

#[test]
fn a_sandbox_that_an_agent_made_sparse_stays_so_and_one_made_full_stays_full() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["sparse-checkout", "set", "--cone", "src"]);
    write(&sandbox.path.join("src/new.txt"), "new\n");
    sandboxes.mend(&sandbox, None).unwrap();
    assert_eq!(git(&["sparse-checkout", "list"]), "src");
    let work = collect_with(&world.builder(), &sandbox).unwrap();
    assert_eq!(work.state.dirty_files, 1);
    world.git(["cat-file", "-e", "drive/one:a.txt"]);
    git(&["sparse-checkout", "disable"]);
    sandboxes.mend(&sandbox, None).unwrap();
    git(&["checkout", "-q", "--detach", "main"]);
    sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap();
    assert!(sandbox.path.join("a.txt").is_file());
}

/// Records the commands that were run.
struct Recording {
    inner: BoundedRunner,
    specs: Mutex<Vec<CommandSpec>>,
}

impl ProcessRunner for Recording {
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        self.specs.lock().unwrap().push(spec.clone());
        self.inner.run(spec, cancel, started, sink)
    }

    fn inspect(&self, identity: &ProcessIdentity) -> Presence {
        self.inner.inspect(identity)
    }

    fn end(&self, identity: &ProcessIdentity) -> Result<u32, Problem> {
        self.inner.end(identity)
    }

    fn load_report(&self, identity: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
        self.inner.load_report(identity)
    }

    fn probe(&self) -> Vec<Layer> {
        self.inner.probe()
    }
}

#[test]
fn no_git_in_a_sandbox_is_without_limits() {
    let world = World::new();
    let runner = Arc::new(Recording {
        inner: BoundedRunner::with_helper(helper()),
        specs: Mutex::default(),
    });
    let git = Git::new(runner.clone(), &world.environment());
    let sandboxes = sandboxes_of(&world, git.clone());
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("work.txt"), "the work\n");
    collect_with(&git, &sandbox).unwrap();
    sandboxes.remove(&sandbox).unwrap();
    let specs = runner.specs.lock().unwrap();
    let confined = specs
        .iter()
        .filter(|spec| spec.containment == Containment::Full);
    let mut seen = 0;
    for spec in confined {
        let limits = &spec.limits;
        assert!(limits.memory_bytes.is_some(), "{spec:?}");
        assert!(limits.processes.is_some_and(|most| most <= 512), "{spec:?}");
        assert!(limits.output_bytes <= 1 << 30, "{spec:?}");
        assert_eq!(limits.disk_bytes, Some(64 << 30), "{spec:?}");
        assert!(limits.wall <= Duration::from_secs(30 * 60), "{spec:?}");
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn processes_that_git_in_a_sandbox_starts_are_limited() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let program = sandbox.path.join(".git/filter");
    script(
        &program,
        "#!/bin/sh\ni=0\nwhile [ $i -lt 600 ]; do sleep 20 & i=$((i+1)); done\ncat\n",
    );
    let set = ["config", "filter.f.clean", program.to_str().unwrap()];
    world.git_in(&sandbox.path, set);
    world.git_in(&sandbox.path, ["config", "filter.f.required", "true"]);
    write(&sandbox.path.join(".gitattributes"), "*.txt filter=f\n");
    write(&sandbox.path.join("new.txt"), "new\n");
    let git = world.builder();
    let call = git.call(Place::Sandbox(&sandbox), Touches::Files);
    let ended = call.args(["add", "new.txt"]).run();
    assert!(!ended.is_ok_and(|answer| answer.code == 0));
}

#[test]
fn a_filter_that_fills_the_disk_is_ended() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let program = sandbox.path.join(".git/filter");
    script(
        &program,
        "#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8; do head -c 8388608 /dev/urandom > .git/fill$n; done\n\
         sleep 60\ncat\n",
    );
    let set = ["config", "filter.f.clean", program.to_str().unwrap()];
    world.git_in(&sandbox.path, set);
    world.git_in(&sandbox.path, ["config", "filter.f.required", "true"]);
    write(&sandbox.path.join(".gitattributes"), "*.txt filter=f\n");
    write(&sandbox.path.join("new.txt"), "new\n");
    let git = world.builder().with_disk_limit(32 << 20);
    let call = git.call(Place::Sandbox(&sandbox), Touches::Files);
    let problem = call.args(["add", "new.txt"]).run().unwrap_err();
    assert_eq!(problem.kind, Kind::GitFailed);
    assert!(problem.message.contains("disk"), "{}", problem.message);
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
