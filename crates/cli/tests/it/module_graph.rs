//! Tests that no module imports itself through others, so that each can be understood alone.
//!
//! The graph consists of the `use` lines and of all other paths that start at `crate`, `self`,
//! `super` or a child. A parent that re-exports its children does not depend on them, but one that
//! uses their items does; a child that imports from its parent depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Module = Vec<String>;

#[test]
fn no_module_imports_itself_through_others_in_any_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    let mut count = 0;
    let folders = fs::read_dir(&crates).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    for folder in folders.chain([crates.join("../benches")]) {
        let sources = folder.join("src");
        let modules = modules(&sources);
        count += modules.len();
        for circle in circles_of(&graph(&modules)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            circles.push(format!("{}: {}", sources.display(), names.join(" -> ")));
        }
    }
    assert!(count > 300, "only {count} modules were found");
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn code_after_the_tests_of_a_file_is_read_and_tests_are_not() {
    let text = "use a::A;\n#[cfg(test)]\nmod tests;\nuse b::B; // c::C\n#[cfg(test)]\nmod more {\n    \
                use c::C;\n    fn f() {\n    }\n}\nimpl D {\n    #[cfg(test)]\n    #[allow(x)]\n    \
                fn g() {\n        c::C\n    }\n    fn h() {}\n}\n#[cfg(test)]\nuse c::{\n    C,\n};\n\
                use e::E;";
    assert_eq!(
        shipped(text),
        "use a::A;\nuse b::B; \nimpl D {\n    fn h() {}\n}\nuse e::E;"
    );
}

#[test]
fn a_circle_is_found_where_there_is_one() {
    let module = |name: &str| vec![name.to_owned()];
    let files = BTreeMap::from([
        (module("a"), "use crate::b::{X, y};".to_owned()),
        (module("b"), "use super::c;".to_owned()),
        (module("c"), "use crate::a::Z;".to_owned()),
        (module("d"), "use crate::a::Z;".to_owned()),
    ]);
    let circles = circles_of(&graph(&files));
    assert_eq!(circles.len(), 1);
    assert_eq!(circles[0].len(), 3);
}

#[test]
fn a_circle_through_a_path_inside_a_function_is_found() {
    let module = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Module>()
    };
    let files = BTreeMap::from([
        (
            module(&["a"]),
            "fn f() { super::b::g(\"crate::d\") }".to_owned(),
        ),
        (
            module(&["b"]),
            "use crate::a::f;\npub(in crate::a) fn g() {}".to_owned(),
        ),
        (module(&["c"]), "use crate::b::g;".to_owned()),
        (module(&["d"]), "use crate::c;".to_owned()),
    ]);
    let circles = circles_of(&graph(&files));
    assert_eq!(circles, [vec![module(&["a"]), module(&["b"])]]);
}

#[test]
fn a_parent_that_uses_its_child_and_is_used_by_it_is_found() {
    let module = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        names.collect::<Module>()
    };
    let circles = |parent: &str, child: &str| {
        let files = BTreeMap::from([
            (module(&["a"]), parent.to_owned()),
            (module(&["a", "b"]), child.to_owned()),
        ]);
        circles_of(&graph(&files)).len()
    };
    let child = "use super::X;";
    assert_eq!(circles("mod b;\npub(super) use self::b::f;", child), 0);
    assert_eq!(circles("mod b;\nuse b::f;", child), 1);
    assert_eq!(circles("mod b;\nuse self::b::{f, g};", child), 1);
    assert_eq!(circles("mod b;\nfn h() {\n    b::f()\n}", child), 1);
    assert_eq!(circles("mod b;\nfn h() {\n    b::f()\n}", ""), 0);
}

/// The text of every shipped module, without comments and unit tests.
pub(crate) fn modules(sources: &Path) -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![sources.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" && name != "fakes" {
                open.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" && !name.contains("fake") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(module_of(sources, &path), shipped(&text));
            }
        }
    }
    found
}

fn module_of(sources: &Path, path: &Path) -> Module {
    let relative: PathBuf = path.strip_prefix(sources).unwrap().with_extension("");
    let mut parts: Module = relative
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = |part: &String| ["mod", "lib", "main"].contains(&part.as_str());
    parts.pop_if(|part| is_root(part));
    parts
}

/// Without comments and without what only tests compile, wherever it stands in the file.
fn shipped(text: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap());
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push(line);
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut item = lines
            .by_ref()
            .skip_while(|line| line.trim().starts_with("#["));
        // An item of one line, or one that rustfmt closes where it began.
        let is_open = item.next().is_some_and(|first| {
            let first = first.trim_end();
            !first.ends_with(';') && !first.ends_with('}')
        });
        if is_open {
            let closes = |line: &str| {
                let rest = line.strip_prefix(indent);
                rest.is_some_and(|rest| rest.starts_with('}'))
            };
            let _ = item.find(|line| closes(line));
        }
    }
    kept.join("\n")
}

