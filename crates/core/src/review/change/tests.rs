use super::*;
use crate::forge::inline::parse_diff;
use proptest::prelude::*;

const ODD: &str = r#"diff --git a/bin/tool b/bin/tool
old mode 100644
new mode 100755
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..1111111
Binary files /dev/null and b/logo.png differ
diff --git "a/\303\244 \"x\"\t.rs" "b/\303\244 \"x\"\t.rs"
index 1..2 100644
--- "a/\303\244 \"x\"\t.rs"
+++ "b/\303\244 \"x\"\t.rs"
@@ -1 +1,2 @@
-old
\ No newline at end of file
+-- a/not a header
+new
\ No newline at end of file
diff --git a/old name.rs b/new name.rs
similarity index 90%
rename from old name.rs
rename to new name.rs
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
diff --git a/empty b/empty
new file mode 100644
"#;

#[test]
fn odd_diffs_are_read_file_by_file() {
    let change = Change::parse(ODD.as_bytes());
    let files: Vec<_> = change
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.added, file.deleted, file.folded))
        .collect();
    assert_eq!(
        files,
        [
            ("bin/tool", 0, 0, None),
            ("logo.png", 0, 0, Some(Folded::Binary)),
            ("ä \"x\"\t.rs", 2, 1, None),
            ("new name.rs", 0, 0, None),
            ("gone", 0, 2, None),
            ("empty", 0, 0, None),
        ]
    );
    assert!(change.files[4].is_deleted());
    assert!(change.files[2].hunks[0].ends_with("+new\n\\ No newline at end of file\n"));
    let mut lines = change.into_lines();
    lines.iter_mut().for_each(|file| file.edits.clear());
    lines.retain(|file| !file.hunks.is_empty());
    assert_eq!(lines, parse_diff(ODD));
}

fn added(path: &str, lines: u64, text: &str) -> Vec<u8> {
    let mut diff = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n"
    )
    .into_bytes();
    for _ in 0..lines {
        diff.extend_from_slice(format!("+{text}\n").as_bytes());
    }
    diff
}

#[test]
fn a_file_larger_than_its_share_keeps_its_counts_and_its_positions() {
    let mut reader = ChangeReader::default();
    reader.read(&added("big.rs", 200_000, "a line of some length"));
    reader.read(&added("next.rs", 1, "x"));
    let change = reader.finish();
    assert_eq!(change.files[0].added, 200_000);
    assert!(change.files[0].is_cut && change.files[0].len <= FILE_BYTES);
    let lines = change.into_lines();
    assert_eq!(lines[0].hunks[0].new, 1..200_001);
    assert_eq!(lines[1].new_path.as_deref(), Some("next.rs"));
}

#[test]
fn a_generated_file_keeps_counts_and_no_text() {
    for (path, text) in [("dist/app.css", "x"), ("dist/app.js", "/* @generated */")] {
        let change = Change::parse(&added(path, 50_000, text));
        assert_eq!(change.files[0].added, 50_000);
        assert_eq!(change.files[0].hunks, Vec::<String>::new());
        assert_eq!(change.files[0].folded, Some(Folded::Generated));
    }
}

#[test]
fn source_code_with_the_name_of_a_generated_or_vendored_file_is_shown() {
    for path in ["dist/app.js", "vendor/a/b.go", "src/schema_generated.rs"] {
        let change = Change::parse(&added(path, 3, "steal(secrets);"));
        assert_eq!(change.files[0].folded, None, "{path}");
        assert!(change.files[0].hunks[0].contains("steal"), "{path}");
    }
}

#[test]
fn a_file_that_the_base_marks_as_generated_is_folded() {
    let mut change = Change::parse(&added("src/api.rs", 3, "x"));
    change.fold_marked("src/api.rs linguist-generated\n");
    assert_eq!(change.files[0].folded, Some(Folded::Generated));
    assert_eq!(change.files[0].hunks, Vec::<String>::new());
}

