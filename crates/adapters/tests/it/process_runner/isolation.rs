//! Tests that the kernel confines roles: what they may write, read and reach.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active, is_root};
use drive_core::problem::Kind;
use drive_core::process::{End, Layer, LayerName, LayerState, ProcessReport};
use drive_engine::ports::{CommandSpec, Isolation, ProcessRunner, Writes};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// A working folder, one beside it, and one below it.
struct Places {
    scene: Scene,
    work: PathBuf,
    beside: PathBuf,
}

impl Places {
    fn new() -> Self {
        Self::of(Scene::new())
    }

    fn of(scene: Scene) -> Self {
        let (work, beside) = (scene.path().join("work"), scene.path().join("beside"));
        for folder in [&work, &beside, &work.join("inner")] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(beside.join("secret"), "secret").unwrap();
        fs::write(work.join("inner/config"), "config").unwrap();
        Self {
            scene,
            work,
            beside,
        }
    }

    fn shell(&self, script: &str, isolation: Isolation) -> CommandSpec {
        let mut spec = self.scene.shell(script);
        spec.cwd = self.work.clone();
        spec.isolation = isolation;
        spec
    }

    /// Runs the script; `None` if a needed layer is missing.
    fn run(&self, script: &str, needs: LayerName, isolation: Isolation) -> Option<ProcessReport> {
        let report = self.scene.run(&self.shell(script, isolation));
        if !is_active(&report, needs) {
            lacking(needs, "the kernel or this user has it not");
            return None;
        }
        Some(report)
    }
}

fn only(folders: &[&PathBuf]) -> Isolation {
    Isolation {
        writes: Writes::Only(folders.iter().map(|f| (*f).clone()).collect()),
        ..Isolation::default()
    }
}

