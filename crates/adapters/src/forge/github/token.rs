//! Finds the token. It is never printed.

use crate::Environment;
use crate::environment::GH_TOKEN;
use drive_core::problem::{Kind, Problem};
use drive_core::process::LeakPolicy;
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, CommandSpec, Containment, ProcessRunner};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::Duration;

/// What `gh` needs to find its own settings; nothing else reaches it.
const GH_NEEDS: [&str; 5] = [
    "PATH",
    "HOME",
    "GH_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// How long `gh` may take: it only reads its own settings, or asks a keyring.
const GH_WALL: Duration = Duration::from_secs(20);

/// More than any token has.
const TOKEN_BYTES: usize = 4096;

/// A secret that proves who asks. It prints as dots.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token from text; `None` for text that cannot be one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = !text.is_empty()
            && text.len() <= TOKEN_BYTES
            && text.chars().all(|c| c.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The value of the `authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A name for what belongs to this token, from which the token cannot be told.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest[..16].iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A token, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundToken {
    /// The token.
    pub token: Token,
    /// Its place, as a person is told.
    pub source: String,
}

/// The token from `token_env`, else `GH_TOKEN`, else `gh auth token`; `None` where there is none.
/// A stop that was asked for is an error: it says nothing about whether there is one.
pub fn find_token(
    environment: &Environment,
    token_env: &str,
    host: &str,
    runner: &dyn ProcessRunner,
    cancel: &CancelToken,
) -> Result<Option<FoundToken>, Problem> {
    for name in [token_env, GH_TOKEN] {
        if let Some(token) = environment.text(name).and_then(Token::new) {
            let source = format!("`{name}`");
            return Ok(Some(FoundToken { token, source }));
        }
    }
    let asked = ask_gh(environment, host, runner, cancel);
    if asked.is_none() && cancel.asked().is_some() {
        return Err(Problem::new(
            Kind::Interrupted,
            "`gh auth token` was stopped",
        ));
    }
    Ok(asked.map(|token| FoundToken {
        token,
        source: "`gh auth token`".to_owned(),
    }))
}

/// Asks `gh`. Whatever goes wrong there (not installed, not logged in, no answer) means that it
/// has none.
fn ask_gh(
    environment: &Environment,
    host: &str,
    runner: &dyn ProcessRunner,
    cancel: &CancelToken,
) -> Option<Token> {
    let mut spec = CommandSpec::new("gh", "/").args(["auth", "token", "--hostname", host]);
    for name in GH_NEEDS {
        if let Some(value) = environment.get(name) {
            spec = spec.env(name, value);
        }
    }
    spec.containment = Containment::Light;
    spec.limits.wall = GH_WALL;
    spec.leaks = LeakPolicy::Kill;
    let mut heard = Collect::new(TOKEN_BYTES + 2);
    let report = runner.run(&spec, cancel, &mut |_| Ok(()), &mut heard);
    report.ok().filter(|report| report.end.is_success())?;
    let text = String::from_utf8(heard.stdout).ok()?;
    let mut lines = text.lines();
    let token = lines.next().and_then(Token::new);
    token.filter(|_| lines.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_prints_itself() {
        let token = Token::new("ghp_secret\n").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert!(!token.fingerprint().contains("secret"));
        assert_eq!(token.header(), "Bearer ghp_secret");
    }

    #[test]
    fn text_that_is_no_token_is_refused() {
        for text in ["", "  ", "two words", "tab\tinside", "ümlaut"] {
            assert_eq!(Token::new(text), None, "{text:?}");
        }
    }
}