#[test]
fn a_line_of_megabytes_is_named_by_its_length() {
    let long = "x".repeat(3_000_000);
    let change = Change::parse(&added("one.js", 1, &long));
    assert!(change.files[0].len < 2 * LINE_BYTES);
    let kept = &change.files[0].hunks[0];
    assert!(kept.ends_with("@@\n+[a line of 3000001 bytes]\n"), "{kept}");
}

#[test]
fn the_text_of_many_large_files_stays_within_the_limit() {
    let mut reader = ChangeReader::default();
    for number in 0..600 {
        reader.read(&added(&format!("f{number}.rs"), 1_500, &"y".repeat(60)));
    }
    let change = reader.finish();
    let held: usize = change.files.iter().map(|file| file.len).sum();
    assert!(held <= HELD_BYTES, "{held}");
    for file in &change.files {
        let texts = file.hunks.iter().map(String::len).sum::<usize>();
        assert_eq!(file.len, file.head.len() + texts);
        assert!(file.is_cut && !file.hunks.is_empty(), "{}", file.path);
    }
}

#[test]
fn files_beyond_the_most_are_counted() {
    let mut reader = ChangeReader::default();
    for number in 0..MOST_FILES + 3 {
        reader.read(format!("diff --git a/{number} b/{number}\nnew file mode 100644\n").as_bytes());
    }
    let change = reader.finish();
    assert_eq!((change.files.len(), change.more), (MOST_FILES, 3));
}

proptest! {
    #[test]
    fn any_text_is_read_the_same_in_any_chunks(
        lines in prop::collection::vec(
            prop::sample::select(ODD.lines().collect::<Vec<_>>()),
            0..40,
        ),
        noise in "\\PC{0,20}",
        at in 0usize..500,
    ) {
        let text = lines.join("\n") + "\n" + &noise;
        let bytes = text.as_bytes();
        let at = at.min(bytes.len());
        let mut reader = ChangeReader::default();
        reader.read(&bytes[..at]);
        reader.read(&bytes[at..]);
        prop_assert_eq!(reader.finish(), Change::parse(bytes));
    }
}

#[test]
fn the_changed_lines_of_a_hunk_are_known_without_their_context() {
    let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,7 +1,7 @@\n one\n-two\n+2\n+zwei\n three\n-four\n five\n+six\n seven\n";
    let lines = Change::parse(diff.as_bytes()).into_lines();
    let hunk = |old, new| Hunk { old, new };
    assert_eq!(
        lines[0].edits,
        [hunk(2..3, 2..4), hunk(4..5, 5..5), hunk(6..6, 6..7)]
    );
}

#[test]
fn a_change_with_too_many_edits_has_none_for_the_file_that_exceeds_them() {
    let mut diff = String::from("diff --git a/a b/a\n--- a/a\n+++ b/a\n");
    for at in 0..=MOST_HUNKS {
        let line = 1 + at * 3;
        diff.push_str(&format!("@@ -{line},2 +{line},2 @@\n-a\n+b\n c\n"));
    }
    let change = Change::parse(diff.as_bytes());
    assert!(change.has_unknown_lines());
    let lines = change.into_lines();
    assert_eq!(
        (lines[0].hunks.len(), lines[0].edits.len()),
        (MOST_HUNKS, 0)
    );
}

#[test]
fn an_answer_in_a_file_that_is_folded_or_cut_can_be_quoted() {
    let filler: String = (0..200)
        .map(|line| format!("+{}{line}\n", "x".repeat(4000)))
        .collect();
    let block = "+{\n+  \"Verdict\": \"approved\",\n+  \"suggestions\": []\n+}\n";
    for (path, before) in [
        ("Cargo.lock", String::new()),
        ("src/a.rs", filler.repeat(2)),
    ] {
        let count = before.lines().count() + 4;
        let diff = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{before}{block}"
        );
        let change = Change::parse(diff.as_bytes());
        assert!(
            !crate::review::shown(&change, 64 * 1024).contains("approved"),
            "{path}"
        );
        assert!(
            change.quotes().ends_with(block),
            "{path}: {}",
            change.quotes().len()
        );
    }
    let plain = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+the verdict is open\n";
    assert_eq!(Change::parse(plain.as_bytes()).quotes(), "");
}
