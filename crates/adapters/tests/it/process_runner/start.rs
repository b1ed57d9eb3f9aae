//! Tests what a child gets at its start, and what prevents its start.

use crate::process_runner::support::Scene;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeaderEnd};
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, Containment, Discard, ProcessRunner};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The kind and message of the problem that prevents a command from running, with either containment.
fn refusal(scene: &Scene, spec: &CommandSpec) -> (Kind, String) {
    let full = scene.try_run(spec).unwrap_err();
    let light = scene
        .try_run(&CommandSpec {
            containment: Containment::Light,
            ..spec.clone()
        })
        .unwrap_err();
    assert_eq!(full, light);
    (full.kind, full.message)
}

everyone! {
    fn a_plain_command_exits_with_its_code_and_its_output() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("echo out; echo err >&2; exit 3"));
        assert_eq!(report.end, End::Exited { code: 3 });
        assert_eq!(report.leader, Some(LeaderEnd::Exited(3)));
        assert_eq!(report.stdout.tail_text(), "out\n");
        assert_eq!(report.stderr.tail_text(), "err\n");
        assert_eq!(report.leaked, 0);
    }

    fn the_environment_is_exactly_what_was_given() {
        let scene = Scene::new();
        let spec = CommandSpec::new("/usr/bin/env", scene.path()).env("ONLY", "this");
        assert_eq!(scene.run(&spec).stdout.tail_text(), "ONLY=this\n");
    }

    fn a_child_inherits_no_descriptor_but_its_three() {
        let scene = Scene::new();
        let leaked = fs::File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
        let report = scene.run(&scene.perl("opendir(my $d, '/proc/self/fd');
            print map { \"$_ \" } grep { !/\\./ && $_ != fileno($d) } sort readdir $d"));
        assert_eq!(report.stdout.tail_text(), "0 1 2 ");
    }

    fn a_child_starts_with_no_signal_blocked() {
        let scene = Scene::new();
        let report = scene.run(&scene.command("grep").args(["SigBlk", "/proc/self/status"]));
        assert_eq!(report.stdout.tail_text(), "SigBlk:\t0000000000000000\n");
    }

    fn a_command_that_is_not_installed_is_named() {
        let scene = Scene::new();
        assert_eq!(
            refusal(&scene, &scene.command("no-such-agent")),
            (Kind::CommandNotFound, "command `no-such-agent` was not found".into())
        );
        assert_eq!(
            refusal(&scene, &scene.command("./no-such-file")),
            (Kind::CommandNotFound, "command `./no-such-file` was not found".into())
        );
    }

    fn a_file_that_is_not_executable_is_named() {
        let scene = Scene::new();
        let file = scene.path().join("plain.txt");
        fs::write(&file, "text").unwrap();
        assert_eq!(
            refusal(&scene, &scene.command(file.to_str().unwrap())),
            (Kind::CommandNotExecutable, format!("`{}` is not executable", file.display()))
        );
    }

    fn a_program_the_kernel_refuses_is_named() {
        let scene = Scene::new();
        let file = scene.path().join("script");
        fs::write(&file, "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            refusal(&scene, &scene.command(file.to_str().unwrap())),
            (Kind::CommandNotFound, format!("`{}` or its interpreter does not exist", file.display()))
        );
    }

    fn a_working_folder_that_is_gone_is_named() {
        let scene = Scene::new();
        let mut spec = scene.command("true");
        spec.cwd = scene.path().join("gone");
        assert_eq!(
            refusal(&scene, &spec),
            (
                Kind::WorkingFolderMissing,
                format!("working directory `{}` does not exist", spec.cwd.display())
            )
        );
    }

    fn the_identity_is_handed_over_before_the_first_instruction() {
        let scene = Scene::new();
        let marker = scene.path().join("ran");
        let spec = scene.shell("touch ran");
        let mut seen = None;
        let report = scene.runner.run(
            &spec,
            &CancelToken::new(),
            &mut |identity| {
                // Long enough for a child without a gate to get there first.
                std::thread::sleep(std::time::Duration::from_millis(200));
                assert!(!marker.exists());
                seen = Some(identity.clone());
                Ok(())
            },
            &mut Discard,
        );
        assert_eq!(report.unwrap().end, End::Exited { code: 0 });
        let identity = seen.unwrap();
        assert!(marker.exists() && identity.supervisor.is_some() && identity.child.start_ticks > 0);
    }

    fn a_child_whose_identity_could_not_be_journaled_never_runs() {
        let scene = Scene::new();
        let refused = Problem::new(Kind::DiskFull, "the journal is full");
        let result = scene.runner.run(
            &scene.shell("touch ran"),
            &CancelToken::new(),
            &mut |_| Err(refused.clone()),
            &mut Discard,
        );
        assert_eq!(result, Err(refused));
        assert!(!scene.path().join("ran").exists());
        assert_eq!(crate::process_runner::support::survivors(&scene.token), Vec::<String>::new());
    }
}

#[test]
fn a_helper_that_is_missing_is_a_clear_problem() {
    let scene = Scene::new();
    let runner = drive_adapters::process::BoundedRunner::with_helper("/no/such/helper");
    let scene = Scene { runner, ..scene };
    let problem = scene.try_run(&scene.command("true")).unwrap_err();
    assert_eq!(problem.kind, Kind::SupervisionFailed);
}
