//! Control groups for one process tree: version 2 if its controllers are available, else version 1.

use drive_core::process::{LayerName, Limits};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The groups of one tree, possibly in several hierarchies.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    unified: Option<PathBuf>,
    memory: Option<Memory>,
    pids: Option<PathBuf>,
}

#[derive(Debug)]
struct Memory {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A mounted hierarchy, and the group of this process in it.
struct Hierarchy {
    root: PathBuf,
    own: PathBuf,
}

/// A layer that could not be made, and why.
pub(super) type Missing = (LayerName, String);

const NOT_WRITABLE: &str = "no writable cgroup";

impl Cgroups {
    /// Creates the groups that the limits need, and returns the missing layers.
    pub(super) fn create(
        name: &str,
        limits: &Limits,
        without: &[LayerName],
    ) -> (Self, Vec<Missing>) {
        let mut groups = Self::default();
        let mut missing = Vec::new();
        let wanted = |layer: LayerName| !without.contains(&layer);
        let memory = limits
            .memory_bytes
            .filter(|_| wanted(LayerName::CgroupMemory));
        let pids = limits
            .processes
            .filter(|_| wanted(LayerName::CgroupProcesses));
        let hierarchies = Hierarchies::load();
        if wanted(LayerName::CgroupKill) || memory.is_some() || pids.is_some() {
            groups.unified = hierarchies
                .unified
                .as_ref()
                .and_then(|h| make_unified(h, name));
        }
        if let Some(bytes) = memory {
            groups.memory = groups.cap_memory(&hierarchies, name, bytes);
        }
        if let Some(count) = pids {
            groups.pids = groups.cap_pids(&hierarchies, name, count);
        }
        if limits.memory_bytes.is_some() && groups.memory.is_none() {
            missing.push((LayerName::CgroupMemory, NOT_WRITABLE.to_owned()));
        }
        if limits.processes.is_some() && groups.pids.is_none() {
            missing.push((LayerName::CgroupProcesses, NOT_WRITABLE.to_owned()));
        }
        if !groups.can_kill() {
            missing.push((LayerName::CgroupKill, NOT_WRITABLE.to_owned()));
        }
        (groups, missing)
    }

    /// The groups of an earlier helper, by their recorded folders.
    pub(super) fn recorded(folders: &[PathBuf]) -> Vec<RecordedGroup> {
        folders.iter().cloned().map(RecordedGroup).collect()
    }

    fn cap_memory(&self, all: &Hierarchies, name: &str, bytes: u64) -> Option<Memory> {
        if let Some(folder) = &self.unified
            && put(folder, "memory.max", &bytes.to_string()).is_ok()
        {
            let _ = put(folder, "memory.swap.max", "0");
            return Some(Memory {
                folder: folder.clone(),
                version: Version::Two,
            });
        }
        let folder = make(&all.memory.as_ref()?.own, name)?;
        if put(&folder, "memory.limit_in_bytes", &bytes.to_string()).is_err() {
            let _ = fs::remove_dir(&folder);
            return None;
        }
        // This file exists only with swap accounting; otherwise the first limit must suffice.
        let _ = put(&folder, "memory.memsw.limit_in_bytes", &bytes.to_string());
        Some(Memory {
            folder,
            version: Version::One,
        })
    }

    fn cap_pids(&self, all: &Hierarchies, name: &str, count: u32) -> Option<PathBuf> {
        // The init of the tree is not a process of the child, so it is added.
        let count = (u64::from(count) + 1).to_string();
        if let Some(folder) = &self.unified
            && put(folder, "pids.max", &count).is_ok()
        {
            return Some(folder.clone());
        }
        let folder = make(&all.pids.as_ref()?.own, name)?;
        if put(&folder, "pids.max", &count).is_err() {
            let _ = fs::remove_dir(&folder);
            return None;
        }
        Some(folder)
    }

    /// Every folder that was created, for the identity.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let memory = self.memory.as_ref().map(|m| m.folder.clone());
        let mut all: Vec<PathBuf> = [self.unified.clone(), memory, self.pids.clone()]
            .into_iter()
            .flatten()
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Moves a process, and so all its future children, into the groups. A group that refuses is
    /// removed and reported as missing.
    pub(super) fn attach(&mut self, pid: i32) -> Vec<Missing> {
        let mut missing = Vec::new();
        for folder in self.folders() {
            let Err(error) = put(&folder, "cgroup.procs", &pid.to_string()) else {
                continue;
            };
            let why = format!("cannot enter its cgroup ({error})");
            if self
                .memory
                .take_if(|memory| memory.folder == folder)
                .is_some()
            {
                missing.push((LayerName::CgroupMemory, why.clone()));
            }
            if self.pids.take_if(|pids| *pids == folder).is_some() {
                missing.push((LayerName::CgroupProcesses, why.clone()));
            }
            if self.unified.take_if(|unified| *unified == folder).is_some() {
                missing.push((LayerName::CgroupKill, why));
            }
            remove_group(&folder);
        }
        missing
    }

