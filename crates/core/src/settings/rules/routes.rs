//! Rules about `[[verify.routes]]` and `[[verify.quarantine]]`.

use super::rule::Broken;
use crate::settings::key_path::KeyPath;
use crate::settings::verify::{QuarantinedTest, ReadyProbe, VerifyRoute, VerifySettings};
use crate::steering::Protected;
use crate::units::Period;
use globset::Glob;
use std::collections::HashSet;
use std::path::{Component, Path};

/// All rules that the routes break.
pub(super) fn broken(verify: &VerifySettings) -> Vec<Broken> {
    let routes = verify.routes.iter().enumerate();
    let routes = routes.flat_map(|(at, route)| Checked { at, route }.broken(verify.deadline));
    let quarantine = quarantine(&verify.quarantine);
    let protected = protected(verify).into_iter();
    protected.chain(routes).chain(quarantine).collect()
}

fn quarantine(tests: &[QuarantinedTest]) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut known = HashSet::new();
    for (at, one) in tests.iter().enumerate() {
        for (key, value) in [("test", &one.test), ("owner", &one.owner)] {
            if value.trim().is_empty() {
                let key = format!("verify.quarantine.{at}.{key}");
                broken.push(Broken::new(&[&key], format!("`{key}` is empty")));
            }
        }
        if !known.insert(&one.test) {
            let key = format!("verify.quarantine.{at}.test");
            let what = format!("`{}` is in `verify.quarantine` twice", one.test);
            broken.push(Broken::new(&[&key], what));
        }
    }
    broken
}

fn protected(verify: &VerifySettings) -> Option<Broken> {
    let wrong = verify.protected_paths.iter().find_map(|glob| {
        let error = Protected::new(&[glob]).err()?;
        Some(format!("`{glob}` is not a glob: {}", error.kind()))
    })?;
    Some(Broken::new(&["verify.protected_paths"], wrong))
}

/// The key, the command and the timeout of a stage.
type Stage<'a> = (&'static str, Option<&'a Vec<String>>, Option<Period>);

struct Checked<'a> {
    at: usize,
    route: &'a VerifyRoute,
}

