//! The scripts of a Node package, and whether one only starts scripts of other packages.

use std::collections::{BTreeMap, BTreeSet};

/// Scripts by name.
pub type Scripts = BTreeMap<String, String>;

/// Tools and words that run a script in all packages that have it.
const STARTERS: [&str; 6] = ["turbo", "lerna", "nx", "wsrun", "rush", "workspaces"];
/// Options with the same effect for npm, pnpm and bun.
const OPTIONS: [&str; 8] = [
    "--workspaces",
    "--workspace",
    "-ws",
    "-w",
    "-r",
    "--recursive",
    "--filter",
    "-F",
];
const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Whether a script, or another script of the same package that it runs, starts scripts of other
/// packages. Such a script does not test a package that has none.
pub(crate) fn delegates(scripts: &Scripts, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        let Some((name, text)) = scripts.get_key_value(name) else {
            continue;
        };
        if !seen.insert(name) {
            continue;
        }
        let words: Vec<&str> = text.split([' ', '\t', ';', '&', '|', '"', '\'']).collect();
        let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        let runs_manager = words.iter().any(|word| MANAGERS.contains(word));
        let option = |word: &&str| {
            let option = word.split('=').next().unwrap_or(word);
            OPTIONS.contains(&option)
        };
        let starts = words
            .iter()
            .any(|word| STARTERS.contains(&base(word).as_str()))
            || (words.contains(&"yarn") && words.contains(&"workspace"))
            || (runs_manager && words.iter().any(option));
        if starts {
            return true;
        }
        open.extend(words);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_starts_those_of_packages_is_told_from_one_that_tests() {
        for (test, expected) in [
            ("jest", false),
            ("vitest run -w", false),
            ("node --test && eslint .", false),
            ("npm run test --workspaces --if-present", true),
            ("npm test -ws", true),
            ("npm run unit -w ui", true),
            ("pnpm -r test", true),
            ("pnpm --filter=ui test", true),
            ("yarn workspaces foreach -A run test", true),
            ("yarn workspace ui test", true),
            ("turbo run test", true),
            ("node_modules/.bin/lerna run test", true),
            ("bun --filter '*' test", true),
            ("npm run all", true),
            ("npm run own", false),
            ("npm run test", false),
        ] {
            let scripts = [("test", test), ("all", "turbo run test"), ("own", "mocha")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()));
            assert_eq!(delegates(&scripts.into(), "test"), expected, "{test}");
        }
    }
}
