//! Tests caches of package managers in verifications: filled, private, and without the credentials
//! beside them.

const FILES: [&str; 6] = [
    ".npm/_cacache/one",
    ".cargo/registry/one",
    "go/pkg/mod/one",
    ".cargo/credentials.toml",
    ".npmrc",
    ".m2/settings.xml",
];

/// Prints the user's files that it finds, and changes them.
const STAGE: &str = "cat $HOME/.npm/_cacache/one $CARGO_HOME/registry/one $GOMODCACHE/one
for file in $CARGO_HOME/credentials.toml $HOME/.npmrc $HOME/.m2/settings.xml; do ! grep user $file || exit 1; done
for cache in $HOME/.npm/_cacache $CARGO_HOME/registry $GOMODCACHE; do
  echo poison > $cache/one && echo poison > $cache/two || exit 2
done";

everyone! {
    fn stages_see_the_caches_of_the_user_and_change_only_their_own_layer(scene) {
        for file in FILES {
            scene.shell(&format!("mkdir -p home/$(dirname {file}) && echo \"user's {file}\" > home/{file}"));
        }
        scene.compile(STAGE);
        for _ in 0..2 {
            let answer = scene.verify();
            let layers = answer.report["workspace"]["layers"].as_array().unwrap();
            if !layers.iter().any(|layer| layer == "caches") {
                // This is so for a user who may not create namespaces.
                assert!(!layers.iter().any(|layer| layer == "view"), "{}", answer.report);
                eprintln!("skipped: no root of its own here");
                continue;
            }
            assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
            assert_eq!(
                answer.text("/stages/0/stdoutTail"),
                "user's .npm/_cacache/one\nuser's .cargo/registry/one\nuser's go/pkg/mod/one\n"
            );
            for file in FILES {
                assert_eq!(scene.text_of(&format!("home/{file}")), format!("user's {file}\n"));
            }
            assert_eq!(scene.shell("find home -name two"), "");
        }
    }

    fn later_stages_of_a_verification_see_what_earlier_ones_left_in_a_cache(scene) {
        scene.shell("mkdir -p home/.npm/_cacache");
        scene.settings("[[verify.routes]]\npaths = [\"**\"]\ncompile = [\"sh\", \"-c\", \"echo got > $HOME/.npm/_cacache/got\"]\nstartup_smoke = [\"cat\", \"/dev/null\"]\ntargeted_tests = [\"sh\", \"-c\", \"cat $HOME/.npm/_cacache/got && echo 1 passed\"]\n");
        scene.change();
        let answer = scene.verify();
        assert_eq!(answer.text("/stages/1/stdoutTail"), "got\n1 passed\n", "{:#}", answer.report);
        assert_eq!(scene.shell("ls home/.npm/_cacache"), "");
    }
}
