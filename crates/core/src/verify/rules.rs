//! The verification settings, parsed and ready to use.

use super::detect::Bounds;
use super::envelope::StageName;
use super::plan::{StageCommand, StageTimeouts};
use super::ready::Ready;
use super::route::{Route, Rule};
use crate::process::LeakPolicy;
use crate::settings::{
    Baseline, FlakyTests, IsolationMode, LeakedProcesses, Period, ReadyProbe, Settings,
    StageNetwork, VerifyRoute,
};
use std::time::Duration;

/// The rules of one verification. They are read at the base, never from the candidate, which must
/// not change the rules it is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The time limit for all stages together.
    pub deadline: Duration,
    /// Memory of one stage, everything it starts included.
    pub memory_bytes: u64,
    /// Processes of one stage.
    pub processes: u32,
    /// Bytes that one stage may add to its folders.
    pub disk_bytes: u64,
    /// Files and folders that one stage may add there.
    pub files: u64,
    /// The end of each stream in the report.
    pub tail_bytes: u64,
    /// Output of one stage before it is ended.
    pub output_bytes: u64,
    /// How leaked processes are treated.
    pub leaks: LeakPolicy,
    /// Network access of stages whose route does not say.
    pub network: StageNetwork,
    /// How much the kernel must help.
    pub isolation: IsolationMode,
    /// Verifications at once on this machine.
    pub max_parallel: u32,
    /// How often a stage that failed is run again.
    pub retries: u32,
    /// Whether a flaky stage counts as passed.
    pub flaky: FlakyTests,
    /// Whether a stage that failed is compared with the base.
    pub baseline: Baseline,
    /// Globs of `verify.protected_paths`.
    pub protected: Vec<String>,
    /// The routes; none for what the detectors find.
    pub routes: Vec<Route>,
    /// Patterns of untracked files to copy.
    pub copy: Vec<String>,
    /// Patterns of caches to clone or copy.
    pub seed: Vec<String>,
}

impl Rules {
    /// The rules of settings that were checked as a whole.
    pub fn from_settings(settings: &Settings) -> Self {
        let verify = &settings.verify;
        let deadline = verify.deadline.get();
        Self {
            deadline,
            memory_bytes: verify.limits.memory.bytes(),
            processes: verify.limits.processes,
            disk_bytes: verify.limits.disk.bytes(),
            files: verify.limits.files,
            tail_bytes: verify.limits.output_tail.bytes(),
            output_bytes: verify.limits.output_total.bytes(),
            leaks: match verify.limits.leaked_processes {
                LeakedProcesses::Fail => LeakPolicy::Fail,
                LeakedProcesses::Kill => LeakPolicy::Kill,
            },
            network: verify.network,
            isolation: settings.sandbox.isolation,
            max_parallel: verify.max_parallel,
            retries: verify.retries,
            flaky: verify.flaky,
            baseline: verify.baseline,
            protected: verify.protected_paths.clone(),
            routes: verify.routes.iter().map(|r| route(r, deadline)).collect(),
            copy: settings.sandbox.copy.clone(),
            seed: settings.sandbox.seed.clone(),
        }
    }

    /// Whether a command of a route starts this file: as its program, or as the script of an
    /// interpreter.
    pub fn starts(&self, path: &str) -> bool {
        let names = |(_, command): &(StageName, StageCommand)| {
            let below = match command.dir.trim_end_matches('/') {
                "" => Some(path),
                dir => path
                    .strip_prefix(dir)
                    .and_then(|rest| rest.strip_prefix('/')),
            };
            below.is_some_and(|file| starts(&command.argv, file))
        };
        self.routes.iter().any(|route| match &route.rule {
            Rule::Run(commands) | Rule::Untested(_, commands) => commands.iter().any(names),
            Rule::Skip(_) => false,
        })
    }

