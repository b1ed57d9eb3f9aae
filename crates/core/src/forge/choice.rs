//! Decides which forge a repository uses, with the reason.

use crate::ids::RemoteName;
use crate::problem::{Kind, Problem};
use crate::settings::ForgeKind;

/// Facts about the repository that decide the forge.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The forge kind in the settings.
    pub wanted: ForgeKind,
    /// `forge.repo`, as `owner/name`.
    pub repo: Option<&'a str>,
    /// The setting `forge.api_url`.
    pub api_url: &'a str,
    /// The setting `forge.remote`.
    pub remote: &'a RemoteName,
    /// The URL of that remote; `None` if it does not exist.
    pub remote_url: Option<&'a str>,
    /// Where a token was found, such as `GH_TOKEN`; never the token itself.
    pub token_from: Option<&'a str>,
}

/// The forge to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// GitHub, or a GitHub Enterprise server.
    Github {
        /// The repository as `owner/name`.
        repo: String,
    },
    /// Drive's own database of pull requests for the local repository.
    Local,
}

/// The chosen forge, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The forge.
    pub chosen: Chosen,
    /// The reason for the choice.
    pub why: String,
    /// The GitHub repository, as `owner/name`, that was not chosen only because a token is missing.
    pub token_missing_for: Option<String>,
}

/// Chooses the forge.
pub fn choose(around: &Surroundings<'_>) -> Result<Choice, Problem> {
    let github = github(around);
    match (around.wanted, github) {
        (ForgeKind::Local, _) => Ok(local("`forge.kind` is `local`".to_owned())),
        (ForgeKind::Auto, Ok(choice)) => Ok(choice),
        (ForgeKind::Auto, Err(missing)) => Ok(Choice {
            token_missing_for: missing.token_for,
            ..local(missing.why)
        }),
        (ForgeKind::Github, Ok(choice)) => Ok(choice),
        (ForgeKind::Github, Err(missing)) => Err(missing.problem()),
    }
}

fn local(why: String) -> Choice {
    Choice {
        chosen: Chosen::Local,
        why,
        token_missing_for: None,
    }
}

fn github(around: &Surroundings<'_>) -> Result<Choice, Missing> {
    let (repo, from) = match around.repo {
        Some(repo) => (repo.to_owned(), "`forge.repo` names".to_owned()),
        None => (
            remote_repo(around)?,
            format!("remote `{}` is", around.remote),
        ),
    };
    let Some(token) = around.token_from else {
        return Err(Missing {
            kind: Kind::TokenMissing,
            why: format!("no token for `{repo}`"),
            hint: "run `gh auth login`, or set the variable that `forge.token_env` names",
            token_for: Some(repo),
        });
    };
    let why = format!(
        "{from} `{repo}` on `{}`, with a token from {token}",
        web_host(around.api_url)
    );
    Ok(Choice {
        chosen: Chosen::Github { repo },
        why,
        token_missing_for: None,
    })
}

/// Why GitHub cannot be used.
struct Missing {
    kind: Kind,
    why: String,
    hint: &'static str,
    /// The repository for which only a token is missing.
    token_for: Option<String>,
}

impl Missing {
    fn remote(why: String) -> Self {
        Self {
            kind: Kind::RemoteMissing,
            why,
            hint: "set `forge.repo` to `owner/name`, or `forge.kind` to `local`",
            token_for: None,
        }
    }

    fn problem(self) -> Problem {
        let message = format!("`forge.kind` is `github`, but {}", self.why);
        Problem::new(self.kind, message).hint(self.hint)
    }
}

