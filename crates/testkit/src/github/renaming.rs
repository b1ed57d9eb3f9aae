//! Renamed repositories. Their old addresses redirect, as GitHub's do, for the API and git alike.

use super::http::{Answer, Request};
use super::state::World;
use serde_json::json;
use std::path::Path;

pub(super) fn moved(root: &Path, from: &Path, name: &str) -> std::path::PathBuf {
    let to = root.join(format!("{name}.git"));
    if let Err(error) = std::fs::rename(from, &to) {
        panic!("cannot move {}: {error}", from.display());
    }
    to
}

/// The redirect of a request that uses an old name. It is permanent only for reads.
pub(crate) fn sent_on(world: &World, request: &Request) -> Option<Answer> {
    let rest = request.path.strip_prefix("/repos/")?;
    let mut words = rest.splitn(3, '/');
    let name = format!("{}/{}", words.next()?, words.next()?);
    let tail = words
        .next()
        .map_or(String::new(), |tail| format!("/{tail}"));
    world.renamed.get(&name)?;
    let id = world.repos.get(&world.current_name(&name))?.id;
    let query = match request.raw_query.as_str() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let url = format!("{}/repositories/{id}{tail}{query}", request.api);
    let (status, message) = match request.method.as_str() {
        "GET" | "HEAD" => (301, "Moved Permanently"),
        _ => (307, "Temporary Redirect"),
    };
    let body = json!({
        "message": message, "url": url,
        "documentation_url": "https://docs.github.com/rest",
    });
    Some(Answer::json(status, &body).with("location", url))
}

/// Turns a request by the number of a repository into one by its name.
pub(crate) fn by_name(world: &World, request: &Request) -> Option<Request> {
    let rest = request.path.strip_prefix("/repositories/")?;
    let (id, tail) = rest
        .split_once('/')
        .map_or((rest, ""), |(id, _)| (id, &rest[id.len()..]));
    let id: u64 = id.parse().ok()?;
    let repo = world.repos.values().find(|repo| repo.id == id)?;
    Some(Request {
        path: format!("/repos/{}{tail}", repo.full_name()),
        ..request.clone()
    })
}

/// The redirect for git.
pub(crate) fn git_sent_on(world: &World, request: &Request, repo: &str) -> Option<Answer> {
    world.renamed.get(repo)?;
    let now = world.current_name(repo);
    let path = request.path.replacen(repo, &now, 1);
    let url = format!("{}{path}?{}", request.html, request.raw_query);
    Some(Answer::text(301, "").with("location", url))
}
