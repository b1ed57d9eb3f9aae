use super::super::entry::{LONGEST_BODY, reply_key};
use super::*;
use crate::forge::{Author, Comment, CommentKey, Surface};
use crate::ids::PrNumber;
use crate::time::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Enters a comment if it requests something. Returns whether it is new.
fn see(ledger: &mut Ledger, comment: &Comment, now: Timestamp) -> bool {
    Entry::of_comment(comment, now).is_some_and(|entry| ledger.insert(entry, false))
}

fn comment(id: u64, edited: i64, body: &str) -> Comment {
    Comment {
        key: CommentKey {
            surface: Surface::Conversation,
            id: CommentId::new(id),
            updated_at: at(edited),
        },
        pr: PrNumber::new(1),
        author: Author {
            login: Some("ann".into()),
            is_bot: false,
        },
        body: body.into(),
        path: None,
        line: None,
        origin: None,
        commit: None,
        in_reply_to: None,
        review: None,
        created_at: at(0),
        url: None,
        aside: None,
    }
}

fn lives(ledger: &Ledger) -> Vec<(String, Life)> {
    let entries = ledger.entries();
    entries
        .map(|entry| (entry.body.clone(), entry.life.clone()))
        .collect()
}

#[test]
fn a_comment_that_comes_twice_counts_once() {
    let mut ledger = Ledger::default();
    assert!(see(&mut ledger, &comment(7, 10, "please"), at(10)));
    assert!(!see(&mut ledger, &comment(7, 10, "please"), at(20)));
    assert_eq!(lives(&ledger), [("please".to_owned(), Life::Seen)]);
}

#[test]
fn an_older_version_that_comes_late_changes_nothing() {
    let mut ledger = Ledger::default();
    assert!(see(&mut ledger, &comment(7, 20, "new"), at(20)));
    assert!(!see(&mut ledger, &comment(7, 10, "old"), at(21)));
    assert_eq!(lives(&ledger), [("new".to_owned(), Life::Seen)]);
}

#[test]
fn an_edit_before_dispatch_replaces_and_an_edit_after_it_comes_again() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    assert!(see(&mut ledger, &comment(7, 20, "two"), at(20)));
    assert_eq!(ledger.dispatch(1, 50).len(), 1);
    assert!(see(&mut ledger, &comment(7, 30, "three"), at(30)));
    let lives = by_text(&ledger);
    assert_eq!(lives["one"], Life::Superseded);
    assert_eq!(lives["two"], Life::Dispatched { round: 1 });
    assert_eq!(lives["three"], Life::Seen);
    assert_eq!(lives.len(), 3);
}

#[test]
fn the_marker_is_detected_and_is_not_itself_actionable() {
    let mut ledger = Ledger::default();
    assert!(!see(
        &mut ledger,
        &comment(7, 10, " [REVIEW COMPLETE]\n"),
        at(10)
    ));
    assert!(!see(&mut ledger, &comment(8, 10, "  "), at(10)));
    assert!(see(
        &mut ledger,
        &comment(9, 10, "fix it [REVIEW COMPLETE]"),
        at(10)
    ));
    assert!(see(
        &mut ledger,
        &comment(10, 10, "![a screenshot](shot.png)"),
        at(10)
    ));
}

#[test]
fn a_comment_of_sixty_kilobytes_is_cut_with_a_note() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, &"ü".repeat(60_000)), at(10));
    let body = &ledger.entries().next().unwrap().body;
    assert!(body.ends_with("(truncated)"));
    assert_eq!(body.chars().filter(|c| *c == 'ü').count(), LONGEST_BODY);
}

#[test]
fn the_same_id_on_two_surfaces_is_two_comments() {
    let mut ledger = Ledger::default();
    let mut inline = comment(7, 10, "b");
    inline.key.surface = Surface::Inline;
    see(&mut ledger, &comment(7, 10, "a"), at(10));
    assert!(see(&mut ledger, &inline, at(10)));
    let ids: Vec<String> = ledger.entries().map(Entry::id).collect();
    assert_eq!(ids, ["conversation-7", "inline-7"]);
}

#[test]
fn what_was_written_is_read_again() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    ledger.dispatch(1, 50);
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
}

/// The lives of a comment's versions, by text.
fn by_text(ledger: &Ledger) -> BTreeMap<String, Life> {
    lives(ledger).into_iter().collect()
}

fn answered() -> Life {
    Life::Replied {
        answer: Answer {
            action: FixerResult::Fixed,
            commit: None,
            note: String::new(),
        },
        reply: None,
    }
}

#[test]
fn a_comment_that_is_touched_with_the_same_words_is_not_answered_again() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "rename it"), at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    ledger.set(&key, answered());
    for (edited, words) in [(20, "rename it"), (30, "rename it  \r\n"), (5, "rename it")] {
        assert!(
            !see(&mut ledger, &comment(7, edited, words), at(40)),
            "{edited}"
        );
    }
    assert!(see(&mut ledger, &comment(7, 50, "rename it twice"), at(50)));
}

