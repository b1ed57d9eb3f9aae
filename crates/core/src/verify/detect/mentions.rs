//! Finds source files that a build never names, neither in its commands nor in the files that those name.

use globset::{Glob, GlobMatcher};
use std::collections::{BTreeMap, BTreeSet};

/// Endings of source files. Documents and data are no sources: running the tests is enough for them.
const SOURCES: [&str; 40] = [
    "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "m", "mm", "s", "S", "asm", "f", "f90", "d",
    "zig", "rs", "go", "swift", "py", "rb", "pl", "pm", "lua", "tcl", "sh", "bash", "js", "cjs",
    "mjs", "jsx", "ts", "tsx", "java", "kt", "scala", "hs", "ml", "php",
];

/// Languages in which files name each other without the ending, as in `import a.b`.
const MODULES: [&str; 17] = [
    "py", "rb", "pl", "pm", "lua", "tcl", "js", "cjs", "mjs", "jsx", "ts", "tsx", "java", "kt",
    "scala", "hs", "php",
];

/// Programs that find their own files, with the endings of those files; empty for any file.
const FINDERS: [(&[&str], &[&str]); 8] = [
    (
        &["pytest", "py.test", "unittest", "tox", "nox", "hatch"],
        &["py"],
    ),
    (&["go"], &["go", "s", "S", "c", "h"]),
    (&["cargo"], &["rs"]),
    (
        &[
            "npm", "npx", "pnpm", "yarn", "bun", "jest", "vitest", "mocha", "deno", "tsc",
        ],
        &["js", "cjs", "mjs", "jsx", "ts", "tsx"],
    ),
    (
        &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
        &["java", "kt", "scala"],
    ),
    (&["rspec", "rake", "bundle"], &["rb"]),
    (&["phpunit", "composer"], &["php"]),
    (
        &[
            "cmake", "ctest", "ninja", "meson", "bazel", "docker", "prove", "bats", "swift",
            "cabal", "dune", "zig",
        ],
        &[],
    ),
];

/// The source files among `files` that these commands never name and that no program in them finds by itself.
pub fn unbuilt(
    commands: &str,
    files: &[String],
    read: &dyn Fn(&str) -> Option<String>,
) -> BTreeSet<String> {
    let found = finders(commands);
    let is_found = |file: &str| {
        let ending = ending(file);
        found
            .iter()
            .any(|endings| endings.is_empty() || endings.contains(&ending))
    };
    let mut missed = unmentioned(commands, files, read);
    missed.retain(|file| !is_found(file));
    missed
}

/// The source files among `files` that a text never names. `read` returns the text of a file, so
/// that a file counts if a named script or header names it.
pub fn unmentioned(
    text: &str,
    files: &[String],
    read: &dyn Fn(&str) -> Option<String>,
) -> BTreeSet<String> {
    let mut named = Named::new(files);
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        for file in named.add(&text) {
            open.extend(read(&file));
        }
    }
    let sources = files.iter().filter(|file| is_source(file));
    sources
        .filter(|file| !named.seen.contains(*file))
        .cloned()
        .collect()
}

/// Whether a path is a source file, judged by its ending.
fn is_source(path: &str) -> bool {
    SOURCES.contains(&ending(path))
}

struct Named<'a> {
    files: &'a [String],
    /// Files by the last part of a name that may refer to them.
    by_name: BTreeMap<String, Vec<(String, &'a String)>>,
    seen: BTreeSet<String>,
}

impl<'a> Named<'a> {
    fn new(files: &'a [String]) -> Self {
        let mut by_name: BTreeMap<String, Vec<(String, &'a String)>> = BTreeMap::new();
        for file in files {
            for name in names(file) {
                let last = last(&name).to_owned();
                by_name.entry(last).or_default().push((name, file));
            }
        }
        Self {
            files,
            by_name,
            seen: BTreeSet::new(),
        }
    }

    /// The files that a text names and no earlier text did.
    fn add(&mut self, text: &str) -> Vec<String> {
        let mut new = BTreeSet::new();
        for word in words(text) {
            let dotted = word.replace('.', "/");
            for word in [word.as_str(), dotted.as_str()] {
                let of_name = self.by_name.get(last(word)).into_iter().flatten();
                let meant = of_name.filter(|(name, _)| is_same(name, word));
                new.extend(meant.map(|(_, file)| (*file).clone()));
            }
            if let Some(glob) = glob(&word) {
                let meant = self.files.iter().filter(|file| glob.is_match(last(file)));
                new.extend(meant.cloned());
            }
        }
        let packages: Vec<String> = new.iter().flat_map(|file| self.packages_of(file)).collect();
        new.extend(packages);
        new.retain(|file| self.seen.insert(file.clone()));
        new.into_iter().collect()
    }
}

impl Named<'_> {
    /// The `__init__.py` files of all packages above a Python module, which importing it runs.
    fn packages_of(&self, file: &str) -> Vec<String> {
        const INIT: &str = "__init__.py";
        let is_python = ending(file) == "py";
        let inits = self.by_name.get(INIT).into_iter().flatten();
        inits
            .filter(|(name, _)| {
                let dir = name.strip_suffix(INIT);
                is_python && dir.is_some_and(|dir| !dir.is_empty() && file.starts_with(dir))
            })
            .map(|(_, init)| (*init).clone())
            .collect()
    }
}

