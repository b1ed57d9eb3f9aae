use super::*;
use crate::forge::marker::Claim;
use crate::forge::{CommentKey, Surface};
use crate::ids::{CommentId, EffectKey, PrNumber, RunId};
use crate::time::Timestamp;
use proptest::prelude::*;

fn comment(login: Option<&str>, is_bot: bool) -> Comment {
    let at = Timestamp::UNIX_EPOCH;
    Comment {
        key: CommentKey {
            surface: Surface::Inline,
            id: CommentId::new(41),
            updated_at: at,
        },
        pr: PrNumber::new(5),
        author: Author {
            login: login.map(str::to_owned),
            is_bot,
        },
        body: "please rename this".to_owned(),
        path: None,
        line: None,
        origin: None,
        commit: None,
        in_reply_to: None,
        review: None,
        created_at: at,
        url: None,
        aside: None,
    }
}

fn claim() -> Claim {
    Claim {
        run: RunId::new("r"),
        key: EffectKey::new("k"),
    }
}

fn posted(surface: Surface, id: u64, effect: &str) -> OwnPosts {
    let mut own = OwnPosts::default();
    own.record(
        CommentRef {
            surface,
            id: CommentId::new(id),
        },
        EffectKey::new(effect),
    );
    own
}

#[test]
fn a_copied_marker_of_a_remark_on_a_line_is_judged_by_its_author() {
    let own = posted(Surface::Review, 7, "review/Security/1");
    let copied = |key: String| {
        let claim = Claim {
            key: EffectKey::new(key),
            ..claim()
        };
        let permission = Some(Permission::Read);
        let marker = MarkerCheck::Altered(claim);
        let comment = comment(Some("eve"), false);
        judge(&comment, permission, &Trusted::default(), &own, &marker)
    };
    let stranger = Verdict::Ignore(Reason::NoWritePermission);
    let not_yet = Verdict::Ignore(Reason::MaybeOwn);
    let line = |review: &str, n| copied(format!("{review}{}", part_of_line(n)));
    assert_eq!(line("review/Security/1", 0), stranger);
    assert_eq!(line("review/Security/1", 12), stranger);
    assert_eq!(line("review/Security/2", 0), not_yet);
    assert_eq!(copied("review/Security/1/line/x".to_owned()), not_yet);
}

#[test]
fn who_is_listened_to() {
    use Permission::{Admin, Read, Write};
    use Reason::{NoAuthor, NoWritePermission, PermissionUnknown, UnlistedBot};
    let nobody = Permission::None;
    let trusted = Trusted::new(["@Arthur", "helper[bot]", " "]);
    let cases: [(Option<&str>, bool, Option<Permission>, Verdict); 18] = [
        (Some("ford"), false, Some(Admin), Verdict::Act),
        (Some("ford"), false, Some(Write), Verdict::Act),
        (
            Some("ford"),
            false,
            Some(Read),
            Verdict::Ignore(NoWritePermission),
        ),
        (
            Some("ford"),
            false,
            Some(nobody),
            Verdict::Ignore(NoWritePermission),
        ),
        (
            Some("ford"),
            false,
            None,
            Verdict::Ignore(PermissionUnknown),
        ),
        (Some("arthur"), false, Some(nobody), Verdict::Act),
        (Some("ARTHUR"), false, None, Verdict::Act),
        (
            Some("arthurd"),
            false,
            None,
            Verdict::Ignore(PermissionUnknown),
        ),
        (Some("helper[bot]"), true, None, Verdict::Act),
        (Some("Helper[bot]"), true, Some(nobody), Verdict::Act),
        (
            Some("helper"),
            true,
            Some(Admin),
            Verdict::Ignore(UnlistedBot),
        ),
        (
            Some("other[bot]"),
            true,
            Some(Admin),
            Verdict::Ignore(UnlistedBot),
        ),
        (
            Some("other[bot]"),
            false,
            Some(Write),
            Verdict::Ignore(UnlistedBot),
        ),
        (Some("ci"), true, Some(Write), Verdict::Ignore(UnlistedBot)),
        (None, false, Some(Admin), Verdict::Ignore(NoAuthor)),
        (None, true, None, Verdict::Ignore(NoAuthor)),
        (Some(""), false, Some(Admin), Verdict::Ignore(NoAuthor)),
        (Some("ghost"), false, Some(Write), Verdict::Ignore(NoAuthor)),
    ];
    for (login, is_bot, permission, expected) in cases {
        let verdict = judge(
            &comment(login, is_bot),
            permission,
            &trusted,
            &OwnPosts::default(),
            &MarkerCheck::Absent,
        );
        assert_eq!(verdict, expected, "{login:?} bot={is_bot} {permission:?}");
    }
}

