//! The dashboard: read-only pages without scripts.
//!
//! A page per noun. Every text that drive did not write itself is escaped by the type that carries
//! it (`html`), every list is cut, no page has a script, and the browser is told to run none.

mod budget;
mod hosts;
mod html;
mod page;
mod pulls;
mod record;
mod runs;
mod verifications;

pub use hosts::Hosts;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::header::{REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use drive_core::ids::{PrNumber, RunId};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Clock, Forge, PullRequests, Store};
use drive_engine::verify::KeptReports;
use page::problem_page;
use std::sync::Arc;

/// The data sources of the dashboard.
pub struct Sources {
    /// Runs.
    pub runs: Arc<dyn Store>,
    /// Pull requests of the local forge, or why there are none.
    pub pull_requests: Result<Arc<dyn PullRequests>, Problem>,
    /// Reports of verifications.
    pub verifications: Arc<dyn KeptReports>,
    /// The forge whose budget is shown, or why there is none.
    pub forge: Result<ShownForge, Problem>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// The forge of the repository.
pub struct ShownForge {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// The forge, with the reason for the choice.
    pub name: String,
}

/// Nothing but our own style sheet is loaded, nothing runs, nothing frames us.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";

/// The pages, for requests that name one of these hosts.
pub fn router(sources: Sources, hosts: Hosts) -> Router {
    Router::new()
        .route("/", get(list_runs))
        .route("/runs/{id}", get(show_run))
        .route("/pulls", get(list_pulls))
        .route("/pulls/{number}", get(show_pull))
        .route("/verifications", get(list_verifications))
        .route("/verifications/{id}", get(show_verification))
        .route("/budget", get(show_budget))
        .route("/style.css", get(style))
        .with_state(Arc::new(sources))
        .layer(from_fn_with_state(Arc::new(hosts), guard))
}

/// Refuses foreign hosts, and sends the security headers.
async fn guard(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    let mut response = if hosts.accept(request.headers()) {
        next.run(request).await
    } else {
        (
            StatusCode::MISDIRECTED_REQUEST,
            "unknown host name; use the address, or start with --host NAME\n",
        )
            .into_response()
    };
    let corp = HeaderName::from_static("cross-origin-resource-policy");
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (corp, "same-origin"),
    ] {
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

type Shared = State<Arc<Sources>>;

async fn list_runs(State(sources): Shared) -> Response {
    answer(move || runs::list_page(sources.runs.as_ref()).map(Some)).await
}

async fn show_run(State(sources): Shared, Path(id): Path<String>) -> Response {
    answer(move || runs::show_page(sources.runs.as_ref(), &id)).await
}

async fn list_pulls(State(sources): Shared) -> Response {
    answer(move || {
        let source = sources.pull_requests.as_ref().map(Arc::as_ref);
        pulls::list_page(source).map(Some)
    })
    .await
}

async fn show_pull(State(sources): Shared, Path(number): Path<String>) -> Response {
    answer(move || {
        let (Ok(pulls), Some(number)) = (&sources.pull_requests, PrNumber::parse(&number)) else {
            return Ok(None);
        };
        let Some((pull, comments)) = pulls.show(number)? else {
            return Ok(None);
        };
        Ok(Some(pulls::show_page(&pull, &comments)))
    })
    .await
}

async fn list_verifications(State(sources): Shared) -> Response {
    answer(move || {
        let newest = sources.verifications.newest(verifications::VERIFICATIONS);
        Ok(Some(verifications::list_page(&newest)))
    })
    .await
}

async fn show_verification(State(sources): Shared, Path(id): Path<String>) -> Response {
    answer(move || {
        let report = sources.verifications.load(&RunId::new(id));
        Ok(report.as_ref().map(verifications::show_page))
    })
    .await
}

async fn show_budget(State(sources): Shared) -> Response {
    answer(move || {
        let now = sources.clock.now();
        budget::budget_page(sources.forge.as_ref(), now).map(Some)
    })
    .await
}

async fn style() -> Response {
    let css = include_str!("style.css");
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], css).into_response()
}

/// Renders a page on a thread where the database and git may block.
async fn answer<F>(make: F) -> Response
where
    F: FnOnce() -> Result<Option<String>, Problem> + Send + 'static,
{
    let (status, page) = match tokio::task::spawn_blocking(make).await {
        Ok(Ok(Some(page))) => (StatusCode::OK, page),
        Ok(Ok(None)) => (StatusCode::NOT_FOUND, problem_page(&not_found())),
        Ok(Err(problem)) => (StatusCode::INTERNAL_SERVER_ERROR, problem_page(&problem)),
        Err(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            problem_page(&Problem::new(Kind::PageFailed, "cannot render this page")),
        ),
    };
    (status, [(CONTENT_TYPE, HTML)], page).into_response()
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "page not found")
}

#[cfg(test)]
mod tests;
