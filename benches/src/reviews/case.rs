//! The cases: a task, a repository, a change, and the defect that was seeded into it.

use drive_core::Problem;
use drive_core::problem::Kind;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// One change to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of its folder. No agent sees it.
    pub name: String,
    /// The task that the coder was given.
    pub task: String,
    /// The folder with the repository before the change.
    pub before: PathBuf,
    /// The change, for `git apply`.
    pub patch: String,
    /// The defect; none in a clean change.
    pub defect: Option<Defect>,
}

/// A seeded defect: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The file, from the root of the repository.
    pub file: String,
    /// The first and the last line of the defect after the change.
    pub lines: (u64, u64),
    /// Words of which a finding without a line contains one.
    pub words: Vec<String>,
    /// The defect in one sentence.
    pub what: String,
}

/// The folder of the cases.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reviews")
}

/// Reads all cases of a folder, sorted by name.
pub fn load_cases(folder: &Path) -> Result<Vec<Case>, Problem> {
    let unreadable = |error| unusable(folder, &error);
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        cases.push(load_case(&entry.map_err(unreadable)?.path())?);
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn load_case(folder: &Path) -> Result<Case, Problem> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| unusable(&path, &error))
    };
    let path = folder.join("defect.json");
    let defect = if path.exists() {
        let defect = parse_defect(&read("defect.json")?);
        Some(defect.map_err(|why| unusable(&path, &why))?)
    } else {
        None
    };
    let name = folder.file_name().unwrap_or_default();
    Ok(Case {
        name: name.to_string_lossy().into_owned(),
        task: read("task.md")?.trim().to_owned(),
        before: folder.join("before"),
        patch: read("change.patch")?,
        defect,
    })
}

fn parse_defect(text: &str) -> Result<Defect, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let string = |value: &Value| value.as_str().map(str::to_owned);
    let words = value["words"].as_array().and_then(|words| {
        let words: Option<Vec<String>> = words.iter().map(string).collect();
        words.filter(|words| !words.is_empty())
    });
    let line = |index: usize| value["lines"][index].as_u64();
    let lines = line(0).zip(line(1)).filter(|(from, to)| from <= to);
    Ok(Defect {
        file: string(&value["file"]).ok_or("`file` is not a text")?,
        lines: lines.ok_or("`lines` is not a first and a last line")?,
        words: words.ok_or("`words` is not a list of texts")?,
        what: string(&value["what"]).ok_or("`what` is not a text")?,
    })
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        Kind::Usage,
        format!("cannot read the case `{}`: {why}", path.display()),
    )
}
