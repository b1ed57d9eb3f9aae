//! The caches of package managers, which confined programs see through a private layer: they start warm, and
//! changes disappear with the layer. Logins and settings next to the caches are not visible.

use drive_engine::ports::LayeredFolder;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// One cache of one package manager.
struct Cache {
    /// Its usual place; a relative path is in a home.
    usual: &'static str,
    /// Variables that move it, the strongest first, each with the path below the variable's folder.
    moved_by: &'static [(&'static str, &'static str)],
    /// Whether the program works with a read-only cache.
    is_useful_read_only: bool,
}

/// The folders that are caches without logins.
const CACHES: [Cache; 16] = [
    Cache {
        usual: ".cargo/registry",
        moved_by: &[("CARGO_HOME", "registry")],
        is_useful_read_only: true,
    },
    Cache {
        usual: ".cargo/git",
        moved_by: &[("CARGO_HOME", "git")],
        is_useful_read_only: true,
    },
    // This leaves out the logs next to it.
    Cache {
        usual: ".npm/_cacache",
        moved_by: &[
            ("npm_config_cache", "_cacache"),
            ("NPM_CONFIG_CACHE", "_cacache"),
        ],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".local/share/pnpm/store",
        moved_by: &[
            ("npm_config_store_dir", ""),
            ("PNPM_HOME", "store"),
            ("XDG_DATA_HOME", "pnpm/store"),
        ],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".cache/pnpm",
        moved_by: &[("XDG_CACHE_HOME", "pnpm")],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".cache/yarn",
        moved_by: &[("YARN_CACHE_FOLDER", ""), ("XDG_CACHE_HOME", "yarn")],
        is_useful_read_only: false,
    },
    // yarn 1 uses this when root runs it, whatever `HOME` is.
    Cache {
        usual: "/usr/local/share/.cache/yarn",
        moved_by: &[("YARN_CACHE_FOLDER", "")],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".yarn/berry/cache",
        moved_by: &[("YARN_GLOBAL_FOLDER", "cache")],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".cache/pip",
        moved_by: &[("PIP_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pip")],
        is_useful_read_only: true,
    },
    Cache {
        usual: ".cache/uv",
        moved_by: &[("UV_CACHE_DIR", ""), ("XDG_CACHE_HOME", "uv")],
        is_useful_read_only: false,
    },
    Cache {
        usual: "go/pkg/mod",
        moved_by: &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")],
        is_useful_read_only: true,
    },
    Cache {
        usual: ".cache/go-build",
        moved_by: &[("GOCACHE", ""), ("XDG_CACHE_HOME", "go-build")],
        is_useful_read_only: false,
    },
    Cache {
        usual: MAVEN,
        moved_by: &[],
        is_useful_read_only: false,
    },
    Cache {
        usual: GRADLE,
        moved_by: &[("GRADLE_USER_HOME", "caches")],
        is_useful_read_only: false,
    },
    Cache {
        usual: ".gradle/wrapper/dists",
        moved_by: &[("GRADLE_USER_HOME", "wrapper/dists")],
        is_useful_read_only: true,
    },
    Cache {
        usual: ".npm/_npx",
        moved_by: &[("npm_config_cache", "_npx"), ("NPM_CONFIG_CACHE", "_npx")],
        is_useful_read_only: true,
    },
];

const MAVEN: &str = ".m2/repository";
const GRADLE: &str = ".gradle/caches";

/// The user whose caches a confined program sees, and the places where the program looks for them.
pub(crate) struct Wanted<'a> {
    /// The user's home.
    pub(crate) real_home: &'a Path,
    /// The user's variables that name folders.
    pub(crate) users: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The program's home.
    pub(crate) home: &'a Path,
    /// The program's variables that name folders.
    pub(crate) own: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// Entries of the user's home that the program shares in any case.
    pub(crate) shared: &'a [String],
    /// The state directory, which is hidden from every program.
    pub(crate) state: &'a Path,
    /// The folder for the layers.
    pub(crate) layers: &'a Path,
}

/// The existing caches, each with its own layer.
pub(crate) fn find(wanted: &Wanted<'_>) -> Vec<LayeredFolder> {
    CACHES
        .iter()
        .filter_map(|cache| wanted.layered(cache))
        .collect()
}

/// Variables for programs that do not use `HOME`: Java reads the home from the password file.
pub(crate) fn variables(found: &[LayeredFolder], home: &Path) -> Vec<(OsString, OsString)> {
    let has = |usual: &str| found.iter().any(|folder| folder.at == home.join(usual));
    let mut all = Vec::new();
    if has(MAVEN) {
        let mut option = OsString::from("-Duser.home=");
        option.push(home);
        all.push(("MAVEN_OPTS".into(), option));
    }
    if has(GRADLE) {
        all.push(("GRADLE_USER_HOME".into(), home.join(".gradle").into()));
    }
    all
}

