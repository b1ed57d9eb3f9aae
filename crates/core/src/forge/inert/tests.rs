use super::*;

mod properties;

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
        ("Closes owner/repo#3.", "Closes issue 3 (owner/repo)."),
        ("closed gh-7", "closed issue 7"),
        ("closing issue #12", "closing issue 12"),
        (
            "Implements group/sub/p#4",
            "Implements issue 4 (group/sub/p)",
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
            "resolves issue 3 (o/r)",
        ),
        (
            "fix https://gitlab.example/g/p/-/issues/3#note_1",
            "fix issue 3 (g/p)#note_1",
        ),
        ("text\n/tag v1", "text\n/ tag v1"),
        ("Fix it [skip ci]", "Fix it (skip ci)"),
        ("[CI SKIP] [no ci] [skip-ci]", "(CI SKIP) (no ci) (skip-ci)"),
        (
            "[skip actions] [netlify skip]",
            "(skip actions) (netlify skip)",
        ),
        ("***NO_CI***", "(NO_CI)"),
        (
            "[skip travis ci] [travis ci skip] [skip travis-ci] [skip travisci]",
            "(skip travis ci) (travis ci skip) (skip travis-ci) (skip travisci)",
        ),
        (
            "[skip azpipelines] [skip-cd] [skip vela] [skip render] [skipRun]",
            "(skip azpipelines) (skip-cd) (skip vela) (skip render) (skipRun)",
        ),
        (
            "[skip azure-pipelines] [CF Pages Skip]",
            "(skip azure-pipelines) (CF Pages Skip)",
        ),
        ("a --skip-ci b --CI-skip", "a -- skip-ci b -- CI-skip"),
        // Emphasis markers do not belong to a word.
        ("_@ann_ and _2_@ann", "_@ ann_ and _2_@ ann"),
        (
            "_fixes #12_, __Fixes #12__",
            "_fixes issue 12_, __Fixes issue 12__",
        ),
        // Nothing needs to know what a forge makes a link of.
        (
            "https://social.example/@ann/1 and [link](https://social.example/@ann)",
            "https://social.example/%40ann/1 and [link](https://social.example/%40ann)",
        ),
        ("https://a_b.example/@ann", "https://a_b.example/%40ann"),
        (
            "http://x.y_z/@ann [see https://a.example/@ann",
            "http://x.y_z/%40ann [see https://a.example/%40ann",
        ),
        (
            "<div>\nhttps://a.example/@ann\n</div>",
            "<div>\nhttps://a.example/%40ann\n</div>",
        ),
        (
            "fixes <b title=\"a:b\">#12</b>",
            "fixes <b title=\"a:b\">issue 12</b>",
        ),
        ("fixes <b\n>#12", "fixes <b\n>issue 12"),
        ("fixes <b title=\"<\">#12", "fixes <b title=\"<\">issue 12"),
        (
            "fixes <https://github.com/o/r/issues/3>",
            "fixes <issue 3 (o/r)>",
        ),
        (
            "fixes #12http://a.example #1",
            "fixes issue 12http://a.example #1",
        ),
        ("fixes #12www.a.example", "fixes issue 12www.a.example"),
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
        "/usr/bin is a path\n/usr/bin\n/target/debug",
        "a / b and either/or",
        "[skip this](https://a.example) [x] [ci]",
        "the bors bot; borscht r+",
        "a < b && c > d &amp; Vec<u8>",
        "**bold** _it_ ***both***",
        "👩\u{200d}💻 ✔\u{fe0f}",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} ❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈",
        "👩\u{200d}❤\u{fe0f}\u{200d}👨 👩🏽\u{200d}💻 می\u{200c}خواهم",
        "one\r\ntwo\r\n",
    ] {
        assert_eq!(post(text), text);
        assert_eq!(message(text), text);
    }
}

