//! Real git behind the simulator: a bare repository, served by git's own HTTP back end.

use super::http::{Answer, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A bare repository; none for repositories that only contain conversations.
pub(crate) enum GitStore {
    Bare(PathBuf),
    None,
}

const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "Simulated GitHub"),
    ("GIT_AUTHOR_EMAIL", "noreply@github.localhost"),
    ("GIT_AUTHOR_DATE", "1767225600 +0000"),
    ("GIT_COMMITTER_NAME", "Simulated GitHub"),
    ("GIT_COMMITTER_EMAIL", "noreply@github.localhost"),
    ("GIT_COMMITTER_DATE", "1767225600 +0000"),
];

impl GitStore {
    /// Creates an empty bare repository under `root`.
    pub(crate) fn create(root: &Path, owner: &str, name: &str) -> Self {
        let path = root.join(owner).join(format!("{name}.git"));
        let store = GitStore::Bare(path.clone());
        let path = path.to_string_lossy();
        store.run(&["init", "--quiet", "--bare", "--initial-branch=main", &path]);
        store.run(&["config", "http.receivepack", "true"]);
        store.run(&["config", "core.logAllRefUpdates", "true"]);
        store
    }

    /// All branches and their commits.
    pub(crate) fn branches(&self) -> BTreeMap<String, String> {
        let format = "--format=%(refname:lstrip=2) %(objectname)";
        self.lines(&["for-each-ref", format, "refs/heads"])
            .iter()
            .filter_map(|line| line.split_once(' '))
            .map(|(branch, sha)| (branch.to_owned(), sha.to_owned()))
            .collect()
    }

    /// Every commit at which a branch was, oldest first.
    pub(crate) fn positions(&self, branch: &str) -> Vec<String> {
        let name = format!("refs/heads/{branch}");
        let mut all = self.lines(&["reflog", "show", "--format=%H", &name]);
        all.reverse();
        all
    }

    /// The commits of `head` that `base` lacks, oldest first.
    pub(crate) fn commits(&self, base: &str, head: &str) -> Vec<String> {
        self.lines(&["rev-list", "--reverse", &format!("{base}..{head}")])
    }

    /// The diff as text.
    pub(crate) fn diff(&self, base: &str, head: &str) -> String {
        self.lines(&["diff", &format!("{base}...{head}")])
            .join("\n")
    }

    /// The diff of `path` as text.
    pub(crate) fn file_diff(&self, base: &str, head: &str, path: &str) -> String {
        let lines = self.lines(&["diff", &format!("{base}...{head}"), "--", path]);
        lines.join("\n")
    }

    /// The lines of the new version of `path` that the diff shows.
    pub(crate) fn lines_in_diff(&self, base: &str, head: &str, path: &str) -> BTreeSet<u64> {
        let mut shown = BTreeSet::new();
        let mut line = 0;
        for text in self.lines(&["diff", &format!("{base}...{head}"), "--", path]) {
            if let Some(hunk) = text.strip_prefix("@@ ") {
                line = hunk_start(hunk);
            } else if line > 0 && !text.starts_with('-') {
                shown.insert(line);
                line += 1;
            }
        }
        shown
    }

    /// The tree of a clean merge; `None` if there is a conflict.
    pub(crate) fn merged_tree(&self, base: &str, head: &str) -> Option<String> {
        let output = self.output(&["merge-tree", "--write-tree", base, head])?;
        output.status.success().then(|| first_line(&output.stdout))
    }

    /// Merges and moves the base branch. `None` if there is a conflict.
    pub(crate) fn merge(&self, branch: &str, base: &str, head: &str, how: Merge) -> Option<String> {
        let tree = self.merged_tree(base, head)?;
        let mut args = vec!["commit-tree", &tree, "-p", base];
        if how == Merge::Commit {
            args.extend(["-p", head]);
        }
        args.extend(["-m", "Merge pull request"]);
        let commit = first_line(&self.output(&args)?.stdout);
        self.run(&["update-ref", &format!("refs/heads/{branch}"), &commit, base]);
        Some(commit)
    }