/// The names that refer to a file: its path, and the path without its ending if the language
/// imports files like that.
fn names(file: &str) -> Vec<String> {
    let mut names = vec![file.to_owned()];
    if MODULES.contains(&ending(file)) {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        names.push(stem.to_owned());
        let package = stem
            .strip_suffix("/__init__")
            .or_else(|| stem.strip_suffix("/index"));
        names.extend(package.map(str::to_owned));
    }
    names
}

/// Whether one path is the end of the other.
fn is_same(a: &str, b: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

/// The words of a text that may be paths, without leading `..`.
fn words(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_./-*+~@".contains(c);
    text.split(|c| !is_part(c))
        .map(|word| word.trim_end_matches(['.', '/']))
        .map(|word| {
            let mut word = word;
            while let Some(rest) = ["./", "../"].iter().find_map(|up| word.strip_prefix(up)) {
                word = rest;
            }
            word.trim_start_matches(['.', '-']).to_owned()
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// The matcher of a pattern's last part; `None` for a pattern that matches every file.
fn glob(word: &str) -> Option<GlobMatcher> {
    let last = last(word);
    let says = last.contains('*') && last.chars().any(char::is_alphanumeric);
    says.then(|| Glob::new(last).ok().map(|glob| glob.compile_matcher()))
        .flatten()
}

/// The endings of files that the programs in these commands find by themselves.
fn finders(commands: &str) -> Vec<&'static [&'static str]> {
    let words = words(commands);
    let has = |program: &&str| words.iter().any(|word| last(word) == *program);
    FINDERS
        .iter()
        .filter(|(programs, _)| programs.iter().any(has))
        .map(|(_, endings)| *endings)
        .collect()
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn ending(path: &str) -> &str {
    last(path).rsplit_once('.').map_or("", |(_, ending)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(commands: &str, files: &[(&str, &str)]) -> Vec<String> {
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let read = |wanted: &str| {
            let file = files.iter().find(|(name, _)| *name == wanted)?;
            Some(file.1.to_owned())
        };
        unbuilt(commands, &names, &read).into_iter().collect()
    }

    #[test]
    fn a_source_that_no_command_names_is_missed() {
        let files = [
            ("src/a.c", "#include \"a.h\"\n"),
            ("src/a.h", "#include <deep/b.h>"),
            ("include/deep/b.h", ""),
            ("src/never.c", ""),
            ("src/never.h", ""),
            ("tools/a.c", ""),
            ("README.md", ""),
        ];
        assert_eq!(
            missed("cc -Iinclude -c src/a.c -o build/a.o\n", &files),
            ["src/never.c", "src/never.h", "tools/a.c"]
        );
        assert_eq!(
            missed("cd src && cc *.c", &files),
            ["src/never.h"],
            "a pattern names what it matches"
        );
    }

    #[test]
    fn scripts_and_modules_that_a_named_file_uses_are_named() {
        let files = [
            ("test.sh", "python3 tools/check.py\n"),
            ("tools/check.py", "from lib.rules import one\nimport other"),
            ("lib/__init__.py", ""),
            ("lib/rules.py", ""),
            ("other.py", ""),
            ("lib/unused.py", ""),
        ];
        assert_eq!(missed("./test.sh", &files), ["lib/unused.py"]);
        assert_eq!(missed("true", &files).len(), 6);
    }

    #[test]
    fn a_program_that_finds_its_files_names_those_of_its_language_only() {
        let files = [("tests/test_a.py", ""), ("a.c", "")];
        assert_eq!(missed("python3 -m pytest -q", &files), ["a.c"]);
        assert_eq!(missed("cmake --build build", &files), Vec::<String>::new());
    }
}