#[test]
fn commands_act_in_posts_only() {
    for (text, expected) in [
        ("/merge", "/ merge"),
        ("text\n  /approve now", "text\n  / approve now"),
        ("text\r/approve", "text\r/ approve"),
        ("bors r+", "\"bors\" r+"),
        ("bors: try", "\"bors\": try"),
        ("r? ann", "r ? ann"),
        ("recheck", "\"recheck\""),
        ("recheck\rx", "\"recheck\"\rx"),
    ] {
        assert_eq!(post(text), expected);
        assert_eq!(message(text), text);
    }
    let text = "/login returns 500";
    assert_eq!(message(text), text);
}

#[test]
fn a_row_of_links_leaves_none_that_closes() {
    for count in 1..40 {
        let links: Vec<String> = (1..=count)
            .map(|number| format!("https://h/fixes/issues/{number}"))
            .collect();
        let text = format!("fixes {}", links.join(" "));
        for text in [post(&text), message(&text)] {
            assert!(text.starts_with("fixes issue 1 (fixes)"), "{text}");
            assert!(scan::tokens(&text, Form::Markdown).is_empty(), "{text}");
        }
    }
    assert_eq!(
        message("fixes https://h/fixes/issues/1 https://github.com/o/r/issues/9"),
        "fixes issue 1 (fixes) https://github.com/o/r/issues/9"
    );
}

#[test]
fn images_become_links_and_nothing_loads() {
    for (text, expected) in [
        (
            "![x](https://a.example/?d=1)",
            "! [x](https://a.example/?d=1)",
        ),
        ("a![x][r]", "a! [x][r]"),
        (
            "<img src=\"https://a.example\">",
            "&lt;img src=\"https://a.example\">",
        ),
        (
            "<picture><source srcset=x></picture>",
            "&lt;picture>&lt;source srcset=x>&lt;/picture>",
        ),
        ("<VIDEO src=x> <imgs>", "&lt;VIDEO src=x> <imgs>"),
        ("`![x](u)`", "`![x](u)`"),
    ] {
        assert_eq!(post(text), expected);
    }
    assert_eq!(message("a![x](u)"), "a![x](u)");
}

#[test]
fn a_change_that_a_person_could_apply_is_no_more_than_code() {
    for (text, expected) in [
        ("```suggestion\nx\n```", "```text\nx\n```"),
        ("a\n\n~~~suggestion\nx\n~~~", "a\n\n~~~text\nx\n~~~"),
        ("`````SUGGESTION\nx\n`````", "`````text\nx\n`````"),
        ("```  \tSuggestion  x=1\nx", "```  \ttext  x=1\nx"),
        ("   ```suggestion\n   x\n   ```", "   ```text\n   x\n   ```"),
        ("- ```suggestion\n  x\n  ```", "- ```text\n  x\n  ```"),
        ("12) > * ~~~~suggestion", "12) > * ~~~~text"),
        ("> ```suggestion\n> x", "> ```text\n> x"),
        ("- a\n\n      ```suggestion", "- a\n\n      ```text"),
        ("a\r```suggestion\rx", "a\r```text\rx"),
        ("a\r\n```suggestion\r\nx", "a\r\n```text\r\nx"),
        ("```suggestion:-0+2\nx\n```", "```text:-0+2\nx\n```"),
        ("```\u{200b}suggestion\nx", "```<U+200B>suggestion\nx"),
        ("```\u{a0}suggestion\nx", "```\u{a0}text\nx"),
        // Forges decode the words after a fence.
        (
            "```&#115;uggestion\nx\n```",
            "```&amp;#115;uggestion\nx\n```",
        ),
        ("```sugge&#x73tion\nx", "```sugge&amp;#x73tion\nx"),
        ("[^1]: ```suggestion\nx", "\\[^1]: ```suggestion\nx"),
        (
            "<pre lang=\"suggestion\">x",
            "&lt;pre lang=\"suggestion\">x",
        ),
        // One block ends and another begins.
        (
            "```\na\n```\n```suggestion\nx\n```",
            "```\na\n```\n```text\nx\n```",
        ),
    ] {
        assert_eq!(post(text), expected, "{text}");
        assert_eq!(description(text, &Said::default()), expected, "{text}");
        // A person who asks for it in the task does not know which line it would change.
        assert_eq!(markdown(text, &Said::by_person(text)), expected, "{text}");
    }
    for text in [
        "A suggestion: ```suggestion``` is a word",
        "``suggestion``",
        "```suggestions\nx\n```",
        "```rust suggestion\nx\n```",
        "````\n```suggestion\nx\n```\n````",
    ] {
        assert_eq!(post(text), text);
    }
    assert_eq!(message("```suggestion"), "```suggestion");
}

