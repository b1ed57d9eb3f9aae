use super::*;
use proptest::prelude::*;

/// A file with hunks of so many added lines each.
fn file(path: &str, hunks: &[u64]) -> String {
    let mut diff = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    let mut line = 1;
    for lines in hunks {
        let _ = writeln!(diff, "@@ -{line},0 +{line},{lines} @@");
        for number in 0..*lines {
            let _ = writeln!(diff, "+{path} {line} {number}");
        }
        line += lines + 10;
    }
    diff
}

fn shown_of(diff: &str, limit: usize) -> String {
    shown(&Change::parse(diff.as_bytes()), limit)
}

#[test]
fn a_small_change_is_shown_whole_after_the_list_of_its_files() {
    let diff = file("a.rs", &[2]) + &file("Cargo.lock", &[3]) + &file("b.rs", &[1]);
    assert_eq!(
        shown_of(&diff, 4096),
        "3 files changed, +6 -0\n\n\
         a.rs +2 -0\nCargo.lock +3 -0 (lock file: not shown; read the file)\nb.rs +1 -0\n\n"
            .to_owned()
            + &file("a.rs", &[2])
            + &file("b.rs", &[1])
    );
}

#[test]
fn a_binary_file_and_a_changed_mode_are_one_line_and_a_header() {
    let diff = "diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n\
                diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    assert_eq!(
        shown_of(diff, 4096),
        "2 files changed, +0 -0\n\nlogo.png (binary: not shown)\nrun +0 -0\n\n\
         diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    );
}

#[test]
fn a_large_file_is_cut_at_the_end_of_a_hunk_and_small_ones_stay_whole() {
    let small = file("z.rs", &[3]);
    let diff = file("a.rs", &[20, 20, 2000]) + &small;
    let text = shown_of(&diff, 4096);
    assert!(text.len() <= 4096, "{}", text.len());
    assert!(
        text.contains("\na.rs +2040 -0 (cut)\nz.rs +3 -0\n"),
        "{text}"
    );
    assert!(text.ends_with(&small), "{text}");
    let kept = file("a.rs", &[20, 20]);
    let note = "[left out: +2000 -0 in 1 of 3 hunks; read them in the file]\n";
    assert!(text.contains(&(kept + note)), "{text}");
}

#[test]
fn a_new_file_of_one_large_hunk_is_cut_at_the_end_of_a_line() {
    let text = shown_of(&file("a.rs", &[2000]), 4096);
    let shown = text
        .lines()
        .filter(|line| line.starts_with("+a.rs "))
        .count();
    assert!(shown > 50, "{shown}");
    let note = format!("[left out: +{} -0 in 1 of 1 hunks; read", 2000 - shown);
    assert!(text.contains(&note), "{text}");
}

#[test]
fn where_not_every_file_has_room_the_small_ones_come_first() {
    let mut diff = String::new();
    for number in 0..30 {
        diff += &file(&format!("a{number}.rs"), &[200]);
    }
    let small = file("z.rs", &[2]);
    let text = shown_of(&(diff + &small), 8192);
    assert!(text.ends_with(&small), "{text}");
    assert!(
        text.contains(".rs +200 -0 (no room: read the file)\n"),
        "{text}"
    );
}

#[test]
fn ten_thousand_files_are_counted_by_folder() {
    let mut diff = String::new();
    for number in 0..10_000 {
        diff += &file(&format!("src/part{}/file{number}.rs", number % 9), &[1]);
    }
    let text = shown_of(&diff, 128 * 1024);
    assert!(text.len() <= 128 * 1024, "{}", text.len());
    assert!(
        text.starts_with("10000 files changed, +10000 -0\n\nsrc/part0/: 1112 files +1112 -0 (")
    );
    for folder in 0..9 {
        assert!(text.contains(&format!("\nsrc/part{folder}/: ")));
    }
}

proptest! {
    #[test]
    fn the_limit_holds_and_every_file_is_named(
        files in prop::collection::vec(prop::collection::vec(1u64..60, 0..6), 1..40),
        limit in 8_000usize..40_000,
    ) {
        let all: Vec<String> = files
            .iter()
            .enumerate()
            .map(|(number, hunks)| file(&format!("src/f{number}.rs"), hunks))
            .collect();
        let text = shown_of(&all.concat(), limit);
        prop_assert!(text.len() <= limit);
        for (number, (hunks, whole)) in files.iter().zip(&all).enumerate() {
            let added = hunks.iter().sum::<u64>();
            let row = format!("\nsrc/f{number}.rs +{added} -0");
            let is_row = |end: &str| text.contains(&format!("{row}{end}\n"));
            let ends = ["", " (cut)", " (no room: read the file)"];
            prop_assert_eq!(ends.into_iter().filter(|end| is_row(end)).count(), 1);
            // No row says that a file is whole when it is not.
            prop_assert_eq!(is_row(""), text.contains(whole.as_str()));
        }
    }
}
