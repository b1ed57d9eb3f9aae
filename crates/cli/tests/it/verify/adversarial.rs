//! Tests commands that hang, bomb, leak or lie. Each gets the right verdict, blocks nothing and
//! leaves nothing.

/// Really allocates memory: it writes the pages.
const HOG: &str = "perl -e 'my @h; for (1..$ARGV[0]) { push @h, \"x\" x (1 << 20) } select undef, undef, undef, 60'";

const PASS: (&str, &str, &str, &str) = ("pass", "pass", "exited", "-");

everyone! {
    fn ignoring_term_ends_at_the_timeout(scene) {
        scene.compile("");
        let settings = scene.text_of("repo/drive.toml").replace("\"\"", "\"trap '' TERM; while :; do sleep 0.05; done\"").replace("20s", "500ms");
        scene.settings(&settings);
        scene.change();
        assert_eq!(scene.verify().verdict(), ("timeout", "timeout", "timedOut", "timeout"));
    }

    fn a_double_fork_into_a_new_session_is_found(scene) {
        scene.compile("(setsid sh -c '(setsid sleep 300 &) ; sleep 300' &) ; exit 0");
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "leakedProcesses", "resource"));
    }

    fn exiting_0_while_a_child_holds_the_pipe_is_a_leak(scene) {
        scene.compile("sleep 300 & echo done; exit 0");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("fail", "fail", "leakedProcesses", "resource"));
        assert_eq!(answer.text("/stages/0/stdoutTail"), "done\n");
    }

    fn exiting_0_with_a_silent_daemon_is_a_leak(scene) {
        scene.compile("setsid sleep 300 </dev/null >/dev/null 2>&1 & exit 0");
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "leakedProcesses", "resource"));
    }

    fn a_leak_that_is_only_killed_passes_and_is_noted(scene) {
        scene.compile("setsid sleep 300 </dev/null >/dev/null 2>&1 & exit 0");
        let settings = scene.text_of("repo/drive.toml").replace("processes = 64", "processes = 64\nleaked_processes = \"kill\"");
        scene.settings(&settings);
        scene.change();
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS);
        assert_eq!(answer.report["stages"][0]["leakedProcesses"], 1);
        assert!(answer.text("/notes/0").contains("left 1 process running"), "{}", answer.report);
    }

    fn a_process_that_keeps_changing_its_pid_is_ended(scene) {
        scene.compile("perl -e 'while (1) { exit 0 if fork; select undef, undef, undef, 0.001 }'");
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "leakedProcesses", "resource"));
    }

    fn stopping_itself_ends_at_the_timeout(scene) {
        scene.compile("");
        let settings = scene.text_of("repo/drive.toml").replace("\"\"", "\"kill -STOP $$\"").replace("20s", "500ms");
        scene.settings(&settings);
        scene.change();
        assert_eq!(scene.verify().verdict(), ("timeout", "timeout", "timedOut", "timeout"));
    }

    fn one_hog_reaches_the_memory_limit(scene) {
        scene.compile(&format!("{HOG} 2000"));
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "memoryLimit", "resource"));
    }

    fn many_small_hogs_reach_the_memory_limit_together(scene) {
        scene.compile(&format!("for i in 1 2 3 4 5 6 7 8; do {HOG} 60 & done; wait; exit 0"));
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "memoryLimit", "resource"));
    }

    fn a_memfd_hog_reaches_the_memory_limit(scene) {
        let hog = "perl -e '$n = \"hog\"; $f = syscall(319, $n, 0); open(F, \">&=\", $f) or die; $b = \"x\" x (1 << 20); for (1..1200) { syswrite F, $b } print \"held\\n\"'";
        scene.compile(&format!("{hog}; exit 0"));
        let answer = scene.verify();
        let layers = answer.report["workspace"]["layers"].to_string();
        if layers.contains("cgroupMemory") {
            assert_eq!(answer.verdict(), ("fail", "fail", "memoryLimit", "resource"));
        } else {
            eprintln!("skipped: no writable memory cgroup, and the report says so: {}", answer.report["workspace"]["missing"]);
            assert!(answer.report["workspace"]["missing"].to_string().contains("memfd and tmpfs not counted"));
        }
    }

    fn a_child_killed_for_memory_under_a_leader_that_exits_0_is_seen(scene) {
        scene.compile(&format!("{HOG} 2000; exit 0"));
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "memoryLimit", "resource"));
    }

    fn a_fork_bomb_reaches_the_limit_on_processes(scene) {
        scene.compile("perl -e 'for (1..400) { $p = fork; if (defined $p && !$p) { select undef, undef, undef, 30; exit } select undef, undef, undef, 0.002 } select undef, undef, undef, 30'");
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "processLimit", "resource"));
    }

    fn disk_and_inode_bombs_reach_their_limits(scene) {
        let disk = "for n in $(seq 40); do head -c 1M /dev/zero > f$n; done; sleep PATIENCE";
        let files = "for n in $(seq 3000); do : > f$n; done; sleep PATIENCE";
        for (bomb, limit, reason) in [
            (disk, "disk = \"20MiB\"", "used more than 20MiB of disk"),
            (files, "files = 2000", "made more than 2000 files"),
        ] {
            scene.compile(&bomb.replace("PATIENCE", "0"));
            assert_eq!(scene.verify().verdict(), PASS, "the control of {limit}");
            scene.compile(&bomb.replace("PATIENCE", "19"));
            let limited = format!("processes = 64\n{limit}");
            scene.settings(&scene.text_of("repo/drive.toml").replace("processes = 64", &limited));
            scene.change();
            let answer = scene.verify();
            assert_eq!(answer.verdict(), ("fail", "fail", "diskLimit", "resource"));
            assert_eq!(answer.text("/stages/0/reason"), reason);
        }
    }

    fn endless_output_reaches_the_limit_on_output(scene) {
        scene.compile("exec yes");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("fail", "fail", "outputLimit", "resource"));
        assert!(answer.text("/stages/0/stdoutTail").len() <= 64 << 10);
        assert!(answer.report["stages"][0]["truncatedBytes"].as_u64().unwrap() > 3 << 20);
    }

    fn a_fake_killed_with_exit_137_is_an_exit_code(scene) {
        scene.compile("echo Killed >&2; exit 137");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
        assert_eq!(answer.report["stages"][0]["exitCode"], 137);
        assert_eq!(answer.code, Some(1));
    }

    fn a_real_signal_9_is_a_signal(scene) {
        scene.compile("kill -9 $$");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("fail", "fail", "signalled", "compile"));
        assert_eq!(answer.report["stages"][0]["signal"], 9);
    }

    fn bytes_that_are_no_text_are_made_printable(scene) {
        scene.compile("printf 'a\\377\\376b\\033[31mred\\033]0;title\\007\\000end\\r\\n'; printf '\\033[2J\\200' >&2; exit 1");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("fail", "fail", "exited", "compile"));
        assert_eq!(answer.text("/stages/0/stdoutTail"), "a\u{fffd}\u{fffd}bredend\n");
        assert_eq!(answer.text("/stages/0/stderrTail"), "\u{fffd}");
    }

    fn waiting_on_standard_input_gets_its_end(scene) {
        scene.compile("cat; read line || echo nothing to read");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS);
        assert_eq!(answer.text("/stages/0/stdoutTail"), "nothing to read\n");
    }

    fn a_command_that_is_not_there_is_the_environments_failure(scene) {
        scene.compile("");
        let settings = scene.text_of("repo/drive.toml").replace("[\"sh\", \"-c\", \"\"]", "[\"no-such-command-anywhere\"]");
        scene.settings(&settings);
        scene.change();
        let answer = scene.verify();
        assert_eq!(answer.verdict(), ("error", "error", "infra", "infra"));
        assert!(answer.text("/failure/reason").contains("no-such-command-anywhere"), "{}", answer.report);
        assert_eq!(answer.code, Some(3));
    }

    fn killing_its_parent_harms_nobody(scene) {
        scene.compile("kill -9 $PPID; kill -TERM $PPID; echo alive; exit 0");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS);
        assert_eq!(answer.text("/stages/0/stdoutTail"), "alive\n");
    }

    fn killing_everything_it_can_harms_nobody(scene) {
        scene.compile("exec perl -e 'kill 9, -1; kill 15, -1; for (2..400) { kill 9, $_ unless $_ == $$ } print \"alive\\n\"'");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS);
        assert_eq!(answer.text("/stages/0/stdoutTail"), "alive\n");
    }

    fn writing_outside_is_refused(scene) {
        let outside = scene.path("outside");
        let repo = scene.path("repo");
        scene.compile(&format!(
            "echo x > inside && echo x > \"$TMPDIR/private\" && echo x > \"$HOME/own\" || exit 9\n(echo x > '{0}/file') 2>/dev/null && exit 1\n(echo x > '{1}/.git/hooks/post-commit') 2>/dev/null && exit 2\n(echo x >> '{1}/src/a') 2>/dev/null && exit 3\n[ -e '{1}/.git/refs' ] && exit 4\ngit config user.name evil 2>/dev/null && exit 5\ngit update-index --assume-unchanged src/a 2>/dev/null && exit 6\n(echo gitdir: /elsewhere > .git) 2>/dev/null && exit 7\nexit 0",
            outside.display(), repo.display()
        ));
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS, "{}", answer.report);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        scene.shell("cd repo && git fsck --strict && test -z \"$(git status --porcelain)\"");
    }

    fn moves_and_links_between_folders_of_the_workspace_work(scene) {
        scene.compile("mkdir -p x y && echo 1 > x/a && mv x/a y/b && ln y/b x/c && mv \"$(mktemp)\" y/d && ls x y");
        let answer = scene.verify();
        assert_eq!(answer.verdict(), PASS, "{}", answer.report);
        assert_eq!(answer.text("/stages/0/stdoutTail"), "x:\nc\n\ny:\nb\nd\n");
    }

    fn a_write_outside_that_is_not_caught_by_the_script_fails_its_stage(scene) {
        scene.compile(&format!("set -e; echo x > '{}/file'; echo not reached", scene.path("outside").display()));
        assert_eq!(scene.verify().verdict(), ("fail", "fail", "exited", "compile"));
        assert!(!scene.path("outside/file").exists());
    }

    fn hooks_and_filters_of_the_repository_do_not_run(scene) {
        let mark = scene.path("outside/ran");
        scene.compile("cat src/a; exit 0");
        scene.shell("cd repo && printf '* filter=evil merge=evil\\n' > .gitattributes && git add -A && git commit -qm attributes");
        let keys = ["filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "merge.evil.driver", "core.pager", "core.editor"];
        for key in keys {
            scene.shell(&format!("cd repo && git config {key} 'touch {}'", mark.display()));
        }
        for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
            scene.shell(&format!(
                "cd repo/.git && mkdir -p hooks && printf '#!/bin/sh\\ntouch {}\\n' > hooks/{hook} && chmod +x hooks/{hook}",
                mark.display()
            ));
        }
        let output = scene.drive(&["verify", "--base", "base", "--json"]).output().unwrap();
        let answer = scene.answer(&output);
        assert!(!mark.exists(), "a hook, a filter, a monitor or a driver ran");
        assert_eq!(answer.verdict(), PASS, "{}", answer.report);
        assert_eq!(answer.text("/stages/0/stdoutTail"), "one\ntwo\n");
    }

    fn folders_nobody_may_enter_are_removed(scene) {
        scene.compile("mkdir -p closed/inner && touch closed/inner/file && chmod 000 closed/inner closed; mkdir -p \"$TMPDIR/closed/x\" && chmod 000 \"$TMPDIR/closed\"; exit 0");
        assert_eq!(scene.verify().verdict(), PASS);
    }

    fn folders_1500_deep_are_removed(scene) {
        scene.compile("perl -e 'for (1..1500) { mkdir \"deep-folder-name\" or die; chdir \"deep-folder-name\" or die } open F, \">file\"'");
        assert_eq!(scene.verify().verdict(), PASS);
    }
}