/// The modules from which each module imports.
fn graph(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut graph = BTreeMap::new();
    for (module, text) in modules {
        let mut targets = BTreeSet::new();
        for path in imports(text).into_iter().chain(inner_paths(text)) {
            targets.extend(resolved(module, &path, modules));
        }
        graph.insert(module.clone(), targets);
    }
    graph
}

/// Every path of every `use` line, with its braces expanded. Re-exports of children are not uses.
fn imports(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for statement in text.split(';') {
        let Some(at) = statement.rfind("use ") else {
            continue;
        };
        let before = statement[..at].lines().last().unwrap_or_default().trim();
        let is_re_export = before.starts_with("pub");
        if before.is_empty() || is_re_export {
            let mut found = Vec::new();
            expand(statement[at + 4..].trim(), &[], &mut found);
            let is_from_above = |path: &Vec<String>| path[0] == "crate" || path[0] == "super";
            paths.extend(
                found
                    .into_iter()
                    .filter(|path| !is_re_export || is_from_above(path)),
            );
        }
    }
    paths
}

/// Every path with more than one part outside of `use` lines.
fn inner_paths(text: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    // Text in quotes and visibilities are not imports.
    let unquoted: String = text.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let statements = unquoted.split_inclusive(';').map(|statement| {
        let lines: Vec<&str> = statement.lines().collect();
        let is_use = |line: &&str| {
            let line = line.trim();
            line.starts_with("use ") || (line.starts_with("pub") && line.contains(" use "))
        };
        let end = lines.iter().rposition(is_use).unwrap_or(lines.len());
        lines[..end].join("\n")
    });
    let unquoted = statements.collect::<Vec<_>>().join("\n");
    let words = unquoted
        .split("pub(in ")
        .enumerate()
        .map(|(at, part)| match part.split_once(')') {
            Some((_, rest)) if at > 0 => rest,
            _ => part,
        })
        .flat_map(|part| part.split(|c| !is_part(c)));
    let paths = words.filter(|word| word.contains("::") && !word.starts_with(':'));
    paths
        .map(|path| {
            path.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

fn expand(tree: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let Some((head, rest)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap().trim();
        let mut path = before.to_vec();
        path.extend(name.split("::").map(|part| part.trim().to_owned()));
        return paths.push(path);
    };
    let mut path = before.to_vec();
    let parts = head
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    path.extend(parts.map(str::to_owned));
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inner[start..at], &path, paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner[start..].trim().is_empty() {
        expand(&inner[start..], &path, paths);
    }
}

/// The module that a path names or is in; `None` for another crate.
fn resolved(from: &Module, path: &[String], modules: &BTreeMap<Module, String>) -> Option<Module> {
    let mut at = from.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first => {
            let mut child = from.clone();
            child.push(first.to_owned());
            modules.get(&child)?;
        }
    }
    // A file of tests that a benchmark uses has another place, and imports nothing of this crate.
    if at.is_empty()
        && let (Some(first), Some(root)) = (rest.first(), modules.get(&at))
        && !modules.contains_key(&vec![first.clone()])
        && root.contains(&format!("mod {first};"))
    {
        return None;
    }
    let mut best = modules.contains_key(&at).then(|| at.clone());
    for part in rest {
        at.push(part.clone());
        if modules.contains_key(&at) {
            best = Some(at.clone());
        }
    }
    best.filter(|target| target != from)
}

/// One cycle for each module that reaches itself; each set of modules once.
fn circles_of(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for start in graph.keys() {
        if circles.iter().any(|circle| circle.contains(start)) {
            continue;
        }
        circles.extend(circle_through(graph, start));
    }
    circles
}

/// The shortest path from a module back to itself.
fn circle_through(
    graph: &BTreeMap<Module, BTreeSet<Module>>,
    start: &Module,
) -> Option<Vec<Module>> {
    let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = vec![start];
    while !open.is_empty() {
        let mut next = Vec::new();
        for module in open {
            for target in graph.get(module).into_iter().flatten() {
                if target == start {
                    let mut circle = vec![module.clone()];
                    let mut at = module;
                    while let Some(before) = came_from.get(at) {
                        circle.push((*before).clone());
                        at = before;
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(target) {
                    came_from.insert(target, module);
                    next.push(target);
                }
            }
        }
        open = next;
    }
    None
}
