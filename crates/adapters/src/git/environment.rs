//! The environment of git calls: an allow-list of the caller's variables.

use crate::Environment;
use drive_core::network::PROXY_VARIABLES;
use std::ffi::OsString;

/// For every call: where programs and the user's own settings are.
const LOCAL: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
];

/// Only for calls to a remote, in addition to proxies: the user's credentials and the trusted certificates.
const NETWORK: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    // For credential helpers: the desktop's keyring, and that of `gh`.
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GH_HOST",
    "GH_CONFIG_DIR",
];

/// For programs that sign: where keys and key agents are.
const SIGNING: &[&str] = &["SSH_AUTH_SOCK", "GNUPGHOME", "XDG_RUNTIME_DIR"];

/// Fixed values for every call: plain messages, no questions, no pager, no editor.
const FIXED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // Stored objects count, not replacements in refs or files of the repository.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
];

type Pairs = Vec<(OsString, OsString)>;

pub(super) fn local(environment: &Environment) -> Pairs {
    let mut all = picked(environment, LOCAL);
    all.extend(
        FIXED
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value))),
    );
    all
}

/// For git in a sandbox, which does not see the user's settings.
pub(super) fn confined(environment: &Environment) -> Pairs {
    let mut all = local(environment);
    all.retain(
        |(name, _)| !matches!(name.to_str(), Some(own) if own != "PATH" && LOCAL.contains(&own)),
    );
    let none = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("HOME", "/nowhere"),
    ];
    all.extend(none.map(|(name, value)| (name.into(), value.into())));
    all
}

pub(super) fn network(environment: &Environment) -> Pairs {
    let mut all = local(environment);
    // A partial clone may fetch missing objects if the call uses the network anyway.
    all.retain(|(name, _)| name != "GIT_NO_LAZY_FETCH");
    all.extend(picked(environment, NETWORK));
    all.extend(picked(environment, &PROXY_VARIABLES));
    all
}

/// For programs that sign commits. They cannot ask questions.
pub(super) fn signing(environment: &Environment) -> Pairs {
    let mut all = picked(environment, LOCAL);
    all.extend(picked(environment, SIGNING));
    all.push(("LC_ALL".into(), "C".into()));
    all.push(("SSH_ASKPASS_REQUIRE".into(), "never".into()));
    all
}

fn picked(environment: &Environment, names: &[&str]) -> Pairs {
    names
        .iter()
        .filter_map(|name| Some((OsString::from(name), environment.get(name)?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_git_variables_and_secrets_do_not_reach_a_local_call() {
        let environment = Environment::from_pairs([
            ("PATH", "/bin"),
            ("GIT_DIR", "/elsewhere/.git"),
            ("GIT_INDEX_FILE", "/elsewhere/index"),
            ("GIT_CONFIG_COUNT", "1"),
            ("LANG", "de_DE.UTF-8"),
            ("LC_ALL", "de_DE.UTF-8"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("GITHUB_TOKEN", "secret"),
        ]);
        let mut expected = vec![("PATH".into(), "/bin".into())];
        expected.extend(FIXED.iter().map(|(k, v)| (k.into(), v.into())));
        assert_eq!(local(&environment), expected);
    }

    #[test]
    fn credentials_reach_network_calls_only() {
        let environment = Environment::from_pairs([("SSH_AUTH_SOCK", "/run/agent")]);
        let wanted = (
            OsString::from("SSH_AUTH_SOCK"),
            OsString::from("/run/agent"),
        );
        assert!(network(&environment).contains(&wanted));
        assert!(!local(&environment).contains(&wanted));
    }
}
