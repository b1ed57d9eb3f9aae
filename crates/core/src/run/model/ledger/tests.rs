use super::*;
use crate::forge::Author;
use crate::ids::{CommentId, PrNumber};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Enters a comment, where it asks for something. Returns whether it is new.
fn see(ledger: &mut Ledger, comment: &Comment, now: Timestamp) -> bool {
    Entry::of_comment(comment, now).is_some_and(|entry| ledger.insert(entry))
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
    assert_eq!(
        lives(&ledger),
        [
            ("one".to_owned(), Life::Superseded),
            ("two".to_owned(), Life::Dispatched { round: 1 }),
            ("three".to_owned(), Life::Seen),
        ]
    );
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