fn remote_repo(around: &Surroundings<'_>) -> Result<String, Missing> {
    let remote = around.remote;
    let Some(url) = around.remote_url else {
        return Err(Missing::remote(format!("no remote `{remote}`")));
    };
    let Some(RemoteAddress { host, repo }) = parse_remote(url) else {
        let why = format!("remote `{remote}` is not the URL of a repository on a server");
        return Err(Missing::remote(why));
    };
    let wanted = web_host(around.api_url);
    if host == wanted {
        return Ok(repo);
    }
    Err(Missing {
        kind: Kind::RemoteNotOnForge,
        why: format!("remote `{remote}` is on `{host}`, not on `{wanted}`"),
        hint: "set `forge.api_url` to the API of your server, or `forge.kind` to `local`",
        token_for: None,
    })
}

/// A repository on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// The server's name in lowercase, with its port unless that is the default.
    pub host: String,
    /// The repository as `owner/name`.
    pub repo: String,
}

/// Parses the address of a remote: `https`, `ssh` or the short `user@host:path`. User names and
/// passwords are dropped.
pub fn parse_remote(url: &str) -> Option<RemoteAddress> {
    let (authority, path) = match url.split_once("://") {
        Some(("http" | "https" | "ssh" | "git", rest)) => rest.split_once('/')?,
        Some(_) => return None,
        // The short form has no slash before its colon; anything else is a local path.
        None => url
            .split_once(':')
            .filter(|(host, _)| !host.contains('/') && host.len() > 1)?,
    };
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.split_once('/')?;
    if owner.is_empty() || name.is_empty() || name.contains('/') || host.is_empty() {
        return None;
    }
    Some(RemoteAddress {
        host: plain_host(host),
        repo: format!("{owner}/{name}"),
    })
}

/// The host of the web pages, derived from the address of the API.
pub fn web_host(api_url: &str) -> String {
    let rest = api_url.split_once("://").map_or(api_url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = plain_host(
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host),
    );
    host.strip_prefix("api.").unwrap_or(&host).to_owned()
}

fn plain_host(host: &str) -> String {
    let host = host.to_lowercase();
    for usual in [":443", ":80", ":22"] {
        if let Some(bare) = host.strip_suffix(usual) {
            return unwrapped(bare);
        }
    }
    unwrapped(&host)
}

