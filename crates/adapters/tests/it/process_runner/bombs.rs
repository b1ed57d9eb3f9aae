//! Tests bombs within their limits, as root and as an ordinary user. Each has a control: the same
//! program under a larger limit runs to its end, otherwise the test would prove nothing.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active, is_root};
use drive_core::process::{DiskBound, End, LayerName, Limits, ProcessReport};
use drive_engine::ports::{Isolation, LayeredFolder, Writes};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BYTES: u64 = 20 << 20;
const FILES: u64 = 2000;
const DONE: End = End::Exited { code: 0 };
const TOO_LARGE: End = End::DiskLimit {
    bound: DiskBound::Bytes(BYTES),
};

/// Writes 40 MiB in many files, then waits to be killed.
const MANY: &str = r#"for (1..40) { open(my $f, ">", "f$_") or die; print $f "x" x (1 << 20) or die; close $f or die }
    sleep $ENV{PATIENCE};"#;
const ONE_FILE: &str = "head -c 40M /dev/zero > big";
const SPARSE: &str = r#"$SIG{XFSZ} = "DEFAULT"; open(my $f, ">", "sparse") or die; seek($f, 30 << 20, 0); print $f "x"; close $f or die"#;
const INODES: &str =
    r#"mkdir "d"; for (1..3000) { open(my $f, ">", "d/f$_") or die } sleep $ENV{PATIENCE};"#;
const SHARED: &str = r#"for (1..3) { open(my $f, ">", "/dev/shm/f$_") or die $!; print $f "x" x (10 << 20) or die $!; close $f or die $! }"#;
const SHARED_INODES: &str = r#"for (1..3000) { open(my $f, ">", "/dev/shm/f$_") or die $! }"#;

/// The confinement of a coder: a sandbox, a temporary folder, and limits.
struct Confined {
    scene: Scene,
    sandbox: PathBuf,
}

impl Confined {
    fn new() -> Self {
        let scene = Scene::new();
        let sandbox = scene.path().join("sandbox");
        fs::create_dir(&sandbox).unwrap();
        Self { scene, sandbox }
    }

    /// Runs a program that waits if it is expected to be killed.
    fn run(&self, program: &str, args: &[&str], disk: u64, files: u64) -> ProcessReport {
        self.run_with(&[], program, args, disk, files)
    }

    fn run_with(
        &self,
        layered: &[LayeredFolder],
        program: &str,
        args: &[&str],
        disk: u64,
        files: u64,
    ) -> ProcessReport {
        let is_bomb = disk == BYTES || files == FILES;
        let patience = if is_bomb { "50" } else { "0" };
        let mut spec = self.scene.command(program).args(args);
        spec = spec.env("PATIENCE", patience);
        spec.cwd = self.sandbox.clone();
        spec.limits = Limits {
            disk_bytes: Some(disk),
            files: Some(files),
            ..spec.limits
        };
        spec.isolation = Isolation {
            writes: Writes::Only(vec![self.sandbox.clone()]),
            tmp: Some(self.scene.path().join("tmp")),
            layered: layered.to_vec(),
            ..Isolation::default()
        };
        self.scene.run(&spec)
    }
}

fn has_view(report: &ProcessReport) -> bool {
    is_active(report, LayerName::View)
}

/// The bomb under its limit, and the control under a large one.
fn bomb(program: &str, code: &str, disk: u64, files: u64) -> (ProcessReport, ProcessReport) {
    let args = ["-e", code];
    let args = if program == "sh" { ["-c", code] } else { args };
    let bomb = Confined::new().run(program, &args, disk, files);
    let control = Confined::new().run(program, &args, 1 << 30, 1_000_000);
    (bomb, control)
}

