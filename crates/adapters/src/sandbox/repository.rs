//! Writes the repository of a sandbox: refs, settings and a link to the user's objects.
//!
//! It copies only names and the settings that git needs to behave like in the user's checkout: author, line
//! ends, ignored files, and remotes without their credentials. Settings that name a program are left out.

use super::problems::storage_problem;
use crate::files;
use crate::git::{self, Git, Location, Setting, Touches};
use drive_core::Problem;
use drive_core::ids::CommitSha;
use drive_core::sandbox::Sandbox;
use std::io;
use std::path::{Path, PathBuf};

/// The pattern of drive's own folder, which no commit may contain, even if something else replaced
/// the folder.
const EXCLUDED: &[u8] = b"/.cruise\n";
/// The maximum number of bytes that are copied from a file with patterns.
const PATTERN_BYTES: u64 = 4 << 20;

/// Settings that are copied into a sandbox.
const SETTINGS: [&str; 14] = [
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.symlinks",
    "core.precomposeunicode",
    "init.defaultbranch",
    "merge.conflictstyle",
    "i18n.commitencoding",
];

/// Settings of a sparse checkout. An agent may have changed them in its sandbox, so the sandbox's
/// values override the user's.
const SPARSE: [&str; 3] = [
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
];
/// The file with the patterns of a sparse checkout, in the git folder of each checkout.
const SPARSE_FILE: &str = "info/sparse-checkout";
/// The file in which a git folder lists commits whose parents are missing.
const SHALLOW: &str = "shallow";
/// The maximum number of bytes that are read of the settings of a sandbox.
const CONFIG_BYTES: u64 = 1 << 20;

/// The repository of one sandbox, to be written.
pub(super) struct OwnRepository<'a> {
    pub(super) git: &'a Git,
    pub(super) sandbox: &'a Sandbox,
    /// The git folder of the checkout from which settings are copied.
    pub(super) checkout: &'a Path,
    /// The commit of its branch.
    pub(super) head: &'a CommitSha,
}

