//! Tests the pull request's description.

use crate::common::{at, run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene};
use drive_core::run::{Effect, Event, ForgeAct, fold, step};
use drive_core::settings::TeamMode;
use serde_json::json;

#[test]
fn the_description_carries_the_task_the_feedback_and_the_record_within_its_limit() {
    let long = json!({"verdict": "needs_changes", "suggestions": [{"issue": "x".repeat(70_000)}]});
    for said in [OBJECTS.to_owned(), format!("```json\n{long}\n```")] {
        let mut scene = Scene::reviews(&[&said, APPROVED]);
        let mut bodies = Vec::new();
        let requested = Event::Requested {
            request: Box::new(team_request(TeamMode::Pingpong)),
        };
        let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
        while let Some((key, effect)) = run.pending.first_key_value() {
            if let Effect::OnForge {
                act: ForgeAct::UpdateBody { body },
                ..
            } = effect
            {
                bodies.push(body.clone());
            }
            let ended = Event::EffectEnded {
                key: key.clone(),
                result: scene.perform(effect),
            };
            run = step(run, ended, at(1)).unwrap().0;
        }
        let last = bodies.last().unwrap();
        assert_eq!(bodies.len(), 3);
        assert!(last.contains("<summary>Task</summary>"), "{last}");
        assert!(last.contains("[REVIEW - NEEDS CHANGES]"));
        // However much the reviewer wrote, there is room for the record, which comes last.
        let (_, record) = last
            .split_once("<summary>Record of the run</summary>")
            .unwrap();
        assert!(record.contains("\nReviews:\n"), "{record}");
        assert!(!record.contains("<summary>"), "{record}");
        assert!(bodies.iter().all(|body| body.chars().count() <= 65_536));
    }
}

#[test]
fn all_but_the_summary_stands_in_a_part_of_its_own_so_that_people_can_write_around_it() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.fly(team_request(TeamMode::Pingpong));
    let [Effect::OpenPullRequest { body, .. }] = scene.performed_as("openPullRequest")[..] else {
        panic!("one pull request")
    };
    assert_eq!(
        *body,
        format!(
            "<!-- drive-part-begin:{id}-outcome -->\nIn review: not approved yet.\n\
             <!-- drive-part-end:{id}-outcome -->\n\nDone.\n\n<!-- drive-part-begin:{id} \
             -->\n<details><summary>Task</summary>\n\n```text\nFix the login\n\n\
             It fails for names with a dot.\n```\n\n</details>\n<!-- drive-part-end:{id} -->\n",
            id = run_id()
        )
    );
}