everyone! {
    fn a_disk_bomb_of_many_files_is_ended() {
        let (bomb, control) = bomb("perl", MANY, BYTES, 1_000_000);
        assert_eq!(bomb.end, TOO_LARGE, "{}", bomb.stderr.tail_text());
        assert!(is_active(&bomb, LayerName::DiskLimit));
        assert_eq!(control.end, DONE, "{}", control.stderr.tail_text());
    }

    fn no_file_gets_larger_than_the_limit_and_the_end_says_why() {
        let confined = Confined::new();
        let report = confined.run("sh", &["-c", ONE_FILE], BYTES, 1_000_000);
        assert_eq!(report.end, TOO_LARGE, "{}", report.stderr.tail_text());
        assert_eq!(fs::metadata(confined.sandbox.join("big")).unwrap().len(), BYTES);
        let (bomb, control) = bomb("perl", SPARSE, BYTES, 1_000_000);
        assert_eq!(bomb.end, TOO_LARGE, "{}", bomb.stderr.tail_text());
        assert_eq!(control.end, DONE, "{}", control.stderr.tail_text());
        let control = Confined::new().run("sh", &["-c", ONE_FILE], 1 << 30, 1_000_000);
        assert_eq!(control.end, DONE, "{}", control.stderr.tail_text());
    }

    // A layer is created while the program is set up, in a new folder.
    fn a_private_layer_over_a_shared_folder_is_no_way_around_the_limits() {
        for (disk, end) in [(BYTES, TOO_LARGE), (1 << 30, DONE)] {
            let confined = Confined::new();
            let root = confined.scene.path().canonicalize().unwrap();
            for folder in ["shared", "sandbox/cache"] {
                fs::create_dir(root.join(folder)).unwrap();
            }
            let layered = LayeredFolder {
                lower: root.join("shared"),
                at: root.join("sandbox/cache"),
                layer: root.join("layers/of/cache"),
                is_useful_read_only: false,
            };
            let code = format!("chdir 'cache' or die; {MANY}");
            let report = confined.run_with(&[layered], "perl", &["-e", &code], disk, 1_000_000);
            if !is_active(&report, LayerName::Caches) {
                lacking(LayerName::Caches, "no overlay here");
                return;
            }
            assert_eq!(report.end, end, "{}", report.stderr.tail_text());
            assert!(!root.join("shared/f1").exists());
        }
    }

    fn an_inode_bomb_is_ended() {
        let (bomb, control) = bomb("perl", INODES, 1 << 30, FILES);
        let too_many = End::DiskLimit { bound: DiskBound::Files(FILES) };
        assert_eq!(bomb.end, too_many, "{}", bomb.stderr.tail_text());
        assert_eq!(control.end, DONE, "{}", control.stderr.tail_text());
    }

    fn shared_memory_is_no_way_around_the_limits() {
        for (code, disk, files) in [(SHARED, BYTES, 1_000_000), (SHARED_INODES, 1 << 30, FILES)] {
            let (bomb, control) = bomb("perl", code, disk, files);
            if !has_view(&bomb) {
                lacking(LayerName::View, "no own /dev/shm here");
                return;
            }
            let said = bomb.stderr.tail_text();
            assert!(said.contains("No space left on device"), "{said}");
            assert_eq!(control.end, DONE, "{}", control.stderr.tail_text());
        }
    }

    fn what_was_there_before_or_is_elsewhere_is_not_counted() {
        let confined = Confined::new();
        let large = confined.scene.path().join("large");
        for folder in [&confined.sandbox, &large] {
            fs::create_dir_all(folder.join("old")).unwrap();
            fs::write(folder.join("old/large"), vec![b'x'; 40 << 20]).unwrap();
            for number in 0..3000 {
                fs::write(folder.join(format!("old/{number}")), "").unwrap();
            }
        }
        // Longer ago than the file system's clock can distinguish.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let link = format!("ln -s {} link && touch own && exit 7", large.display());
        let report = confined.run("sh", &["-c", &link], BYTES, FILES);
        assert_eq!(report.end, End::Exited { code: 7 });
        let changed = "chmod 600 old/large; exit 7";
        let report = confined.run("sh", &["-c", changed], BYTES, FILES);
        assert_eq!(report.end, TOO_LARGE);
    }
}

/// A small disk for the test below, in a separate mount namespace.
const SMALL_DISK: &str = "DRIVE_TEST_SMALL_DISK";

#[test]
fn a_tree_that_fills_the_disk_is_ended_before_it_is_full() {
    if let Some(folder) = std::env::var_os(SMALL_DISK) {
        return fill(Path::new(&folder));
    }
    if !is_root() {
        println!("skipped: only root can mount a small disk here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = concat!(
        module_path!(),
        "::a_tree_that_fills_the_disk_is_ended_before_it_is_full"
    );
    let (_, test) = test.split_once("::").unwrap();
    for (size, is_small) in [("30m", true), ("200m", false)] {
        let script =
            r#"mount -t tmpfs -o "size=$1" none "$2" && exec "$3" --exact "$4" --nocapture"#;
        let output = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh", size])
            .arg(folder.path())
            .arg(std::env::current_exe().unwrap())
            .arg(test)
            .env(SMALL_DISK, folder.path())
            .env("IS_SMALL", is_small.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}

fn fill(folder: &Path) {
    let is_small = std::env::var("IS_SMALL").unwrap() == "true";
    let scene = Scene::new();
    let code = r#"for (1..40) { if (open(my $f, ">", "f$_")) { print $f "x" x (1 << 20); close $f } }
        sleep $ENV{PATIENCE};"#;
    let mut spec = scene.perl(code);
    spec = spec.env("PATIENCE", if is_small { "50" } else { "0" });
    spec.cwd = folder.to_owned();
    spec.limits.disk_bytes = Some(1 << 30);
    spec.isolation.writes = Writes::Only(vec![folder.to_owned()]);
    let end = scene.run(&spec).end;
    if is_small {
        let short = matches!(
            end,
            End::DiskLimit {
                bound: DiskBound::FreeBytes(_)
            }
        );
        assert!(short, "{end:?}");
    } else {
        assert_eq!(end, DONE);
    }
}