impl Wanted<'_> {
    fn layered(&self, cache: &Cache) -> Option<LayeredFolder> {
        let usual = Path::new(cache.usual);
        let shares =
            |entry: &String| usual.starts_with(entry) || Path::new(entry).starts_with(usual);
        if self.shared.iter().any(shares) {
            return None;
        }
        let lower = cache.place(self.users, self.real_home);
        let lower = lower.canonicalize().ok().filter(|path| path.is_dir())?;
        let holds = |path: &Path| {
            path.canonicalize()
                .is_ok_and(|real| real.starts_with(&lower))
        };
        if holds(self.real_home) || holds(self.state) {
            return None;
        }
        let at = cache.place(self.own, self.home);
        if let Ok(below) = at.strip_prefix(self.home) {
            make_below(self.home, below)?;
        }
        Some(LayeredFolder {
            lower,
            layer: self.layers.join(cache.usual.replace('/', "+")),
            is_useful_read_only: cache.is_useful_read_only,
            at: at.is_dir().then_some(at)?,
        })
    }
}

impl Cache {
    fn place(&self, variable: &dyn Fn(&str) -> Option<PathBuf>, home: &Path) -> PathBuf {
        let moved = self.moved_by.iter().find_map(|(name, below)| {
            let folder = variable(name)?;
            Some(if below.is_empty() {
                folder
            } else {
                folder.join(below)
            })
        });
        moved.unwrap_or_else(|| home.join(self.usual))
    }
}

/// Creates a folder for a mount. It follows no link, because an earlier program in this home may
/// have left one.
fn make_below(home: &Path, below: &Path) -> Option<()> {
    let mut at = home.to_path_buf();
    for part in below.components() {
        let Component::Normal(name) = part else {
            return None;
        };
        at.push(name);
        match at.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return None,
            Err(_) => DirBuilder::new().mode(0o700).create(&at).ok()?,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    struct Place {
        root: PathBuf,
        users: BTreeMap<&'static str, PathBuf>,
        own: BTreeMap<&'static str, PathBuf>,
        shared: Vec<String>,
        _guard: tempfile::TempDir,
    }

    impl Place {
        fn new(folders: &[&str]) -> Self {
            let guard = tempfile::tempdir().unwrap();
            let root = guard.path().canonicalize().unwrap();
            for folder in folders.iter().chain(&["user", "home", "state"]) {
                std::fs::create_dir_all(root.join(folder)).unwrap();
            }
            Self {
                root,
                users: BTreeMap::new(),
                own: BTreeMap::new(),
                shared: Vec::new(),
                _guard: guard,
            }
        }

        /// Lower folders with the paths where they appear, below the root.
        fn found(&self) -> Vec<(String, String)> {
            let at = |name: &str| self.root.join(name);
            let found = find(&Wanted {
                real_home: &at("user"),
                users: &|name| self.users.get(name).cloned(),
                home: &at("home"),
                own: &|name| self.own.get(name).cloned(),
                shared: &self.shared,
                state: &at("state"),
                layers: &at("layers"),
            });
            let below = |path: &Path| {
                let path = path.strip_prefix(&self.root).unwrap();
                path.to_string_lossy().into_owned()
            };
            let own = found.iter().filter(|one| one.lower.starts_with(&self.root));
            let pairs = own.map(|one| (below(&one.lower), below(&one.at)));
            pairs.collect()
        }
    }

    fn pair(lower: &str, at: &str) -> (String, String) {
        (lower.to_owned(), at.to_owned())
    }

    #[test]
    fn a_cache_appears_in_the_private_home_wherever_the_user_keeps_it() {
        let mut place = Place::new(&[
            "user/.cargo/registry",
            "data/uv",
            "user/.cache/uv",
            "user/go/pkg/mod",
        ]);
        place
            .users
            .insert("UV_CACHE_DIR", place.root.join("data/uv"));
        let expected = [
            pair("user/.cargo/registry", "home/.cargo/registry"),
            pair("data/uv", "home/.cache/uv"),
            pair("user/go/pkg/mod", "home/go/pkg/mod"),
        ];
        assert_eq!(place.found(), expected);
        assert!(place.root.join("home/.cargo/registry").is_dir());
        assert!(!place.root.join("home/.npm").exists());
        // A program that gets the variable as well looks where it points.
        place.own.insert("UV_CACHE_DIR", place.root.join("data/uv"));
        assert_eq!(place.found()[1], pair("data/uv", "data/uv"));
    }

    #[test]
    fn what_the_program_shares_anyway_has_no_layer() {
        let mut place = Place::new(&["user/.cargo/registry", "user/.npm/_cacache"]);
        for entry in [".cargo", ".cargo/registry", ".cargo/registry/cache"] {
            place.shared = vec![entry.to_owned()];
            assert_eq!(
                place.found(),
                [pair("user/.npm/_cacache", "home/.npm/_cacache")]
            );
        }
    }

    #[test]
    fn a_link_in_the_private_home_is_not_followed() {
        let place = Place::new(&["user/.cargo/registry", "elsewhere"]);
        symlink(place.root.join("elsewhere"), place.root.join("home/.cargo")).unwrap();
        assert_eq!(place.found(), []);
        assert!(!place.root.join("elsewhere/registry").exists());
    }

    #[test]
    fn a_variable_that_names_the_home_or_the_state_directory_makes_no_cache_of_it() {
        let mut place = Place::new(&[]);
        for folder in ["user", "state", "", "absent"] {
            place.users.insert("PIP_CACHE_DIR", place.root.join(folder));
            assert_eq!(place.found(), [], "{folder}");
        }
    }
}
