//! Tests a fixer that asks a question.

use crate::common::cruise::{request_with, terms};
use crate::common::{agent_said, comment};
use crate::cruise_step::comments::seen;
use crate::cruise_step::scene::Scene;
use drive_core::agent::Role;
use drive_core::forge::Surface;
use drive_core::ids::CommentId;
use drive_core::run::{Ask, Effect, Makes, NoticeEvent, PlanApproval, Request, cruise_status};

fn asks_back(id: &str) -> String {
    format!(r#"{{"comments": [{{"id": "{id}", "action": "question", "note": "Which name?"}}]}}"#)
}

fn open(scene: &Scene) -> usize {
    scene.cruise().ledger.open().count()
}

#[test]
fn a_question_stays_open_until_its_thread_is_answered() {
    let mut scene = Scene::watching(terms());
    scene.agent(Role::Fixer, agent_said(&asks_back("inline-5")));
    scene.sees(seen(&[comment(5, "check the name")]));
    assert_eq!(open(&scene), 1);
    let status = cruise_status(&scene.run).unwrap();
    assert_eq!(status.pending_comments, 1);
    let waits = status.waiting_for.unwrap();
    assert!(
        waits.starts_with("ann to answer a question (inline-5)"),
        "{waits}"
    );
    // A comment in another thread does not answer it.
    scene.sees(seen(&[comment(6, "and the mail")]));
    assert_eq!(open(&scene), 1);
    let mut answer = comment(7, "the last one");
    answer.in_reply_to = Some(CommentId::new(5));
    scene.sees(seen(&[answer]));
    assert_eq!(open(&scene), 0);
}

#[test]
fn a_question_is_notified_once() {
    let mut scene = Scene::with(Request {
        notify: true,
        ..request_with(terms())
    });
    scene.settle();
    scene.agent(Role::Fixer, agent_said(&asks_back("inline-5")));
    scene.sees(seen(&[comment(5, "check the name")]));
    let reasons = |scene: &Scene| {
        let open = scene.run.notices.open.iter();
        let open = open.filter_map(|one| match &one.effect {
            Effect::Notify { notice } if notice.event == NoticeEvent::NeedsYou => {
                Some(notice.reason.clone())
            }
            _ => None,
        });
        let asked = open.filter(|reason| reason.contains("question"));
        asked.collect::<Vec<String>>()
    };
    let once = ["ann was asked a question (inline-5)"];
    assert_eq!(reasons(&scene), once);
    scene.sees(seen(&[]));
    scene.sees(seen(&[]));
    assert_eq!(reasons(&scene), once);
}

#[test]
fn a_question_in_the_conversation_stays_open_until_its_author_writes_again() {
    let mut scene = Scene::watching(terms());
    scene.agent(Role::Fixer, agent_said(&asks_back("conversation-5")));
    let in_conversation = |id, by: &str, body: &str| {
        let mut comment = comment(id, body);
        comment.key.surface = Surface::Conversation;
        comment.author.login = Some(by.to_owned());
        comment
    };
    scene.sees(seen(&[in_conversation(5, "ann", "check the name")]));
    assert_eq!(open(&scene), 1);
    scene.sees(seen(&[in_conversation(6, "bob", "and the mail")]));
    assert_eq!(open(&scene), 1);
    scene.sees(seen(&[in_conversation(7, "ann", "the last one")]));
    assert_eq!(open(&scene), 0);
    let prompt = &scene.jobs.last().unwrap().prompt;
    assert!(
        prompt.contains("ann: check the name") && prompt.contains("Which name?"),
        "{prompt}"
    );
}

#[test]
fn auto_approve_waits_for_the_answer_to_a_question_and_a_person_need_not() {
    let mut auto = terms();
    auto.makes = Makes::Plan {
        given: None,
        approval: PlanApproval {
            auto_approve: true,
            plan_only: false,
        },
    };
    let mut scene = Scene::begin(auto);
    scene.agent(Role::Fixer, agent_said(&asks_back("inline-5")));
    scene.settle_until(|effect| matches!(effect, Effect::ReadDiff { .. }));
    scene.looks.push_back(seen(&[comment(5, "check the name")]));
    scene.settle();
    assert_eq!((scene.run.outcome.as_ref(), open(&scene)), (None, 1));
    scene.ask(Ask::Approve {
        by: "ann".into(),
        head: scene.run.work.head_sha.clone().unwrap(),
    });
    let said = scene.bodies().pop().unwrap();
    assert!(
        said.ends_with("Still open:\n\n- inline-5 by ann: check the name"),
        "{said}"
    );
}
