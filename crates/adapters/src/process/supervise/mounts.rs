//! The mount namespace of a tree: its own root, which contains only what the request names, with
//! its own `/proc`, `/dev`, shared memory and `/tmp`.

use super::super::sys::{self, attribute};
use super::super::wire::Request;
use super::layers::Layers;
use super::trees::{PATH, attach, clone_at, clone_tree, harmless};
use super::view::{Plan, Show, TMP, about, is_system, plan};
use drive_core::process::{LayerName, Limits};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, unmount,
};
use rustix::process::{fchdir, pivot_root};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// The folder of the tree's shared memory.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// Devices without data that nearly every program needs.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The usual links in `/dev`.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

const NEW_FILE: OFlags = OFlags::CREATE
    .union(OFlags::EXCL)
    .union(OFlags::WRONLY)
    .union(OFlags::CLOEXEC);

/// Where the root keeps its own files.
const NAMES: &str = "/run/names";

/// Empty folders that programs expect.
const EMPTY: [&str; 6] = ["/run", "/var", "/home", "/root", "/mnt", "/srv"];

/// Parts of `/proc` that configure the machine; they belong to root even without capabilities.
const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];
/// Parts of `/proc` that expose the machine's memory and keys.
const PROC_HIDDEN: [&str; 3] = ["kcore", "keys", "key-users"];

/// Detaches from the machine's mounts: our mounts are not visible outside.
pub(super) fn detach() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", flags)?)
}

/// Mounts a new `/proc`, whose pids are those of the namespace. The kernel refuses this if the machine's
/// `/proc` is partly covered, as in some containers; that one still works, with the outer pids.
pub(super) fn mount_proc() -> io::Result<()> {
    attach(&own_proc()?, &openat(CWD, "/proc", PATH, Mode::empty())?)
}

/// Enters a root that contains only what the request names. Returns the layers that are missing.
/// After an error, the old root is unchanged.
pub(super) fn enter_root(
    request: &Request,
    sockets: &[PathBuf],
    users: Option<&OwnedFd>,
    names: &[(&str, String)],
    owns_pids: bool,
) -> io::Result<Vec<(LayerName, String)>> {
    let mut sources = Sources::open(plan(request, sockets)?, request, users)?;
    // A file that the machine lacks is not needed either.
    sources.names = names
        .iter()
        .filter_map(|(path, text)| Some((Path::new(path).canonicalize().ok()?, text.clone())))
        .collect();
    let base = [TMP, "/usr", "/etc"].map(Path::new);
    let base = base.iter().find(|path| path.is_dir()).copied();
    let base = base.ok_or_else(|| io::Error::other("no folder to mount on"))?;
    let root = Root {
        fd: empty_folder()?,
        base,
    };
    attach(&root.fd, &openat(CWD, base, PATH, Mode::empty())?)?;
    let lacks = root.furnish(sources, owns_pids).and_then(|lacks| {
        fchdir(&root.fd)?;
        pivot_root(".", ".")?;
        // The old root is now stacked on the new one, and is still the working directory.
        unmount(".", UnmountFlags::DETACH)?;
        Ok(lacks)
    });
    match lacks {
        Ok(lacks) => {
            rustix::process::chdir("/")?;
            Ok(lacks)
        }
        Err(error) => {
            unmount(base, UnmountFlags::DETACH)?;
            Err(error)
        }
    }
}

/// Everything to mount, opened in the old root before it is covered.
struct Sources {
    plan: Plan,
    trees: Vec<Option<OwnedFd>>,
    null: OwnedFd,
    devices: Vec<(&'static str, OwnedFd)>,
    tmp: Option<OwnedFd>,
    layers: Layers,
    /// Files whose text differs from the machine's.
    names: Vec<(PathBuf, String)>,
    limits: Limits,
}

impl Sources {
    fn open(plan: Plan, request: &Request, users: Option<&OwnedFd>) -> io::Result<Self> {
        let open = |(path, show): &(PathBuf, Show)| {
            let attributes = match show {
                Show::Hidden => return Ok(None),
                Show::Shown | Show::Protected => attribute::HARMLESS | attribute::READ_ONLY,
                Show::Writable => attribute::HARMLESS,
            };
            let tree = clone_tree(path, attributes).map_err(|error| about("show", path, error))?;
            // System files that only root may read stay unreadable.
            if let Some(users) = users.filter(|_| !is_system(path)) {
                sys::map_owners(&tree, users)
                    .map_err(|error| about("show other owners of", path, error))?;
            }
            Ok(Some(tree))
        };
        let trees: io::Result<Vec<Option<OwnedFd>>> = plan.places.iter().map(open).collect();
        let mut devices = Vec::new();
        for name in DEVICES {
            if let Ok(tree) = clone_tree(&Path::new("/dev").join(name), attribute::NO_SUID) {
                devices.push((name, tree));
            }
        }
        let tmp = match &request.tmp {
            Some(tmp) => Some(clone_tree(&tmp.canonicalize()?, attribute::HARMLESS)?),
            None => None,
        };
        let trees = trees?;
        if let (Some(tmp), Some(users)) = (&tmp, users) {
            make_mount_points(tmp, &plan, &trees)?;
            sys::map_owners(tmp, users)?;
        }
        Ok(Self {
            trees,
            plan,
            null: clone_tree(
                Path::new("/dev/null"),
                attribute::NO_SUID | attribute::READ_ONLY,
            )?,
            devices,
            tmp,
            layers: Layers::open(request, users),
            names: Vec::new(),
            limits: request.limits.clone(),
        })
    }
}

/// Creates mount points for the places below `/tmp`. Once its owners are mapped, root has no id in
/// it and cannot create anything there (EOVERFLOW).
fn make_mount_points(tmp: &OwnedFd, plan: &Plan, trees: &[Option<OwnedFd>]) -> io::Result<()> {
    for ((path, _), tree) in plan.places.iter().zip(trees) {
        let Ok(below) = path.strip_prefix(TMP) else {
            continue;
        };
        let mut parts = below.iter();
        let (Some(name), is_direct) = (parts.next(), parts.next().is_none()) else {
            continue;
        };
        let made = match tree.as_ref().filter(|_| is_direct) {
            None if is_direct => continue,
            Some(tree) if !is_folder(tree)? => {
                openat(tmp, name, NEW_FILE, Mode::RUSR | Mode::WUSR).map(drop)
            }
            Some(_) | None => mkdirat(tmp, name, Mode::from_raw_mode(0o755)),
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(about("make", path, error.into())),
        }
    }
    Ok(())
}

fn new_fs(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let fs = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(fs.as_fd(), *key, *value)?;
    }
    fsconfig_create(fs.as_fd())?;
    Ok(fsmount(
        fs.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        attributes,
    )?)
}

