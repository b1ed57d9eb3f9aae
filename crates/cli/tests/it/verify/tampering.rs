//! Tests that a stage which rewrites what it is judged by is detected, however it hides that.

const TAMPERED: (&str, &str, &str, &str) = ("fail", "fail", "tampered", "policy");

fn tampered(script: &str, path: &str) {
    for scene in crate::verify::support::Scene::everyone() {
        scene.compile(script);
        let answer = scene.verify();
        assert_eq!(answer.verdict(), TAMPERED, "{script}: {}", answer.report);
        let reason = answer.text("/failure/reason");
        assert!(reason.contains(&format!("`{path}`")), "{reason}");
        assert_eq!(
            scene.text_of("repo/tests/t"),
            "good\n",
            "the caller's file is untouched"
        );
    }
}

#[test]
fn rewriting_a_test_is_tampering() {
    tampered("echo easy > tests/t", "tests/t");
}

#[test]
fn the_same_size_and_the_old_times_do_not_hide_it() {
    tampered(
        "touch -r tests/t \"$TMPDIR/ref\"; printf 'evil\\n' > tests/t; touch -r \"$TMPDIR/ref\" tests/t",
        "tests/t",
    );
}

#[test]
fn replacing_the_file_by_a_new_one_does_not_hide_it() {
    tampered(
        "printf 'evil\\n' > new && touch -r tests/t new && mv new tests/t",
        "tests/t",
    );
}

#[test]
fn removing_a_test_is_tampering() {
    tampered("rm tests/t", "tests/t");
}

#[test]
fn a_link_in_place_of_a_file_is_tampering() {
    tampered(
        "printf 'good\\n' > elsewhere && ln -sf ../elsewhere tests/t",
        "tests/t",
    );
}

#[test]
fn a_link_in_place_of_a_folder_is_tampering() {
    tampered("mv tests real && ln -s real tests", "tests");
}

#[test]
fn making_a_file_executable_is_tampering() {
    tampered("chmod +x tests/t", "tests/t");
}

#[test]
fn writing_in_place_with_a_set_back_time_is_tampering() {
    tampered(
        "perl -e 'open F, \"+<\", \"tests/t\"; seek F, 0, 0; syswrite F, \"evil\"; utime 1, 1, \"tests/t\"'",
        "tests/t",
    );
}

#[test]
fn a_failing_stage_that_tampers_is_reported_as_tampering() {
    tampered("echo easy > tests/t; exit 1", "tests/t");
}

everyone! {
    fn touching_a_file_without_changing_it_is_none(scene) {
        scene.compile("touch tests/t; cat tests/t > copy; cat copy > tests/t; echo new > untracked; mkdir -p target; echo o > target/o");
        assert_eq!(scene.verify().verdict(), ("pass", "pass", "exited", "-"));
    }
}