everyone! {
    fn writes_go_only_where_they_may() {
        let places = Places::new();
        let script = "echo a > made && mv made inner/moved && rm inner/moved && echo b > kept
            echo x > ../beside/file; rm -f ../beside/secret; mkdir ../beside/folder; ln kept ../beside/link
            : > /dev/null && echo fine > /dev/null; echo end";
        let Some(report) = places.run(script, LayerName::WriteScope, only(&[&places.work])) else { return };
        assert_eq!(report.stdout.tail_text(), "end\n", "{}", report.stderr.tail_text());
        assert_eq!(fs::read_to_string(places.work.join("kept")).unwrap(), "b\n");
        let left: Vec<_> = fs::read_dir(&places.beside).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["secret"]);
    }

    fn a_read_only_role_changes_nothing_not_even_modes() {
        let places = Places::new();
        let isolation = Isolation { tmp: Some(places.scene.path().join("tmp")), ..only(&[]) };
        let script = "echo x > new; rm -rf inner; chmod 777 inner/config; touch -d @0 inner/config
            echo scratch > \"$TMPDIR/file\" && cat \"$TMPDIR/file\"; cat inner/config";
        let before = fs::metadata(places.work.join("inner/config")).unwrap();
        let Some(report) = places.run(script, LayerName::WriteScope, isolation) else { return };
        assert_eq!(report.stdout.tail_text(), "scratch\nconfig", "{}", report.stderr.tail_text());
        assert!(!places.work.join("new").exists());
        if !is_active(&report, LayerName::View) {
            lacking(LayerName::View, "modes and times are not protected");
            return;
        }
        let after = fs::metadata(places.work.join("inner/config")).unwrap();
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        assert_eq!(after.permissions(), before.permissions());
    }

    fn without_a_root_of_its_own_the_report_says_what_can_be_reached() {
        let places = Places::of(Scene::without(&[LayerName::View]));
        let script = "echo x > inner/config; chmod 777 inner/config; stat -c %a inner/config; cat inner/config";
        let Some(report) = places.run(script, LayerName::WriteScope, only(&[])) else { return };
        assert_eq!(report.stdout.tail_text(), "777\nconfig", "{}", report.stderr.tail_text());
        let why = format!("switched off; {}", LayerName::View.consequence());
        let missing = Layer { name: LayerName::View, state: LayerState::Missing(why) };
        assert!(report.layers.contains(&missing), "{:?}", report.layers);
    }

    fn only_what_is_named_exists() {
        let places = Places::new();
        fs::write(places.scene.path().join("tool"), "shown").unwrap();
        let isolation = Isolation {
            shown: vec![places.scene.path().join("tool")],
            ..only(&[&places.work])
        };
        let script = "cat ../tool; cat inner/config; cat ../beside/secret; umount ..; echo made > made; ls ..
            ls -A /home /root /run /srv /mnt; ls /";
        let Some(report) = places.run(script, LayerName::View, isolation) else { return };
        let said = report.stdout.tail_text();
        let start = "shownconfigtool\nwork\n/home:\n\n/mnt:\n\n/root:\n\n/run:\n\n/srv:\n";
        assert!(said.starts_with(start), "{said}{}", report.stderr.tail_text());
        let top: Vec<&str> = said[start.len()..].split_whitespace().collect();
        let known = ["bin", "dev", "etc", "gnu", "home", "lib", "lib32", "lib64", "libx32", "mnt", "nix", "opt",
            "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"];
        assert!(top.iter().all(|name| known.contains(name)) && top.contains(&"usr"), "{top:?}");
        assert_eq!(fs::read_to_string(places.work.join("made")).unwrap(), "made\n");
    }

    fn what_is_hidden_is_covered_inside_a_folder_that_is_shown() {
        let places = Places::new();
        let isolation = Isolation {
            shown: vec![places.scene.path().to_path_buf()],
            hidden: vec![places.beside.clone(), places.work.join("inner/config")],
            ..only(&[&places.work])
        };
        let script = "ls ../beside; cat ../beside/secret inner/config; umount ../beside; ls -A ../beside; echo x > ../beside/x; ls ..";
        let Some(report) = places.run(script, LayerName::View, isolation) else { return };
        assert_eq!(report.stdout.tail_text(), "beside\nwork\n", "{}", report.stderr.tail_text());
    }

    fn paths_through_links_lead_to_the_same_places() {
        let places = Places::new();
        let at = |name: &str| places.scene.path().join(name);
        fs::create_dir_all(at("disk/homes/me/box")).unwrap();
        std::os::unix::fs::symlink("disk/homes", at("homes")).unwrap();
        let work = at("homes/me/box");
        let mut spec = places.shell("pwd -P; echo made > \"$1/made\" && cat ../box/made", only(&[&work]));
        spec.cwd = work.clone();
        spec = spec.args(["sh".as_ref(), work.as_os_str()]);
        let report = places.scene.run(&spec);
        let real = at("disk/homes/me/box").canonicalize().unwrap();
        assert_eq!(report.stdout.tail_text(), format!("{}\nmade\n", real.display()), "{}", report.stderr.tail_text());
    }

    fn the_temporary_folder_is_short_private_and_empty() {
        let places = Places::new();
        let tmp = places.scene.path().join("a-long-name".repeat(12)).join("tmp");
        let isolation = Isolation { tmp: Some(tmp.clone()), ..only(&[&places.work]) };
        let script = "echo $TMPDIR; ls -A /tmp | grep -v '^.tmp'; echo mine > /tmp/mine; cat /var/tmp/mine";
        let Some(report) = places.run(script, LayerName::View, isolation) else { return };
        assert_eq!(report.stdout.tail_text(), "/tmp\nmine\n", "{}", report.stderr.tail_text());
        assert_eq!(fs::read_to_string(tmp.join("mine")).unwrap(), "mine\n");
    }

    fn protected_paths_inside_a_writable_folder_stay_as_they_are() {
        let places = Places::new();
        let isolation = Isolation { protected: vec![places.work.join("inner")], ..only(&[&places.work]) };
        let script = "echo x > inner/config; echo x > inner/new; rm -rf inner; mv inner outer; echo ok > free; echo end";
        let Some(report) = places.run(script, LayerName::View, isolation) else { return };
        assert_eq!(report.stdout.tail_text(), "end\n");
        assert_eq!(fs::read_to_string(places.work.join("inner/config")).unwrap(), "config");
        assert!(!places.work.join("inner/new").exists() && places.work.join("free").exists());
    }

    fn shared_memory_is_private_and_works() {
        let places = Places::new();
        let script = "echo x > /dev/shm/$DRIVE_TOKEN && cat /dev/shm/$DRIVE_TOKEN";
        let Some(report) = places.run(script, LayerName::WriteScope, only(&[])) else { return };
        if is_active(&report, LayerName::View) {
            assert_eq!(report.stdout.tail_text(), "x\n", "{}", report.stderr.tail_text());
        }
        assert!(!PathBuf::from("/dev/shm").join(&places.scene.token).exists());
    }

    fn a_writable_folder_that_does_not_exist_is_named() {
        let places = Places::new();
        let missing = places.work.join("missing");
        let spec = places.shell("true", only(&[&missing]));
        let problem = places.scene.try_run(&spec).unwrap_err();
        assert_eq!(problem.kind, Kind::ProcessNotStarted);
        assert!(problem.to_string().contains(&*missing.to_string_lossy()), "{problem}");
    }

    fn the_child_keeps_its_user_and_gains_no_privilege() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("id -u; grep NoNewPrivs /proc/self/status"));
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(report.stdout.tail_text(), format!("{user}\nNoNewPrivs:\t1\n"));
    }

    fn a_probe_names_every_layer_and_finds_what_runs_find() {
        let scene = Scene::new();
        let layers = scene.runner.probe();
        let names: Vec<LayerName> = layers.iter().map(|layer| layer.name).collect();
        assert_eq!(names, LayerName::ALL);
        let report = scene.run(&scene.command("true"));
        for layer in &report.layers {
            assert!(layers.contains(layer), "{layer:?}");
        }
    }

    fn each_layer_of_a_role_is_named_when_it_is_missing_and_refused_when_it_is_required() {
        for layer in [
            LayerName::WriteScope,
            LayerName::View,
            LayerName::IpcNamespace,
            LayerName::SocketScope,
            LayerName::SystemCalls,
            LayerName::Privileges,
        ] {
            let places = Places::of(Scene::without(&[layer]));
            let mut spec = places.shell("touch ran", only(&[&places.work]));
            let report = places.scene.run(&spec);
            let why = format!("switched off; {}", layer.consequence());
            let missing = Layer { name: layer, state: LayerState::Missing(why) };
            assert!(report.layers.contains(&missing), "{layer:?}: {:?}", report.layers);
            fs::remove_file(places.work.join("ran")).unwrap();
            spec.isolation.required = true;
            let problem = places.scene.try_run(&spec).unwrap_err();
            assert_eq!(problem.kind, Kind::IsolationMissing);
            if problem.message.contains("pidNamespace") {
                continue; // Missing on this machine as well, and named first.
            }
            let named = format!("required isolation layer `{}` is missing", layer.as_str());
            assert_eq!(problem.message, named);
            assert!(!places.work.join("ran").exists());
        }
    }

    fn the_files_of_root_are_named_and_refused_where_isolation_is_required() {
        let places = Places::of(Scene::without(&[LayerName::OwnUser]));
        let mut spec = places.shell("touch ran", only(&[&places.work]));
        let report = places.scene.run(&spec);
        let is_missing = report.layers.iter().any(|l| l.name == LayerName::OwnUser && !l.is_active());
        // Only root lacks the layer: a child of an ordinary user owns none of root's files.
        assert_eq!(is_missing, is_root(), "{:?}", report.layers);
        fs::remove_file(places.work.join("ran")).unwrap();
        if is_root() {
            spec.isolation.required = true;
            let problem = places.scene.try_run(&spec).unwrap_err();
            assert_eq!(problem.kind, Kind::IsolationMissing);
            assert!(!places.work.join("ran").exists());
            assert_eq!(problem.message, "required isolation layer `ownUser` is missing");
            assert!(problem.hint.unwrap().starts_with("run `drive` as an ordinary user"));
        }
    }

    fn limits_without_a_control_group_are_refused_where_isolation_is_required() {
        for layer in [LayerName::CgroupMemory, LayerName::CgroupProcesses] {
            let places = Places::of(Scene::without(&[layer]));
            let mut spec = places.shell("touch ran", only(&[&places.work]));
            spec.limits.memory_bytes = Some(1 << 30).filter(|_| layer == LayerName::CgroupMemory);
            spec.limits.processes = Some(100).filter(|_| layer == LayerName::CgroupProcesses);
            let report = places.scene.run(&spec);
            let missing = report.layers.iter().find(|found| found.name == layer).unwrap();
            assert!(!missing.is_active(), "{:?}", report.layers);
            fs::remove_file(places.work.join("ran")).unwrap();
            spec.isolation.required = true;
            let problem = places.scene.try_run(&spec).unwrap_err();
            assert_eq!(problem.kind, Kind::IsolationMissing);
            assert!(!places.work.join("ran").exists());
            let named = format!("required isolation layer `{}` is missing", layer.as_str());
            assert_eq!(problem.message, named);
            assert!(problem.hint.unwrap().contains("Delegate=yes"));
        }
    }

    fn everyday_tools_work_in_all_layers() {
        let places = Places::new();
        let python = "import multiprocessing as m, os, socket, tempfile
def work(n): return n * n
if __name__ == '__main__':
    for way in ('fork', 'spawn', 'forkserver'):
        with m.get_context(way).Pool(2) as pool: assert pool.map(work, range(5))[4] == 16
    with m.Manager() as manager: assert manager.list([1])[0] == 1
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=64); memory.close(); memory.unlink()
    master, slave = os.openpty(); os.write(slave, b'x'); assert os.read(master, 1) == b'x'
    server = socket.create_server(('127.0.0.1', 0)); socket.create_connection(server.getsockname())
    with tempfile.NamedTemporaryFile() as file: file.write(b'x')
    print('python', os.path.realpath('/dev/stdout') != '')