    pub(crate) fn delete_branch(&self, branch: &str) {
        self.run(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    }

    /// Makes git refuse every push, like a rule of the server.
    #[expect(
        clippy::disallowed_methods,
        reason = "a hook of the simulated server, written once"
    )]
    pub(crate) fn refuse_pushes(&self, why: &str) -> bool {
        let GitStore::Bare(bare) = self else {
            return false;
        };
        let hook = bare.join("hooks/pre-receive");
        let script = format!("#!/bin/sh\ncat > /dev/null\necho '{why}' >&2\nexit 1\n");
        std::fs::create_dir_all(bare.join("hooks"))
            .and_then(|()| std::fs::write(&hook, script))
            .and_then(|()| std::fs::set_permissions(&hook, Permissions::from_mode(0o755)))
            .is_ok()
    }

    /// Commits one file on top of a branch, like a push.
    pub(crate) fn commit_file(
        &self,
        branch: &str,
        base: &str,
        path: &str,
        content: &str,
    ) -> Option<String> {
        let GitStore::Bare(bare) = self else {
            return None;
        };
        let branches = self.branches();
        let parent = branches.get(branch).or_else(|| branches.get(base));
        let index = bare.join(format!("simulator-index-{}", std::process::id()));
        let with_index = |args: &[&str], input: &str| {
            let index = index.to_string_lossy().into_owned();
            run_git(bare, args, &[("GIT_INDEX_FILE", &index)], input.as_bytes())
        };
        if let Some(parent) = parent {
            with_index(&["read-tree", parent], "")?;
        }
        let blob = first_line(&with_index(&["hash-object", "-w", "--stdin"], content)?.stdout);
        let entry = format!("100644,{blob},{path}");
        with_index(&["update-index", "--add", "--cacheinfo", &entry], "")?;
        let tree = first_line(&with_index(&["write-tree"], "")?.stdout);
        let _ = std::fs::remove_file(&index);
        let message = format!("Write {path}");
        let mut args = vec!["commit-tree", &tree, "-m", &message];
        if let Some(parent) = parent {
            args.extend(["-p", parent]);
        }
        let commit = first_line(&self.output(&args)?.stdout);
        self.run(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
        Some(commit)
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        let Some(output) = self.output(args) else {
            return Vec::new();
        };
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn run(&self, args: &[&str]) {
        self.output(args);
    }

    fn output(&self, args: &[&str]) -> Option<Output> {
        match self {
            GitStore::Bare(path) => run_git(path, args, &[], b""),
            GitStore::None => None,
        }
    }
}

/// The merge method of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    Commit,
    Squash,
}

/// Serves one request of the smart protocol through `git http-backend`.
pub(crate) fn serve(root: &Path, request: &Request) -> Answer {
    let query = request.raw_query.clone();
    let env = [
        ("GIT_PROJECT_ROOT", root.to_string_lossy().into_owned()),
        ("GIT_HTTP_EXPORT_ALL", "1".to_owned()),
        ("REQUEST_METHOD", request.method.clone()),
        ("PATH_INFO", request.path.clone()),
        ("QUERY_STRING", query),
        ("REMOTE_USER", "pusher".to_owned()),
        ("CONTENT_TYPE", request.header("content-type")),
        ("CONTENT_LENGTH", request.body.len().to_string()),
        ("HTTP_CONTENT_ENCODING", request.header("content-encoding")),
        ("HTTP_GIT_PROTOCOL", request.header("git-protocol")),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
    match run_git(root, &["http-backend"], &env, &request.body) {
        Some(output) => cgi_answer(&output.stdout),
        None => Answer::text(500, "git http-backend did not start"),
    }
}

fn cgi_answer(bytes: &[u8]) -> Answer {
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut answer = Answer::text(200, "");
    answer.headers.clear();
    answer.body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("status") {
            answer.status = value.get(..3).and_then(|s| s.parse().ok()).unwrap_or(500);
        } else {
            answer.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    answer
}

fn hunk_start(hunk: &str) -> u64 {
    hunk.split('+')
        .nth(1)
        .and_then(|new| new.split([',', ' ']).next())
        .and_then(|start| start.parse().ok())
        .unwrap_or(0)
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulator stands for a foreign server: its git is not drive's"
)]
fn run_git(cwd: &Path, args: &[&str], env: &[(&str, &str)], input: &[u8]) -> Option<Output> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cwd = if cwd.exists() { cwd } else { Path::new("/") };
    let mut child = Command::new("git")
        .args(args)
        .current_dir(cwd)
        .env_clear()
        .env("PATH", path)
        .env("HOME", cwd)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(IDENTITY)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().ok()
    })
}