    /// Whether a stage may reach the package registries by name.
    pub fn reaches_registries(&self) -> bool {
        let commands = self.routes.iter().flat_map(|route| match &route.rule {
            Rule::Run(commands) | Rule::Untested(_, commands) => commands.as_slice(),
            Rule::Skip(_) => &[],
        });
        let own = commands.filter_map(|(_, command)| command.network);
        std::iter::once(self.network)
            .chain(own)
            .any(|network| network == StageNetwork::Registries)
    }

    /// What the detectors bound their stages by.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            timeouts: StageTimeouts::default(),
            memory_bytes: Some(self.memory_bytes),
            network: self.network,
        }
    }
}

/// Programs that run a file of the repository; `python3.12` is one as well.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "node", "perl", "php", "python", "ruby", "sh", "zsh",
];
/// Programs that start another one.
const WRAPPERS: &[&str] = &[
    "env", "exec", "nice", "nohup", "stdbuf", "time", "timeout", "xvfb-run",
];

/// Whether a command starts a file: as its program, as the script of an interpreter, or in a line of
/// a shell.
fn starts(argv: &[String], file: &str) -> bool {
    let is_file = |word: &str| word.trim_start_matches("./") == file;
    let Some((program, rest)) = argv.split_first() else {
        return false;
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_interpreter = INTERPRETERS.contains(&name) || name.starts_with("python");
    if is_interpreter || WRAPPERS.contains(&name) {
        // Options and their values look like words: better one too many.
        let words = rest
            .iter()
            .flat_map(|word| word.split([' ', ';', '&', '|', '(', ')', '\n']));
        return words.into_iter().any(is_file);
    }
    is_file(program)
}

fn route(route: &VerifyRoute, deadline: Duration) -> Route {
    let name = route.name.clone().unwrap_or_else(|| route.paths.join(" "));
    let commands = commands(route, deadline);
    let rule = match &route.skip {
        Some(reason) if commands.is_empty() => Rule::Skip(reason.clone()),
        Some(reason) => Rule::Untested(reason.clone(), commands),
        None => Rule::Run(commands),
    };
    Route {
        name,
        paths: route.paths.clone(),
        rule,
    }
}

fn commands(route: &VerifyRoute, deadline: Duration) -> Vec<(StageName, StageCommand)> {
    let stages = [
        (StageName::Compile, &route.compile, route.timeout.compile),
        (
            StageName::TargetedTests,
            &route.targeted_tests,
            route.timeout.targeted_tests,
        ),
        (
            StageName::StartupSmoke,
            &route.startup_smoke,
            route.timeout.startup_smoke,
        ),
    ];
    let command = |(name, argv, timeout): (StageName, &Option<Vec<String>>, Option<Period>)| {
        let ready = match name {
            StageName::StartupSmoke => route.ready.as_ref().and_then(ready),
            StageName::Compile | StageName::TargetedTests => None,
        };
        let command = StageCommand {
            argv: argv.clone()?,
            dir: String::new(),
            env: Vec::new(),
            timeout: timeout.map_or(deadline, |timeout| timeout.get()),
            network: route.network,
            ready,
        };
        Some((name, command))
    };
    stages.into_iter().filter_map(command).collect()
}

/// The settings allow one of the three forms only.
fn ready(probe: &ReadyProbe) -> Option<Ready> {
    match (&probe.line, probe.port, &probe.path) {
        (Some(line), _, _) => Some(Ready::Line(line.clone())),
        (None, Some(port), Some(path)) => Some(Ready::Http {
            port,
            path: path.clone(),
        }),
        (None, Some(port), None) => Some(Ready::Port(port)),
        (None, None, _) => None,
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(20 * 60),
            memory_bytes: 4 << 30,
            processes: 512,
            disk_bytes: 20 << 30,
            files: 2_000_000,
            tail_bytes: 64 << 10,
            output_bytes: 1 << 30,
            leaks: LeakPolicy::Fail,
            network: StageNetwork::Off,
            isolation: IsolationMode::Auto,
            max_parallel: 2,
            retries: 0,
            flaky: FlakyTests::Fail,
            baseline: Baseline::OnFailure,
            protected: Vec::new(),
            routes: Vec::new(),
            copy: Vec::new(),
            seed: vec!["target".to_owned(), "node_modules".to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Layer, resolve};

    fn rules(text: &str) -> Rules {
        let effective = resolve(&[Layer::file("drive.toml", text)]).unwrap();
        Rules::from_settings(&effective.settings)
    }

    #[test]
    fn the_default_settings_are_the_default_rules() {
        assert_eq!(rules(""), Rules::default());
    }

    #[test]
    fn a_script_that_a_route_starts_is_known_and_a_file_that_it_reads_is_not() {
        let rules = |command: &str| {
            rules(&format!(
                "[[verify.routes]]\npaths = [\"**\"]\ntargeted_tests = {command}"
            ))
        };
        for (command, expected) in [
            ("[\"./t.sh\"]", true),
            ("[\"t.sh\", \"-v\"]", true),
            ("[\"sh\", \"-e\", \"t.sh\"]", true),
            ("[\"/bin/bash\", \"./t.sh\"]", true),
            ("[\"grep\", \"x\", \"t.sh\"]", false),
            ("[\"sh\", \"-c\", \"set -e; ./t.sh\"]", true),
            ("[\"timeout\", \"60\", \"./t.sh\"]", true),
            ("[\"env\", \"X=1\", \"bash\", \"t.sh\"]", true),
            ("[\"sh\", \"-c\", \"make test\"]", false),
        ] {
            assert_eq!(rules(command).starts("t.sh"), expected, "{command}");
        }
    }

    #[test]
    fn every_setting_of_a_route_arrives() {
        let text = r#"
            [sandbox]
            isolation = "require"
            seed = ["target"]
            [verify]
            deadline = "5m"
            network = "registries"
            retries = 2
            flaky = "allow"
            baseline = "off"
            protected_paths = ["!Cargo.lock"]
            [verify.limits]
            memory = "1GiB"
            leaked_processes = "kill"
            [[verify.routes]]
            name = "api"
            paths = ["api/**"]
            compile = ["make"]
            startup_smoke = ["bin/api"]
            skip = "no tests yet"
            ready = { port = 8080, path = "/health" }
            network = "open"
            timeout = { startup_smoke = "30s" }
            [[verify.routes]]
            paths = ["docs/**"]
            skip = "prose"
        "#;
        let command = |argv: &str, seconds, ready| StageCommand {
            argv: vec![argv.to_owned()],
            dir: String::new(),
            env: Vec::new(),
            timeout: Duration::from_secs(seconds),
            network: Some(StageNetwork::Open),
            ready,
        };
        let health = Ready::Http {
            port: 8080,
            path: "/health".to_owned(),
        };
        let api = Route {
            name: "api".to_owned(),
            paths: vec!["api/**".to_owned()],
            rule: Rule::Untested(
                "no tests yet".to_owned(),
                vec![
                    (StageName::Compile, command("make", 300, None)),
                    (
                        StageName::StartupSmoke,
                        command("bin/api", 30, Some(health)),
                    ),
                ],
            ),
        };
        let docs = Route {
            name: "docs/**".to_owned(),
            paths: vec!["docs/**".to_owned()],
            rule: Rule::Skip("prose".to_owned()),
        };
        let expected = Rules {
            deadline: Duration::from_secs(300),
            memory_bytes: 1 << 30,
            leaks: LeakPolicy::Kill,
            network: StageNetwork::Registries,
            isolation: IsolationMode::Require,
            retries: 2,
            flaky: FlakyTests::Allow,
            baseline: Baseline::Off,
            protected: vec!["!Cargo.lock".to_owned()],
            routes: vec![api, docs],
            seed: vec!["target".to_owned()],
            ..Rules::default()
        };
        assert_eq!(rules(text), expected);
    }
}