impl Checked<'_> {
    fn broken(&self, deadline: Period) -> Vec<Broken> {
        let mut broken = self.paths();
        broken.extend(self.dir());
        broken.extend(self.commands());
        broken.extend(self.timeouts(deadline));
        broken.extend(self.ready());
        broken.extend(self.variables());
        broken.extend(self.services());
        broken
    }

    fn paths(&self) -> Vec<Broken> {
        if self.route.paths.is_empty() {
            let hint = "add `paths`, such as `paths = [\"crates/api/**\"]`";
            return vec![self.about("paths", "it has no paths").hint(hint)];
        }
        let paths = self.route.paths.iter();
        paths
            .filter_map(|path| {
                let error = Glob::new(path).err()?;
                Some(self.about(
                    "paths",
                    &format!("`{path}` is not a glob: {}", error.kind()),
                ))
            })
            .collect()
    }

    fn dir(&self) -> Option<Broken> {
        let dir = self.route.dir.as_deref()?;
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        let is_folder = !dir.is_empty() && Path::new(dir).components().all(is_inside);
        let what = format!("`dir` must be a folder inside the repository, not `{dir}`");
        (!is_folder).then(|| self.about("dir", &what))
    }

    fn commands(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        let has_program =
            |words: &Vec<String>| words.first().is_some_and(|program| !program.is_empty());
        if !self.route.setup.iter().all(has_program) {
            broken.push(self.about("setup", "a command of `setup` has no program"));
        }
        let services = self.route.services.iter().map(|service| &service.command);
        let setup = self.route.setup.iter().map(|words| ("setup", words));
        let services = services.map(|words| ("services", words));
        let stages = self.stages();
        let stages = stages
            .iter()
            .filter_map(|(key, words, _)| Some((*key, (*words)?)));
        for (key, words) in setup.chain(services).chain(stages) {
            if words.iter().any(|word| word.contains('\0')) {
                broken.push(self.about(key, "a command contains a NUL character"));
            }
        }
        for (stage, command, _) in self.stages() {
            let program = command.and_then(|words| words.first());
            if command.is_some() && program.is_none_or(String::is_empty) {
                broken.push(self.about(stage, &format!("`{stage}` has no program")));
            }
        }
        let has_stage = self
            .stages()
            .iter()
            .any(|(_, command, _)| command.is_some());
        let runs = has_stage || !self.route.setup.is_empty();
        let tests = self.route.targeted_tests.is_some();
        match &self.route.skip {
            Some(_) if tests => broken.push(
                self.about("skip", "it has both `targeted_tests` and `skip`")
                    .hint("remove one of the two"),
            ),
            Some(reason) if reason.trim().is_empty() => {
                broken.push(self.about("skip", "`skip` has no reason"));
            }
            Some(_) => {}
            None if tests => {}
            None if runs => broken.push(
                self.about("", "it has no `targeted_tests`")
                    .hint("add them, or `skip` with the reason why these paths are not tested"),
            ),
            None => broken.push(self.about("", "it has neither a command nor `skip`").hint(
                "add `compile`, `targeted_tests` or `startup_smoke`, or `skip` with the reason",
            )),
        }
        broken
    }

    fn timeouts(&self, deadline: Period) -> Vec<Broken> {
        let mut broken = Vec::new();
        let stages = self.stages();
        let stages = stages
            .iter()
            .map(|(stage, command, timeout)| (*stage, command.is_some(), *timeout));
        let setup = (
            "setup",
            !self.route.setup.is_empty(),
            self.route.timeout.setup,
        );
        for (stage, is_there, timeout) in stages.chain([setup]) {
            let Some(timeout) = timeout else { continue };
            let key = format!("timeout.{stage}");
            if timeout.is_zero() {
                broken.push(self.about(&key, &format!("`{key}` must be longer than 0")));
            } else if !is_there {
                broken
                    .push(self.about(&key, &format!("`{key}` is set, but there is no `{stage}`")));
            } else if timeout > deadline {
                let what = format!(
                    "`{key}` ({timeout}) must not be longer than `verify.deadline` ({deadline})"
                );
                let mut one = self.about(&key, &what);
                one.paths.push(KeyPath::dotted("verify.deadline"));
                broken.push(one);
            }
        }
        broken
    }

    fn ready(&self) -> Vec<Broken> {
        let Some(probe) = &self.route.ready else {
            return Vec::new();
        };
        let needless = self.route.startup_smoke.is_none();
        let needless =
            needless.then(|| "`ready` is set, but there is no `startup_smoke`".to_owned());
        let wrong = needless.into_iter().chain(wrong_probe("ready", probe));
        wrong.map(|what| self.about("ready", &what)).collect()
    }

    fn variables(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        let is_odd = |letter: char| {
            letter.is_whitespace() || letter.is_control() || ['=', '*', '?'].contains(&letter)
        };
        let is_name = |name: &str| !name.is_empty() && !name.contains(is_odd);
        let env = self.route.env.keys().map(|name| ("env", name));
        let passed = self.route.pass_env.iter().map(|name| ("pass_env", name));
        for (key, name) in env.chain(passed) {
            if !is_name(name) {
                let what = format!("`{name}` in `{key}` is not the name of a variable");
                broken.push(self.about(key, &what));
            }
        }
        let values = self.route.env.iter();
        for (name, _) in values.filter(|(_, value)| value.contains('\0')) {
            broken.push(self.about("env", &format!("the value of `{name}` contains a NUL")));
        }
        let both = self.route.pass_env.iter();
        for name in both.filter(|name| self.route.env.contains_key(*name)) {
            let what = format!("`{name}` is in both `env` and `pass_env`; use one");
            broken.push(self.about("pass_env", &what));
        }
        broken
    }

    fn services(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        let has_user = self.route.targeted_tests.is_some() || self.route.startup_smoke.is_some();
        if !self.route.services.is_empty() && !has_user {
            let what = "it has `services`, but neither `targeted_tests` nor `startup_smoke`";
            broken.push(self.about("services", what));
        }
        let mut known = HashSet::new();
        for (at, service) in self.route.services.iter().enumerate() {
            let key = format!("services.{at}");
            let program = service.command.first();
            let Some(program) = program.filter(|program| !program.is_empty()) else {
                broken.push(self.about(&key, "a service has no `command`"));
                continue;
            };
            let name = service.name.as_ref().unwrap_or(program);
            if name.trim().is_empty() || name.contains(char::is_control) {
                broken.push(self.about(&key, "the name of a service must be one line"));
                continue;
            }
            if !known.insert(name) {
                let what = format!("two services are called `{name}`; give one a `name`");
                broken.push(self.about(&key, &what));
            }
            let of_zero = service.timeout.is_some_and(Period::is_zero);
            let of_zero = of_zero.then(|| "`timeout` must be longer than 0".to_owned());
            let wrong = wrong_probe("ready", &service.ready).into_iter();
            for what in wrong.chain(of_zero) {
                broken.push(self.about(&key, &format!("service `{name}`: {what}")));
            }
        }
        broken
    }

    fn stages(&self) -> [Stage<'_>; 3] {
        let VerifyRoute {
            compile,
            targeted_tests,
            startup_smoke,
            timeout,
            ..
        } = self.route;
        [
            ("compile", compile.as_ref(), timeout.compile),
            (
                "targeted_tests",
                targeted_tests.as_ref(),
                timeout.targeted_tests,
            ),
            (
                "startup_smoke",
                startup_smoke.as_ref(),
                timeout.startup_smoke,
            ),
        ]
    }

    fn about(&self, key: &str, what: &str) -> Broken {
        let route = format!("verify.routes.{}", self.at);
        let key = match key {
            "" => route,
            key => format!("{route}.{key}"),
        };
        let name = match (&self.route.name, self.route.paths.first()) {
            (Some(name), _) => format!("route `{name}`"),
            (None, Some(path)) => format!("the route for `{path}`"),
            (None, None) => format!("route {}", self.at + 1),
        };
        Broken::new(&[&key], format!("{name}: {what}"))
    }
}

/// Describes the mistake in a readiness condition, if there is one.
fn wrong_probe(key: &str, probe: &ReadyProbe) -> Option<String> {
    let ReadyProbe { line, port, path } = probe;
    Some(match (line, port, path) {
        (None, None, None) => format!("`{key}` has neither `line` nor `port`"),
        (None, None, Some(_)) => format!("`{key}.path` needs `{key}.port`"),
        (Some(_), Some(_), _) | (Some(_), None, Some(_)) => {
            format!("`{key}` has both `line` and `port`; use one")
        }
        (Some(line), None, None) if line.is_empty() => format!("`{key}.line` is empty"),
        (None, Some(0), _) => format!("`{key}.port` must be at least 1"),
        (None, Some(_), Some(path)) if !path.starts_with('/') => {
            format!("`{key}.path` must start with `/`")
        }
        (Some(_), None, None) | (None, Some(_), _) => return None,
    })
}
