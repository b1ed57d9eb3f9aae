//! The verification settings, parsed and ready to use.

use super::detect::Bounds;
use super::envelope::StageName;
use super::plan::{Service, StageCommand, StageTimeouts};
use super::ready::Ready;
use super::route::{Route, Rule};
use super::starts::starts;
use crate::process::LeakPolicy;
use crate::settings::{
    Baseline, FlakyTests, IsolationMode, LeakedProcesses, Period, QuarantinedTest, ReadyProbe,
    Settings, StageNetwork, VerifyRoute, VerifyService, VerifySettings,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// The rules of one verification. They are read from the base and never from the candidate, which
/// must not change its own rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// The time limit for all stages together.
    pub deadline: Duration,
    /// Memory limit of one stage with everything it starts.
    pub memory_bytes: u64,
    /// Process limit of one stage.
    pub processes: u32,
    /// How many bytes one stage may add to its folders.
    pub disk_bytes: u64,
    /// How many files and folders one stage may add there.
    pub files: u64,
    /// How many bytes of each stream's end the report contains.
    pub tail_bytes: u64,
    /// How many bytes of output end a stage.
    pub output_bytes: u64,
    /// What happens to leaked processes.
    pub leaks: LeakPolicy,
    /// Network access of stages whose route does not set it.
    pub network: StageNetwork,
    /// Whether isolation by the kernel is required.
    pub isolation: IsolationMode,
    /// How many verifications may run at the same time on this machine.
    pub max_parallel: u32,
    /// How often a failed stage runs again.
    pub retries: u32,
    /// Whether a flaky stage counts as passed.
    pub flaky: FlakyTests,
    /// Whether a failed stage is compared with the base.
    pub baseline: Baseline,
    /// Tests that may fail until a given day.
    pub quarantine: Vec<QuarantinedTest>,
    /// Globs of `verify.protected_paths`.
    pub protected: Vec<String>,
    /// The routes; empty to use detected projects.
    pub routes: Vec<Route>,
    /// Patterns of untracked files to copy.
    pub copy: Vec<String>,
    /// Patterns of caches to clone or copy.
    pub seed: Vec<String>,
}

impl Rules {
    /// The rules from settings that were checked together.
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
            quarantine: verify.quarantine.clone(),
            protected: verify.protected_paths.clone(),
            routes: verify.routes.iter().map(|r| route(r, verify)).collect(),
            copy: settings.sandbox.copy.clone(),
            seed: settings.sandbox.seed.clone(),
        }
    }

    /// Whether a command of a route runs this file: as its program or as the script of an interpreter.
    pub fn starts(&self, path: &str) -> bool {
        let names = |(_, command): &(StageName, StageCommand)| {
            let below = match command.dir.trim_end_matches('/') {
                "" => Some(path),
                dir => path
                    .strip_prefix(dir)
                    .and_then(|rest| rest.strip_prefix('/')),
            };
            let services = command.services.iter().map(|service| &service.argv);
            let mut all = std::iter::once(&command.argv).chain(services);
            below.is_some_and(|file| all.any(|argv| starts(argv, file)))
        };
        self.commands().any(names)
    }

    /// Whether a route of this name is in the settings, so that a stage of it is not from a detected project.
    pub fn has_route(&self, name: &str) -> bool {
        self.routes.iter().any(|route| route.name == name)
    }

    /// All commands of all routes.
    fn commands(&self) -> impl Iterator<Item = &(StageName, StageCommand)> {
        self.routes.iter().flat_map(|route| match &route.rule {
            Rule::Run(commands) | Rule::Untested(_, commands) => commands.as_slice(),
            Rule::Skip(_) => &[],
        })
    }

    /// The names of all variables that routes pass from the user's environment.
    pub fn passed_variables(&self) -> BTreeSet<&str> {
        let names = self.commands().flat_map(|(_, command)| &command.pass_env);
        names.map(String::as_str).collect()
    }

    /// Whether a stage may reach the package registries by name.
    pub fn reaches_registries(&self) -> bool {
        self.networks()
            .any(|network| network == StageNetwork::Registries)
    }

    /// Whether a stage may reach everything that the machine can.
    pub fn has_open_network(&self) -> bool {
        self.networks().any(|network| network == StageNetwork::Open)
    }

    fn networks(&self) -> impl Iterator<Item = StageNetwork> {
        let own = self.commands().filter_map(|(_, command)| command.network);
        std::iter::once(self.network).chain(own)
    }

    /// The limits for the stages of detected projects.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            timeouts: StageTimeouts::default(),
            memory_bytes: Some(self.memory_bytes),
            network: self.network,
        }
    }
}

