use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use regex::Regex;
use std::sync::LazyLock;

fn post(text: &str) -> String {
    markdown(text, &Said::default())
}

fn message(text: &str) -> String {
    plain(text, &Said::default())
}

#[test]
fn tokens_that_act_are_broken_alike_in_posts_and_commit_messages() {
    let table = [
        ("ask @ann", "ask @ ann"),
        (
            "@ann-b, (@org/team) and \\@bob",
            "@ ann-b, (@ org/team) and \\@ bob",
        ),
        ("@@eve é@eve .@eve", "@@ eve é@ eve .@ eve"),
        ("@dependabot merge", "@ dependabot merge"),
        ("fixes #12", "fixes issue 12"),
        ("Fixes: #12, #13 and #14", "Fixes: issue 12, #13 and #14"),
        ("FIX\t#12", "FIX\tissue 12"),
        ("closes\n#12", "closes\nissue 12"),
        ("Closes owner/repo#3.", "Closes issue 3 of owner/repo."),
        ("closed gh-7", "closed issue 7"),
        ("closing issue #12", "closing issue 12"),
        (
            "Implements group/sub/p#4",
            "Implements issue 4 of group/sub/p",
        ),
        ("reopens !5", "reopens issue 5"),
        ("resolves \\#12", "resolves \\issue 12"),
        ("resolved **#12**", "resolved **issue 12**"),
        ("fixes <b>#12</b>", "fixes <b>issue 12</b>"),
        ("fixes [#12](u)", "fixes [issue 12](u)"),
        ("fixes#12", "fixes issue 12"),
        ("Duplicate of #8", "Duplicate of issue 8"),
        (
            "resolves https://github.com/o/r/issues/3",
            "resolves issue 3 of o/r",
        ),
        (
            "fix https://gitlab.example/g/p/-/issues/3#note_1",
            "fix issue 3 of g/p#note_1",
        ),
        ("/merge", "/ merge"),
        ("text\n  /approve now", "text\n  / approve now"),
        ("text\r/approve", "text\r/ approve"),
        ("bors r+", "\"bors\" r+"),
        ("bors: try", "\"bors\": try"),
        ("r? ann", "r ? ann"),
        ("recheck", "\"recheck\""),
        ("Fix it [skip ci]", "Fix it (skip ci)"),
        ("[CI SKIP] [no ci] [skip-ci]", "(CI SKIP) (no ci) (skip-ci)"),
        (
            "[skip actions] [netlify skip]",
            "(skip actions) (netlify skip)",
        ),
        ("***NO_CI***", "(NO_CI)"),
        ("Fix\n\nskip-checks: true", "Fix\n\nskip-checks (true)"),
        ("Fix\n\nSkip-Checks:true\n", "Fix\n\nskip-checks (true)\n"),
    ];
    for (text, expected) in table {
        assert_eq!(post(text), expected, "{text}");
        assert_eq!(message(text), expected, "{text}");
    }
}

#[test]
fn text_that_does_nothing_is_unchanged() {
    for text in [
        "",
        "Plain text, with an address ann@example.com.",
        "see #12 and owner/repo#3; fixed in 0a1b2c3",
        "Bug fixes, 12 of them; fix #1a2b3c as a colour",
        "prefixes #12 of suffixes",
        "https://social.example/@ann/1 and [link](https://social.example/@ann)",
        "/usr/bin is a path\n/usr/bin\n/target/debug",
        "a / b and either/or",
        "[skip this](https://a.example) [x] [ci]",
        "the bors bot; borscht r+",
        "a < b && c > d &amp; Vec<u8>",
        "**bold** _it_ ***both***",
        "👩\u{200d}💻 ✔\u{fe0f}",
        "one\r\ntwo\r\n",
    ] {
        assert_eq!(post(text), text);
        assert_eq!(message(text), text);
    }
}

#[test]
fn code_in_a_post_stays_as_it_is() {
    for text in [
        "use `@types/node` and ``a ` @b``",
        "```java\n@Override\n/merge\nfixes #12\n```\n",
        "text:\n```\n@a\n```\nmore `@b`",
        "~~~~\n@a\n~~~\n@b\n~~~~\n",
        "```\n@never closed",
        "a `fixes #12` b",
        "```\n&#64; <!-- x -->\n```",
        "returns `Vec<u8>` or Vec<u8>:\n```\n@a\n```",
        "<details>\n\n```\n@a\n```\n\n</details>",
        "> quote\n\n```\n@a\n```",
        "- item\n  ```\n  x\n  ```\n\n```\n@a\n```",
    ] {
        assert_eq!(post(text), text);
    }
    assert_eq!(message("use `@a`"), "use `@ a`");
}

#[test]
fn what_only_looks_like_code_is_text() {
    for (text, expected) in [
        ("a ` b @user", "a ` b @ user"),
        ("a ` b\nx ` @user ` y", "a ` b\nx ` @ user ` y"),
        ("a \\` b ` @user ` c", "a \\` b ` @ user ` c"),
        ("a ` b\n- @user ` c", "a ` b\n- @ user ` c"),
        (
            "<a title=\"`\"> @user <a title=\"`\">",
            "<a title=\"`\"> @ user <a title=\"`\">",
        ),
        ("| ` | @user ` |", "| ` | @ user ` |"),
        ("- a\n  ```\n@user\n```", "- a\n  ```\n@ user\n```"),
        ("  ```\na\n```\n@user", "  ```\na\n```\n@ user"),
        ("> ```\n@user", "> ```\n@ user"),
        ("- ```\n@user", "- ```\n@ user"),
        ("text\n    ```\n    @user", "text\n    ```\n    @ user"),
        (
            "<div>\n```\n@user\n```\n</div>",
            "<div>\n```\n@ user\n```\n</div>",
        ),
        ("<x y\n```\na\n\n```\n@user", "<x y\n```\na\n\n```\n@ user"),
        ("``` a`b\n@user", "``` a`b\n@ user"),
        ("```\ra\r```\r@user", "```\ra\r```\r@ user"),
        ("<pre>\n\n```\n@user\n```", "&lt;pre>\n\n```\n@ user\n```"),
    ] {
        assert_eq!(post(text), expected);
    }
}