/// The host name without GitHub's variants, such as the one for ssh over the https port.
fn unwrapped(host: &str) -> String {
    let host = host.strip_prefix("www.").unwrap_or(host);
    if host == "ssh.github.com" {
        "github.com".to_owned()
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static ORIGIN: LazyLock<RemoteName> = LazyLock::new(|| RemoteName::parse("origin").unwrap());
    const API: &str = "https://api.github.com";

    fn around<'a>(
        wanted: ForgeKind,
        url: Option<&'a str>,
        token: Option<&'a str>,
    ) -> Surroundings<'a> {
        Surroundings {
            wanted,
            repo: None,
            api_url: API,
            remote: &ORIGIN,
            remote_url: url,
            token_from: token,
        }
    }

    #[test]
    fn addresses_of_remotes_are_read_in_every_usual_form() {
        let cases = [
            ("https://github.com/o/r.git", Some(("github.com", "o/r"))),
            ("https://GitHub.com/o/r/", Some(("github.com", "o/r"))),
            (
                "https://me:secret@github.com/o/r",
                Some(("github.com", "o/r")),
            ),
            ("git@github.com:o/r.git", Some(("github.com", "o/r"))),
            (
                "ssh://git@github.com:22/o/r.git",
                Some(("github.com", "o/r")),
            ),
            (
                "ssh://git@ssh.github.com:443/o/r.git",
                Some(("github.com", "o/r")),
            ),
            (
                "http://127.0.0.1:8080/o/r.git",
                Some(("127.0.0.1:8080", "o/r")),
            ),
            ("git@ghe.example:o/r", Some(("ghe.example", "o/r"))),
            ("/srv/git/r.git", None),
            ("../r", None),
            ("C:/src/r", None),
            ("file:///srv/git/o/r.git", None),
            ("https://github.com/o", None),
            ("https://gitlab.example/group/sub/r", None),
            ("", None),
        ];
        for (url, expected) in cases {
            let expected = expected.map(|(host, repo)| RemoteAddress {
                host: host.to_owned(),
                repo: repo.to_owned(),
            });
            assert_eq!(parse_remote(url), expected, "{url}");
        }
    }

    #[test]
    fn auto_takes_github_only_with_a_remote_there_and_a_token() {
        let github = |why: &str| Choice {
            chosen: Chosen::Github { repo: "o/r".into() },
            why: why.into(),
            token_missing_for: None,
        };
        let local = |why: &str| Choice {
            chosen: Chosen::Local,
            why: why.into(),
            token_missing_for: None,
        };
        let hub = Some("git@github.com:o/r.git");
        let cases = [
            (
                around(ForgeKind::Auto, hub, Some("`GH_TOKEN`")),
                github("remote `origin` is `o/r` on `github.com`, with a token from `GH_TOKEN`"),
            ),
            (
                around(ForgeKind::Auto, hub, None),
                Choice {
                    token_missing_for: Some("o/r".into()),
                    ..local("no token for `o/r`")
                },
            ),
            (
                around(ForgeKind::Auto, None, Some("`GH_TOKEN`")),
                local("no remote `origin`"),
            ),
            (
                around(
                    ForgeKind::Auto,
                    Some("git@gitlab.com:o/r.git"),
                    Some("`GH_TOKEN`"),
                ),
                local("remote `origin` is on `gitlab.com`, not on `github.com`"),
            ),
            (
                around(ForgeKind::Auto, Some("/srv/r.git"), Some("`GH_TOKEN`")),
                local("remote `origin` is not the URL of a repository on a server"),
            ),
            (
                around(ForgeKind::Local, hub, Some("`GH_TOKEN`")),
                local("`forge.kind` is `local`"),
            ),
            (
                Surroundings {
                    repo: Some("o/r"),
                    ..around(ForgeKind::Auto, None, Some("`GH_TOKEN`"))
                },
                github("`forge.repo` names `o/r` on `github.com`, with a token from `GH_TOKEN`"),
            ),
            (
                Surroundings {
                    api_url: "https://ghe.example/api/v3",
                    ..around(
                        ForgeKind::Auto,
                        Some("ssh://git@ghe.example/o/r"),
                        Some("`GH_TOKEN`"),
                    )
                },
                github("remote `origin` is `o/r` on `ghe.example`, with a token from `GH_TOKEN`"),
            ),
        ];
        for (around, expected) in cases {
            assert_eq!(choose(&around).unwrap(), expected, "{around:?}");
        }
    }

    #[test]
    fn github_asked_for_by_name_says_what_is_missing() {
        let hub = Some("git@github.com:o/r.git");
        let cases = [
            (around(ForgeKind::Github, hub, None), Kind::TokenMissing),
            (
                around(ForgeKind::Github, None, Some("x")),
                Kind::RemoteMissing,
            ),
            (
                around(ForgeKind::Github, Some("/srv/r"), Some("x")),
                Kind::RemoteMissing,
            ),
            (
                around(ForgeKind::Github, Some("git@gitlab.com:o/r"), Some("x")),
                Kind::RemoteNotOnForge,
            ),
        ];
        for (around, kind) in cases {
            assert_eq!(choose(&around).unwrap_err().kind, kind, "{around:?}");
        }
    }

    proptest! {
        #[test]
        fn no_password_of_an_address_is_repeated(password in "[a-z]{12}", host in "[a-z]{3}\\.com") {
            let url = format!("https://me:{password}@{host}/o/r");
            let told = format!("{:?}", choose(&around(ForgeKind::Auto, Some(&url), Some("x"))));
            prop_assert!(!told.contains(&password));
        }

        #[test]
        fn no_address_makes_the_reader_panic(url in "\\PC{0,60}") {
            let _ = parse_remote(&url);
        }
    }
}