    /// Whether the kernel limits the memory.
    pub(super) fn caps_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Whether the kernel limits the number of processes.
    pub(super) fn caps_pids(&self) -> bool {
        self.pids.is_some()
    }

    fn can_kill(&self) -> bool {
        self.unified
            .as_ref()
            .is_some_and(|f| f.join("cgroup.kill").exists())
    }

    /// How often the kernel killed a process of the tree because of the memory limit.
    pub(super) fn memory_kills(&self) -> u64 {
        let Some(memory) = &self.memory else { return 0 };
        let file = match memory.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        counter(&memory.folder, file, "oom_kill")
    }

    /// How often the kernel refused a fork.
    pub(super) fn refused_forks(&self) -> u64 {
        self.pids
            .as_ref()
            .map_or(0, |folder| counter(folder, "pids.events", "max"))
    }

    /// Memory currently in use, without page cache.
    pub(super) fn used_bytes(&self) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        let names = match memory.version {
            Version::One => ["total_rss", "total_shmem"],
            Version::Two => ["anon", "shmem"],
        };
        let text = fs::read_to_string(memory.folder.join("memory.stat")).ok()?;
        Some(names.iter().map(|name| find_counter(&text, name)).sum())
    }

    /// The peak that the kernel counted, including page cache.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        let file = match memory.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        fs::read_to_string(memory.folder.join(file))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// Kills every process inside at once, if the kernel supports that.
    pub(super) fn kill(&self) {
        if let Some(folder) = &self.unified {
            let _ = put(folder, "cgroup.kill", "1");
        }
    }

    /// Removes the folders. A group whose last process has just ended may be busy for a moment.
    pub(super) fn remove(&self) {
        for folder in self.folders() {
            remove_group(&folder);
        }
    }
}

/// A group that an earlier helper created.
pub(super) struct RecordedGroup(PathBuf);

impl RecordedGroup {
    /// The processes in it.
    pub(super) fn members(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.parse().ok())
            .filter(|pid| *pid > 0)
            .collect()
    }

    /// Kills every process inside at once, if the kernel supports that.
    pub(super) fn kill(&self) {
        let _ = put(&self.0, "cgroup.kill", "1");
    }

    /// Removes the folder.
    pub(super) fn remove(&self) {
        remove_group(&self.0);
    }
}

fn remove_group(folder: &Path) {
    for _ in 0..50 {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Ok(()) | Err(_) => return,
        }
    }
}

/// Writes to a control file, which must exist already.
fn put(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).open(folder.join(file))?;
    file.write_all(value.as_bytes())
}

fn counter(folder: &Path, file: &str, name: &str) -> u64 {
    find_counter(
        &fs::read_to_string(folder.join(file)).unwrap_or_default(),
        name,
    )
}

fn find_counter(text: &str, name: &str) -> u64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

fn make(parent: &Path, name: &str) -> Option<PathBuf> {
    let folder = parent.join(name);
    fs::create_dir(&folder).ok()?;
    Some(folder)
}

/// Creates a group of version 2. A group that contains processes cannot delegate controllers, so
/// the own group is rarely a suitable parent: the nearest ancestor that delegates them, or can be
/// made to, is used. Without any, a group that can only be killed is still useful.
fn make_unified(hierarchy: &Hierarchy, name: &str) -> Option<PathBuf> {
    let ancestors: Vec<&Path> = hierarchy
        .own
        .ancestors()
        .take_while(|folder| folder.starts_with(&hierarchy.root))
        .collect();
    let with_controllers = ancestors
        .iter()
        .find(|folder| hands_down_controllers(folder));
    with_controllers
        .into_iter()
        .chain(&ancestors)
        .find_map(|parent| make(parent, name))
}

fn hands_down_controllers(folder: &Path) -> bool {
    let has_both = |text: String| {
        let names: Vec<&str> = text.split_ascii_whitespace().collect();
        names.contains(&"memory") && names.contains(&"pids")
    };
    let read = |file| fs::read_to_string(folder.join(file)).unwrap_or_default();
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
        && has_both(read("cgroup.controllers"))
        && (has_both(read("cgroup.subtree_control"))
            || put(folder, "cgroup.subtree_control", "+memory +pids").is_ok())
}

struct Hierarchies {
    unified: Option<Hierarchy>,
    memory: Option<Hierarchy>,
    pids: Option<Hierarchy>,
}

impl Hierarchies {
    fn load() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            unified: find_hierarchy(&mounts, &own, None),
            memory: find_hierarchy(&mounts, &own, Some("memory")),
            pids: find_hierarchy(&mounts, &own, Some("pids")),
        }
    }
}

