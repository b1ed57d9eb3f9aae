//! Parts of a project that can be tested separately, and which of them a change affects.

use std::collections::BTreeSet;

/// The changed part of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// The whole project counts as changed.
    All,
    /// These paths, relative to the project.
    Paths(BTreeSet<String>),
}

impl Touched {
    /// The changed paths; empty if the whole project counts as changed.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        let paths = match self {
            Touched::All => None,
            Touched::Paths(paths) => Some(paths),
        };
        paths.into_iter().flatten()
    }
}

/// A part of a workspace that can be built and tested separately.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) dir: &'a str,
    pub(crate) uses: &'a [String],
}

/// Returns `path` relative to `dir`, if it is inside.
pub(crate) fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() {
        return Some(path);
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

/// The member in the deepest folder that contains a path.
pub(crate) fn owner<'a, 'b>(members: &'b [Member<'a>], path: &str) -> Option<&'b Member<'a>> {
    let above = members.iter().filter(|m| below(path, m.dir).is_some());
    above.max_by_key(|m| m.dir.len())
}

/// The changed members with everything that depends on them; `None` if a changed file concerns
/// every member or belongs to none.
pub(crate) fn affected(
    members: &[Member<'_>],
    touched: &Touched,
    concerns_all: fn(&str) -> bool,
) -> Option<BTreeSet<String>> {
    let Touched::Paths(paths) = touched else {
        return None;
    };
    let mut changed = BTreeSet::new();
    for path in paths {
        let owner = owner(members, path).filter(|_| !concerns_all(path))?;
        changed.insert(owner.name.to_owned());
    }
    Some(with_dependents(members, changed))
}

/// The members with changed sources, each with itself and everything that depends on it.
pub(crate) fn changed_sources(
    members: &[Member<'_>],
    touched: &Touched,
    ending: &str,
) -> Vec<(String, BTreeSet<String>)> {
    let sources = touched.paths().filter(|path| path.ends_with(ending));
    let changed: BTreeSet<&str> = sources
        .filter_map(|path| Some(owner(members, path)?.name))
        .collect();
    let with_all = |name: &str| with_dependents(members, BTreeSet::from([name.to_owned()]));
    let changed = changed.into_iter();
    changed
        .map(|name| (name.to_owned(), with_all(name)))
        .collect()
}

/// These members and everything that depends on them.
pub(crate) fn with_dependents(
    members: &[Member<'_>],
    mut affected: BTreeSet<String>,
) -> BTreeSet<String> {
    loop {
        let more: Vec<String> = members
            .iter()
            .filter(|m| !affected.contains(m.name) && m.uses.iter().any(|u| affected.contains(u)))
            .map(|m| m.name.to_owned())
            .collect();
        if more.is_empty() {
            return affected;
        }
        affected.extend(more);
    }
}
