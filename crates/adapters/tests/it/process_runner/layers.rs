//! Tests shared folders with a private layer over them.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active};
use drive_core::process::{LayerName, LayerState, ProcessReport};
use drive_engine::ports::{Isolation, LayeredFolder, NetworkAccess, Writes};
use std::fs;
use std::path::PathBuf;

/// A cache of the user, a private home of a tree, and a folder for its layer.
struct Caches {
    scene: Scene,
    root: PathBuf,
}

impl Caches {
    fn new(scene: Scene) -> Self {
        let root = scene.path().canonicalize().unwrap();
        for folder in ["user/cache/deep", "home/cache", "layer"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["user/cache/one", "user/cache/deep/two", "user/password"] {
            fs::write(root.join(file), "the user's\n").unwrap();
        }
        Self { scene, root }
    }

    /// Runs a shell script in the home; the cache appears at `at`.
    fn run(&self, at: &str, script: &str, is_useful_read_only: bool) -> (String, ProcessReport) {
        let mut spec = self.scene.shell(script);
        spec.cwd = self.root.join("home");
        spec.isolation = Isolation {
            writes: Writes::Only(vec![self.root.join("home")]),
            shown: vec![self.root.join("user/cache")],
            layered: vec![LayeredFolder {
                lower: self.root.join("user/cache"),
                at: self.root.join(at),
                layer: self.root.join("layer"),
                is_useful_read_only,
            }],
            network: NetworkAccess::Off,
            ..Isolation::default()
        };
        let report = self.scene.run(&spec);
        let text = report.stdout.tail_text() + &report.stderr.tail_text();
        assert!(report.end.is_success(), "{:?}: {text}", report.end);
        (text, report)
    }

    /// The files of the user's cache with their texts.
    fn users(&self) -> Vec<(String, String)> {
        ["one", "deep/two", "new"]
            .into_iter()
            .filter_map(|name| {
                let text = fs::read_to_string(self.root.join("user/cache").join(name)).ok()?;
                Some((name.to_owned(), text))
            })
            .collect()
    }
}

/// Whether this user can mount an overlay here.
fn has_layers(report: &ProcessReport) -> bool {
    let has = is_active(report, LayerName::Caches);
    if !has {
        assert!(!is_active(report, LayerName::View), "{:?}", report.layers);
        lacking(LayerName::Caches, "no overlay without a root of its own");
    }
    has
}

const CHANGE: &str = "cat cache/one cache/deep/two && echo changed > cache/one && rm -r cache/deep && \
    mkdir cache/deep && echo more > cache/new && mv cache/one cache/renamed && ls cache";

everyone! {
    fn a_shared_folder_is_seen_and_changed_inside_and_stays_as_it_is_outside() {
        let caches = Caches::new(Scene::new());
        let before = caches.users();
        assert_eq!(before.len(), 2);
        let (text, report) = caches.run("home/cache", CHANGE, false);
        if !has_layers(&report) {
            return;
        }
        assert_eq!(text, "the user's\nthe user's\ndeep\nnew\nrenamed\n");
        assert_eq!(caches.users(), before);
        // The layer exists as long as its folder.
        let (text, _) = caches.run("home/cache", "cat cache/renamed; ls cache/deep", false);
        assert_eq!(text, "changed\n");
        fs::rename(caches.root.join("layer"), caches.root.join("gone")).unwrap();
        let (text, _) = caches.run("home/cache", "cat cache/one; ls cache", false);
        assert_eq!(text, "the user's\ndeep\none\n");
    }

    fn a_shared_folder_can_be_layered_where_it_is() {
        let caches = Caches::new(Scene::new());
        let before = caches.users();
        let (text, report) = caches.run("user/cache", "cd ../user; echo x > cache/one && cat cache/one; ls", false);
        if !has_layers(&report) {
            return;
        }
        assert_eq!(text, "x\ncache\n");
        assert_eq!(caches.users(), before);
    }

    fn a_tree_sees_its_layer_at_the_place_of_the_folder_only() {
        let caches = Caches::new(Scene::new());
        let script = "echo x > cache/new; ls ../layer ../user/password /run/layers/*/layer /run/layers/*/lower 2>&1 | \
            grep -v 'No such file'; grep -c overlay /proc/self/mountinfo";
        let (text, report) = caches.run("home/cache", script, false);
        if !has_layers(&report) {
            return;
        }
        assert_eq!(text, "/run/layers/0/layer:\n\n/run/layers/0/lower:\n1\n");
    }

    fn without_a_layer_the_folder_is_read_only_or_left_out_and_that_is_named() {
        let caches = Caches::new(Scene::without(&[LayerName::Caches]));
        let before = caches.users();
        let script = "ls cache; echo x 2>/dev/null > cache/one && echo wrote; true";
        for (is_useful_read_only, expected) in [(true, "deep\none\n"), (false, "wrote\n")] {
            let (text, report) = caches.run("home/cache", script, is_useful_read_only);
            let missing = report.layers.iter().find(|layer| layer.name == LayerName::Caches);
            let LayerState::Missing(why) = &missing.unwrap().state else { panic!() };
            assert!(why.ends_with("package caches are empty or read-only"), "{why}");
            if is_active(&report, LayerName::View) {
                let root = caches.root.display();
                assert!(why.starts_with(&format!("no private layer over `{root}/user/cache`: switched off;")), "{why}");
                assert_eq!(text, expected);
            }
            assert_eq!(caches.users(), before);
        }
    }
}
