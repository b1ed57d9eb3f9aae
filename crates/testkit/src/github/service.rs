//! Turns a request into an answer: limits, faults, the operation, the schema, the cache headers.

use super::faults::{self, Fault, FaultKind};
use super::http::{Answer, Refusal, Request};
use super::interjections::{self, Interjection};
use super::limits::{self, Limits};
use super::log::{Carried, Log, Logged};
use super::rest::checks::LOGS;
use super::schema::{Matched, Schema};
use super::state::World;
use super::{apps, git, graphql, renaming, rest, rules};
use drive_core::time::Timestamp;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// Larger than what a client should read.
const OVERSIZED: usize = 40 * 1024 * 1024;

/// Everything behind the lock.
pub(crate) struct Service {
    pub(crate) world: World,
    pub(crate) faults: Vec<Fault>,
    /// Comments that people write just before a request is handled.
    pub(crate) interjections: Vec<Interjection>,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) schema: Schema,
    /// Whether both sides are checked against GitHub's description.
    pub(crate) judging: bool,
    /// The folder of the bare repositories.
    pub(crate) git_root: PathBuf,
}

impl Service {
    pub(crate) fn handle(&mut self, request: &Request) -> Carried {
        if let Some(repo) = git_repo(&request.path) {
            if let Some(answer) = renaming::git_sent_on(&self.world, request, &repo) {
                return Carried::Whole(answer);
            }
            if let Some(answer) = apps::refuse_git(&self.world, request) {
                return Carried::Whole(answer);
            }
            let answer = git::serve(&self.git_root, request);
            if request.path.ends_with("/git-receive-pack") {
                self.world.refresh_branches(&repo);
            }
            return Carried::Whole(answer);
        }
        if let Some(log) = request.path.strip_prefix(LOGS) {
            return Carried::Whole(self.job_log(request, log));
        }
        let now = self.world.now();
        let carried = match self.api(request) {
            Carried::Whole(answer) => Carried::Whole(answer.with("date", http_date(now))),
            Carried::CutShort(answer) => Carried::CutShort(answer.with("date", http_date(now))),
            Carried::Never => Carried::Never,
        };
        self.log.push(Logged::new(request, &carried));
        carried
    }

    fn api(&mut self, request: &Request) -> Carried {
        let now = self.world.now();
        let token = token(request);
        if let Some(answer) = self.app_request(request) {
            return Carried::Whole(answer);
        }
        let Some(viewer) = apps::viewer(&self.world, &token) else {
            return Carried::Whole(Refusal::new(401, "Bad credentials").answer());
        };
        let resource = if request.path == "/graphql" {
            "graphql"
        } else {
            "core"
        };
        if let Some(refusal) = self.limits.refuse(&token, resource, now) {
            return Carried::Whole(refusal);
        }
        let asked = (request.method.as_str(), request.path.as_str());
        interjections::take(&mut self.interjections, &mut self.world, asked);
        let fault = faults::take(&mut self.faults, &request.method, &request.path);
        if let Some(kind) = fault
            && !kind.applies()
        {
            return Carried::Whole(self.refused(kind, &token, resource, now));
        }
        if is_write(request)
            && let Some(refusal) = rules::refuse_write(&self.world, request)
        {
            return Carried::Whole(refusal);
        }
        if is_write(request)
            && let Some(refusal) = self.limits.refuse_write(now)
        {
            return Carried::Whole(refusal);
        }
        let answer = self.answer(request, &viewer, &token, now);
        let answer = match fault {
            Some(FaultKind::FalselyUnchanged) if !request.header("if-none-match").is_empty() => {
                let tag = request.header("if-none-match");
                Answer::empty(304).with("etag", tag)
            }
            Some(_) | None => conditional(request, answer),
        };
        if answer.status != 304 {
            self.limits.count(&token, resource, now);
        }
        let answer = self.limits.stamp(answer, &token, resource, now);
        match fault {
            Some(kind) => after(kind, answer),
            None => Carried::Whole(answer),
        }
    }

    fn answer(&mut self, request: &Request, viewer: &str, token: &str, now: Timestamp) -> Answer {
        if let Some(answer) = renaming::sent_on(&self.world, request) {
            return answer;
        }
        if let Some(request) = renaming::by_name(&self.world, request) {
            return self.answer(&request, viewer, token, now);
        }
        if request.path == "/graphql" {
            return graphql::answer(&mut self.world, request, viewer);
        }
        if request.path == "/" || request.path.is_empty() {
            return Answer::json(200, &json!({}));
        }
        if let Some(answer) = rules::answer(&self.world, request) {
            return answer;
        }
        let Some(matched) = self.schema.find(request) else {
            let text = format!(
                "{} {} is not in the description",
                request.method, request.path
            );
            self.log.violation(text);
            return Refusal::not_found().answer();
        };
        self.log.operations.insert(matched.operation.id.clone());
        self.judge(|schema| schema.check_request(&matched.operation, request));
        let answer = if matched.operation.id == "rate-limit/get" {
            self.rate_limit(token, now)
        } else {
            self.rest(request, &matched, viewer, token)
        };
        // A text answer (a diff) is requested by a media type that the stored part of the description lacks.
        if !request.header("accept").contains("diff") {
            self.judge(|schema| schema.check_answer(&matched.operation, &answer));
        }
        answer
    }