#[test]
fn references_comments_and_raw_elements_are_shown_in_posts() {
    for (text, expected) in [
        ("&#64;ann &commat;ann", "&amp;#64;ann &amp;commat;ann"),
        ("@&#x61;nn fixes&nbsp;#1", "@&amp;#x61;nn fixes&amp;nbsp;#1"),
        ("a <!-- hidden --> b", "a &lt;!-- hidden --> b"),
        ("<!-- drive:v1 kind=x -->", "&lt;!-- drive:v1 kind=x -->"),
        ("<SCRIPT>x</script>", "&lt;SCRIPT>x&lt;/script>"),
        (
            "<?x?> <![CDATA[ <preface>",
            "&lt;?x?> &lt;![CDATA[ <preface>",
        ),
    ] {
        assert_eq!(post(text), expected);
    }
    let marks = format!(
        "{}r-1 -->\n@a\n{}r-1 -->",
        super::super::part::BEGIN,
        super::super::part::END
    );
    assert_eq!(post(&marks), marks.replace("@a", "@ a"));
}

#[test]
fn characters_that_hide_or_reorder_are_shown_also_in_code() {
    for (text, expected) in [
        ("a\u{202e}b", "a<U+202E>b"),
        ("`a\u{2066}b\u{2069}`", "`a<U+2066>b<U+2069>`"),
        (
            "\u{200e}\u{200f}\u{61c}\u{200b}",
            "<U+200E><U+200F><U+061C><U+200B>",
        ),
        ("a\u{200d}b \u{fe0f}", "a<U+200D>b <U+FE0F>"),
        ("\u{e0041}\u{1b}[31m", "<U+E0041><U+001B>[31m"),
        ("a\u{2028}/merge", "a<U+2028>/merge"),
    ] {
        assert_eq!(post(text), expected);
        assert_eq!(message(text), expected);
    }
}

#[test]
fn what_a_person_wrote_in_the_task_stays_active() {
    let said =
        Said::by_person("Ask @Ann.\n/retest\nthen fix #12 [skip ci]\nbors r+\nskip-checks: true");
    for text in [
        "@ann",
        "/retest",
        "Fix  #12",
        "fix: #12",
        "[ci-skip]".replace("ci-skip", "skip-ci").as_str(),
        "bors  r+",
        "skip-checks:  true",
    ] {
        let kept = plain(text, &said) == text || text.starts_with("skip-checks:  ");
        assert!(kept, "{text}");
    }
    assert_eq!(
        plain("@anna @ann/x fixes #12 fix #123 /retest\n/merge", &said),
        "@ anna @ ann/x fixes issue 12 fix issue 123 /retest\n/ merge"
    );
    assert_eq!(
        plain("a\u{202e}", &Said::by_person("\u{202e}")),
        "a<U+202E>"
    );
}

/// What forges and bots look for, written down apart from the code under test.
static ACTIVE: LazyLock<Regex> = LazyLock::new(|| active(""));
/// And what Markdown hides.
static ACTIVE_POST: LazyLock<Regex> = LazyLock::new(|| active(r"| <!-- | &\#\d+;"));

fn active(more: &str) -> Regex {
    let issue = r"(?:(?:[A-Za-z0-9_./-]*[\#!]|GH-)[0-9]+(?-u:\b)|https?://[\w.-]+/[\w./-]+/(?:issues|pull)/[0-9]+)";
    Regex::new(&format!(
        r"(?mix)
        (?:^|[^A-Za-z0-9_])@[A-Za-z0-9_]
        | (?-u:\b)(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)
          :?\s+(?:issues?\s+)?{issue}
        | ^[\ \t]*/[a-z][a-z0-9_-]*[\ \t]*$
        | ^[\ \t]*bors\ (?:r\+|try|merge)
        | \[(?:skip\ ci|ci\ skip|no\ ci|skip\ actions|actions\ skip)\]
        | \*\*\*NO_CI\*\*\*
        | ^skip-checks:\s*true\s*$
        {more}
        | [\u{{202a}}-\u{{202e}}\u{{2066}}-\u{{2069}}\u{{200e}}\u{{200f}}\u{{61c}}]"
    ))
    .unwrap()
}

/// The first thing that acts; what stands in a link does not.
fn acting(form: &Regex, text: &str) -> Option<String> {
    let link = Regex::new(r"https?://[A-Za-z0-9_./%?#=&+~:@-]+").unwrap();
    let text = link.replace_all(text, |link: &regex::Captures<'_>| link[0].replace('@', ""));
    form.find(&text).map(|found| found.as_str().to_owned())
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
        "~~~\n",
        "- ",
        "> ",
        "|",
        "\\",
        "<",
        ">",
        "<div>",
        "<pre>",
        "<!--",
        "-->",
        "&#64;",
        "&amp;",
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
    // The same texts in every run.
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
    fn text_without_anything_active_is_unchanged(text in "[a-z0-9 .,;:()'\"\n?=+-]{0,80}") {
        prop_assume!(!text.contains("bors") && !text.contains("r?") && !text.contains("recheck"));
        prop_assert_eq!(post(&text), text.clone());
        prop_assert_eq!(message(&text), text);
    }
}
