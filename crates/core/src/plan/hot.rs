//! Shared files over which tasks collide even if they name different ones.

/// One kind of file that many tasks change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hot {
    /// A description that completes a sentence beginning with "both change".
    pub(super) what: &'static str,
    pub(super) reach: Reach,
    names: &'static [&'static str],
}

/// Which files a change of such a file affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All files of the kind in the repository, because they are resolved together.
    Repository,
    /// The whole directory of this name: its files have one order, or one tool writes all of them.
    Folder,
    /// The files of the kind in the same directory; the names are endings.
    Siblings,
    /// Only the file itself.
    File,
}

/// The kinds of shared files. Names are in lowercase.
const HOT: [Hot; 14] = [
    Hot {
        what: "Cargo manifests or lock files",
        reach: Reach::Repository,
        names: &["cargo.toml", "cargo.lock"],
    },
    Hot {
        what: "Node manifests or lock files",
        reach: Reach::Repository,
        names: &[
            "package.json",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml",
            "bun.lock",
            "bun.lockb",
            "deno.lock",
        ],
    },
    Hot {
        what: "Python manifests or lock files",
        reach: Reach::Repository,
        names: &[
            "pyproject.toml",
            "poetry.lock",
            "uv.lock",
            "pdm.lock",
            "pipfile",
            "pipfile.lock",
            "requirements.txt",
        ],
    },
    Hot {
        what: "Go module files",
        reach: Reach::Repository,
        names: &["go.mod", "go.sum", "go.work", "go.work.sum"],
    },
    Hot {
        what: "Ruby manifests or lock files",
        reach: Reach::Repository,
        names: &["gemfile", "gemfile.lock"],
    },
    Hot {
        what: "Composer manifests or lock files",
        reach: Reach::Repository,
        names: &["composer.json", "composer.lock"],
    },
    Hot {
        what: "Elixir manifests or lock files",
        reach: Reach::Repository,
        names: &["mix.exs", "mix.lock"],
    },
    Hot {
        what: "Dart manifests or lock files",
        reach: Reach::Repository,
        names: &["pubspec.yaml", "pubspec.lock"],
    },
    Hot {
        what: "Nix flake files",
        reach: Reach::Repository,
        names: &["flake.nix", "flake.lock"],
    },
    Hot {
        what: "migrations, which run in one order",
        reach: Reach::Folder,
        names: &["migrations", "migrate"],
    },
    Hot {
        what: "a folder of generated files",
        reach: Reach::Folder,
        names: &["generated", "__generated__"],
    },
    Hot {
        what: "generated files",
        reach: Reach::Siblings,
        names: &[
            ".pb.go",
            ".pb.cc",
            ".pb.h",
            "_pb2.py",
            "_pb2_grpc.py",
            ".g.dart",
            ".generated.ts",
            ".generated.cs",
            ".designer.cs",
        ],
    },
    Hot {
        what: "a changelog",
        reach: Reach::File,
        names: &[
            "changelog",
            "changelog.md",
            "changelog.rst",
            "changelog.txt",
            "changes",
            "changes.md",
            "changes.rst",
            "history.md",
            "news.md",
        ],
    },
    Hot {
        what: "a registry of what is beside it",
        reach: Reach::File,
        names: &[
            "mod.rs",
            "lib.rs",
            "index.ts",
            "index.tsx",
            "index.js",
            "index.mjs",
            "__init__.py",
        ],
    },
];

/// The kind of a file or directory, by its name in lowercase.
pub(super) fn kind_of(name: &str) -> Option<&'static Hot> {
    HOT.iter().find(|hot| match hot.reach {
        Reach::Repository | Reach::Folder | Reach::File => hot.names.contains(&name),
        Reach::Siblings => hot.names.iter().any(|ending| name.ends_with(ending)),
    })
}