    /// The log of a job, as the separate log server returns it: that server must not receive the token.
    fn job_log(&mut self, request: &Request, run: &str) -> Answer {
        if !request.header("authorization").is_empty() {
            let text = "the token was sent to the server of the logs";
            self.log.violation(text.to_owned());
        }
        let repos = self.world.repos.values();
        let mut runs = repos.flat_map(|repo| &repo.landing.runs);
        let run = runs.find(|one| one.id.to_string() == run);
        match run.and_then(|run| run.log.as_deref()) {
            Some(log) => Answer::text(200, log),
            None => Answer::text(404, "no such log"),
        }
    }

    fn judge(&mut self, check: impl FnOnce(&Schema) -> Vec<String>) {
        if self.judging {
            self.log.violations.extend(check(&self.schema));
        }
    }

    /// Handles a request that an app makes with a web token. Faults apply as to every other request.
    fn app_request(&mut self, request: &Request) -> Option<Answer> {
        if !request.path.starts_with("/app/") {
            return None;
        }
        let fault = faults::take(&mut self.faults, &request.method, &request.path);
        match fault {
            Some(_) => Some(Answer::text(502, "Bad Gateway")),
            None => apps::answer(&mut self.world, request),
        }
    }

    fn rest(&mut self, request: &Request, matched: &Matched, viewer: &str, token: &str) -> Answer {
        let is_app = apps::is_of_app(&self.world, token);
        rest::answer(rest::Call {
            world: &mut self.world,
            request,
            matched,
            viewer,
            is_app,
        })
    }

    fn rate_limit(&mut self, token: &str, now: Timestamp) -> Answer {
        let mut rate = |resource| {
            let stamped = self.limits.stamp(Answer::empty(200), token, resource, now);
            let figure = |name: &str| -> Value {
                let header = stamped.headers.iter().find(|(n, _)| n == name);
                json!(header.and_then(|(_, v)| v.parse::<u64>().ok()))
            };
            json!({
                "limit": figure("x-ratelimit-limit"), "used": figure("x-ratelimit-used"),
                "remaining": figure("x-ratelimit-remaining"), "reset": figure("x-ratelimit-reset"),
            })
        };
        let (core, graphql) = (rate("core"), rate("graphql"));
        let resources = json!({"core": core, "search": core, "graphql": graphql});
        Answer::json(200, &json!({"resources": resources, "rate": core}))
    }

    /// The answer of a fault that prevents the request.
    fn refused(
        &mut self,
        kind: FaultKind,
        token: &str,
        resource: &'static str,
        now: Timestamp,
    ) -> Answer {
        match kind {
            FaultKind::SecondaryLimit(seconds) => {
                self.limits
                    .stamp(limits::secondary(seconds), token, resource, now)
            }
            FaultKind::PrimaryLimit => {
                self.limits.exhaust(token, resource, now);
                let refusal = self.limits.refuse(token, resource, now);
                refusal.unwrap_or_else(|| Answer::empty(403))
            }
            FaultKind::Unavailable => Answer::text(503, "Service Unavailable"),
            FaultKind::BadGateway
            | FaultKind::BadGatewayAfterApplying
            | FaultKind::HangAfterApplying
            | FaultKind::Truncated
            | FaultKind::CutShort
            | FaultKind::FalselyUnchanged
            | FaultKind::Oversized => Answer::text(502, "Bad Gateway"),
        }
    }
}

/// Applies a fault to a good answer.
fn after(kind: FaultKind, mut answer: Answer) -> Carried {
    match kind {
        FaultKind::HangAfterApplying => Carried::Never,
        FaultKind::CutShort => Carried::CutShort(answer),
        FaultKind::FalselyUnchanged => Carried::Whole(answer),
        FaultKind::Truncated => {
            answer.body.truncate(answer.body.len() / 2);
            Carried::Whole(answer)
        }
        FaultKind::Oversized => {
            answer.body = vec![b' '; OVERSIZED];
            Carried::Whole(answer)
        }
        FaultKind::BadGateway
        | FaultKind::BadGatewayAfterApplying
        | FaultKind::SecondaryLimit(_)
        | FaultKind::PrimaryLimit
        | FaultKind::Unavailable => Carried::Whole(Answer::text(502, "Bad Gateway")),
    }
}

/// Adds the entity tag to a readable answer, or answers that the caller's copy is current.
fn conditional(request: &Request, answer: Answer) -> Answer {
    if request.method != "GET" || answer.status != 200 {
        return answer;
    }
    let mut hasher = DefaultHasher::new();
    answer.body.hash(&mut hasher);
    let tag = format!("W/\"{:016x}\"", hasher.finish());
    if request.header("if-none-match") == tag {
        let kept = answer
            .headers
            .into_iter()
            .filter(|(name, _)| name == "link");
        let mut unchanged = Answer::empty(304);
        unchanged.headers = kept.collect();
        return unchanged.with("etag", tag);
    }
    answer.with("etag", tag)
}

/// The `owner/name` in a path of the smart git protocol.
fn git_repo(path: &str) -> Option<String> {
    let (repo, rest) = path.trim_start_matches('/').split_once(".git/")?;
    let known = ["info/refs", "git-upload-pack", "git-receive-pack"];
    known.contains(&rest).then(|| repo.to_owned())
}

fn is_write(request: &Request) -> bool {
    match request.method.as_str() {
        "GET" | "HEAD" => false,
        "POST" if request.path == "/graphql" => request.json()["query"]
            .as_str()
            .is_some_and(|query| query.trim_start().starts_with("mutation")),
        _ => true,
    }
}

fn token(request: &Request) -> String {
    let header = request.header("authorization");
    let word = header.split_once(' ').map_or("", |(_, token)| token);
    word.to_owned()
}

fn http_date(now: Timestamp) -> String {
    now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
