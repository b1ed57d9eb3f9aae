use super::files::write_private;
use super::home::AgentFolders;
use drive_core::problem::{Kind, Problem};
use std::path::PathBuf;

/// A prompt in the form that an agent accepts.
pub(super) struct Prompt {
    /// The text of the prompt.
    pub(super) text: String,
    /// The folder with the complete prompt, if it was too long.
    pub(super) folder: Option<PathBuf>,
}

/// The prompt itself if the agent accepts its length, else a short one that points to a file with
/// all of it. Agents fail on prompts that are too long or, worse, drop them and report success.
pub(super) fn fitted(
    agent: &str,
    prompt: &str,
    max_bytes: usize,
    folders: &AgentFolders,
) -> Result<Prompt, Problem> {
    if prompt.trim().is_empty() {
        return Err(Problem::new(
            Kind::EmptyPrompt,
            format!("the prompt for agent `{agent}` is empty"),
        )
        .hint("describe what to do"));
    }
    if prompt.len() <= max_bytes {
        return Ok(Prompt {
            text: prompt.to_owned(),
            folder: None,
        });
    }
    let folder = folders.scratch.join("prompt");
    super::files::make_private(&folder)?;
    let file = folder.join("task.md");
    write_private(&file, prompt.as_bytes())?;
    Ok(Prompt {
        text: format!(
            "Your task is too long for one message. It is in the file `{}`: read all of that file, \
             in parts where needed, and then do what it says.",
            file.display()
        ),
        folder: Some(folder),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::home::{Wanted, prepare};
    use std::path::Path;

    fn folders(scratch: &Path) -> AgentFolders {
        prepare(scratch, &Wanted::nothing()).unwrap()
    }

    #[test]
    fn what_fits_is_said_and_what_does_not_is_put_into_a_file() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        let small = fitted("mine", "do it", 10, &folders).unwrap();
        assert_eq!((small.text.as_str(), small.folder), ("do it", None));
        let large = fitted("mine", "do all of it", 10, &folders).unwrap();
        let folder = large.folder.unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.join("task.md")).unwrap(),
            "do all of it"
        );
        assert!(
            large
                .text
                .contains(&folder.join("task.md").display().to_string())
        );
    }

    #[test]
    fn an_empty_prompt_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path());
        assert_eq!(
            fitted("mine", " \n", 10, &folders).err().map(|p| p.kind),
            Some(Kind::EmptyPrompt)
        );
    }
}