#[test]
fn only_the_change_that_drive_wrote_can_be_applied() {
    let block = "```suggestion\nx @ann\n```";
    let own = |text: &str| with_suggestion(text, Some(block), &Said::default());
    let text = format!("Wrong.\n\n{block}");
    assert_eq!(own(&text), text);
    assert_eq!(with_suggestion(block, None, &Said::default()), post(block));
    for (text, expected) in [
        (
            format!("{block}\n\n```suggestion\ny\n```"),
            format!("{block}\n\n```text\ny\n```"),
        ),
        (
            format!("```suggestion\ny\n```\n\n{block}"),
            format!("```text\ny\n```\n\n{block}"),
        ),
        (
            "```suggestion\nx @ann\n````\n".to_owned(),
            "```text\nx @ann\n````\n".to_owned(),
        ),
        (
            "> ```suggestion\nx @ann\n```".to_owned(),
            "> ```text\nx @ ann\n```".to_owned(),
        ),
        (
            "````suggestion\nx @ann\n```\nz\n````".to_owned(),
            "````text\nx @ann\n```\nz\n````".to_owned(),
        ),
    ] {
        assert_eq!(own(&text), expected);
    }
}

#[test]
fn definitions_are_shown_because_they_hide_their_words() {
    for (text, expected) in [
        ("[//]: # (hidden)", "\\[//]: # (hidden)"),
        ("a\n\n [^z]: hidden", "a\n\n \\[^z]: hidden"),
        ("> - [x]: u (hidden)", "> - \\[x]: u (hidden)"),
        ("[a\\]b\nc]: u (hidden)", "\\[a\\]b\nc]: u (hidden)"),
    ] {
        assert_eq!(post(text), expected);
    }
    for text in ["- [ ] task: x", "[a] [b]: c", "a [b]: c", "[a](u): b"] {
        assert_eq!(post(text), text);
    }
}

#[test]
fn what_acts_in_commits_is_broken_in_the_code_of_a_description_too() {
    let described = |text: &str| description(text, &Said::default());
    for (text, expected) in [
        (
            "Adds `[skip ci]`, `fixes #12` and `@types/node`",
            "Adds `(skip ci)`, `fixes issue 12` and `@types/node`",
        ),
        (
            "```\nskip-checks: true\n@Override\n/merge\n/tag v1\n```",
            "```\nskip-checks (true)\n@Override\n/merge\n/ tag v1\n```",
        ),
        (
            "`***NO_CI***` `--skip-ci` @ann",
            "`(NO_CI)` `-- skip-ci` @ ann",
        ),
    ] {
        assert_eq!(described(text), expected);
    }
    let said = Said::by_person("Support `[skip ci]`");
    assert_eq!(description("`[skip ci]`", &said), "`[skip ci]`");
}

