use super::call::{path_from, shown};
use super::{Git, Location, Touches};
use drive_core::Problem;
use drive_engine::ports::Repository;
use std::path::Path;

/// The repository a path lies in. A bare repository is fine: worktrees do not need a checkout.
pub(super) fn discover(git: &Git, path: &Path) -> Result<Repository, Problem> {
    if !path.is_dir() {
        return Err(not_a_repository(path));
    }
    let location = Location::checkout(path);
    match in_one_look(git, &location)? {
        Some(repository) => Ok(repository),
        None => step_by_step(git, &location, path),
    }
}

/// The usual case, a checkout with commits, in one call; `None` for everything else.
fn in_one_look(git: &Git, location: &Location) -> Result<Option<Repository>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--path-format=absolute", "--git-common-dir"])
        .args(["--absolute-git-dir", "--is-shallow-repository"])
        .args(["--show-toplevel", "HEAD^{commit}"])
        .args(["--symbolic-full-name", "HEAD"])
        .run()?;
    let lines: Vec<&[u8]> = answer.stdout.split(|b| *b == b'\n').collect();
    let (0, [common, own, shallow, top, head, name, b""]) = (answer.code, &lines[..]) else {
        return Ok(None);
    };
    let branch = String::from_utf8_lossy(name);
    Ok(Some(Repository {
        common_dir: path_from(common),
        git_dir: path_from(own),
        top: Some(path_from(top)),
        shallow: *shallow == b"true",
        head_sha: String::from_utf8_lossy(head).into_owned(),
        branch: branch.strip_prefix("refs/heads/").map(str::to_owned),
    }))
}

/// Every case, and every mistake by its name.
fn step_by_step(git: &Git, location: &Location, path: &Path) -> Result<Repository, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args([
            "rev-parse",
            "--path-format=absolute",
            "--git-common-dir",
            "--absolute-git-dir",
        ])
        .args(["--is-bare-repository", "--is-shallow-repository"])
        .run()?;
    if answer.code != 0 {
        return Err(unreadable_or_absent(path, &answer));
    }
    let lines: Vec<&[u8]> = answer
        .stdout
        .trim_ascii_end()
        .split(|b| *b == b'\n')
        .collect();
    let [common, own, bare, shallow] = lines[..] else {
        return Err(Problem::environment(
            "unsupportedPath",
            format!(
                "the git folder of `{}` has a line break in its name",
                shown(path)
            ),
        )
        .hint("move the repository to a folder with a plain name"));
    };
    let top = match bare {
        b"true" => None,
        _ => load_top(git, location)?,
    };
    Ok(Repository {
        common_dir: path_from(common),
        git_dir: path_from(own),
        top,
        shallow: shallow == b"true",
        head_sha: require_head(git, location, path)?,
        branch: super::head_branch(git, location)?,
    })
}

/// Whether a commit's tree asks for submodules.
pub(crate) fn has_submodules(git: &Git, location: &Location, sha: &str) -> Result<bool, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["ls-tree", "-z", "--name-only", sha, "--", ".gitmodules"])
        .ok()?;
    Ok(!answer.stdout.is_empty())
}

/// The content filters a commit's top-level attributes ask for, such as `lfs`.
pub(crate) fn filters_of(
    git: &Git,
    location: &Location,
    sha: &str,
) -> Result<Vec<String>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["cat-file", "blob", &format!("{sha}:.gitattributes")])
        .run()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let mut names: Vec<String> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.strip_prefix("filter="))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// How many bytes the files of a commit have together.
pub(crate) fn tree_bytes(git: &Git, location: &Location, sha: &str) -> Result<u64, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["ls-tree", "-r", "-z", "--format=%(objectsize)", sha])
        .ok()?;
    let sizes = answer.fields().map(String::from_utf8_lossy);
    Ok(sizes.filter_map(|size| size.parse::<u64>().ok()).sum())
}

fn load_top(git: &Git, location: &Location) -> Result<Option<std::path::PathBuf>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--path-format=absolute", "--show-toplevel"])
        .run()?;
    // Asked from inside the git folder itself there is no top, and that is fine.
    Ok((answer.code == 0).then(|| answer.path()))
}

fn require_head(git: &Git, location: &Location, path: &Path) -> Result<String, Problem> {
    git.call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .optional_line()?
        .ok_or_else(|| {
            Problem::usage(
                "noCommitsYet",
                format!("repository `{}` has no commits yet", shown(path)),
            )
            .hint("make a first commit: `git commit --allow-empty -m 'first commit'`")
        })
}

fn unreadable_or_absent(path: &Path, answer: &super::Answer) -> Problem {
    let has_git_folder = path
        .ancestors()
        .map(|dir| dir.join(".git"))
        .any(|git_dir| git_dir.is_file() || git_dir.join("HEAD").symlink_metadata().is_ok());
    if !has_git_folder {
        return not_a_repository(path);
    }
    Problem::environment(
        "repositoryUnreadable",
        format!("git cannot read the repository at `{}`", shown(path)),
    )
    .cause(answer.complaint())
    .hint(format!("see what `git -C '{}' status` says", shown(path)))
}

fn not_a_repository(path: &Path) -> Problem {
    Problem::usage(
        "notARepository",
        format!("`{}` is not in a git repository", shown(path)),
    )
    .hint("run `git init` there, or pass `--repo PATH`")
}
