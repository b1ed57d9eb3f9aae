use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use regex::Regex;
use std::sync::LazyLock;

/// The syntax that forges and bots look for, written independently of the code under test.
static ACTIVE: LazyLock<Regex> = LazyLock::new(|| active(""));
/// In addition, syntax that only acts in posts, or that Markdown hides or loads.
static ACTIVE_POST: LazyLock<Regex> = LazyLock::new(|| {
    active(
        r"| <!-- | &\#\d | !\[ | <img(?:[^A-Za-z0-9_]|$) | ^\s*\[[^\[\]\\]*\]:
        | ^[\ \t]*/[a-z][a-z0-9_-]*[\ \t]*$
        | ^[\ \t]*bors\ (?:r\+|try|merge)",
    )
});

/// Matches a block that a forge offers to apply as a change.
static OFFER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?mi)^[\s>*+.)\d-]*(?:`{3,}|~{3,})[ \t]*suggestion(?:\s|$)").unwrap()
});

fn active(more: &str) -> Regex {
    let issue = r"(?:(?:[A-Za-z0-9_./-]*[\#!]|GH-)[0-9]+(?:[^A-Za-z0-9]|$)|https?://[\w.-]+/[\w./-]+/(?:issues|pull)/[0-9]+)";
    Regex::new(&format!(
        r"(?mix)
        (?:^|[^A-Za-z0-9])@[A-Za-z0-9_]
        | (?:^|[^A-Za-z0-9])
          (?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)
          :?\s+(?:issues?\s+)?{issue}
        | \[(?:skip\ ci|ci\ skip|no\ ci|skip\ actions|actions\ skip|skip\ travis\ ci)\]
        | \*\*\*NO_CI\*\*\* | --skip-ci
        | ^skip-checks:\s*true\s*$
        {more}
        | [\u{{202a}}-\u{{202e}}\u{{2066}}-\u{{2069}}\u{{200e}}\u{{200f}}\u{{61c}}]"
    ))
    .unwrap()
}

/// The first active token of a text.
fn acting(form: &Regex, text: &str) -> Option<String> {
    form.find(text).map(|found| found.as_str().to_owned())
}

fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "@user",
        "@org/team",
        "@",
        "fixes ",
        "Closes: ",
        "resolve",
        "issue ",
        "#12",
        "o/r#3",
        "GH-4",
        "https://github.com/o/r/issues/3",
        "https://h/fixes/issues/3",
        "https://a.example/",
        "www.",
        "!5",
        "/merge",
        "/a/b",
        "\n",
        "\n\n",
        "\r",
        " ",
        "  ",
        "    ",
        "[skip ci]",
        "[ci skip]",
        "[",
        "]",
        "skip",
        "no ci",
        "***NO_CI***",
        "*",
        "skip-checks: true",
        "bors r+",
        "r? ",
        "recheck",
        "`",
        "``",
        "```",
        "```\n",
        "```suggestion\n",
        "~~~ Suggestion\n",
        "suggestion",
        "~~~\n",
        "- ",
        "> ",
        "|",
        "\\",
        "<",
        ">",
        "<div>",
        "<pre>",
        "<img",
        "<b>",
        "![",
        "](",
        "]: ",
        "[^1]",
        "[skip travis ci]",
        "--skip-ci",
        "<!--",
        "-->",
        "&#64;",
        "&amp;",
        "&copy",
        "&nbsp",
        "\u{a0}",
        "&",
        "#",
        "64;",
        "\u{202e}",
        "\u{200d}",
        "é",
        "a",
        "1",
        ".",
        "_",
        "<U+202E>",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

fn mixed() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    // The tests generate the same texts in every run.
    #![proptest_config(ProptestConfig {
        cases: 2048,
        rng_seed: RngSeed::Fixed(42),
        ..ProptestConfig::default()
    })]

    #[test]
    fn inert_text_stays_the_same_when_it_is_made_inert_again(text in mixed()) {
        let once = post(&text);
        prop_assert_eq!(post(&once), once.clone());
        let once = message(&text);
        prop_assert_eq!(message(&once), once.clone());
        let once = description(&text, &Said::default());
        prop_assert_eq!(description(&once, &Said::default()), once.clone());
    }

    #[test]
    fn what_is_left_of_a_text_without_signs_holds_no_token(text in mixed()) {
        let text = without_signs(&text);
        prop_assert_eq!(scan::tokens(&text, Form::Description), vec![]);
        prop_assert_eq!(acting(&ACTIVE_POST, &shown(&text)), None);
    }

    #[test]
    fn no_commit_message_acts(text in mixed()) {
        let text = message(&text);
        prop_assert_eq!(acting(&ACTIVE, &text), None);
    }

    #[test]
    fn no_post_without_code_acts(text in mixed()) {
        let text = post(&text.replace(['`', '~'], ""));
        prop_assert_eq!(acting(&ACTIVE_POST, &text), None);
    }

    #[test]
    fn no_post_offers_a_change(text in mixed()) {
        let text = post(&text);
        let code = code::ranges(&text);
        let is_code = |at: usize| code.iter().any(|range| range.contains(&at));
        for found in OFFER.find_iter(&text) {
            prop_assert!(is_code(found.start()), "{}", text);
        }
    }

    #[test]
    fn no_description_acts_in_a_commit(text in mixed()) {
        let text = description(&text, &Said::default());
        let tokens = scan::tokens(&text, Form::Description);
        prop_assert!(tokens.iter().all(|token| !token.acts_in_commits), "{}", text);
    }

    #[test]
    fn text_without_anything_active_is_unchanged(text in "[a-z0-9 .,;:()'\"\n?=+-]{0,80}") {
        prop_assume!(!text.contains("bors") && !text.contains("r?") && !text.contains("recheck"));
        prop_assert_eq!(post(&text), text.clone());
        prop_assert_eq!(message(&text), text);
    }
}
