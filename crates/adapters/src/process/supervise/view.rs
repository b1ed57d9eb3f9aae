//! Plans the root of a tree: which paths exist in it, their sources, and whether they are writable.

use super::super::wire::Request;
use drive_engine::ports::Writes;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The system: programs, libraries and their settings.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu/store",
    "/run/current-system",
    "/sys",
];

/// Files of `/etc` that are often links to elsewhere. Connections need names and certificates
/// (systemd keeps the names in `/run`, openSUSE the certificates in `/var`).
const LINKED: [&str; 4] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/ssl/certs",
    "/etc/ssl/ca-bundle.pem",
];

/// Passwords and private keys of the machine. They belong to root even without capabilities.
const MACHINE_SECRETS: [&str; 17] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/letsencrypt",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
];

/// The temporary folder of the tree.
pub(super) const TMP: &str = "/tmp";

/// The maximum number of symbolic links in one path, as in the kernel.
const MOST_LINKS: usize = 40;

/// How a path appears in the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Covered by an empty file or folder.
    Hidden,
    /// Visible and read-only.
    Shown,
    /// Read-only if it is visible at all.
    Protected,
    /// Visible and writable.
    Writable,
}

/// The contents of the root, parents before their children.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) places: Vec<(PathBuf, Show)>,
    /// Symbolic links on the way to the places, copied from outside.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

/// Plans a root with the paths that `request` names. Sockets of servers outside are covered wherever they
/// would be visible: neither a read-only mount nor a network namespace prevents connections to them.
pub(super) fn plan(request: &Request, sockets: &[PathBuf]) -> io::Result<Plan> {
    let mut named = Named::default();
    for path in SYSTEM.iter().chain(&LINKED) {
        named.add_existing(Path::new(path), Show::Shown);
    }
    for path in &request.hidden {
        named.hide(Path::new(path));
    }
    for path in MACHINE_SECRETS.iter().map(Path::new) {
        named.add_existing(path, Show::Hidden);
    }
    let own = [request.executable.as_path(), &request.cwd];
    for path in own.into_iter().chain(request.shown.iter().map(Path::new)) {
        named.add_existing(path, Show::Shown);
    }
    for path in &request.protected {
        named.add_existing(Path::new(path), Show::Protected);
    }
    if let Writes::Only(folders) = &request.writes {
        for folder in folders {
            named
                .add(folder, Show::Writable)
                .map_err(|error| about("show", folder, error))?;
        }
    }
    for socket in sockets {
        named.add_existing(socket, Show::Hidden);
    }
    Ok(named.settle())
}

/// Whether a place belongs to the system, and was not named by the request.
pub(super) fn is_system(place: &Path) -> bool {
    SYSTEM.iter().chain(&LINKED).any(|path| {
        let real = Path::new(path).canonicalize();
        real.is_ok_and(|real| real == place)
    })
}

pub(super) fn about(step: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::other(format!("cannot {step} `{}`: {error}", path.display()))
}

