//! Which files a reviewer is told of without their lines: nobody wrote those by hand.

/// Why the lines of a file are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folded {
    /// A package manager wrote it.
    Lock,
    /// A program wrote it.
    Generated,
    /// Others wrote it, and it was copied.
    Vendored,
    /// It has no lines.
    Binary,
}

impl Folded {
    /// The reason, for a reviewer.
    pub fn as_str(self) -> &'static str {
        match self {
            Folded::Lock => "lock file",
            Folded::Generated => "generated",
            Folded::Vendored => "vendored",
            Folded::Binary => "binary",
        }
    }
}

/// Lock files whose names do not end like one.
const LOCKS: [&str; 6] = [
    "bun.lockb",
    "go.sum",
    "go.work.sum",
    "npm-shrinkwrap.json",
    "package.resolved",
    "pylock.toml",
];
/// How the name of a lock file ends.
const LOCK_ENDS: [&str; 5] = [
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".lock.json",
    ".lockfile",
];
/// Folders with what others wrote.
const VENDORED: [&str; 5] = [
    "vendor",
    "node_modules",
    "third_party",
    "bower_components",
    "pods",
];
/// Folders with what programs write.
const GENERATED: [&str; 3] = ["dist", "__generated__", "__snapshots__"];
/// How the name of a generated file ends.
const GENERATED_ENDS: [&str; 16] = [
    ".min.js",
    ".min.mjs",
    ".min.css",
    ".bundle.js",
    ".js.map",
    ".css.map",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    "_pb2.py",
    "_pb2_grpc.py",
    "_pb.js",
    ".g.dart",
    ".freezed.dart",
    ".designer.cs",
    ".snap",
];

/// Why the lines of the file at this path are not shown; `None` for a file that people write.
pub(super) fn folded(path: &str) -> Option<Folded> {
    let path = path.to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_below = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if is_below(&VENDORED) {
        return Some(Folded::Vendored);
    }
    if LOCKS.contains(&name) || ends(&LOCK_ENDS) {
        return Some(Folded::Lock);
    }
    let stem = name.split('.').next().unwrap_or(name);
    let says_so = ["_generated", "-generated"]
        .iter()
        .any(|end| stem.ends_with(end))
        || name.contains(".generated.")
        || name.contains(".gen.");
    (is_below(&GENERATED) || ends(&GENERATED_ENDS) || says_so).then_some(Folded::Generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nobody_writes_by_hand_are_folded() {
        let folds = [
            ("Cargo.lock", Folded::Lock),
            ("web/package-lock.json", Folded::Lock),
            ("pnpm-lock.yaml", Folded::Lock),
            ("go.sum", Folded::Lock),
            ("vendor/a/b.go", Folded::Vendored),
            ("web/node_modules/x/Cargo.lock", Folded::Vendored),
            ("third_party/x.c", Folded::Vendored),
            ("web/app.min.js", Folded::Generated),
            ("api/v1/user.pb.go", Folded::Generated),
            ("src/schema_generated.rs", Folded::Generated),
            ("src/schema.generated.ts", Folded::Generated),
            ("dist/index.js", Folded::Generated),
        ];
        for (path, why) in folds {
            assert_eq!(folded(path), Some(why), "{path}");
        }
    }

    #[test]
    fn files_that_people_write_are_not() {
        for path in [
            "src/lock.rs",
            "src/vendor.rs",
            "distance/mod.rs",
            "generated.md",
            "src/block.json",
            "vendor",
            "",
        ] {
            assert_eq!(folded(path), None, "{path}");
        }
    }
}
