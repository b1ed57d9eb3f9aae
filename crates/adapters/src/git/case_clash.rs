//! Finds names in a tree that are the same file on case-insensitive file systems.

use std::collections::{HashMap, HashSet};

/// Two names that differ only in case, of which at least one is new. `paths` are all files in the
/// order of the tree, `added` the new ones. Folders can clash like files and links.
pub(super) fn find<'a>(
    paths: impl Iterator<Item = &'a [u8]>,
    added: &HashSet<&'a [u8]>,
) -> Option<(&'a [u8], &'a [u8])> {
    let mut names: HashMap<Vec<u8>, &[u8]> = HashMap::new();
    let mut before: &[u8] = b"";
    // A new file may be missing in the last commit.
    for path in paths.chain(added.iter().copied()) {
        // Folders shared with the previous path were already checked.
        let shared = shared_folders(before, path);
        before = path;
        let ends = (shared..path.len()).filter(|at| path[*at] == b'/');
        for part in ends.chain([path.len()]).map(|end| &path[..end]) {
            let other = *names.entry(folded(part)).or_insert(part);
            if other != part && (is_new(part, added) || is_new(other, added)) {
                return Some((other, part));
            }
        }
    }
    None
}

/// How many bytes of `path` are folders that also contain `before`.
fn shared_folders(before: &[u8], path: &[u8]) -> usize {
    let same = before.iter().zip(path).take_while(|(a, b)| a == b).count();
    let last = path[..same].iter().rposition(|byte| *byte == b'/');
    last.map_or(0, |at| at + 1)
}

fn folded(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

/// Whether a file is new, or a folder contains a new one.
fn is_new(part: &[u8], added: &HashSet<&[u8]>) -> bool {
    added.iter().any(|new| {
        new.strip_prefix(part)
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clash(paths: &[&str], added: &[&str]) -> Option<(String, String)> {
        let added: HashSet<&[u8]> = added.iter().map(|path| path.as_bytes()).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        find(paths.iter().map(|path| path.as_bytes()), &added)
            .map(|(one, other)| (text(one), text(other)))
    }

    #[test]
    fn names_that_differ_only_in_case_clash_where_one_of_them_is_new() {
        let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
        assert_eq!(clash(&["A", "a"], &["a"]), pair("A", "a"));
        assert_eq!(clash(&["A", "a"], &[]), None);
        assert_eq!(
            clash(&["a", "b/A", "b/a/c"], &["b/a/c"]),
            pair("b/A", "b/a")
        );
        assert_eq!(clash(&["D/x", "d/y"], &["D/x"]), pair("D", "d"));
        assert_eq!(clash(&["d/x", "d/y"], &["d/x", "d/y"]), None);
        assert_eq!(clash(&["É"], &["é"]), pair("É", "é"));
        assert_eq!(
            clash(&["ab/c", "abc", "ab/C"], &["ab/C"]),
            pair("ab/c", "ab/C")
        );
    }

    proptest! {
        /// Skipping the folders of the previous path does not change the result.
        #[test]
        fn a_clash_is_found_in_any_order(
            mut paths in prop::collection::vec("[aA](/[aAb]){0,3}", 0..12),
            at in 0usize..12,
        ) {
            let new = paths.get(at).cloned().unwrap_or_default();
            let find = |paths: &[String]| {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                clash(&paths, &[&new]).is_some()
            };
            let first = find(&paths);
            paths.sort();
            prop_assert_eq!(find(&paths), first);
            paths.reverse();
            prop_assert_eq!(find(&paths), first);
        }
    }
}
