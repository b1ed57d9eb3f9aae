use super::*;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect()
}

fn config(env: &[&str]) -> AgentConfig {
    AgentConfig {
        env: env.iter().map(|s| (*s).to_owned()).collect(),
        ..AgentConfig::of_kind(AgentKind::ClaudeCode)
    }
}

#[test]
fn an_agent_is_given_what_is_listed_and_nothing_else() {
    let caller = environment(&[
        ("PATH", "/bin"),
        ("LANG", "C"),
        ("HOME", "/home/me"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("ANTHROPIC_API_KEY", "k"),
    ]);
    assert_eq!(
        allowed_env(&config(&["ANTHROPIC_API_KEY", "ABSENT"]), &caller, ""),
        environment(&[("PATH", "/bin"), ("LANG", "C"), ("ANTHROPIC_API_KEY", "k")])
    );
}

#[test]
fn what_a_kind_needs_passes_whatever_else_is_listed() {
    let caller = environment(&[
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", "http://gateway"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("OPENAI_API_KEY", "other"),
        ("https_proxy", "http://me:pass@proxy:3128"),
        ("NO_PROXY", "localhost"),
        ("SSL_CERT_FILE", "/ca.pem"),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
        ("MINE", "1"),
        ("NOT_MINE", "2"),
    ]);
    let config = config(&["MINE"]);
    let env = allowed_env(&config, &caller, "");
    let expected = environment(&[
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", "http://gateway"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("https_proxy", "http://me:pass@proxy:3128"),
        ("NO_PROXY", "localhost"),
        ("SSL_CERT_FILE", "/ca.pem"),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
        ("MINE", "1"),
    ]);
    assert_eq!(env, expected);
    assert_eq!(secret_values(&config, &env), ["k", "pass"]);
    assert_eq!(secret_held_by("k-k-k-k", &config, &caller, ""), None);
}

#[test]
fn the_model_of_a_role_wins_over_the_agents() {
    let config = AgentConfig {
        model: Some("large".to_owned()),
        models: BTreeMap::from([(Role::Reviewer, "small".to_owned())]),
        ..AgentConfig::of_kind(AgentKind::Codex)
    };
    assert_eq!(config.model_for(Role::Reviewer), Some("small"));
    assert_eq!(config.model_for(Role::Coder), Some("large"));
}

#[test]
fn the_forge_token_is_withheld_even_when_it_is_listed() {
    let listed = config(&["GITHUB_TOKEN", "GH_TOKEN", "MY_FORGE", "OTHER"]);
    let caller = environment(&[
        ("GITHUB_TOKEN", "a"),
        ("GH_TOKEN", "b"),
        ("MY_FORGE", "c"),
        ("OTHER", "d"),
    ]);
    assert_eq!(
        allowed_env(&listed, &caller, "MY_FORGE"),
        environment(&[("OTHER", "d")])
    );
}

#[test]
fn listing_a_forge_token_is_an_error_of_the_settings() {
    for variable in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "DRIVE_WEBHOOK_SECRET",
        "MY_FORGE",
    ] {
        let problem = config(&[variable]).check("robot", "MY_FORGE").unwrap_err();
        assert_eq!(
            problem,
            Problem::new(
                Kind::ForgeTokenForAgent,
                format!("agent `robot` would receive a secret of the forge in `{variable}`")
            )
            .hint(format!(
                "remove `{variable}` from `env` in `[agents.robot]`: drive itself pushes and posts"
            ))
        );
    }
    assert_eq!(
        config(&["ANTHROPIC_API_KEY"]).check("robot", "MY_FORGE"),
        Ok(())
    );
}

#[test]
fn a_kind_without_a_usual_command_needs_one() {
    let bare = AgentConfig::of_kind(AgentKind::Acp);
    assert_eq!(
        bare.check("mine", "").unwrap_err().kind,
        Kind::AgentWithoutCommand
    );
    let empty = AgentConfig {
        command: vec![String::new()],
        ..AgentConfig::of_kind(AgentKind::ClaudeCode)
    };
    assert_eq!(
        empty.check("mine", "").unwrap_err().kind,
        Kind::AgentWithoutCommand
    );
}

#[test]
fn a_home_entry_stays_inside_the_home() {
    for entry in ["", "/etc", "../x", "a/../../b", "a//b", "."] {
        let config = AgentConfig {
            home: vec![entry.to_owned()],
            ..AgentConfig::of_kind(AgentKind::Codex)
        };
        assert_eq!(
            config.check("mine", "").unwrap_err().kind,
            Kind::AgentHomeEntry,
            "{entry}"
        );
    }
}

#[test]
fn only_what_looks_like_a_secret_is_one() {
    let config = config(&["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MY_PASSWORD"]);
    let env = environment(&[
        ("ANTHROPIC_API_KEY", "k1"),
        ("ANTHROPIC_BASE_URL", "http://localhost"),
        ("MY_PASSWORD", "p1"),
        ("PATH", "/bin"),
    ]);
    assert_eq!(secret_values(&config, &env), ["k1", "p1"]);
}

#[test]
fn a_text_that_holds_the_value_of_a_secret_names_its_variable() {
    let caller = environment(&[
        ("MY_KEY", "k-123456"),
        ("MY_PORT", "p-123456"),
        ("SHORT_KEY", "abc"),
        ("FORGE", "f-123456"),
        ("GH_TOKEN", "g-123456"),
    ]);
    let config = AgentConfig {
        env: ["MY_KEY", "MY_PORT", "SHORT_KEY"].map(str::to_owned).into(),
        ..AgentConfig::of_kind(AgentKind::Command)
    };
    let held = |text| secret_held_by(text, &config, &caller, "FORGE");
    assert_eq!(held("use (k-123456)"), Some("MY_KEY"));
    assert_eq!(held("push with f-123456"), Some("FORGE"));
    assert_eq!(held("push with g-123456"), Some("GH_TOKEN"));
    assert_eq!(held("port p-123456, abc, k-12345, $MY_KEY"), None);
    assert_eq!(withheld_values(&caller, "FORGE"), ["g-123456", "f-123456"]);
}

#[test]
fn hosts_that_are_none_or_have_no_effect_are_refused() {
    let with = |network, hosts: &[&str]| AgentConfig {
        network,
        allow_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..AgentConfig::of_kind(AgentKind::Codex)
    };
    let good = with(AgentNetwork::Allow, &["example.com", "*.example.com:22"]);
    assert_eq!(good.check("mine", ""), Ok(()));
    let many: Vec<&str> = vec!["example.com"; MOST_HOSTS + 1];
    for wrong in [
        with(AgentNetwork::Allow, &["https://example.com"]),
        with(AgentNetwork::Allow, &many),
        with(AgentNetwork::Off, &["example.com"]),
        with(AgentNetwork::Open, &["example.com"]),
    ] {
        let problem = wrong.check("mine", "").unwrap_err();
        assert_eq!(problem.kind, Kind::AgentNetwork, "{problem}");
    }
}
