//! Tests comments on lines of the diff, which move with the lines.

use crate::local_forge::world::World;
use drive_adapters::forge::local::{CommentTarget, PersonalComment};
use drive_core::ids::PrNumber;
use drive_core::problem::Kind;

fn on_line(
    world: &World,
    pr: PrNumber,
    path: &str,
    line: u64,
) -> Result<(), (Kind, Option<String>)> {
    let said = PersonalComment {
        author: Some("wim"),
        body: "here",
        target: CommentTarget::Line { path, line },
    };
    let said = world.forge.comment(pr, &said);
    said.map(|_| ())
        .map_err(|problem| (problem.kind, problem.hint))
}

fn line_of_the_only_comment(world: &World, pr: PrNumber) -> Option<u64> {
    let comments = world.forge.comments(pr).unwrap();
    assert_eq!(comments.len(), 1);
    comments[0].line
}

#[test]
fn a_line_outside_the_diff_is_answered_with_the_lines_inside() {
    let world = World::bare();
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    world.push("main", "long.txt", &text);
    world.push(
        "feat/lines",
        "long.txt",
        &text.replace("line 20\n", "changed\n"),
    );
    let pr = world.open_as_is("feat/lines").number;
    assert_eq!(on_line(&world, pr, "long.txt", 17), Ok(()));
    assert_eq!(
        on_line(&world, pr, "long.txt", 40),
        Err((
            Kind::LineNotInDiff,
            Some("the diff of `long.txt` shows these lines: 17-23".to_owned())
        ))
    );
    assert_eq!(
        on_line(&world, pr, "README.md", 1),
        Err((
            Kind::FileNotInDiff,
            Some("it changes these files: `long.txt`".to_owned())
        ))
    );
}

#[test]
fn what_only_the_base_changed_is_not_in_the_diff() {
    let world = World::bare();
    let pr = world.open("feat/base").number;
    world.push("main", "README.md", "changed on main\n");
    let refused = on_line(&world, pr, "README.md", 1).unwrap_err();
    assert_eq!(refused.0, Kind::FileNotInDiff);
}

#[test]
fn a_comment_moves_with_its_line() {
    let world = World::bare();
    let pr = world.open("feat/moves").number;
    on_line(&world, pr, "src/lib.rs", 3).unwrap();
    world.push(
        "feat/moves",
        "src/lib.rs",
        "zero\none\ntwo\nthree\nfour\nfive\n",
    );
    assert_eq!(line_of_the_only_comment(&world, pr), Some(4));
}

#[test]
fn a_comment_is_outdated_once_its_line_changed() {
    let world = World::bare();
    let pr = world.open("feat/outdated").number;
    on_line(&world, pr, "src/lib.rs", 3).unwrap();
    world.push("feat/outdated", "src/lib.rs", "one\ntwo\n3\nfour\nfive\n");
    assert_eq!(line_of_the_only_comment(&world, pr), None);
    let origin = world.forge.comments(pr).unwrap()[0].origin.clone().unwrap();
    assert_eq!((origin.first_line, origin.line), (None, 3));
    let hunk = origin.hunk.unwrap();
    assert!(hunk.starts_with("@@ ") && hunk.ends_with("three"), "{hunk}");
}

#[test]
fn odd_file_names_can_be_commented_on() {
    let world = World::bare();
    let names = ["with space.txt", "quo\"te.txt", "ümlaut.txt", "-- dash.txt"];
    for name in names {
        world.push("feat/odd", name, "text\n");
    }
    let pr = world.open_as_is("feat/odd").number;
    for name in names {
        assert_eq!(on_line(&world, pr, name, 1), Ok(()), "{name}");
    }
}
