use drive_core::problem::{Kind, Problem};
use rustix::fs::OFlags;
use serde_json::Value;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes. Claude keeps its history of prompts in `.claude.json`.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The files of one program in the user's home, with links followed.
pub(in crate::agents) struct OwnFiles {
    folder: Option<PathBuf>,
    /// The path of the file next to the folder, such as `.claude.json`.
    beside: Option<PathBuf>,
    label: String,
}

impl OwnFiles {
    /// The files in the folder `name` of the home, or in the folder that the user configured.
    pub(in crate::agents) fn new(home: Option<&Path>, name: &str, set: Option<&Path>) -> Self {
        let set = set.filter(|folder| folder.is_absolute());
        Self {
            folder: set
                .map(Path::to_path_buf)
                .or_else(|| home.map(|home| home.join(name))),
            beside: set.or(home).map(Path::to_path_buf),
            label: set.map_or_else(
                || format!("~/{name}"),
                |folder| folder.display().to_string(),
            ),
        }
    }

    /// The path of a file, as people write it.
    pub(super) fn label(&self, name: &str) -> String {
        format!("{}/{name}", self.label)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        read(&self.folder.as_ref()?.join(name))
    }

    /// A JSON object, which may contain comments as the programs allow; empty if there is no such file.
    pub(super) fn json(&self, name: &str) -> Result<Value, Problem> {
        match self.text(name) {
            Some(text) => parse(&text).map_err(|error| invalid(&self.label(name), error)),
            None => Ok(Value::Null),
        }
    }

    /// The JSON file next to the folder. A file that is not JSON counts as missing: only the
    /// program writes it, never a person.
    pub(super) fn json_beside(&self, name: &str) -> Value {
        let text = self
            .beside
            .as_ref()
            .and_then(|folder| read(&folder.join(name)));
        text.and_then(|text| parse(&text).ok()).unwrap_or_default()
    }

    pub(super) fn toml(&self, name: &str) -> Result<toml::Table, Problem> {
        let text = self.text(name).unwrap_or_default();
        text.parse()
            .map_err(|error: toml::de::Error| invalid(&self.label(name), error.message()))
    }
}

/// A regular file as text. An unreadable file is not passed on.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> serde_json::Result<Value> {
    let text = without_comments(text);
    match text.trim() {
        "" => Ok(Value::Null),
        text => serde_json::from_str(text),
    }
}

fn invalid(label: &str, error: impl Display) -> Problem {
    Problem::new(Kind::AgentSettings, format!("cannot read `{label}`"))
        .cause(error.to_string())
        .hint(format!("correct `{label}`"))
}

/// The JSON text without comments.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                for c in chars.by_ref().skip(1) {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_go_and_what_only_looks_like_one_stays() {
        let text = "{ // one\n \"a\": \"http://x/*y*/\", /* two\n */ \"b\\\"//\": 1 }";
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": "http://x/*y*/", "b\"//": 1})
        );
    }
}