#[test]
fn two_edits_in_one_second_are_two_versions_with_a_reply_each() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    ledger.set(&key, answered());
    let mut again = Entry::of_comment(&comment(7, 10, "two"), at(11)).unwrap();
    assert_ne!(reply_key(&key), again.reply_key());
    assert!(ledger.insert(again.clone(), false));
    again.tries = 1;
    assert!(!ledger.insert(again, true));
}

#[test]
fn an_edit_that_is_taken_back_before_anybody_took_it_up_asks_for_nothing() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    ledger.set(&key, answered());
    assert!(see(&mut ledger, &comment(7, 20, "two"), at(20)));
    assert!(!see(&mut ledger, &comment(7, 30, "one"), at(30)));
    assert!(!ledger.has_waiting());
    assert!(see(&mut ledger, &comment(7, 40, "two"), at(40)));
    assert_eq!(by_text(&ledger)["two"], Life::Seen);
}

#[test]
fn a_comment_that_was_put_aside_waits_for_nothing_until_it_is_brought_back() {
    let mut ledger = Ledger::default();
    let said = comment(7, 10, "one");
    see(&mut ledger, &said, at(10));
    ledger.withdraw(said.key.comment(), Aside::Resolved);
    assert!(!ledger.has_waiting());
    assert!(see(&mut ledger, &said, at(20)));
    assert!(ledger.has_waiting());
}

#[test]
fn an_answered_comment_stays_answered_when_it_is_put_aside() {
    let mut ledger = Ledger::default();
    let said = comment(7, 10, "one");
    see(&mut ledger, &said, at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    ledger.set(&key, answered());
    ledger.withdraw(said.key.comment(), Aside::Minimized);
    assert_eq!(by_text(&ledger)["one"], answered());
}

#[test]
fn words_under_a_clock_that_was_set_back_are_found_by_a_whole_reading() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 20, "old words"), at(20));
    let early = Entry::of_comment(&comment(7, 10, "new words"), at(21)).unwrap();
    assert!(!ledger.insert(early.clone(), false));
    assert!(
        !ledger.insert(early.clone(), true),
        "two would wait at once"
    );
    let key = ledger.dispatch(1, 50).remove(0);
    assert!(
        !ledger.insert(early.clone(), true),
        "a fixer has the others"
    );
    ledger.set(&key, answered());
    assert!(ledger.insert(early.clone(), true));
    let key = ledger.dispatch(2, 50).remove(0);
    ledger.give_back(&key, Life::Seen);
    assert_eq!(
        by_text(&ledger)["new words"],
        Life::Seen,
        "nothing is later"
    );
}

#[test]
fn words_that_ask_for_nothing_replace_only_what_was_written_before_them() {
    let mut ledger = Ledger::default();
    let said = comment(7, 20, "one");
    see(&mut ledger, &said, at(20));
    ledger.take_back(said.key.comment(), at(10));
    assert_eq!(by_text(&ledger)["one"], Life::Seen);
    ledger.take_back(said.key.comment(), at(20));
    assert_eq!(by_text(&ledger)["one"], Life::Superseded);
}

#[test]
fn of_two_edits_in_one_second_the_one_that_comes_later_waits() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    assert!(see(&mut ledger, &comment(7, 10, "two"), at(11)));
    assert!(!see(&mut ledger, &comment(7, 10, "one"), at(12)));
    assert_eq!(by_text(&ledger)["one"], Life::Superseded);
    assert_eq!(by_text(&ledger)["two"], Life::Seen);
}

#[test]
fn an_earlier_journal_knows_its_comments_by_time_and_beginning() {
    let long = "x".repeat(300);
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, &long), at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    ledger.set(&key, answered());
    let mut written = serde_json::to_value(&ledger).unwrap();
    written[0]["key"] = serde_json::json!({
        "surface": "conversation", "id": 7, "updatedAt": at(10).to_string(),
    });
    written[0]["editedAt"] = serde_json::Value::Null;
    let mut ledger: Ledger = serde_json::from_value(written).unwrap();
    let name = ledger.entries().next().unwrap().reply_key();
    assert_eq!(name, "reply/conversation-7-10000");
    assert!(!see(&mut ledger, &comment(7, 10, &long), at(20)));
    assert!(see(&mut ledger, &comment(7, 40, "other words"), at(40)));
}

#[test]
fn words_that_came_back_while_their_fixer_failed_are_given_again() {
    let mut ledger = Ledger::default();
    see(&mut ledger, &comment(7, 10, "one"), at(10));
    let key = ledger.dispatch(1, 50).remove(0);
    see(&mut ledger, &comment(7, 20, "two"), at(20));
    see(&mut ledger, &comment(7, 30, "one"), at(30));
    ledger.give_back(&key, Life::Seen);
    assert_eq!(by_text(&ledger)["one"], Life::Seen);
    assert_eq!(by_text(&ledger)["two"], Life::Superseded);
}