";
        fs::write(places.work.join("all.py"), python).unwrap();
        let script = "python3 all.py 2>&1
            git init -q r && cd r && git -c user.name=t -c user.email=t@e commit -q --allow-empty -m one && git log --format=%s
            if command -v node > /dev/null; then node -e 'const s = require(\"net\").createServer().listen(\"/tmp/n.sock\",
                () => require(\"child_process\").exec(\"echo node\", (e, out) => { process.stdout.write(out); s.close() }))'; else echo node; fi
            echo stderr > /dev/stderr; id -u > /dev/null && sort /etc/passwd > /dev/null && ps > /dev/null && echo end";
        let tmp = Some(places.scene.path().join("tmp"));
        let isolation = Isolation { tmp, ..only(&[&places.work]) };
        let mut spec = places.shell(script, isolation);
        spec.leaks = drive_core::process::LeakPolicy::Kill;
        let report = places.scene.run(&spec);
        assert_eq!(report.stdout.tail_text(), "python True\none\nnode\nend\n", "{}", report.stderr.tail_text());
        assert_eq!(report.stderr.tail_text(), "stderr\n");
    }

    fn a_child_of_root_owns_nothing_of_roots_but_what_it_is_given() {
        if !is_root() {
            return; // An ordinary user's child has no more than its user.
        }
        let places = Places::new();
        let tool = places.scene.path().join("tool");
        fs::write(&tool, "given\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o600)).unwrap();
        // Paths directly in `/tmp` and deeper ones are mounted into the private one.
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let private = places.scene.path().join("tmp");
        for tmp in [None, Some(private)] {
            let shown = vec![tool.clone(), file.path().to_owned(), folder.path().to_owned()];
            let has_tmp = tmp.is_some();
            let isolation = Isolation { shown, tmp, ..only(&[&places.work]) };
            let script = format!("id -u; cat ../tool; echo made > made; stat -c %u made ../tool /usr; awk '{{print $2}}' /proc/self/uid_map
                echo mine > /tmp/mine; stat -c %u /tmp/mine; test -f {} && test -d {} && echo there", file.path().display(), folder.path().display());
            let report = places.run(&script, LayerName::OwnUser, isolation);
            assert!(report.is_some() || !has_tmp, "it is root below a private /tmp");
            let Some(report) = report else { return };
            let said = report.stdout.tail_text();
            let lines: Vec<&str> = said.lines().collect();
            assert_eq!(&lines[..5], ["0", "given", "0", "0", "65534"], "{said}{}", report.stderr.tail_text());
            assert_ne!(lines[5], "0");
            assert_eq!(&lines[6..], ["0", "there"], "{said}{}", report.stderr.tail_text());
            assert_eq!(fs::metadata(places.work.join("made")).unwrap().uid(), 0);
        }
    }

    fn an_ordinary_user_needs_no_root_for_the_roles() {
        if is_root() {
            return; // The ordinary user's run is the one that can fail.
        }
        let layers = Scene::new().runner.probe();
        let active: Vec<&str> = layers.iter().filter(|l| l.is_active()).map(|l| l.name.as_str()).collect();
        println!("an ordinary user here has: {active:?}");
        assert!(active.contains(&"subreaper"));
    }
}

#[test]
fn a_light_child_with_an_isolation_is_refused() {
    let places = Places::new();
    let mut spec = places.shell("true", only(&[]));
    spec.containment = drive_engine::ports::Containment::Light;
    assert_eq!(
        places.scene.try_run(&spec).unwrap_err().kind,
        Kind::IsolationMissing
    );
    spec.isolation = Isolation::default();
    assert_eq!(places.scene.run(&spec).end, End::Exited { code: 0 });
}