impl OwnRepository<'_> {
    /// Writes the repository anew, and replaces whatever is there.
    pub(super) fn write(&self) -> Result<(), Problem> {
        let own = self.own();
        files::remove_tree(&own).map_err(|error| storage_problem(&own, &error))?;
        self.write_settings()?;
        self.write_refs()
    }

    /// Writes the files that an agent has no reason to change. Refs, index and objects are unchanged.
    pub(super) fn write_settings(&self) -> Result<(), Problem> {
        self.renew_settings()?;
        if let Ok(content) = std::fs::read(self.checkout.join(SPARSE_FILE)) {
            put(&self.own().join(SPARSE_FILE), &content)?;
        }
        self.write_head()
    }

    /// Writes the settings anew, so that git in the sandbox runs no program and uses no identity
    /// that an agent configured.
    pub(super) fn renew_settings(&self) -> Result<(), Problem> {
        let (own, users) = (self.own(), &self.sandbox.git_dir);
        // Without a slash at the end of the path, a link is not followed.
        plain_folder(&own)?;
        for name in ["objects", "objects/info", "objects/pack", "refs", "info"] {
            plain_folder(&own.join(name))?;
        }
        let settings = git::load_settings(self.git, &self.settings_of())?;
        let config = config(&settings, &own);
        for name in ["commondir", "gitdir", "config.worktree", "hooks"] {
            discard(&own.join(name))?;
        }
        put(&own.join("config"), config.as_bytes())?;
        // This file cuts off history: an agent could hide commits from every check with it.
        match std::fs::read(users.join(SHALLOW)) {
            Ok(content) => put(&own.join(SHALLOW), &content)?,
            Err(_) => discard(&own.join(SHALLOW))?,
        }
        let objects = git::object_folders(users);
        put(
            &own.join("objects/info/alternates"),
            &git::as_file(&objects),
        )?;
        let mut ignored = patterns(&users.join("info/exclude"));
        ignored.extend(patterns(&self.users_file(
            &settings,
            "core.excludesfile",
            "ignore",
        )));
        ignored.extend_from_slice(EXCLUDED);
        put(&own.join("info/exclude"), &ignored)?;
        let mut attributes =
            patterns(&self.users_file(&settings, "core.attributesfile", "attributes"));
        attributes.extend(patterns(&users.join("info/attributes")));
        put(&own.join("info/attributes"), &attributes)
    }

    /// The repository with the user's settings: a linked worktree may have been removed.
    fn settings_of(&self) -> Location {
        let users = &self.sandbox.git_dir;
        if self.checkout.is_dir() {
            Location::linked(self.checkout, users)
        } else {
            Location::bare(users)
        }
    }

    /// Points the head at the branch, or at the commit if there is no branch.
    pub(super) fn write_head(&self) -> Result<(), Problem> {
        let head = match &self.sandbox.branch {
            Some(branch) => format!("ref: {}\n", branch.full()),
            None => format!("{}\n", self.head),
        };
        put(&self.own().join("HEAD"), head.as_bytes())
    }

    /// Writes branches, tags and remote branches as they are now in the user's repository.
    fn write_refs(&self) -> Result<(), Problem> {
        let own = self.own();
        let answer = self
            .git
            .call_at(Location::bare(&self.sandbox.git_dir), Touches::Objects)
            .args([
                "for-each-ref",
                "--format=%(objectname) %(refname) %(symref)",
            ])
            .args(["refs/heads", "refs/tags", "refs/remotes"])
            .ok()?;
        let branch = self.sandbox.branch.as_ref().map(|branch| branch.full());
        let mut packed = b"# pack-refs with: sorted \n".to_vec();
        for line in answer.stdout.split(|byte| *byte == b'\n') {
            let mut words = line.splitn(3, |byte| *byte == b' ');
            let (Some(sha), Some(name)) = (words.next(), words.next()) else {
                continue;
            };
            let followed = words.next().unwrap_or_default();
            if branch.as_ref().is_some_and(|own| own.as_bytes() == name) {
                continue;
            }
            if followed.is_empty() {
                packed.extend([sha, b" ", name, b"\n"].concat());
            } else {
                let content = [b"ref: ", followed, b"\n"].concat();
                put_below(&own, &git::path_from(name), &content)?;
            }
        }
        put(&own.join("packed-refs"), &packed)?;
        match branch {
            Some(branch) => self.write_branch(&branch),
            None => Ok(()),
        }
    }

    /// Points the branch at the commit, and the head at the branch.
    pub(super) fn write_own_branch(&self) -> Result<(), Problem> {
        if let Some(branch) = &self.sandbox.branch {
            self.write_branch(&branch.full())?;
        }
        self.write_head()
    }

    fn write_branch(&self, branch: &str) -> Result<(), Problem> {
        let content = format!("{}\n", self.head);
        put_below(&self.own(), Path::new(branch), content.as_bytes())
    }

    /// The sandbox's own git folder.
    fn own(&self) -> PathBuf {
        self.sandbox.path.join(".git")
    }

    /// The file that the user's settings name, or git's default.
    fn users_file(&self, settings: &[Setting], key: &str, name: &str) -> PathBuf {
        let home = self.git.home().map(Path::to_path_buf).unwrap_or_default();
        match git::last_setting(settings, key) {
            Some(path) => match path.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => home.join(path),
            },
            None => self.git.settings_folder().join(name),
        }
    }
}

/// The lines of a file with patterns; empty if the file is missing.
fn patterns(path: &Path) -> Vec<u8> {
    let mut lines = files::load_from(path, 0, PATTERN_BYTES).unwrap_or_default();
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    lines
}

/// The settings of the sandbox whose git folder is `own`.
fn config(settings: &[Setting], own: &Path) -> String {
    let format = git::last_setting(settings, "extensions.objectformat");
    let has_tables = git::has_reftable(own);
    let mut out = format!(
        "[core]\n\trepositoryformatversion = {}\n\tbare = false\n\tlogallrefupdates = true\n",
        u8::from(format.is_some() || has_tables)
    );
    if let Some(format) = format {
        line(&mut out, "extensions.objectformat", format);
    }
    if has_tables {
        line(&mut out, "extensions.refstorage", "reftable");
    }
    let said = ["config", "config.worktree"]
        .map(|name| files::load_plain(&own.join(name), CONFIG_BYTES).unwrap_or_default());
    for key in SPARSE {
        if let Some(is_set) = said_in(&said.concat(), key) {
            line(&mut out, key, if is_set { "true" } else { "false" });
        } else if let Some(value) = git::last_setting(settings, key) {
            line(&mut out, key, value);
        }
    }
    for key in SETTINGS {
        if let Some(value) = git::last_setting(settings, key) {
            line(&mut out, key, value);
        }
    }
    let remotes = settings.iter().filter_map(|one| {
        let (name, last) = one.key.strip_prefix("remote.")?.rsplit_once('.')?;
        let value = match last {
            "url" => public_address(&one.value)?,
            "fetch" => one.value.clone(),
            _ => return None,
        };
        Some((format!("remote.{name}.{last}"), value))
    });
    for (key, value) in remotes {
        line(&mut out, &key, &value);
    }
    out
}