/// Finds a hierarchy in the tables of mounts and of own groups: version 2 for `None`, else the
/// version 1 hierarchy of that controller.
fn find_hierarchy(mounts: &str, own: &str, controller: Option<&str>) -> Option<Hierarchy> {
    let root = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, at, kind, options) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        let fits = match controller {
            None => kind == "cgroup2",
            Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        fits.then(|| PathBuf::from(at))
    })?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let fits = match controller {
            None => names.is_empty(),
            Some(name) => names.split(',').any(|n| n == name),
        };
        fits.then(|| path.trim_start_matches('/'))
    })?;
    let own = root.join(path);
    // Inside a container the path may be that of the host.
    let own = if own.is_dir() { own } else { root.clone() };
    Some(Hierarchy { root, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "cgroup /c/memory cgroup rw,relatime,memory 0 0\n\
        cgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\n\
        cgroup2 /c/unified cgroup2 rw,relatime 0 0\n";
    const OWN: &str = "4:memory:/jobs/a\n1:cpu,cpuacct:/\n0::/user/b\n";

    #[test]
    fn a_hierarchy_is_found_by_its_version_and_controller() {
        let found = |controller| find_hierarchy(MOUNTS, OWN, controller).map(|h| h.root);
        assert_eq!(found(None), Some(PathBuf::from("/c/unified")));
        assert_eq!(found(Some("memory")), Some(PathBuf::from("/c/memory")));
        assert_eq!(found(Some("pids")), None);
    }

    /// Creates a folder like a group of version 2, with these files and contents.
    fn group(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        for (name, content) in files {
            crate::files::replace(&folder.join(name), content.as_bytes()).unwrap();
        }
        folder.to_path_buf()
    }

    fn text(folder: &Path, file: &str) -> String {
        fs::read_to_string(folder.join(file)).unwrap()
    }

    #[test]
    fn the_nearest_group_that_hands_memory_and_pids_down_becomes_the_parent() {
        let dir = tempfile::tempdir().unwrap();
        let all = ("cgroup.controllers", "cpu memory pids");
        let root = group(dir.path(), &[all, ("cgroup.subtree_control", "cpu")]);
        let user = [all, ("cgroup.subtree_control", "memory pids")];
        let user = group(&root.join("user"), &user);
        // A group that contains processes cannot: the kernel refuses the write to its control file.
        let own = group(&user.join("session"), &[all]);
        let made = make_unified(&Hierarchy { root, own }, "drive-1-2");
        assert_eq!(made, Some(user.join("drive-1-2")));
    }

    #[test]
    fn a_group_that_can_be_made_to_hand_them_down_is_made_to() {
        let dir = tempfile::tempdir().unwrap();
        let all = ("cgroup.controllers", "memory pids");
        let root = group(dir.path(), &[all, ("cgroup.subtree_control", "")]);
        let own = group(&root.join("session"), &[all]);
        let hierarchy = Hierarchy {
            root: root.clone(),
            own,
        };
        assert_eq!(make_unified(&hierarchy, "a"), Some(root.join("a")));
        assert_eq!(text(&root, "cgroup.subtree_control"), "+memory +pids");
    }

    #[test]
    fn without_controllers_a_group_that_can_only_be_killed_is_made_where_we_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = group(dir.path(), &[("cgroup.controllers", "hugetlb")]);
        let own = group(&root.join("session"), &[("cgroup.controllers", "")]);
        let made = make_unified(
            &Hierarchy {
                root,
                own: own.clone(),
            },
            "a",
        );
        assert_eq!(made, Some(own.join("a")));
    }

    #[test]
    fn caps_and_counters_of_version_2_are_written_and_read() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("memory.max", "max"),
            ("memory.swap.max", "max"),
            ("memory.events", "low 0\noom 4\noom_kill 2\n"),
            ("memory.stat", "anon 100\nfile 7\nshmem 20\n"),
            ("memory.peak", "4096\n"),
            ("pids.max", "max"),
            ("pids.events", "max 3\n"),
        ];
        let folder = group(dir.path(), &files);
        let none = Hierarchies {
            unified: None,
            memory: None,
            pids: None,
        };
        let mut groups = Cgroups {
            unified: Some(folder.clone()),
            ..Cgroups::default()
        };
        groups.memory = groups.cap_memory(&none, "a", 512);
        groups.pids = groups.cap_pids(&none, "a", 8);
        let caps = ["memory.max", "memory.swap.max", "pids.max"];
        // These are plain files, so the new text overwrites the beginning of the old one.
        assert_eq!(caps.map(|file| text(&folder, file)), ["512", "0ax", "9ax"]);
        assert_eq!(groups.folders(), [folder]);
        assert_eq!((groups.memory_kills(), groups.refused_forks()), (2, 3));
        assert_eq!(
            (groups.used_bytes(), groups.peak_bytes()),
            (Some(120), Some(4096))
        );
    }

    #[test]
    fn a_counter_is_read_by_its_whole_name() {
        let text = "oom 3\noom_kill 7\noom_group_kill 0\n";
        assert_eq!(find_counter(text, "oom_kill"), 7);
        assert_eq!(find_counter(text, "oom_killed"), 0);
    }
}
