//! Tests that projects and routes in separate folders are verified at the same time.

use crate::verify::support::Scene;

/// A project whose test passes only if that of the other project runs at the same time.
const MEETS: &str = r"all: main.c
	cc -c main.c -o /dev/null
test: main.c
	touch here
	n=0; while [ ! -e ../OTHER/here ] && [ $$n -lt 100 ]; do n=$$((n + 1)); sleep 0.1; done
	test -e ../OTHER/here && echo 1 passed
	sleep 0.5; rm here
";

fn two_projects(scene: &Scene, verify: &str) {
    scene.shell("cd repo && git rm -rq src tests && mkdir -p one two");
    for (own, other) in [("one", "two"), ("two", "one")] {
        let folder = scene.path("repo").join(own);
        std::fs::write(folder.join("Makefile"), MEETS.replace("OTHER", other)).unwrap();
        std::fs::write(folder.join("main.c"), "int main(void) { return 0; }\n").unwrap();
    }
    scene.settings(&format!("[verify]\nbaseline = \"off\"\n{verify}\n"));
    scene.shell(
        "cd repo && for d in one two; do echo '/* changed */' >> $d/main.c; done && git commit -qam two",
    );
}

#[test]
fn two_projects_run_at_the_same_time_where_there_are_places_and_else_in_turn() {
    let scene = Scene::me();
    two_projects(&scene, "max_parallel = 2");
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    let scene = Scene::me();
    two_projects(&scene, "max_parallel = 1");
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "fail", "{:#}", answer.report);
}

#[test]
fn routes_in_separate_folders_run_at_the_same_time_and_others_in_turn() {
    let test = "touch here; n=0; while [ ! -e ../OTHER/here ] && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1; done; test -e ../OTHER/here && echo 1 passed; r=$?; sleep 0.5; rm here; exit $r";
    for (has_dir, overall) in [(true, "pass"), (false, "fail")] {
        let scene = Scene::me();
        let route = |own: &str, other: &str| {
            let test = test.replace("OTHER", other);
            let (dir, test) = if has_dir {
                (format!("dir = {own:?}"), test)
            } else {
                (String::new(), format!("cd {own}; {test}"))
            };
            let test = toml::Value::from(test);
            format!(
                "[[verify.routes]]\nname = {own:?}\npaths = [\"**\"]\n{dir}\ntargeted_tests = [\"sh\", \"-c\", {test}]\n"
            )
        };
        let routes = format!("{}{}", route("src", "tests"), route("tests", "src"));
        scene.settings(&format!("[verify]\nbaseline = \"off\"\n{routes}"));
        scene.change();
        let answer = scene.verify();
        assert_eq!(answer.text("/overall"), overall, "{:#}", answer.report);
    }
}

#[test]
fn a_project_that_changes_tracked_files_is_named_and_not_the_one_beside_it() {
    let scene = Scene::me();
    two_projects(&scene, "max_parallel = 2");
    let makefile = scene.path("repo/two/Makefile");
    let text = std::fs::read_to_string(&makefile).unwrap();
    std::fs::write(
        &makefile,
        text.replace("\trm here", "\techo x >> main.c")
            .replace("; rm here", "; echo x >> main.c"),
    )
    .unwrap();
    scene.shell("cd repo && git commit -qam tampering");
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "fail", "{:#}", answer.report);
    let tampered: Vec<&str> = answer.report["stages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|stage| stage["ended"] == "tampered")
        .map(|stage| stage["route"].as_str().unwrap())
        .collect();
    assert_eq!(tampered, ["make:two"], "{:#}", answer.report);
}
