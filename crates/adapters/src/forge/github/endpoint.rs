//! API addresses: github.com or an enterprise server, REST and GraphQL.

use drive_core::forge::choice::web_host;
use drive_core::problem::{Kind, Problem};

/// One repository on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    rest: String,
    graphql: String,
    owner: String,
    name: String,
}

impl Endpoint {
    /// The endpoint of `owner/name` below `api_url`, such as `https://api.github.com` or
    /// `https://ghe.example/api/v3`.
    pub fn new(api_url: &str, repo: &str) -> Result<Self, Problem> {
        let rest = api_url.trim_end_matches('/').to_owned();
        if !rest.starts_with("https://") && !rest.starts_with("http://") {
            return Err(Problem::new(
                Kind::ForgeUrl,
                format!("`{api_url}` is not the address of an API"),
            )
            .hint("set `forge.api_url` to something like `https://api.github.com`"));
        }
        let Some((owner, name)) = repo
            .split_once('/')
            .filter(|(owner, name)| is_segment(owner) && is_segment(name))
        else {
            return Err(
                Problem::new(Kind::ForgeRepo, format!("`{repo}` is not a repository"))
                    .hint("set `forge.repo` to `owner/name`"),
            );
        };
        // An enterprise server has REST at `/api/v3` and GraphQL next to it.
        let graphql = match rest.strip_suffix("/v3") {
            Some(api) => format!("{api}/graphql"),
            None => format!("{rest}/graphql"),
        };
        Ok(Self {
            graphql,
            owner: owner.to_owned(),
            name: name.to_owned(),
            rest,
        })
    }

    /// The address of the server that git and people use: `https://github.com/`.
    pub fn web_url(&self) -> String {
        let scheme = self.rest.split("://").next().unwrap_or("https");
        format!("{scheme}://{}/", web_host(&self.rest))
    }

    /// The owner of the repository.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name of the repository.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The repository as `owner/name`.
    pub fn repo(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The address of a resource in the repository.
    pub(super) fn rest(&self, tail: &str) -> String {
        format!("{}/repos/{}/{}/{tail}", self.rest, self.owner, self.name)
    }

    /// The address of the GraphQL API.
    pub(super) fn graphql(&self) -> &str {
        &self.graphql
    }

    /// Whether a link from an answer stays on this server.
    pub(super) fn is_own(&self, url: &str) -> bool {
        url.strip_prefix(&self.rest)
            .is_some_and(|tail| tail.starts_with('/'))
    }
}

/// Encodes text for a path segment or a query value.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn is_segment(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(known) && text != "." && text != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_server_have_their_addresses() {
        let table = [
            (
                "https://api.github.com",
                "https://api.github.com/repos/o/r/pulls",
                "https://api.github.com/graphql",
            ),
            (
                "https://ghe.example/api/v3/",
                "https://ghe.example/api/v3/repos/o/r/pulls",
                "https://ghe.example/api/graphql",
            ),
        ];
        for (api, rest, graphql) in table {
            let endpoint = Endpoint::new(api, "o/r").unwrap();
            assert_eq!(
                (endpoint.rest("pulls").as_str(), endpoint.graphql()),
                (rest, graphql)
            );
        }
    }

    #[test]
    fn wrong_addresses_and_names_are_refused() {
        let kind = |api, repo| Endpoint::new(api, repo).unwrap_err().kind;
        assert_eq!(kind("api.github.com", "o/r"), Kind::ForgeUrl);
        for repo in ["r", "o/r/x", "o/", "../r", "o/r?x"] {
            assert_eq!(kind("https://api.github.com", repo), Kind::ForgeRepo);
        }
    }

    #[test]
    fn links_to_other_servers_are_not_followed() {
        let endpoint = Endpoint::new("https://api.github.com", "o/r").unwrap();
        assert!(endpoint.is_own("https://api.github.com/repositories/1/pulls?page=2"));
        assert!(!endpoint.is_own("https://api.github.com.evil.example/pulls"));
        assert!(!endpoint.is_own("https://evil.example/pulls"));
    }

    #[test]
    fn odd_characters_are_encoded() {
        assert_eq!(encode("o:feat/ü&x"), "o%3Afeat%2F%C3%BC%26x");
    }
}
