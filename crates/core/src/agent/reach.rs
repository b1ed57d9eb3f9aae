//! The hosts that an agent may connect to.

use super::config::{AgentConfig, AgentKind};
use crate::network::{
    AllowedHost, Proxy, REGISTRIES, Reach, chosen_proxy, host_of_url, parse_host,
};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The hosts of a kind's models and logins.
fn model_hosts(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::ClaudeCode => &[
            "api.anthropic.com",
            "console.anthropic.com",
            "platform.claude.com",
            "claude.ai",
        ],
        AgentKind::GeminiCli => &[
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "aiplatform.googleapis.com",
            "oauth2.googleapis.com",
            "www.googleapis.com",
            "accounts.google.com",
        ],
        AgentKind::Codex => &["api.openai.com", "chatgpt.com", "auth.openai.com"],
        AgentKind::Acp | AgentKind::Command => &[],
    }
}

/// The hosts that an agent with `network = "allow"` may reach, given its variables: its model's hosts or,
/// instead of them, the port of the broker that calls the model for it; package registries, `allow_hosts`,
/// and the host of a base URL that is passed on. Also returns the variable whose proxy cannot be used.
pub fn reach(
    config: &AgentConfig,
    env: &BTreeMap<OsString, OsString>,
    broker: Option<u16>,
) -> (Reach, Option<&'static str>) {
    let value = |name: &str| env.get(OsStr::new(name)).and_then(|value| value.to_str());
    let listed = config.allow_hosts.iter();
    let listed = listed.filter_map(|entry| parse_host(entry).ok());
    let (named, theirs): (Vec<_>, Vec<_>) = listed.partition(|host| {
        let is_here = host.address().is_some_and(|address| address.is_loopback());
        !config.hosts_are_of_repository || is_here
    });
    let base_urls = config
        .variables()
        .filter(|name| name.ends_with("BASE_URL"))
        .filter_map(|name| host_of_url(value(name)?));
    let models = match broker {
        Some(_) => &[],
        None => model_hosts(config.kind),
    };
    let known = models.iter().chain(&REGISTRIES);
    let broker = broker.and_then(|port| parse_host(&format!("127.0.0.1:{port}")).ok());
    let hosts = named
        .into_iter()
        .chain(base_urls)
        .chain(broker)
        .map(AllowedHost::named)
        .chain(theirs)
        .chain(known.map(|host| AllowedHost::public(host)))
        .collect();
    let (proxy, unusable) = Proxy::of_variables(value);
    (Reach { hosts, proxy }, unusable)
}

/// The address of the user's proxy, and its exceptions.
pub fn proxy_of(env: &BTreeMap<OsString, OsString>) -> Option<(&str, &str)> {
    let value = |name: &str| env.get(OsStr::new(name)).and_then(|value| value.to_str());
    chosen_proxy(value).map(|chosen| (chosen.address, chosen.exceptions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        pairs
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect()
    }

    #[test]
    fn an_agent_reaches_its_models_the_registries_and_what_is_listed() {
        let config = AgentConfig {
            allow_hosts: vec!["*.corp".to_owned()],
            ..AgentConfig::of_kind(AgentKind::ClaudeCode)
        };
        let (reach, _) = reach(&config, &environment(&[]), None);
        for (host, allowed) in [
            ("api.anthropic.com", true),
            ("api.openai.com", false),
            ("static.crates.io", true),
            ("git.corp", true),
            ("example.com", false),
        ] {
            assert_eq!(reach.find(host).is_some(), allowed, "{host}");
        }
    }

    #[test]
    fn the_host_of_a_base_url_that_is_passed_on_counts_as_named_by_the_user() {
        let config = AgentConfig {
            env: vec!["MY_BASE_URL".to_owned()],
            ..AgentConfig::of_kind(AgentKind::ClaudeCode)
        };
        let env = environment(&[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711/v1"),
            ("MY_BASE_URL", "https://me:pass@gateway.corp/x?y"),
            ("OPENAI_BASE_URL", "http://elsewhere"),
        ]);
        let (reach, _) = reach(&config, &env, None);
        let local = reach.find("127.0.0.1").unwrap();
        assert_eq!((local.ports, local.may_be_private), (vec![4711], true));
        assert_eq!(reach.find("gateway.corp").unwrap().ports, [443]);
        assert_eq!(reach.find("elsewhere"), None);
    }

    #[test]
    fn an_agent_with_a_broker_reaches_it_and_not_its_models() {
        let config = AgentConfig::of_kind(AgentKind::Codex);
        let (reach, _) = reach(&config, &environment(&[]), Some(4711));
        let broker = reach.find("127.0.0.1").unwrap();
        assert_eq!((broker.ports, broker.may_be_private), (vec![4711], true));
        assert_eq!(reach.find("api.openai.com"), None);
        assert!(reach.find("static.crates.io").is_some());
    }

    #[test]
    fn the_users_proxy_is_used_or_named_as_unusable() {
        let config = AgentConfig::of_kind(AgentKind::Codex);
        let with = |pairs: &[(&str, &str)]| reach(&config, &environment(pairs), None);
        let (both, unusable) = with(&[
            ("HTTP_PROXY", "http://first:1"),
            ("HTTPS_PROXY", "http://second:2"),
            ("NO_PROXY", "corp"),
        ]);
        let proxy = both.proxy.unwrap();
        assert_eq!((proxy.host.as_str(), unusable), ("second", None));
        assert!(proxy.passes_by("git.corp"));
        let (none, unusable) = with(&[("ALL_PROXY", "socks5://third:3"), ("https_proxy", "")]);
        assert_eq!((none.proxy, unusable), (None, Some("ALL_PROXY")));
    }
}
