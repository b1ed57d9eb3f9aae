//! The REST operations, one function each, selected by GitHub's own operation id.

pub(super) mod checks;
mod comments;
mod dispatch;
mod pulls;
mod repos;
mod reviews;

pub(crate) use dispatch::answer;

use super::http::{Answer, Refusal, Request};
use super::render::Render;
use super::schema::Matched;
use super::state::World;
use serde_json::Value;

pub(crate) type Outcome = Result<Answer, Refusal>;

/// One call: the request, its operation and the caller.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) matched: &'a Matched,
    pub(crate) viewer: &'a str,
    /// Whether the caller is an app.
    pub(crate) is_app: bool,
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

    /// One page of a list, with links to the others. Only that page is rendered.
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
