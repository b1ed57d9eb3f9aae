//! Loads prompts that a user replaced.

use drive_core::problem::{Kind, Problem};
use drive_core::prompts::{LONGEST_TEMPLATE, Prompts};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Their folder, relative to the root of the caller's checkout.
pub const PROMPTS_FOLDER: &str = ".drive/prompts";

/// Loads the prompts of a checkout. Only the caller's own checkout is read: an agent can write in
/// its sandbox, and must not write the prompts of the next agent.
pub fn load_prompts(checkout: &Path) -> Result<Prompts, Problem> {
    let folder = checkout.join(PROMPTS_FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Prompts::default()),
        Err(error) => return Err(unreadable(&folder, error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    let mut prompts = Prompts::default();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        prompts = prompts.replace(&name, &read(&path)?)?;
    }
    Ok(prompts)
}

/// Reads one byte more than allowed, which is enough to detect a file that is too large.
fn read(path: &Path) -> Result<String, Problem> {
    let file = File::open(path).map_err(|error| unreadable(path, error))?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(unreadable(path, io::Error::other("it is not a file")));
    }
    let mut text = String::new();
    file.take(LONGEST_TEMPLATE as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, error))?;
    Ok(text)
}

fn unreadable(path: &Path, error: io::Error) -> Problem {
    Problem::new(
        Kind::PromptUnreadable,
        format!("cannot read `{}`", path.display()),
    )
    .because(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;
    use drive_core::prompts::Prompt;

    #[test]
    fn a_prompt_of_the_checkout_replaces_the_shipped_one_and_a_typo_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(load_prompts(folder.path()), Ok(Prompts::default()));
        let prompts = folder.path().join(PROMPTS_FOLDER);
        std::fs::create_dir_all(&prompts).unwrap();
        std::fs::write(prompts.join("name.md"), "Name this: {{task}}").unwrap();
        std::fs::write(prompts.join("notes.txt"), "no prompt").unwrap();
        let loaded = load_prompts(folder.path()).unwrap();
        let text = loaded.render(&Prompt::Name { task: "x" });
        assert_eq!(text, "Name this: ```\nx\n```");
        std::fs::write(prompts.join("nmae.md"), "").unwrap();
        assert_eq!(
            load_prompts(folder.path()).unwrap_err().kind,
            Kind::UnknownPrompt
        );
    }
}