#[test]
fn long_texts_of_closing_words_are_read_once() {
    for piece in ["fix/", "fix <", "<fix>", "&fix", "fix&", "\ra", "_@_"] {
        let text = piece.repeat(20_000 / piece.len());
        assert!(!message(&text).contains("issue"), "{piece}");
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
        "see [a](https://a.example/b#c) and `@a`, [b](d)",
        "see https://a.example/b and `@a`",
    ] {
        assert_eq!(post(text), text);
    }
    assert_eq!(message("use `@a`"), "use `@ a`");
    let long = format!("{}\n\n`@a`", "ж".repeat(50_000));
    assert_eq!(post(&long), long);
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
        // A backtick in the target of a link.
        ("[a](x`y) @user [b](x`y)", "[a](x`y) @ user [b](x`y)"),
        (
            "[a](u \"`\") @user [b](u \"`\")",
            "[a](u \"`\") @ user [b](u \"`\")",
        ),
        (
            "[a](\nx`y) `@user` [b](x`y)",
            "[a](\nx`y) `@ user` [b](x`y)",
        ),
        (
            "https://e.example/` @user `",
            "https://e.example/` @ user `",
        ),
        ("WWW.e.example/` @user `", "WWW.e.example/` @ user `"),
        // White space that is none for Markdown.
        ("\u{a0}```\n@user", "\u{a0}```\n@ user"),
        ("\u{3000}```\n@user", "\u{3000}```\n@ user"),
        ("```\n```\u{a0}\n```\n@user", "```\n```\u{a0}\n```\n@ user"),
        ("a ` b\n\u{a0}\n`@user`", "a ` b\n\u{a0}\n`@ user`"),
        // The HTML block continues.
        (
            "<div>\n    ```\n```\n@user\n```\n</div>",
            "<div>\n    ```\n```\n@ user\n```\n</div>",
        ),
        (
            "a[^1]\n\n[^1]: <div>\n    ~~~\n    `@user`",
            "a[^1]\n\n\\[^1]: <div>\n    ~~~\n    `@ user`",
        ),
    ] {
        assert_eq!(post(text), expected);
    }
    let ticks = "`".repeat(81);
    let text = format!("{ticks} @user {ticks}");
    assert_eq!(post(&text), text.replace("@user", "@ user"));
}

#[test]
fn references_comments_and_raw_elements_are_shown_in_posts() {
    for (text, expected) in [
        ("&#64;ann &commat;ann", "&amp;#64;ann &amp;commat;ann"),
        (
            "@&#x61;nn fixes&nbsp;#1",
            "@&amp;#x61;nn fixes&amp;nbsp;issue 1",
        ),
        ("<div>&#64ann</div>", "<div>&amp;#64ann</div>"),
        ("<p>@&#111ctocat", "<p>@&amp;#111ctocat"),
        (
            "<div>fixes&#32#12 &copyfixes #1",
            "<div>fixes&amp;#32issue 12 &copyfixes issue 1",
        ),
        (
            "<div>&copy@ann fixes&nbsp#12",
            "<div>&copy@ ann fixes&nbspissue 12",
        ),
        ("a <!-- hidden --> b", "a &lt;!-- hidden --> b"),
        ("<!-- drive:v1 kind=x -->", "&lt;!-- drive:v1 kind=x -->"),
        ("<SCRIPT>x</script>", "&lt;SCRIPT>x&lt;/script>"),
        (
            "<?x?> <![CDATA[ <preface>",
            "&lt;?x?> &lt;! [CDATA[ <preface>",
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
        (
            "1\u{fe0f}a ✔\u{fe0f}\u{fe0f}",
            "1<U+FE0F>a ✔\u{fe0f}<U+FE0F>",
        ),
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
        let kept = markdown(text, &said) == text || text.starts_with("skip-checks:  ");
        assert!(kept, "{text}");
    }
    assert_eq!(
        markdown("@anna @ann/x fixes #12 fix #123 /retest\n/merge", &said),
        "@ anna @ ann/x fixes issue 12 fix issue 123 /retest\n/ merge"
    );
    assert_eq!(
        plain("a\u{202e}", &Said::by_person("\u{202e}")),
        "a<U+202E>"
    );
}
