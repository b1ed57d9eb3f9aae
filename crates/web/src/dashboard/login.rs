//! Handles the login link, and visitors without a session.

use super::html::Html;
use super::page::bare_page;
use super::{HTML, Sources};
use crate::session::{self, Session};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Pages that need no session: they show nothing about runs.
const PUBLIC: [&str; 3] = ["/login", "/favicon.svg", "/style.css"];

/// Admits a request and adds its session, or returns the answer that refuses it.
pub(super) async fn admit(sources: &Arc<Sources>, request: &mut Request) -> Result<(), Response> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read && PUBLIC.contains(&request.uri().path()) {
        return Ok(());
    }
    let Some(session) = checked(sources, request.headers()).await else {
        return Err(
            if is_read && session::is_from_elsewhere(request.headers()) {
                continue_here(&own_path(request))
            } else {
                refused()
            },
        );
    };
    if !is_read && !session::is_from_here(request.headers()) {
        return Err((
            StatusCode::FORBIDDEN,
            "refused: this request does not come from a page of this server\n",
        )
            .into_response());
    }
    request.extensions_mut().insert(session);
    Ok(())
}

/// Handles `GET /login?code=…`.
pub(super) async fn login(State(sources): State<Arc<Sources>>, request: Request) -> Response {
    // The body cannot be shared between threads.
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let code = pairs.find(|(name, _)| *name == "code");
    let code = code.map(|(_, code)| code.to_owned());
    let code = code.filter(|code| session::is_secret(code) && parts.method == Method::GET);
    // A prefetching browser must not use up the link.
    let code = code.filter(|_| !session::is_prefetch(&parts.headers));
    let Some(code) = code else {
        return refused();
    };
    let logins = sources.logins.clone();
    let secret = tokio::task::spawn_blocking(move || logins.redeem(&code)).await;
    match secret {
        Ok(Ok(Some(secret))) => {
            let mut response = continue_here("/");
            if let Ok(cookie) = HeaderValue::from_str(&Session::new(secret).cookie()) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Ok(Ok(None) | Err(_)) | Err(_) => match checked(&sources, &parts.headers).await {
            Some(_) => continue_here("/"),
            None => refused(),
        },
    }
}

async fn checked(sources: &Arc<Sources>, headers: &HeaderMap) -> Option<Session> {
    let session = Session::claimed(headers)?;
    let (logins, secret) = (sources.logins.clone(), session.secret().to_owned());
    let known = tokio::task::spawn_blocking(move || logins.is_session(&secret)).await;
    matches!(known, Ok(Ok(true))).then_some(session)
}

/// A page that redirects by itself: the browser sends the strict cookie only with that request.
fn continue_here(path: &str) -> Response {
    let page = bare_page("One moment", Some(path), |html| {
        html.raw("<p><a").attr("href", path);
        html.raw(">Continue to the dashboard</a></p>\n");
    });
    (StatusCode::OK, [(CONTENT_TYPE, HTML)], page).into_response()
}

/// The path of a request, in a form that a browser cannot take for another server's address.
fn own_path(request: &Request) -> String {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/?=&%+".contains(&byte);
    if path.starts_with('/') && !path.starts_with("//") && path.bytes().all(plain) {
        path.to_owned()
    } else {
        "/".to_owned()
    }
}

fn refused() -> Response {
    let page = bare_page("Not logged in", None, |html: &mut Html| {
        html.raw(
            "<p>This page shows your runs, so it opens only for a browser that followed a login \
             link.</p>\n<p><code>drive serve</code> prints such a link when it starts. It works \
             once. To get another one, run <code>drive serve --link</code> as the same user on the \
             same machine.</p>\n",
        );
    });
    (StatusCode::UNAUTHORIZED, [(CONTENT_TYPE, HTML)], page).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn a_visitor_goes_on_to_a_page_of_this_server_only() {
        let path = |uri: &str| {
            let request = Request::builder().uri(uri).body(Body::empty()).unwrap();
            own_path(&request)
        };
        assert_eq!(path("/runs/r1?done=stop"), "/runs/r1?done=stop");
        for bad in ["//evil.example/", "/a;url=x", "/\"x", "/a'b"] {
            assert_eq!(path(bad), "/", "{bad}");
        }
    }
}