fn route(route: &VerifyRoute, verify: &VerifySettings) -> Route {
    let name = route.name.clone().unwrap_or_else(|| route.paths.join(" "));
    let commands = commands(route, verify);
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

fn commands(route: &VerifyRoute, verify: &VerifySettings) -> Vec<(StageName, StageCommand)> {
    let command = |argv: &[String], timeout: Option<Period>| StageCommand {
        argv: argv.to_vec(),
        dir: route.dir.clone().unwrap_or_default(),
        env: route.env.clone().into_iter().collect(),
        pass_env: route.pass_env.clone(),
        timeout: timeout.unwrap_or(verify.deadline).get(),
        network: route.network,
        ..StageCommand::default()
    };
    let setup = route.setup.iter().map(|argv| {
        let network = match verify.network {
            StageNetwork::Open => StageNetwork::Open,
            StageNetwork::Off | StageNetwork::Registries => StageNetwork::Registries,
        };
        let command = StageCommand {
            network: Some(route.network.unwrap_or(network)),
            ..command(argv, route.timeout.setup)
        };
        (StageName::Compile, command)
    });
    let compile = route.compile.iter().map(|argv| {
        let command = command(argv, route.timeout.compile);
        (StageName::Compile, command)
    });
    let services: Vec<Service> = route.services.iter().filter_map(service).collect();
    let tests = route.targeted_tests.iter().map(|argv| {
        let command = StageCommand {
            services: services.clone(),
            ..command(argv, route.timeout.targeted_tests)
        };
        (StageName::TargetedTests, command)
    });
    let smoke = route.startup_smoke.iter().map(|argv| {
        let command = StageCommand {
            ready: route.ready.as_ref().and_then(ready),
            services: services.clone(),
            ..command(argv, route.timeout.startup_smoke)
        };
        (StageName::StartupSmoke, command)
    });
    setup.chain(compile).chain(tests).chain(smoke).collect()
}

/// How long a service may take to become ready, unless the settings say otherwise.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(60);

/// Converts a service from checked settings.
fn service(service: &VerifyService) -> Option<Service> {
    let program = service.command.first()?;
    Some(Service {
        name: service.name.clone().unwrap_or_else(|| program.clone()),
        argv: service.command.clone(),
        ready: ready(&service.ready)?,
        within: service.timeout.map_or(SERVICE_TIMEOUT, Period::get),
    })
}

/// Converts a readiness condition; the settings allow only one of the three forms.
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
            quarantine: Vec::new(),
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
            quarantine = [{ test = "a", owner = "b", expires = "2027-01-31" }]
            [verify.limits]
            memory = "1GiB"
            leaked_processes = "kill"
            [[verify.routes]]
            name = "api"
            paths = ["api/**"]
            dir = "api"
            compile = ["make"]
            startup_smoke = ["bin/api"]
            skip = "no tests yet"
            ready = { port = 8080, path = "/health" }
            setup = [["npm", "ci"]]
            env = { MODE = "test" }
            pass_env = ["DB"]
            network = "open"
            timeout = { startup_smoke = "30s", setup = "1m" }
            [[verify.routes.services]]
            command = ["redis-server", "--port", "1"]
            ready = { port = 1 }
            [[verify.routes]]
            paths = ["docs/**"]
            skip = "prose"
        "#;
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = |argv: &str, seconds| StageCommand {
            argv: words(argv),
            dir: "api".to_owned(),
            env: vec![("MODE".to_owned(), "test".to_owned())],
            pass_env: vec!["DB".to_owned()],
            timeout: Duration::from_secs(seconds),
            network: Some(StageNetwork::Open),
            ..StageCommand::default()
        };
        let redis = Service {
            name: "redis-server".to_owned(),
            argv: words("redis-server --port 1"),
            ready: Ready::Port(1),
            within: Duration::from_secs(60),
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
                    (StageName::Compile, command("npm ci", 60)),
                    (StageName::Compile, command("make", 300)),
                    (
                        StageName::StartupSmoke,
                        StageCommand {
                            ready: Some(health),
                            services: vec![redis],
                            ..command("bin/api", 30)
                        },
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
            quarantine: vec![QuarantinedTest {
                test: "a".to_owned(),
                owner: "b".to_owned(),
                expires: "2027-01-31".parse().unwrap(),
                reason: None,
            }],
            protected: vec!["!Cargo.lock".to_owned()],
            routes: vec![api, docs],
            seed: vec!["target".to_owned()],
            ..Rules::default()
        };
        assert_eq!(rules(text), expected);
    }

    #[test]
    fn a_set_up_reaches_the_registries_unless_its_route_says_otherwise() {
        for (verify, route, expected) in [
            ("", "", StageNetwork::Registries),
            ("network = \"open\"", "", StageNetwork::Open),
            ("", "network = \"off\"", StageNetwork::Off),
        ] {
            let text = format!(
                "[verify]\n{verify}\n[[verify.routes]]\npaths = [\"**\"]\nsetup = [[\"x\"]]\ntargeted_tests = [\"y\"]\n{route}"
            );
            let rules = rules(&text);
            let (_, setup) = rules.commands().next().unwrap();
            assert_eq!(setup.network, Some(expected), "{text}");
        }
    }
}
