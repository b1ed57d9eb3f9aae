//! Tests that the isolation layers that a run had and lacked are shown everywhere.

use crate::serve::serving::Serving;
use crate::spawn::support::{World, text};
use serde_json::Value;
use std::collections::BTreeSet;

const WORK: &str = "echo work > made.txt; echo done";

fn missing(run: &Value) -> BTreeSet<String> {
    let missing = run["missingLayers"].as_array().unwrap().iter();
    missing.map(|layer| text(&layer["name"])).collect()
}

#[test]
fn a_run_without_isolation_says_so_on_its_pull_request_its_page_and_in_its_report() {
    let world = World::with_agent(WORK);
    world.settings("[sandbox]\nisolation = \"off\"\n");
    let (code, run) = world.spawn(&["Do it"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert!(missing(&run).contains("view"), "{run:#}");
    let id = text(&run["runId"]);
    let reason = "switched off in the settings";
    let shown = world.drive(&["pr", "show", "1", "--json"]).document();
    let body = text(&shown["body"]);
    assert!(
        body.contains("Made without full isolation. Missing layers:"),
        "{body}"
    );
    assert!(body.contains(&format!("- `view`: {reason}")), "{body}");
    let report = world.drive(&["runs", "show", &id]).stdout;
    let line = "missing layers of isolation: ";
    let told = report.lines().find(|told| told.contains(line));
    assert!(told.is_some_and(|told| told.contains("view, ")), "{report}");
    let serving = Serving::start(&world, &[], &[]);
    let page = serving.get(&format!("/runs/{id}")).body;
    assert!(
        page.contains(&format!("<li>missing layer view: {reason}")),
        "{page}"
    );
    serving.kill();
}

#[test]
fn the_layers_that_held_a_run_are_shown() {
    let world = World::with_agent(WORK);
    let (code, run) = world.spawn(&["Do it"]);
    assert_eq!(code, Some(0), "{run:#}");
    let held: Vec<String> = run["layers"].as_array().unwrap().iter().map(text).collect();
    assert!(!held.is_empty(), "{run:#}");
    let report = world.drive(&["runs", "show", &text(&run["runId"])]).stdout;
    let line = format!("held by layers: {}", held.join(", "));
    assert!(report.lines().any(|told| told == line), "{report}");
}

#[test]
fn doctor_and_a_run_name_the_same_layers() {
    let world = World::with_agent(WORK);
    let (code, run) = world.spawn(&["Do it"]);
    assert_eq!(code, Some(0), "{run:#}");
    let doctor = world.drive(&["doctor", "--json"]).document();
    let named = |is_ok: bool| -> BTreeSet<String> {
        let checks = doctor["checks"].as_array().unwrap().iter();
        let layers = checks.filter(|check| (check["status"] == "ok") == is_ok);
        let names = layers
            .filter_map(|check| Some(text(&check["name"]).strip_prefix("layer.")?.to_owned()));
        names.collect()
    };
    // This user has no caches.
    let by_folder = BTreeSet::from(["caches".to_owned()]);
    let without = |names: BTreeSet<String>| &names - &by_folder;
    assert_eq!(without(missing(&run)), without(named(false)), "{run:#}");
    let active = run["layers"].as_array().unwrap().iter();
    let active: BTreeSet<String> = active.map(text).collect();
    assert_eq!(without(active.clone()), without(named(true)), "{run:#}");
    assert!(active.contains("diskLimit"), "{run:#}");
}