/// The value of a boolean setting in the text of a config file. Recognises only git's own format;
/// nothing else depends on the file.
fn said_in(text: &[u8], key: &str) -> Option<bool> {
    let (section, name) = key.rsplit_once('.')?;
    let (mut is_section, mut said) = (false, None);
    for line in String::from_utf8_lossy(text).to_lowercase().lines() {
        let line = line.trim();
        if line.starts_with('[') {
            is_section = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) == Some(section);
        } else if let (true, Some((left, value))) = (is_section, line.split_once('='))
            && left.trim() == name
        {
            said = Some(value.trim().trim_matches('"') == "true");
        }
    }
    said
}

/// The address of a remote without its credentials; `None` for a folder of this machine, which the
/// sandbox cannot see.
fn public_address(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        let (host, path) = url.split_once(':')?;
        // Git reads `name:token@host:path` differently than it looks.
        let has_secret = !host.contains('@') && path.contains('@');
        let is_host = !host.contains('/') && !path.is_empty() && !has_secret;
        return is_host.then(|| url.to_owned());
    };
    if scheme == "file" {
        return None;
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = match host.rsplit_once('@') {
        // `ssh://git@host`: the user name is no secret, and the server needs it.
        Some((user, host)) if scheme.contains("ssh") && !user.contains(':') => {
            format!("{user}@{host}")
        }
        Some((_, host)) => host.to_owned(),
        None => host.to_owned(),
    };
    Some(format!("{scheme}://{host}/{path}"))
}

/// Writes one setting in its own section.
fn line(out: &mut String, key: &str, value: &str) {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let Some((section, name)) = key.rsplit_once('.') else {
        return;
    };
    let section = match section.split_once('.') {
        Some((section, below)) => format!("{section} \"{}\"", quoted(below)),
        None => section.to_owned(),
    };
    let value = quoted(value).replace('\n', "\\n").replace('\t', "\\t");
    out.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
}

/// Ensures that a path is a folder and not a link to one.
fn plain_folder(path: &Path) -> Result<(), Problem> {
    let failed = |error: io::Error| storage_problem(path, &error);
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        discard(path)?;
        std::fs::create_dir(path).map_err(failed)?;
    }
    files::make_usable(path).map_err(failed)
}

/// Writes a file below a folder. The folders on the way are created, and must not be links.
fn put_below(top: &Path, path: &Path, content: &[u8]) -> Result<(), Problem> {
    let mut folder = top.to_path_buf();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        plain_folder(&folder)?;
    }
    put(&top.join(path), content)
}

/// Writes a file anew. A link in its place is removed, not followed.
fn put(path: &Path, content: &[u8]) -> Result<(), Problem> {
    discard(path)?;
    std::fs::File::create_new(path)
        .and_then(|mut file| io::Write::write_all(&mut file, content))
        .map_err(|error| storage_problem(path, &error))
}

fn discard(path: &Path) -> Result<(), Problem> {
    files::remove_tree(path).map_err(|error| storage_problem(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_remote_loses_its_credentials_and_a_folder_stays_behind() {
        let table = [
            ("https://github.com/a/b", Some("https://github.com/a/b")),
            (
                "https://me:token@github.com/a",
                Some("https://github.com/a"),
            ),
            (
                "https://token@github.com/a/b",
                Some("https://github.com/a/b"),
            ),
            ("ssh://git@host:22/a.git", Some("ssh://git@host:22/a.git")),
            ("ssh://git:secret@host/a", Some("ssh://host/a")),
            ("git@github.com:a/b.git", Some("git@github.com:a/b.git")),
            ("me:token@github.com:a/b.git", None),
            ("file:///srv/a", None),
            ("/srv/a", None),
            ("../a", None),
            ("./a:b", None),
        ];
        for (url, expected) in table {
            assert_eq!(public_address(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn whether_a_sandbox_is_sparse_is_read_as_git_writes_it() {
        let text = b"[core]\n\tsparseCheckout = true\n[index]\n\tsparse = false\n\
            [core]\n\tsparseCheckoutCone = \"true\"\n[a \"core\"]\n\tsparseCheckout = false\n";
        let said = SPARSE.map(|key| said_in(text, key));
        assert_eq!(said, [Some(true), Some(true), Some(false)]);
        assert_eq!(said_in(b"[core]\n\tbare = false\n", SPARSE[0]), None);
    }

    #[test]
    fn a_setting_is_written_so_that_it_stays_one_value() {
        let mut out = String::new();
        line(&mut out, "remote.o\"x.url", "a\\b \"c\"\n[core]\n\tx = y");
        assert_eq!(
            out,
            "[remote \"o\\\"x\"]\n\turl = \"a\\\\b \\\"c\\\"\\n[core]\\n\\tx = y\"\n"
        );
    }
}
