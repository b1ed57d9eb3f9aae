//! The REST operations, one function each, found by GitHub's own operation id.

pub(super) mod checks;
mod comments;
mod pulls;
mod repos;
mod reviews;

use super::http::{Answer, Refusal, Request};
use super::render::Render;
use super::schema::Matched;
use super::state::World;
use serde_json::Value;

pub(crate) type Outcome = Result<Answer, Refusal>;

/// One call: who asks what of which repository.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) matched: &'a Matched,
    pub(crate) viewer: &'a str,
    /// Whether an app asks.
    pub(crate) is_app: bool,
}

/// Carries out one request.
pub(crate) fn answer(mut call: Call<'_>) -> Answer {
    let outcome = dispatch(&mut call);
    outcome.unwrap_or_else(|refusal| refusal.answer())
}

fn dispatch(call: &mut Call<'_>) -> Outcome {
    match call.matched.operation.id.as_str() {
        "users/get-authenticated" => repos::viewer(call),
        "repos/get" => repos::get(call),
        "git/get-ref" => repos::get_ref(call),
        "git/delete-ref" => repos::delete_ref(call),
        "repos/get-collaborator-permission-level" => repos::permission(call),
        "repos/create-webhook" => repos::create_hook(call),
        "repos/create-commit-status" => repos::create_status(call),
        "repos/get-combined-status-for-ref" => repos::combined_status(call),
        "repos/get-branch" => checks::branch(call),
        "repos/get-branch-rules" => checks::branch_rules(call),
        "checks/list-for-ref" => checks::list_runs(call),
        "checks/create" => checks::create_run(call),
        "checks/update" => checks::update_run(call),
        "checks/list-annotations" => checks::annotations(call),
        "actions/get-job-for-workflow-run" => checks::job(call),
        "actions/download-job-logs-for-workflow-run" => checks::logs(call),
        "pulls/list" => pulls::list(call),
        "pulls/create" => pulls::create(call),
        "pulls/get" => pulls::get(call),
        "pulls/update" => pulls::update(call),
        "pulls/merge" => pulls::merge(call),
        "pulls/check-if-merged" => pulls::is_merged(call),
        "issues/list-comments-for-repo" => comments::list_for_repo(call),
        "issues/list-comments" => comments::list(call),
        "issues/create-comment" => comments::create(call),
        "issues/update-comment" => comments::update(call),
        "issues/delete-comment" => comments::delete(call),
        "pulls/list-review-comments-for-repo" => comments::list_lines_for_repo(call),
        "pulls/list-review-comments" => comments::list_lines(call),
        "pulls/create-review-comment" => comments::create_line(call),
        "pulls/update-review-comment" => comments::update_line(call),
        "pulls/create-reply-for-review-comment" => comments::reply(call),
        "reactions/create-for-issue-comment"
        | "reactions/create-for-pull-request-review-comment" => comments::react(call),
        "pulls/list-reviews" => reviews::list(call),
        "pulls/create-review" => reviews::create(call),
        "pulls/list-comments-for-review" => reviews::list_lines(call),
        "issues/list-labels-on-issue" | "issues/add-labels" => pulls::labels(call),
        _ => Err(Refusal::new(
            501,
            "the simulator does not know this operation",
        )),
    }
}

impl Call<'_> {
    fn param(&self, name: &str) -> &str {
        self.matched.params.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> Result<u64, Refusal> {
        self.param(name).parse().map_err(|_| Refusal::not_found())
    }

    fn repo_name(&self) -> String {
        format!("{}/{}", self.param("owner"), self.param("repo"))
    }

    fn render(&self) -> Result<Render<'_>, Refusal> {
        Ok(Render {
            world: self.world,
            repo: self.world.repo(&self.repo_name())?,
            api: &self.request.api,
            html: &self.request.html,
        })
    }

    fn query(&self, name: &str) -> Option<String> {
        self.request.query().remove(name)
    }

    /// One page of a list, with the links to the others. Only that page is drawn.
    fn page<T>(&self, items: Vec<T>, draw: impl Fn(T) -> Value) -> Answer {
        let number = |name: &str, fallback: usize| {
            self.query(name)
                .and_then(|text| text.parse().ok())
                .unwrap_or(fallback)
        };
        let size = number("per_page", 30).clamp(1, 100);
        let page = number("page", 1).max(1);
        let last = items.len().div_ceil(size).max(1);
        let slice: Vec<Value> = items
            .into_iter()
            .skip((page - 1) * size)
            .take(size)
            .map(draw)
            .collect();
        let answer = Answer::json(200, &Value::Array(slice));
        if page >= last {
            return answer;
        }
        let link = |to: usize, rel: &str| format!("<{}>; rel=\"{rel}\"", self.page_url(to));
        answer.with(
            "link",
            format!("{}, {}", link(page + 1, "next"), link(last, "last")),
        )
    }

    fn page_url(&self, page: usize) -> String {
        let others: Vec<&str> = self
            .request
            .raw_query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.starts_with("page="))
            .collect();
        let mut query = others.join("&");
        if !query.is_empty() {
            query.push('&');
        }
        format!(
            "{}{}?{query}page={page}",
            self.request.api, self.request.path
        )
    }
}

/// A text of a JSON body.
fn text(body: &Value, name: &str) -> String {
    body[name].as_str().unwrap_or_default().to_owned()
}
