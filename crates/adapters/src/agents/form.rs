//! Detects CLIs that accept a JSON Schema for their last message.

use super::locate::Program;
use super::recipe::FormOption;
use super::runner::AnyAgent;
use crate::files::remove_tree;
use drive_core::agent::answer::AnswerForm;
use drive_engine::CancelToken;
use drive_engine::ports::AgentRequest;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A program on disk, with its arguments.
type Installed = (PathBuf, Option<SystemTime>, Vec<OsString>);

/// Whether each program has the option, cached for the life of this process.
static KNOWN: Mutex<BTreeMap<Installed, bool>> = Mutex::new(BTreeMap::new());

impl AnyAgent {
    /// The form of a job's last message, if the installed version has an option for it. Without the
    /// option, only the prompt asks for the form, which every version understands.
    pub(super) fn usable_form(
        &self,
        program: &Program,
        first_args: &[OsString],
        env: &BTreeMap<OsString, OsString>,
        request: &AgentRequest,
        cancel: &CancelToken,
    ) -> AnswerForm {
        let Some(option) = self
            .recipe
            .form_option()
            .filter(|_| !request.answer.is_free())
        else {
            return AnswerForm::Free;
        };
        let installed = (
            program.path.clone(),
            changed(&program.path),
            first_args.to_vec(),
        );
        // Agents that start at the same time check only once.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let has_option = match known.get(&installed) {
            Some(has_option) => *has_option,
            None => {
                let asked = self.has_option(option, program, first_args, env, request, cancel);
                if let Some(has_option) = asked {
                    known.insert(installed, has_option);
                }
                asked.unwrap_or_default()
            }
        };
        if has_option {
            request.answer
        } else {
            AnswerForm::Free
        }
    }

    /// Whether the help of a program names an option; `None` if the program could not be started.
    fn has_option(
        &self,
        option: FormOption,
        program: &Program,
        first_args: &[OsString],
        env: &BTreeMap<OsString, OsString>,
        request: &AgentRequest,
        cancel: &CancelToken,
    ) -> Option<bool> {
        let help = option.help.iter().map(OsString::from);
        let args = first_args.iter().cloned().chain(help).collect();
        let scratch = request.scratch.join("help");
        let asked = self.ask(
            program,
            args,
            env.clone(),
            &scratch,
            request.isolation,
            cancel,
        );
        let _ = remove_tree(&scratch);
        let (end, text) = asked.ok()?;
        Some(end.is_success() && names(&text, option.name))
    }
}

/// Whether a help text contains an option as a word.
fn names(help: &str, option: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    help.split(|c| !is_part(c)).any(|word| word == option)
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_whole_word_of_the_help() {
        let help = "Options:\n  --json-schema <schema>  JSON Schema\n  -o, --output-schema=FILE";
        assert!(names(help, "--json-schema"));
        assert!(names(help, "--output-schema"));
        assert!(!names(help, "--json"));
        assert!(!names(help, "--schema"));
    }
}
