use super::recipe::{Input, Job, Launch, Recipe, variable};
use drive_core::Problem;
use drive_core::agent::AgentKind;
use drive_core::agent::stream::program_stream;

/// Any program: it gets the prompt on its standard input and the job in its environment, and its
/// output is the answer.
pub(super) struct Command;

impl Recipe for Command {
    fn kind(&self) -> AgentKind {
        AgentKind::Command
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
        let request = job.request;
        let mut env = vec![
            variable("DRIVE_ROLE", request.role.name()),
            variable("DRIVE_RUN_ID", request.run.as_str()),
            variable("DRIVE_ROUND", request.round.to_string()),
        ];
        env.extend(
            request
                .domain
                .as_deref()
                .map(|d| variable("DRIVE_DOMAIN", d)),
        );
        env.extend(job.input.map(|path| variable("DRIVE_INPUT", path)));
        Ok(Launch {
            args: Vec::new(),
            env,
            input: Input::Once(request.prompt.clone().into_bytes()),
            readable: Vec::new(),
            relies_on: None,
            stream: program_stream(job.setup.clone()),
        })
    }
}
