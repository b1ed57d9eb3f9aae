//! Tests the notices about a run whose owner is killed at any moment.

use crate::support::{Crashes, Scene, run_id, spawn_request};
use drive_core::run::{NoticeEvent, Request};
use drive_engine::ports::Store;

fn telling(scene: &Scene) -> Request {
    Request {
        notify: true,
        ..spawn_request(&scene.world)
    }
}

#[test]
fn a_spawn_tells_its_end_once() {
    let scene = Scene::new();
    let run = scene.execute(telling(&scene), None).unwrap();
    let told = scene.world.notifier.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].event, NoticeEvent::Done);
    assert_eq!(run.outbox().count(), 0);
    scene.recover(None).unwrap();
    assert_eq!(scene.world.notifier.told().len(), 1);
}

/// A notice is lost only if the owner is killed between the record that the program is about to
/// start and its start: the next owner cannot know whether it started.
#[test]
fn a_spawn_killed_anywhere_tells_its_end_at_most_once() {
    for crashes in [
        Crashes::BeforeAppend,
        Crashes::AfterAppend,
        Crashes::AfterClaim,
    ] {
        let mut lost = 0;
        for number in 1.. {
            let scene = Scene::new();
            let crash = Some(crashes.at(number));
            if scene.execute(telling(&scene), crash).is_some() {
                assert!(number > 5, "{crashes:?}: only {number} crashes");
                break;
            }
            scene.recover(None).unwrap();
            scene.recover(None).unwrap();
            let told = scene.world.notifier.told();
            assert!(told.len() < 2, "{crashes:?} {number}: {told:?}");
            // Before its request was stored, there is no run to report.
            let is_run = scene.world.store.load(&run_id()).unwrap();
            if is_run.is_some_and(|run| run.request.is_some()) && told.is_empty() {
                lost += 1;
            }
        }
        assert!(lost <= 1, "{crashes:?}: {lost} notices lost");
    }
}