/// A file system for mount points and links only.
fn empty_folder() -> io::Result<OwnedFd> {
    new_fs("tmpfs", &[("mode", "0755"), ("size", "4m")], harmless())
}

/// A writable file system in memory, as large as the limits allow, and at most half of the
/// machine's memory, as usual.
fn shared_folder(limits: &Limits) -> io::Result<OwnedFd> {
    let half = rustix::system::sysinfo().totalram as u64 / 2;
    let bytes = [limits.memory_bytes, limits.disk_bytes]
        .into_iter()
        .flatten();
    let bytes = bytes.fold(half, u64::min).to_string();
    let files = limits.files.map(|files| files.to_string());
    let mut options = vec![("mode", "1777"), ("size", &bytes)];
    options.extend(files.as_deref().map(|files| ("nr_inodes", files)));
    new_fs("tmpfs", &options, harmless())
}

fn own_proc() -> io::Result<OwnedFd> {
    new_fs("proc", &[], harmless() | MountAttrFlags::MOUNT_ATTR_NOEXEC)
}

/// The new root while it is being built.
struct Root<'a> {
    fd: OwnedFd,
    /// The path at which the new root is mounted.
    base: &'a Path,
}

impl Root<'_> {
    /// Mounts everything; returns the layers that could not be mounted.
    fn furnish(&self, sources: Sources, owns_pids: bool) -> io::Result<Vec<(LayerName, String)>> {
        let tmp = match sources.tmp {
            Some(tmp) => tmp,
            None => shared_folder(&sources.limits)?,
        };
        attach(&tmp, &self.folder(Path::new(TMP))?)?;
        let mut covers = self.separate_from_tmp(&sources.plan)?;
        for ((path, _), tree) in sources.plan.places.iter().zip(&sources.trees) {
            let placed = match tree {
                Some(tree) => self.place(path, tree).map(|at| attach(tree, &at)),
                None => self.cover(path, &sources.null).map(|cover| {
                    covers.extend(cover);
                    Ok(())
                }),
            };
            placed
                .and_then(|done| done)
                .map_err(|error| about("show", path, error))?;
        }
        let caches = sources
            .layers
            .place(self.base, &|path| self.folder(path))
            .err();
        for (path, target) in &sources.plan.links {
            self.link(path, target)?;
        }
        for path in EMPTY {
            self.folder_unless_there(Path::new(path))?;
        }
        for (number, (path, text)) in sources.names.iter().enumerate() {
            self.replace(path, text, number)
                .map_err(|error| about("replace", path, error))?;
        }
        self.link(Path::new("/var/tmp"), Path::new(TMP))?;
        self.devices(&sources.devices)?;
        let shared = shared_folder(&sources.limits)?;
        attach(&shared, &self.folder(Path::new(SHARED_MEMORY))?)?;
        let proc = self.proc(&sources.null, owns_pids)?;
        for own in covers.iter().chain([&self.fd]) {
            sys::set_mount_attributes(own, attribute::READ_ONLY, false)?;
        }
        let caches = caches.map(|why| (LayerName::Caches, why));
        let proc = proc.map(|why| (LayerName::OwnProc, why));
        Ok(caches.into_iter().chain(proc).collect())
    }

    /// Puts places below `/tmp` into read-only folders: otherwise a file written beside such a
    /// place would seem to be written outside.
    fn separate_from_tmp(&self, plan: &Plan) -> io::Result<Vec<OwnedFd>> {
        let below = |path: &PathBuf| {
            path.strip_prefix(TMP)
                .ok()?
                .iter()
                .next()
                .map(OsStr::to_owned)
        };
        let mut tops: Vec<PathBuf> = plan
            .places
            .iter()
            .filter_map(|(path, _)| below(path))
            .map(|name| Path::new(TMP).join(name))
            .collect();
        tops.dedup();
        tops.retain(|top| !plan.places.iter().any(|(path, _)| path == top));
        let mut covers = Vec::new();
        for top in tops {
            let empty = empty_folder()?;
            attach(&empty, &self.folder(&top)?)?;
            covers.push(empty);
        }
        Ok(covers)
    }

    /// Covers a folder by an empty one, which is returned, and a file by the null device.
    fn cover(&self, path: &Path, null: &OwnedFd) -> io::Result<Option<OwnedFd>> {
        let at = match self.walk(path, false) {
            // The folder above it is covered already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if !is_folder(&at)? {
            let null = clone_at(null, 0)?;
            return attach(&null, &at).map(|()| None);
        }
        let empty = empty_folder()?;
        attach(&empty, &at)?;
        Ok(Some(empty))
    }

    /// Covers a file by one with a different text.
    fn replace(&self, path: &Path, text: &str, number: usize) -> io::Result<()> {
        let (parent, name) = (self.folder(Path::new(NAMES))?, number.to_string());
        let file = openat(&parent, &name, NEW_FILE, Mode::from_raw_mode(0o644))?;
        File::from(file).write_all(text.as_bytes())?;
        let own = openat(&parent, &name, PATH, Mode::empty())?;
        attach(
            &clone_at(&own, attribute::READ_ONLY)?,
            &self.walk(path, false)?,
        )
    }

    /// Creates a file or folder, like the source, as a mount point.
    fn place(&self, path: &Path, like: &OwnedFd) -> io::Result<OwnedFd> {
        if is_folder(like)? {
            return self.folder(path);
        }
        let (parent, name) = self.parent(path)?;
        match openat(&parent, name, NEW_FILE, Mode::RUSR | Mode::WUSR) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(openat(&parent, name, PATH, Mode::empty())?)
    }

    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.walk(path, true)
    }

    /// Creates a folder, unless something exists there, e.g. a link.
    fn folder_unless_there(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok((self.folder(parent)?, name)),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    /// Opens a path without following links: folders that an earlier run could write may contain any.
    fn walk(&self, path: &Path, make: bool) -> io::Result<OwnedFd> {
        let mut at = openat(&self.fd, ".", PATH, Mode::empty())?;
        for part in path.components() {
            let Component::Normal(name) = part else {
                continue;
            };
            at = match openat(&at, name, PATH, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    mkdirat(&at, name, Mode::from_raw_mode(0o755))?;
                    openat(&at, name, PATH, Mode::empty())?
                }
                other => other?,
            };
        }
        Ok(at)
    }

    /// Creates a link. It exists already if its folder is shown.
    fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let linked = self
            .parent(path)
            .and_then(|(parent, name)| Ok(rustix::fs::symlinkat(target, &parent, name)?));
        match linked.as_ref().map_err(io::Error::raw_os_error) {
            Err(Some(libc::EEXIST | libc::EROFS)) => Ok(()),
            Ok(()) | Err(_) => linked.map_err(|error| about("link", path, error)),
        }
    }

    fn devices(&self, devices: &[(&str, OwnedFd)]) -> io::Result<()> {
        for (name, tree) in devices {
            attach(tree, &self.place(&Path::new("/dev").join(name), tree)?)?;
        }
        let options = [("ptmxmode", "0666"), ("mode", "0620")];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let terminals = new_fs("devpts", &options, attributes)?;
        attach(&terminals, &self.folder(Path::new("/dev/pts"))?)?;
        for (link, target) in DEVICE_LINKS {
            self.link(Path::new(link), Path::new(target))?;
        }
        Ok(())
    }

    fn proc(&self, null: &OwnedFd, owns_pids: bool) -> io::Result<Option<String>> {
        let at = self.folder(Path::new("/proc"))?;
        let (proc, why) = match own_proc() {
            Ok(proc) if owns_pids => (proc, None),
            Ok(_) => (
                clone_tree(Path::new("/proc"), 0)?,
                Some("no PID namespace".to_owned()),
            ),
            Err(error) => {
                let why = format!("the machine's /proc is partly covered ({error})");
                (clone_tree(Path::new("/proc"), 0)?, Some(why))
            }
        };
        attach(&proc, &at)?;
        let at = |name: &str| self.walk(&Path::new("/proc").join(name), false);
        for part in PROC_READ_ONLY.into_iter().filter_map(|name| at(name).ok()) {
            attach(&clone_at(&part, attribute::READ_ONLY)?, &part)?;
        }
        for part in PROC_HIDDEN.into_iter().filter_map(|name| at(name).ok()) {
            attach(&clone_at(null, 0)?, &part)?;
        }
        Ok(why)
    }
}

fn is_folder(at: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(at)?.st_mode) == FileType::Directory)
}
