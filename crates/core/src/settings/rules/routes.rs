//! Rules about `[[verify.routes]]`.

use super::Broken;
use crate::settings::key_path::KeyPath;
use crate::settings::verify::{ReadyProbe, VerifyRoute, VerifySettings};
use crate::steering::Protected;
use crate::units::Period;
use globset::Glob;

/// Every rule a route breaks.
pub(super) fn broken(verify: &VerifySettings) -> Vec<Broken> {
    let routes = verify.routes.iter().enumerate();
    let routes = routes.flat_map(|(at, route)| Checked { at, route }.broken(verify.deadline));
    protected(verify).into_iter().chain(routes).collect()
}

fn protected(verify: &VerifySettings) -> Option<Broken> {
    let wrong = verify.protected_paths.iter().find_map(|glob| {
        let error = Protected::new(&[glob]).err()?;
        Some(format!("`{glob}` is not a glob: {}", error.kind()))
    })?;
    Some(Broken::new(&["verify.protected_paths"], wrong))
}

/// A stage's key, its command and its timeout.
type Stage<'a> = (&'static str, Option<&'a Vec<String>>, Option<Period>);

struct Checked<'a> {
    at: usize,
    route: &'a VerifyRoute,
}

impl Checked<'_> {
    fn broken(&self, deadline: Period) -> Vec<Broken> {
        let mut broken = self.paths();
        broken.extend(self.commands());
        broken.extend(self.timeouts(deadline));
        broken.extend(self.ready());
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

    fn commands(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        for (stage, command, _) in self.stages() {
            let program = command.and_then(|words| words.first());
            if command.is_some() && program.is_none_or(String::is_empty) {
                broken.push(self.about(stage, &format!("`{stage}` has no program")));
            }
        }
        let runs = self
            .stages()
            .iter()
            .any(|(_, command, _)| command.is_some());
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
        for (stage, command, timeout) in self.stages() {
            let Some(timeout) = timeout else { continue };
            let key = format!("timeout.{stage}");
            if timeout.is_zero() {
                broken.push(self.about(&key, &format!("`{key}` must be longer than 0")));
            } else if command.is_none() {
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
        let Some(ReadyProbe { line, port, path }) = &self.route.ready else {
            return Vec::new();
        };
        let mut broken = Vec::new();
        let mut wrong = |what: &str| broken.push(self.about("ready", what));
        if self.route.startup_smoke.is_none() {
            wrong("`ready` is set, but there is no `startup_smoke`");
        }
        match (line, port, path) {
            (None, None, None) => wrong("`ready` has neither `line` nor `port`"),
            (None, None, Some(_)) => wrong("`ready.path` needs `ready.port`"),
            (Some(_), Some(_), _) | (Some(_), None, Some(_)) => {
                wrong("`ready` has both `line` and `port`; use one");
            }
            (Some(line), None, None) if line.is_empty() => wrong("`ready.line` is empty"),
            (None, Some(0), _) => wrong("`ready.port` must be at least 1"),
            (None, Some(_), Some(path)) if !path.starts_with('/') => {
                wrong("`ready.path` must start with `/`");
            }
            (Some(_), None, None) | (None, Some(_), _) => {}
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
