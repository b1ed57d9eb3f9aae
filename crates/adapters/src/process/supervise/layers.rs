//! Shared folders with a private layer on top, such as the caches of package managers: an overlay
//! inside the mount namespace of a tree, which is invisible outside and ends with the tree.

use super::super::sys::{self, UNUSED, attribute};
use super::super::wire::Request;
use super::trees::{attach, clone_tree, harmless};
use drive_core::process::LayerName;
use drive_engine::ports::LayeredFolder;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, unmount,
};
use rustix::process::{getegid, geteuid};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Where the parts of an overlay are visible while it is mounted.
const PARTS: &str = "/run/layers";
/// The parts of a layer on disk.
const UPPER: &str = "upper";
const WORK: &str = "work";

/// Opens a folder of the new root, and creates it if it is missing.
type MakeFolder<'a> = dyn Fn(&Path) -> io::Result<OwnedFd> + 'a;

/// The folders, opened in the old root before it is covered.
pub(super) struct Layers {
    folders: Vec<Parts>,
    problems: Vec<String>,
}

struct Parts {
    name: PathBuf,
    at: PathBuf,
    lower: OwnedFd,
    layer: io::Result<OwnedFd>,
    is_useful_read_only: bool,
}

impl Layers {
    /// Opens the folders. Never fails as a whole: without a cache, work is only slower.
    pub(super) fn open(request: &Request, users: Option<&OwnedFd>) -> Self {
        let is_on = !request.without.contains(&LayerName::Caches);
        let mut all = Self {
            folders: Vec::new(),
            problems: Vec::new(),
        };
        for folder in &request.layered {
            match Parts::open(folder, users, is_on) {
                Ok(parts) => all.folders.push(parts),
                Err(error) => all.problems.push(problem(&folder.lower, &error)),
            }
        }
        all
    }

    /// Mounts the folders in a root that is mounted at `base`, or returns why some are missing.
    pub(super) fn place(mut self, base: &Path, folder: &MakeFolder<'_>) -> Result<(), String> {
        for (number, parts) in self.folders.into_iter().enumerate() {
            let name = parts.name.clone();
            if let Err(error) = parts.place(base, folder, number) {
                self.problems.push(problem(&name, &error));
            }
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(self.problems.join(", "))
        }
    }
}

fn problem(path: &Path, error: &io::Error) -> String {
    format!("no private layer over `{}`: {error}", path.display())
}

impl Parts {
    fn open(folder: &LayeredFolder, users: Option<&OwnedFd>, is_on: bool) -> io::Result<Self> {
        let lower = clone_tree(
            &folder.lower.canonicalize()?,
            attribute::HARMLESS | attribute::READ_ONLY,
        )?;
        if let Some(users) = users {
            sys::map_owners(&lower, users)?;
        }
        Ok(Self {
            name: folder.lower.clone(),
            at: folder.at.canonicalize()?,
            lower,
            layer: if is_on {
                make_layer(&folder.layer, users.is_some())
            } else {
                Err(io::Error::other("switched off"))
            },
            is_useful_read_only: folder.is_useful_read_only,
        })
    }

    fn place(self, base: &Path, folder: &MakeFolder<'_>, number: usize) -> io::Result<()> {
        let at = folder(&self.at)?;
        let parts = Path::new(PARTS).join(number.to_string());
        let [lower, layer] = ["lower", "layer"].map(|name| parts.join(name));
        attach(&self.lower, &folder(&lower)?)?;
        let seen = |path: &Path| base.join(path.strip_prefix("/").unwrap_or(path));
        let mounted = self.layer.and_then(|tree| {
            attach(&tree, &folder(&layer)?)?;
            let mounted = overlay(&seen(&lower), &seen(&layer));
            // The overlay itself keeps its parts in use.
            unmount(seen(&layer), UnmountFlags::DETACH)?;
            attach(&mounted?, &at)
        });
        if mounted.is_err() && self.is_useful_read_only {
            attach(&self.lower, &at)?;
        } else {
            unmount(seen(&lower), UnmountFlags::DETACH)?;
        }
        mounted
    }
}

/// Creates the folders of a layer. If the tree has its own users, the folders belong to the first of them.
fn make_layer(layer: &Path, has_users: bool) -> io::Result<OwnedFd> {
    let (user, group) = if has_users {
        // These ids are not mapped like the shared folder: the kernel could not create its own files in it.
        (UNUSED, UNUSED)
    } else {
        (geteuid().as_raw(), getegid().as_raw())
    };
    for part in [UPPER, WORK] {
        let part = layer.join(part);
        fs::create_dir_all(&part)?;
        // The overlay's own folder takes these permissions and this owner.
        fs::set_permissions(&part, Permissions::from_mode(0o755))?;
        chown(&part, Some(user), Some(group))?;
    }
    clone_tree(&layer.canonicalize()?, attribute::HARMLESS)
}

/// Creates an overlay, which users may mount since Linux 5.11.
fn overlay(lower: &Path, layer: &Path) -> io::Result<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(fs.as_fd(), "lowerdir", lower)?;
    fsconfig_set_string(fs.as_fd(), "upperdir", layer.join(UPPER))?;
    fsconfig_set_string(fs.as_fd(), "workdir", layer.join(WORK))?;
    fsconfig_set_flag(fs.as_fd(), "userxattr")?;
    fsconfig_create(fs.as_fd())?;
    Ok(fsmount(
        fs.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        harmless(),
    )?)
}