#[derive(Default)]
struct Named {
    paths: BTreeMap<PathBuf, Vec<Show>>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Named {
    /// Adds a path; a path that does not exist needs no entry.
    fn add_existing(&mut self, path: &Path, show: Show) {
        let _ = self.add(path, show);
    }

    fn add(&mut self, path: &Path, show: Show) -> io::Result<()> {
        if path.starts_with("/proc") || path.starts_with("/dev") {
            return Ok(());
        }
        let (real, links) = trace(path)?;
        if real == Path::new("/") {
            return match show {
                Show::Writable => Err(io::Error::other("the whole machine would be visible")),
                Show::Hidden | Show::Shown | Show::Protected => Ok(()),
            };
        }
        if show != Show::Hidden {
            self.links.extend(links);
        }
        self.paths.entry(real).or_default().push(show);
        Ok(())
    }

    /// Hides a path, but not parts of the system: `/usr/sbin` is the home of a system user.
    fn hide(&mut self, path: &Path) {
        let Ok((real, _)) = trace(path) else {
            return;
        };
        if !self.paths.keys().any(|system| system.starts_with(&real)) {
            self.paths.insert(real, vec![Show::Hidden]);
        }
    }

    /// Drops places that appear in the same way as the place above them.
    fn settle(self) -> Plan {
        let mut places: Vec<(PathBuf, Show)> = Vec::new();
        let mut above: Vec<(PathBuf, Show)> = Vec::new();
        for (path, named) in self.paths {
            while above
                .last()
                .is_some_and(|(outer, _)| !path.starts_with(outer))
            {
                above.pop();
            }
            let outer = above.last().map_or(Show::Hidden, |(_, show)| *show);
            let show = appears(&named, outer);
            if show != outer {
                above.push((path.clone(), show));
                places.push((path, show));
            }
        }
        Plan {
            places,
            links: self.links,
        }
    }
}

/// How a path appears that was named in these ways, below a place that appears as `outer`.
fn appears(named: &[Show], outer: Show) -> Show {
    let is = |show| named.contains(&show);
    let is_visible = outer != Show::Hidden || is(Show::Shown) || is(Show::Writable);
    if is(Show::Protected) && is_visible {
        Show::Shown
    } else if is(Show::Writable) {
        Show::Writable
    } else if is(Show::Shown) && outer == Show::Hidden {
        Show::Shown
    } else if is(Show::Hidden) && !is(Show::Shown) {
        Show::Hidden
    } else {
        outer
    }
}

/// The real path, and the symbolic links on the way to it.
fn trace(path: &Path) -> io::Result<(PathBuf, Vec<(PathBuf, PathBuf)>)> {
    let mut real = PathBuf::from("/");
    let mut links = Vec::new();
    let mut left: VecDeque<OsString> = parts(path).collect();
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        if !std::fs::symlink_metadata(&next)?.is_symlink() {
            real = next;
            continue;
        }
        if links.len() == MOST_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let target = std::fs::read_link(&next)?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(part);
        }
        links.push((next, target));
    }
    Ok((real, links))
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// The paths on which servers of this machine listen. Must be read before a network namespace is
/// entered, because the list is empty in there.
pub(super) fn listening_sockets() -> Vec<PathBuf> {
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let paths = table
        .lines()
        .filter_map(|line| line.find(" /").map(|at| &line[at + 1..]));
    paths.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn settled(named: &[(&str, Show)]) -> Vec<(String, Show)> {
        let mut all = Named::default();
        for (path, show) in named {
            all.paths.entry(path.into()).or_default().push(*show);
        }
        let places = all.settle().places.into_iter();
        places
            .map(|(path, show)| (path.to_string_lossy().into_owned(), show))
            .collect()
    }

    #[test]
    fn a_place_is_mounted_only_where_the_one_above_says_something_else() {
        use Show::{Hidden, Protected, Shown, Writable};
        let named = [
            ("/home/u", Hidden),
            ("/home/u/.ssh", Hidden),
            ("/home/u/box", Writable),
            ("/home/u/box/.git", Protected),
            ("/home/u/box/.git/hooks", Protected),
            ("/home/u/box/bin", Shown),
            ("/home/u/box/server.sock", Hidden),
            ("/home/u/reading", Shown),
            ("/home/u/reading", Protected),
            ("/home/u/tool", Shown),
            ("/opt", Shown),
            ("/opt/me", Hidden),
            ("/opt/me/tool", Shown),
            ("/opt/x", Shown),
            ("/opt/y", Protected),
            ("/optional", Protected),
        ];
        let expected = [
            ("/home/u/box", Writable),
            ("/home/u/box/.git", Shown),
            ("/home/u/box/server.sock", Hidden),
            ("/home/u/reading", Shown),
            ("/home/u/tool", Shown),
            ("/opt", Shown),
            ("/opt/me", Hidden),
            ("/opt/me/tool", Shown),
        ];
        assert_eq!(
            settled(&named),
            expected.map(|(path, show)| (path.to_owned(), show))
        );
    }

    #[test]
    fn links_on_the_way_are_kept_and_a_circle_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("data/home/me")).unwrap();
        symlink("data/home", at("home")).unwrap();
        symlink(at("data/home/me"), at("data/home/alias")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let (real, links) = trace(&at("home/alias/../me")).unwrap();
        assert_eq!(real, at("data/home/me"));
        assert_eq!(
            links,
            [
                (at("home"), PathBuf::from("data/home")),
                (at("data/home/alias"), at("data/home/me")),
            ]
        );
        assert!(trace(&at("circle")).is_err());
    }

    #[test]
    fn a_home_that_is_or_holds_a_system_folder_hides_nothing() {
        for home in ["/", "/usr", "/usr/bin", "/nonexistent"] {
            let mut named = Named::default();
            for system in ["/usr", "/usr/bin"] {
                named.add_existing(Path::new(system), Show::Shown);
            }
            named.hide(Path::new(home));
            assert!(
                !named
                    .paths
                    .values()
                    .flatten()
                    .any(|show| *show == Show::Hidden),
                "{home}"
            );
        }
    }
}
