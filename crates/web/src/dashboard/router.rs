//! Routes requests to their pages, and guards them.

use super::hosts::Hosts;
use super::page::problem_page;
use super::{
    HTML, Sources, Visit, actions, budget, groups, live, login, pulls, runs, verifications,
};
use crate::session::Session;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::header::{REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use drive_core::ids::{PrNumber, RunId};
use drive_core::problem::{Kind, Problem};
use std::sync::Arc;

/// Browsers may load only our own style sheet, icon and script, must not frame our pages, and may
/// send forms and script requests only to us.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The routes of the pages, for visitors who are logged in and requests that name one of these hosts.
pub fn router(sources: Sources, hosts: Hosts) -> Router {
    let sources = Arc::new(sources);
    let gate = Arc::new(Gate {
        hosts,
        sources: sources.clone(),
    });
    let bell = Arc::new(live::Bell::new(&sources));
    let live = Router::new()
        .route("/events", get(live::all))
        .route("/runs/{id}/events", get(live::one))
        .with_state((sources.clone(), bell));
    Router::new()
        .route("/", get(list_runs))
        .route("/login", get(login::login))
        .route("/runs/{id}", get(show_run).post(actions::act_on_run))
        .route("/pulls", get(list_pulls))
        .route("/pulls/{number}", get(show_pull).post(actions::act_on_pull))
        .route("/verifications", get(list_verifications))
        .route("/verifications/{id}", get(show_verification))
        .route("/budget", get(show_budget))
        .route("/favicon.svg", get(favicon))
        .route("/style.css", get(style))
        .route("/live.js", get(script))
        .with_state(sources)
        .merge(live)
        .layer(from_fn_with_state(gate, guard))
}

struct Gate {
    hosts: Hosts,
    sources: Arc<Sources>,
}

/// Refuses unknown hosts, visitors without a session and requests from other sites, and sets the
/// security headers.
async fn guard(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let mut response = if !gate.hosts.accept(request.headers()) {
        (
            StatusCode::MISDIRECTED_REQUEST,
            "unknown host name; use the address, or start with --host NAME\n",
        )
            .into_response()
    } else {
        match login::admit(&gate.sources, &mut request).await {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal,
        }
    };
    let corp = HeaderName::from_static("cross-origin-resource-policy");
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer`, a browser hides the origin of our own forms from us.
        (REFERRER_POLICY, "same-origin"),
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
    answer(move || groups::list_page(&sources).map(Some)).await
}

async fn show_run(
    State(sources): Shared,
    Extension(session): Extension<Session>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let visit = Visit::new(session, query);
    answer(move || runs::show_page(&sources, &id, &visit)).await
}

async fn list_pulls(State(sources): Shared) -> Response {
    answer(move || {
        let source = sources.pull_requests.as_ref().map(Arc::as_ref);
        pulls::list_page(source).map(Some)
    })
    .await
}

async fn show_pull(
    State(sources): Shared,
    Extension(session): Extension<Session>,
    Path(number): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let visit = Visit::new(session, query);
    answer(move || {
        let (Ok(pulls), Some(number)) = (&sources.pull_requests, PrNumber::parse(&number)) else {
            return Ok(None);
        };
        let Some((pull, comments)) = pulls.show(number)? else {
            return Ok(None);
        };
        Ok(Some(pulls::show_page(&pull, &comments, &visit)))
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

async fn favicon() -> Response {
    let icon = include_str!("favicon.svg");
    ([(CONTENT_TYPE, "image/svg+xml")], icon).into_response()
}

async fn script() -> Response {
    let script = include_str!("live.js");
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], script).into_response()
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
