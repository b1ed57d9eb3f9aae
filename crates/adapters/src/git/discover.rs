use super::answer::path_from;
use super::call::shown;
use super::{Git, Location, Touches};
use drive_core::ids::BranchName;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::Repository;
use std::path::Path;

/// The repository that contains a path. It may be bare, because sandboxes need no checkout.
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

/// The usual case, a checkout with commits, in one call; `None` in all other cases.
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
    let Some(head_sha) = CommitSha::parse(&String::from_utf8_lossy(head)) else {
        return Ok(None);
    };
    let branch = String::from_utf8_lossy(name);
    Ok(Some(Repository {
        common_dir: path_from(common),
        git_dir: path_from(own),
        top: Some(path_from(top)),
        shallow: *shallow == b"true",
        head_sha,
        branch: BranchName::of_ref(&branch),
    }))
}

/// Handles every case, with a specific problem for each mistake.
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
        return Err(Problem::new(
            Kind::UnsupportedPath,
            format!(
                "the path of the git folder of `{}` contains a line break",
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

/// The facts about a commit that a sandbox needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The full id of the commit.
    pub(crate) base_sha: CommitSha,
    /// Whether its tree contains submodules.
    pub(crate) submodules: bool,
    /// The content filters in its top-level attributes.
    pub(crate) filters: Vec<String>,
    /// Whether the branch to create exists already.
    pub(crate) has_branch: bool,
}

/// Reads these facts about a commit and the branch to create, in one call.
pub(crate) fn look_at(
    git: &Git,
    location: &Location,
    base: &str,
    branch: Option<&BranchName>,
) -> Result<Look, Problem> {
    if base.starts_with('-') || base.contains(['\0', '\n']) {
        return Err(super::history::unknown_revision(base));
    }
    let branch = branch.map_or_else(|| "HEAD".to_owned(), BranchName::full);
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["cat-file", "--batch"])
        .stdin(format!(
            "{base}^{{commit}}\n{base}:.gitmodules\n{base}:.gitattributes\n{branch}\n"
        ))
        .run()?;
    let mut rest = answer.stdout.as_slice();
    let mut objects = Vec::new();
    while let Some((object, after)) = next_object(rest) {
        objects.push(object);
        rest = after;
    }
    let [commit, modules, attributes, branch] = &objects[..] else {
        return Err(answer.problem());
    };
    let Some(commit) = commit else {
        return Err(super::history::unknown_revision(base));
    };
    let base_sha = CommitSha::parse(commit.name).ok_or_else(|| answer.problem())?;
    let attributes = attributes.as_ref().map_or(&b""[..], |file| file.content);
    Ok(Look {
        base_sha,
        submodules: modules.is_some(),
        filters: filters_in(&String::from_utf8_lossy(attributes)),
        has_branch: branch.is_some(),
    })
}

/// One object of a batch.
struct Object<'a> {
    name: &'a str,
    content: &'a [u8],
}

/// Parses the next answer of `git cat-file --batch`: `sha type size`, the content and a line end;
/// or `what missing`. `None` at the end, and if the answer is incomplete.
fn next_object(bytes: &[u8]) -> Option<(Option<Object<'_>>, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]);
    let mut words = line.rsplitn(3, ' ');
    let (Some(size), Some(_kind), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Some((None, rest));
    };
    let Ok(size) = size.parse::<usize>() else {
        return Some((None, rest));
    };
    let content = rest.get(..size)?;
    Some((Some(Object { name, content }), rest.get(size + 1..)?))
}

/// The content filters in a commit's top-level attributes, such as `lfs`.
pub(crate) fn filters_of(
    git: &Git,
    location: &Location,
    sha: &str,
) -> Result<Vec<String>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["cat-file", "blob", &format!("{sha}:.gitattributes")])
        .run()?;
    Ok(filters_in(&String::from_utf8_lossy(&answer.stdout)))
}

fn filters_in(attributes: &str) -> Vec<String> {
    let mut names: Vec<String> = attributes
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.strip_prefix("filter="))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The total size of a commit's files in bytes.
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
    // Inside a git directory there is no worktree, which is allowed.
    Ok((answer.code == 0).then(|| answer.path()))
}

fn require_head(git: &Git, location: &Location, path: &Path) -> Result<CommitSha, Problem> {
    git.call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
        .optional_sha()?
        .ok_or_else(|| {
            Problem::new(
                Kind::NoCommitsYet,
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
    Problem::new(
        Kind::RepositoryUnreadable,
        format!("git cannot read the repository at `{}`", shown(path)),
    )
    .cause(answer.complaint())
    .hint(format!("see what `git -C '{}' status` says", shown(path)))
}

fn not_a_repository(path: &Path) -> Problem {
    Problem::new(
        Kind::NotARepository,
        format!("`{}` is not in a git repository", shown(path)),
    )
    .hint("run `git init` there, or pass `--repo PATH`")
}
