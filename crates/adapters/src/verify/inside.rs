//! Checks that a path stays inside the workspace after links are resolved.

use drive_core::problem::{Kind, Problem};
use std::path::{Component, Path, PathBuf};

/// The path of the folder `dir` in a workspace.
pub(super) fn folder(workspace: &Path, dir: &str) -> Result<PathBuf, Problem> {
    let real = real_inside(workspace, &workspace.join(dir), dir)?;
    if real.is_dir() {
        return Ok(real);
    }
    Err(Problem::new(
        Kind::NoSuchFolder,
        format!("`{dir}` is not a folder of the workspace"),
    ))
}

/// The program of a stage. A plain name is searched in `path` (the folders of `PATH`); a path must
/// be inside the workspace, or be what a plain name would have found.
pub(super) fn program(
    workspace: &Path,
    cwd: &Path,
    path: &[PathBuf],
    program: &str,
) -> Result<String, Problem> {
    if !program.contains('/') {
        return Ok(program.to_owned());
    }
    let named = Path::new(program);
    if named.is_absolute()
        && is_plain(named)
        && named
            .parent()
            .is_some_and(|dir| path.iter().any(|p| p == dir))
    {
        return Ok(program.to_owned());
    }
    let real = real_inside(workspace, &cwd.join(named), program)?;
    Ok(real.to_string_lossy().into_owned())
}

fn real_inside(workspace: &Path, path: &Path, shown: &str) -> Result<PathBuf, Problem> {
    let real = path.canonicalize().map_err(|error| {
        Problem::new(
            Kind::ProgramNotFound,
            format!("`{shown}` is not in the workspace"),
        )
        .because(error)
        .hint("build it in an earlier stage")
    })?;
    let root = workspace.canonicalize().map_err(|error| {
        Problem::new(Kind::WorkspaceGone, "the workspace no longer exists").because(error)
    })?;
    if real.starts_with(&root) {
        return Ok(real);
    }
    Err(Problem::new(
        Kind::OutsideWorkspace,
        format!(
            "`{shown}` resolves to `{}`, outside the workspace",
            real.display()
        ),
    )
    .hint("use a program's plain name, or a path inside the repository"))
}

fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_that_resolves_outside_is_refused_and_one_inside_is_resolved() {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().canonicalize().unwrap().join("w");
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        std::fs::File::create(workspace.join("tool")).unwrap();
        std::fs::File::create(root.path().join("evil")).unwrap();
        symlink("../evil", workspace.join("link")).unwrap();
        symlink("..", workspace.join("up")).unwrap();
        symlink("../tool", workspace.join("sub/own")).unwrap();
        let path = [PathBuf::from("/usr/bin")];
        let kind =
            |cwd: &Path, name: &str| program(&workspace, cwd, &path, name).map_err(|p| p.kind);
        let sub = workspace.join("sub");
        let tool = Ok(workspace.join("tool").to_string_lossy().into_owned());
        let table = [
            (kind(&workspace, "cargo"), Ok("cargo".to_owned())),
            (kind(&workspace, "./tool"), tool.clone()),
            (kind(&sub, "../tool"), tool.clone()),
            (kind(&sub, "./own"), tool),
            (
                kind(&workspace, "/usr/bin/env"),
                Ok("/usr/bin/env".to_owned()),
            ),
            (kind(&workspace, "../evil"), Err(Kind::OutsideWorkspace)),
            (kind(&workspace, "./link"), Err(Kind::OutsideWorkspace)),
            (kind(&workspace, "up/evil"), Err(Kind::OutsideWorkspace)),
            (kind(&workspace, "/etc/passwd"), Err(Kind::OutsideWorkspace)),
            (
                kind(&workspace, "/usr/bin/../../etc/passwd"),
                Err(Kind::OutsideWorkspace),
            ),
            (kind(&workspace, "./absent"), Err(Kind::ProgramNotFound)),
        ];
        for (index, (found, expected)) in table.into_iter().enumerate() {
            assert_eq!(found, expected, "row {index}");
        }
        assert_eq!(folder(&workspace, "sub").unwrap(), sub);
        assert_eq!(
            folder(&workspace, "up").unwrap_err().kind,
            Kind::OutsideWorkspace
        );
        assert_eq!(
            folder(&workspace, "tool").unwrap_err().kind,
            Kind::NoSuchFolder
        );
    }
}
