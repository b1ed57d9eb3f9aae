use super::*;
use proptest::prelude::*;

/// A file with hunks of so many added lines each.
fn file(path: &str, hunks: &[u64]) -> String {
    let mut diff = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    let mut line = 1;
    for lines in hunks {
        let _ = writeln!(diff, "@@ -{line},0 +{line},{lines} @@");
        for number in 0..*lines {
            let _ = writeln!(diff, "+{path} {}", line + number);
        }
        line += lines + 10;
    }
    diff
}

fn parts_of(diff: &str, limit: usize) -> Vec<String> {
    shown_in_parts(&Change::parse(diff.as_bytes()), limit, MOST_PARTS)
}

#[test]
fn a_change_that_fits_is_one_part_without_a_number() {
    let diff = file("a.rs", &[2]) + &file("b.rs", &[1]);
    let one = shown(&Change::parse(diff.as_bytes()), 4096);
    assert_eq!(parts_of(&diff, 4096), [one]);
}

#[test]
fn a_file_that_fits_into_a_part_is_not_divided() {
    let files = ["a.rs", "b.rs", "c.rs"].map(|path| file(path, &[150, 150]));
    let parts = parts_of(&files.concat(), 4096);
    assert_eq!(parts.len(), 3);
    for (number, (part, file)) in (1..).zip(parts.iter().zip(&files)) {
        let list = format!(
            "Part {number} of 3. All files are listed; the lines of the other parts are not shown here.\n\
             3 files changed, +900 -0\n\n\
             a.rs +300 -0 (part 1)\nb.rs +300 -0 (part 2)\nc.rs +300 -0 (part 3)\n\n"
        );
        assert_eq!(*part, list + file);
    }
}

#[test]
fn the_pieces_of_a_long_hunk_say_which_lines_they_are() {
    let mut diff =
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -11,400 +21,300 @@\n".to_owned();
    for number in 0..200 {
        let _ = write!(diff, " kept {number:03}\n-gone {number:03}\n");
        diff.push_str(&format!("+new {number:03}\n").repeat(number % 2));
    }
    diff.push_str("\\ No newline at end of file\n");
    let parts = parts_of(&diff, 3000);
    assert!(parts.len() > 1);
    let (mut old, mut new) = (11, 21);
    for part in &parts {
        let (_, hunk) = part.split_once("+++ b/a.rs\n").unwrap();
        let (position, lines) = hunk.split_once('\n').unwrap();
        let position = parse_hunk(position).unwrap();
        assert_eq!((position.old.start, position.new.start), (old, new));
        let count = |sign| lines.lines().filter(|line| line.starts_with(sign)).count() as u64;
        old += count(' ') + count('-');
        new += count(' ') + count('+');
        assert_eq!((position.old.end, position.new.end), (old, new));
    }
    assert_eq!((old, new), (411, 321));
    assert!(parts.last().unwrap().ends_with("file\n"));
}

#[test]
fn what_more_parts_than_allowed_would_show_is_left_out_and_said_to_be() {
    let small = file("z.rs", &[3]);
    let diff = file("a.rs", &[20_000]) + &small;
    let parts = parts_of(&diff, 4096);
    assert!(
        parts.len() <= MOST_PARTS && parts.len() > 4,
        "{}",
        parts.len()
    );
    let all = parts.concat();
    assert!(all.contains("a.rs +20000 -0 (cut, parts 1 to "), "{all}");
    assert!(all.contains("[left out: +"), "{all}");
    assert!(all.contains(&small));
    assert!(parts.iter().all(|part| part.len() <= 4096));
}

proptest! {
    #[test]
    fn every_changed_line_is_in_exactly_one_part(
        files in prop::collection::vec(prop::collection::vec(1u64..200, 0..5), 1..12),
        limit in 6_000usize..20_000,
    ) {
        let all: Vec<String> = files
            .iter()
            .enumerate()
            .map(|(number, hunks)| file(&format!("src/f{number}.rs"), hunks))
            .collect();
        let diff = all.concat();
        let parts = shown_in_parts(&Change::parse(diff.as_bytes()), limit, 64);
        let shown = parts.concat();
        let mut lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("+src/")).collect();
        lines.sort_unstable();
        let mut wanted: Vec<&str> = diff.lines().filter(|line| line.starts_with("+src/")).collect();
        wanted.sort_unstable();
        prop_assert_eq!(lines, wanted);
        for part in &parts {
            prop_assert!(part.len() <= limit);
            for (number, hunks) in files.iter().enumerate() {
                let added = hunks.iter().sum::<u64>();
                prop_assert!(part.contains(&format!("\nsrc/f{number}.rs +{added} -0")), "{}", part);
            }
        }
    }
}
