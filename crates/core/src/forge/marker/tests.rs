use super::*;
use crate::ids::{BranchName, PrNumber};
use proptest::prelude::*;

fn key() -> MarkerKey {
    MarkerKey::new(&[7; 32])
}

fn claim() -> Claim {
    Claim {
        run: RunId::new("r20261115-0942-k3f9z"),
        key: EffectKey::new("reply/41"),
    }
}

fn conversation(pr: PrNumber) -> Place {
    Place::Comment {
        pr,
        surface: Surface::Conversation,
    }
}

#[test]
fn the_line_is_an_html_comment_of_one_line() {
    let line = key().line("Fixed.", &conversation(PrNumber::new(5)), &claim());
    assert_eq!(
        line,
        "<!-- drive:v1 kind=conversation run=r20261115-0942-k3f9z key=reply/41 \
         mac=57f14522181de8dbd27fdcc311d4259c5444c89628875315a1258480afea7148 \
         text=96790ad920651930794b6f61bd44c1e63dc465f3080e10dfb7137d4526ee92af -->"
    );
}

#[test]
fn own_posts_are_recognised_with_their_claim() {
    let body = key().stamp("Fixed.", &conversation(PrNumber::new(5)), &claim());
    assert_eq!(
        key().check(&body, &conversation(PrNumber::new(5))),
        MarkerCheck::Ours(claim())
    );
}

#[test]
fn what_a_forge_does_to_white_space_is_no_edit() {
    let body = key().stamp(
        "Fixed.  \n\n- one\t\n- two",
        &conversation(PrNumber::new(5)),
        &claim(),
    );
    let stored = format!("\r\n{}\r\n\r\n", body.replace('\n', "\r\n"));
    assert_eq!(
        key().check(&stored, &conversation(PrNumber::new(5))),
        MarkerCheck::Ours(claim())
    );
}

#[test]
fn a_marker_that_is_not_exactly_ours_proves_nothing() {
    let place = conversation(PrNumber::new(5));
    let body = key().stamp("Fixed.", &place, &claim());
    let line = body.lines().last().unwrap();
    let review = Place::Comment {
        pr: PrNumber::new(5),
        surface: Surface::Review,
    };
    let description = Place::Description {
        branch: BranchName::parse("5").unwrap(),
    };
    let bare = "Hello\n\n<!-- drive:v1 -->";
    let half = "Hello\n\n<!-- drive:v1 kind=conversation run=r key=k -->";
    let stranger = MarkerKey::new(&[8; 32]).stamp("Fixed.", &place, &claim());
    let cases: [(&str, String, &Place, MarkerCheck); 12] = [
        ("none", "Fixed.".into(), &place, MarkerCheck::Absent),
        ("empty", String::new(), &place, MarkerCheck::Absent),
        ("bare", bare.into(), &place, MarkerCheck::Invalid),
        ("without a code", half.into(), &place, MarkerCheck::Invalid),
        ("other key", stranger, &place, MarkerCheck::Invalid),
        (
            "other pull request",
            body.clone(),
            &conversation(PrNumber::new(6)),
            MarkerCheck::Invalid,
        ),
        ("other surface", body.clone(), &review, MarkerCheck::Invalid),
        (
            "in a description",
            body.clone(),
            &description,
            MarkerCheck::Invalid,
        ),
        (
            "text changed",
            body.replace("Fixed", "Broken"),
            &place,
            MarkerCheck::Altered(claim()),
        ),
        ("quoted", format!("> {line}"), &place, MarkerCheck::Absent),
        (
            "quoted and answered",
            format!("> Fixed.\n>\n> {line}\n\nNo."),
            &place,
            MarkerCheck::Absent,
        ),
        (
            "own words above",
            format!("No.\n\n{body}"),
            &place,
            MarkerCheck::Altered(claim()),
        ),
    ];
    for (name, body, place, expected) in cases {
        assert_eq!(key().check(&body, place), expected, "{name}");
    }
}

#[test]
fn an_answer_of_ours_that_quotes_an_older_marker_is_ours_by_its_own() {
    let older = key().stamp("Fixed.", &conversation(PrNumber::new(5)), &claim());
    let newer = Claim {
        run: RunId::new("r2"),
        key: EffectKey::new("reply/42"),
    };
    let body = key().stamp(
        &format!("{older}\n\nAgain."),
        &conversation(PrNumber::new(5)),
        &newer,
    );
    assert_eq!(
        key().check(&body, &conversation(PrNumber::new(5))),
        MarkerCheck::Ours(newer)
    );
}

#[test]
fn an_own_edit_is_stamped_anew() {
    let place = conversation(PrNumber::new(5));
    let edited = key().stamp("Fixed in 2 places.", &place, &claim());
    assert_eq!(key().check(&edited, &place), MarkerCheck::Ours(claim()));
    assert_ne!(edited, key().stamp("Fixed.", &place, &claim()));
}

#[test]
fn people_see_the_text_without_its_marker() {
    let body = key().stamp("Fixed.", &conversation(PrNumber::new(5)), &claim());
    assert_eq!(visible(&body), "Fixed.");
    assert_eq!(visible("Plain <!-- note -->"), "Plain <!-- note -->");
}

#[test]
fn the_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", key()), "MarkerKey(HmacKey(secret))");
}

proptest! {
    #[test]
    fn any_text_run_and_key_survive_the_way_through_a_forge(
        text in "[ -~\n\r\täß🚀]{0,200}", run in ".{0,20}", effect in ".{0,20}", pr: u64,
    ) {
        let claim = Claim { run: RunId::new(run), key: EffectKey::new(effect) };
        let body = key().stamp(&text, &conversation(PrNumber::new(pr)), &claim);
        let stored = body.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n");
        prop_assert_eq!(key().check(&stored, &conversation(PrNumber::new(pr))), MarkerCheck::Ours(claim));
    }

    #[test]
    fn the_line_ends_its_comment_only_at_its_end(run in ".{0,20}", effect in "[->%]{0,20}") {
        let claim = Claim { run: RunId::new(run), key: EffectKey::new(effect) };
        let line = key().line("text", &conversation(PrNumber::new(1)), &claim);
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(line.find("-->"), Some(line.len() - 3));
        prop_assert!(carries(&text::compose("text", &line), &line));
    }

    #[test]
    fn one_changed_character_of_the_text_is_told(
        text in "[a-z]{1,60}", at: prop::sample::Index, other in "[A-Z]",
    ) {
        let body = key().stamp(&text, &conversation(PrNumber::new(5)), &claim());
        let at = at.index(text.len());
        let changed = format!("{}{other}{}", &body[..at], &body[at + 1..]);
        prop_assert_eq!(key().check(&changed, &conversation(PrNumber::new(5))), MarkerCheck::Altered(claim()));
    }

    #[test]
    fn nothing_a_stranger_writes_is_ours(text in "(?s).{0,300}", tail in "[a-z0-9 =<>!:-]{0,80}") {
        for body in [text.clone(), format!("{text}\n{OPENING}{tail}{CLOSING}")] {
            let check = key().check(&body, &conversation(PrNumber::new(5)));
            prop_assert!(matches!(check, MarkerCheck::Absent | MarkerCheck::Invalid));
        }
    }
}
