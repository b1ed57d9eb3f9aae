use super::home::Entry;
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe};
use drive_core::Problem;
use drive_core::agent::AgentKind;
use drive_core::agent::stream::{AcpJob, acp_stream};

/// Any agent that speaks the Agent Client Protocol on its standard streams.
///
/// The conversation is led by a small reader in the core rather than by the protocol's own crate:
/// that one is asynchronous, and its types refuse what they do not know, where an agent of a newer
/// version should still be understood.
pub(super) struct Acp;

/// No limit is known; a frame must stay shorter than what a reader can be expected to hold.
const MAX_PROMPT: usize = 8 * 1024 * 1024;

impl Recipe for Acp {
    fn kind(&self) -> AgentKind {
        AgentKind::Acp
    }

    fn own_home(&self) -> &'static [Entry<'static>] {
        &[]
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn verified(&self) -> &'static [&'static str] {
        &[]
    }

    fn recognises(&self, _version_text: &str) -> bool {
        true
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        let mut stream = acp_stream(
            job.setup.clone(),
            AcpJob {
                cwd: job.request.sandbox.display().to_string(),
                prompt: prompt.text,
                model: job.model.map(str::to_owned),
            },
        );
        let opening = stream.outgoing().concat();
        Ok(Launch {
            args: Vec::new(),
            env: Vec::new(),
            input: Input::Dialogue(opening),
            readable: prompt.folder.into_iter().collect(),
            relies_on: None,
            stream,
        })
    }
}