#[test]
fn own_comments_are_known_by_recorded_id_or_by_marker_and_never_by_login() {
    let none = OwnPosts::default();
    let same = posted(Surface::Inline, 41, "k");
    let elsewhere = posted(Surface::Conversation, 41, "k");
    let other_effect = posted(Surface::Inline, 42, "other");
    let own = Verdict::Ignore(Reason::Own);
    let maybe = Verdict::Ignore(Reason::MaybeOwn);
    let ours = MarkerCheck::Ours(claim());
    let altered = MarkerCheck::Altered(claim());
    let cases = [
        ("nothing", &none, MarkerCheck::Absent, Verdict::Act),
        ("a forged marker", &none, MarkerCheck::Invalid, Verdict::Act),
        ("our marker", &none, ours.clone(), own),
        ("our marker and our id", &same, ours, own),
        ("our id", &same, MarkerCheck::Absent, own),
        ("our id, edited text", &same, altered.clone(), own),
        (
            "an id of another surface",
            &elsewhere,
            MarkerCheck::Absent,
            Verdict::Act,
        ),
        ("a copied marker", &elsewhere, altered.clone(), Verdict::Act),
        (
            "an altered post before it is recorded",
            &none,
            altered.clone(),
            maybe,
        ),
        (
            "an altered post of another effect",
            &other_effect,
            altered,
            maybe,
        ),
    ];
    for (name, ids, marker, expected) in cases {
        let comment = comment(Some("ford"), false);
        let trusted = Trusted::new(["ford"]);
        assert_eq!(
            judge(&comment, Some(Permission::Admin), &trusted, ids, &marker),
            expected,
            "{name}"
        );
    }
}

#[test]
fn an_edit_after_losing_permission_is_not_acted_on() {
    let mut seen = comment(Some("ford"), false);
    let (trusted, own) = (Trusted::default(), OwnPosts::default());
    let judge = |seen: &Comment, permission| {
        judge(seen, Some(permission), &trusted, &own, &MarkerCheck::Absent)
    };
    assert_eq!(judge(&seen, Permission::Write), Verdict::Act);
    seen.key.updated_at = Timestamp::MAX;
    assert_eq!(
        judge(&seen, Permission::Read),
        Verdict::Ignore(Reason::NoWritePermission)
    );
}

#[test]
fn only_a_missing_answer_is_asked_again() {
    let finals = [
        (Reason::Own, true),
        (Reason::MaybeOwn, false),
        (Reason::NoAuthor, true),
        (Reason::UnlistedBot, true),
        (Reason::NoWritePermission, true),
        (Reason::PermissionUnknown, false),
    ];
    for (reason, expected) in finals {
        assert_eq!(reason.is_final(), expected, "{reason}");
    }
}

fn permissions() -> impl Strategy<Value = Option<Permission>> {
    prop::sample::select(vec![
        None,
        Some(Permission::None),
        Some(Permission::Read),
        Some(Permission::Write),
        Some(Permission::Admin),
    ])
}

proptest! {
    #[test]
    fn nobody_acts_without_write_permission_or_a_listing(
        login in prop::option::of("[a-zA-Z\\[\\]]{0,8}"), is_bot: bool, permission in permissions(),
        listed in prop::collection::vec("[a-zA-Z\\[\\]]{0,8}", 0..4),
    ) {
        let trusted = Trusted::new(&listed);
        let comment = comment(login.as_deref(), is_bot);
        let verdict =
            judge(&comment, permission, &trusted, &OwnPosts::default(), &MarkerCheck::Absent);
        if verdict == Verdict::Act {
            let login = login.unwrap();
            let pushes = matches!(permission, Some(Permission::Write | Permission::Admin));
            let named = listed.iter().any(|name| name.to_lowercase() == login.to_lowercase());
            prop_assert!(named || (pushes && !is_bot));
        }
    }

    #[test]
    fn our_own_words_never_set_an_agent_to_work(
        login in prop::option::of("[a-z]{0,8}"), is_bot: bool, permission in permissions(),
        by_id: bool,
    ) {
        let trusted = Trusted::new(login.as_slice());
        let (own, marker) = if by_id {
            (posted(Surface::Inline, 41, "k"), MarkerCheck::Absent)
        } else {
            (OwnPosts::default(), MarkerCheck::Ours(claim()))
        };
        prop_assert_eq!(
            judge(&comment(login.as_deref(), is_bot), permission, &trusted, &own, &marker),
            Verdict::Ignore(Reason::Own)
        );
    }

    #[test]
    fn the_forge_is_asked_only_when_its_answer_decides(
        login in prop::option::of("[a-z]{0,3}"), is_bot: bool, permission in permissions(),
    ) {
        let trusted = Trusted::new(["abc", "a"]);
        let (own, marker) = (OwnPosts::default(), MarkerCheck::Absent);
        let comment = comment(login.as_deref(), is_bot);
        if !needs_permission(&comment, &trusted, &own, &marker) {
            prop_assert_eq!(
                judge(&comment, permission, &trusted, &own, &marker),
                judge(&comment, None, &trusted, &own, &marker)
            );
        }
    }
}

#[test]
fn the_name_of_an_app_covers_its_bot_and_not_the_other_way_round() {
    let trusts = |listed: &str, login: &str| Trusted::new([listed]).contains(login);
    assert!(trusts("ci-bot", "ci-bot[bot]"));
    assert!(trusts("@CI-Bot", "ci-bot[bot]"));
    assert!(trusts("ci-bot[bot]", "ci-bot[bot]"));
    assert!(!trusts("ci-bot[bot]", "ci-bot"));
    assert!(!trusts("ci", "ci-bot[bot]"));
}
