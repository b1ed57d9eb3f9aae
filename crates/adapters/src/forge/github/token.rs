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

/// The source that a person knows as this command.
pub(super) const GH: &str = "`gh auth token`";
/// The source that a person knows by its setting.
pub(super) const COMMAND: &str = "`forge.token_command`";

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

    /// Has it redacted from now on.
    pub(super) fn tell(&self, secrets: &SecretPolicy) {
        secrets.learn(&self.0);
    }

    /// The prefix that tells what kind of token it is, such as `ghp`.
    pub(super) fn kind(&self) -> &str {
        self.0.split('_').next().unwrap_or_default()
    }

    /// The user and the password of git over HTTPS.
    pub(super) fn git_password(&self) -> (String, String) {
        ("x-access-token".to_owned(), self.0.clone())
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

/// Asks `gh`. Whatever goes wrong there (not installed, not logged in, no answer) means that it
/// has none.
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

/// Asks `forge.token_command`. It is the user's own program, and gets the user's environment.
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

/// The one line that a program prints, as a token, or why there is none. What it printed is never
/// part of the reason.
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
