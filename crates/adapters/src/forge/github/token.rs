//! Finds the token. It is never printed.

use crate::Environment;
use crate::environment::GH_TOKEN;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeakPolicy};
use drive_core::secrets::SecretPolicy;
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, CommandSpec, Containment, ProcessRunner};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::Duration;

/// The variables that `gh` needs to find its settings; it gets no others.
const GH_NEEDS: [&str; 5] = [
    "PATH",
    "HOME",
    "GH_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// How long `gh` may take: it only reads its settings or a keyring.
const GH_WALL: Duration = Duration::from_secs(20);

/// The name of the source `gh`, for people.
pub(super) const GH: &str = "`gh auth token`";
/// The name of the source `forge.token_command`, for people.
pub(super) const COMMAND: &str = "`forge.token_command`";

/// More bytes than any token has.
const TOKEN_BYTES: usize = 4096;

/// A secret token. It displays as dots.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Creates a token; `None` for text that cannot be one.
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

    /// Makes the token known to `secrets`, so that it is redacted.
    pub(super) fn tell(&self, secrets: &SecretPolicy) {
        secrets.learn(&self.0);
    }

    /// The prefix that shows the kind of the token, such as `ghp`.
    pub(super) fn kind(&self) -> &str {
        self.0.split('_').next().unwrap_or_default()
    }

    /// The user and the password of git over HTTPS.
    pub(super) fn git_password(&self) -> (String, String) {
        ("x-access-token".to_owned(), self.0.clone())
    }

    /// An identifier of this token that does not reveal it.
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

/// A token and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundToken {
    /// The token.
    pub token: Token,
    /// Its source, for people.
    pub source: String,
}

/// The token from `token_env`, else `GH_TOKEN`, else `gh auth token`; `None` if there is none. A
/// requested stop is an error, because it does not show whether there is a token.
pub fn find_token(
    environment: &Environment,
    token_env: &str,
    host: &str,
    runner: &dyn ProcessRunner,
    cancel: &CancelToken,
) -> Result<Option<FoundToken>, Problem> {
    if let Some(found) = in_variable(environment, token_env) {
        return Ok(Some(found));
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
        source: GH.to_owned(),
    }))
}

/// The token from `token_env`, else from `GH_TOKEN`.
pub(super) fn in_variable(environment: &Environment, token_env: &str) -> Option<FoundToken> {
    [token_env, GH_TOKEN].into_iter().find_map(|name| {
        let token = environment.text(name).and_then(Token::new)?;
        let source = format!("`{name}`");
        Some(FoundToken { token, source })
    })
}

/// Runs `gh`. Any failure (not installed, not logged in, no answer) means that it has no token.
pub(super) fn ask_gh(
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
    printed(spec, runner, cancel).ok()
}

/// Runs `forge.token_command`. It is the user's own program, and gets the user's environment.
pub(super) fn ask_command(
    command: &[String],
    environment: &Environment,
    runner: &dyn ProcessRunner,
    cancel: &CancelToken,
) -> Result<Token, Problem> {
    let Some((program, args)) = command.split_first() else {
        return Err(no_token("it names no program"));
    };
    let mut spec = CommandSpec::new(program, "/").args(args);
    for (name, value) in environment.iter() {
        spec = spec.env(name, value);
    }
    printed(spec, runner, cancel).map_err(|why| {
        if cancel.asked().is_some() {
            let what = format!("{COMMAND} was stopped");
            return Problem::new(Kind::Interrupted, what);
        }
        no_token(&why)
    })
}

fn no_token(why: &str) -> Problem {
    Problem::new(
        Kind::TokenCommandFailed,
        format!("{COMMAND} printed no token: {why}"),
    )
    .hint("run the command yourself: it must print one token on one line, and nothing else")
}

/// The token that a program prints as its only line, or why there is none. The reason never
/// contains the output.
fn printed(
    mut spec: CommandSpec,
    runner: &dyn ProcessRunner,
    cancel: &CancelToken,
) -> Result<Token, String> {
    spec.containment = Containment::Light;
    spec.limits.wall = GH_WALL;
    spec.leaks = LeakPolicy::Kill;
    let mut heard = Collect::new(TOKEN_BYTES + 2);
    let report = runner.run(&spec, cancel, &mut |_| Ok(()), &mut heard);
    let end = report.map_err(|problem| problem.message)?.end;
    if matches!(end, End::TimedOut { .. }) {
        return Err(format!("it took longer than {}s", GH_WALL.as_secs()));
    }
    if !end.is_success() {
        let code = end.exit_code();
        let code = code.map_or(String::new(), |code| format!(" (exit code {code})"));
        return Err(format!("it failed{code}"));
    }
    let text = String::from_utf8(heard.stdout).unwrap_or_default();
    let mut lines = text.lines();
    match (lines.next().and_then(Token::new), lines.next()) {
        (Some(token), None) => Ok(token),
        (_, Some(_)) => Err("it printed more than one line".to_owned()),
        (None, None) => Err("it printed nothing that can be a token".to_owned()),
    }
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
