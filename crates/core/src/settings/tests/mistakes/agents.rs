//! Mistakes in agents, their permission rules and the routes to them.

use super::*;

#[test]
fn a_permission_rule_that_nobody_would_keep_is_shown_on_its_line() {
    for (list, rule) in [
        ("deny", "Bash(git push*"),
        ("allow", "Bash(cargo"),
        ("deny", ""),
    ] {
        assert_mistake(
            &format!("[agents.claude-code]\nenv = []\npermissions.{list} = [\"{rule}\"]\n"),
            &format!(
                "drive.toml:3: malformed permission rule `{rule}` of agent `claude-code` \
                 (write `Tool`, or `Tool(pattern)` with both brackets)"
            ),
        );
    }
    for kind in ["gemini-cli", "codex"] {
        assert_mistake(
            &format!("[agents.{kind}]\npermissions = {{ deny = [\"Bash(git push*)\"] }}\n"),
            &format!(
                "drive.toml:2: permission rules of agent `{kind}` have no effect: kind `{kind}` does not ask for permission \
                 (remove them; its sandbox limits it, see `sandbox.isolation`)"
            ),
        );
    }
    let mine =
        "[agents.mine]\nkind = \"command\"\ncommand = [\"x\"]\npermissions.allow = [\"Bash\"]\n";
    assert_eq!(mistakes(mine).len(), 1);
    assert!(
        mistakes(mine)[0]
            .starts_with("drive.toml:4: permission rules of agent `mine` have no effect")
    );
}

#[test]
fn an_agent_that_could_use_nothing_is_refused() {
    for (key, zero) in [
        ("memory", "\"0B\""),
        ("processes", "0"),
        ("disk", "\"0B\""),
        ("files", "0"),
    ] {
        assert_mistake(
            &format!("[agents.codex.limits]\n{key} = {zero}\n"),
            &format!("drive.toml:2: `agents.codex.limits.{key}` must be more than 0"),
        );
    }
    for (key, zero) in [("disk", "\"0B\""), ("files", "0")] {
        assert_mistake(
            &format!("[verify.limits]\n{key} = {zero}\n"),
            &format!("drive.toml:2: `verify.limits.{key}` must be more than 0"),
        );
    }
    assert_mistake(
        "[agents.codex.limits]\nmemry = \"1GiB\"\n",
        "drive.toml:2: unknown key `memry` in `[agents.codex.limits]` (did you mean `memory`?)",
    );
}

#[test]
fn an_agent_that_is_not_described_suggests_one_that_is() {
    assert_mistake(
        "[spawn]\nagent = \"claude\"\n",
        "drive.toml:2: `spawn.agent` names the unknown agent `claude` \
         (did you mean `claude-code`?; or add a table `[agents.claude]`)",
    );
    assert_mistake(
        "[spawn-team]\nnamer_llm = \"xyz\"\n",
        "drive.toml:2: `spawn-team.namer_llm` names the unknown agent `xyz` \
         (possible here: `claude-code`, `codex`, `gemini-cli`; or add a table `[agents.xyz]`)",
    );
}

#[test]
fn an_agent_without_a_kind_or_with_a_strange_name_or_a_token_is_refused() {
    assert_mistake(
        "[agents.mine]\ncommand = [\"x\"]\n",
        "drive.toml:1: `[agents.mine]` needs `kind`",
    );
    assert_mistake(
        "[agents.\"my agent.v2\"]\nkind = \"codex\"\n",
        "drive.toml:1: invalid agent name `my agent.v2` (use letters, digits, `-` and `_`)",
    );
    let leaky = mistakes("[agents.codex]\nenv = [\"GITHUB_TOKEN\"]\n");
    assert!(
        leaky[0].contains("would receive a secret of the forge"),
        "{leaky:?}"
    );
}

#[test]
fn routes_that_cannot_work_are_named() {
    let table = [
        (
            "compile = [\"make\"]\nskip = \"x\"",
            "drive.toml:1: route 1: it has no paths (add `paths`, such as `paths = \
             [\"crates/api/**\"]`)",
        ),
        (
            "paths = [\"a\"]",
            "drive.toml:1: the route for `a`: it has neither a command nor `skip` \
             (add `compile`, `targeted_tests` or `startup_smoke`, or `skip` with the reason)",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"make\"]\nskip = \"no\"",
            "drive.toml:4: the route for `a`: it has both `targeted_tests` and `skip` (remove one of \
             the two)",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"make\"]",
            "drive.toml:1: the route for `a`: it has no `targeted_tests` (add them, or `skip` with the \
             reason why these paths are not tested)",
        ),
        (
            "paths = [\"a\"]\nskip = \" \"",
            "drive.toml:3: the route for `a`: `skip` has no reason",
        ),
        (
            "paths = [\"a\"]\ncompile = []\nskip = \"x\"",
            "drive.toml:3: the route for `a`: `compile` has no program",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\ntimeout = { compile = \"1h\" }\nskip = \"x\"",
            "drive.toml:4: the route for `a`: `timeout.compile` (1h) must not be longer than `verify.deadline` (20m)",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\ntimeout = { startup_smoke = \"1s\" }\nskip = \"x\"",
            "drive.toml:4: the route for `a`: `timeout.startup_smoke` is set, but there is no `startup_smoke`",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\nready = { line = \"up\" }\nskip = \"x\"",
            "drive.toml:4: the route for `a`: `ready` is set, but there is no `startup_smoke`",
        ),
        (
            "name = \"web\"\npaths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { path = \"/\" }\nskip = \"x\"",
            "drive.toml:5: route `web`: `ready.path` needs `ready.port`",
        ),
        (
            "paths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { line = \"up\", port = 80 }\nskip = \"x\"",
            "drive.toml:4: the route for `a`: `ready` has both `line` and `port`; use one",
        ),
        (
            "paths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { port = 99999 }\nskip = \"x\"",
            "drive.toml:4: `verify.routes.0.ready.port` must be at most 65535, not 99999",
        ),
        (
            "paths = [\"a[\"]\ncompile = [\"x\"]\nskip = \"x\"",
            "drive.toml:2: the route for `a[`: `a[` is not a glob: unclosed character class; missing ']'",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\ndir = \"../b\"",
            "drive.toml:4: the route for `a`: `dir` must be a folder inside the repository, not `../b`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\ndir = \"/b\"",
            "drive.toml:4: the route for `a`: `dir` must be a folder inside the repository, not `/b`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nsetup = [[]]",
            "drive.toml:4: the route for `a`: a command of `setup` has no program",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\ntimeout = { setup = \"1s\" }",
            "drive.toml:4: the route for `a`: `timeout.setup` is set, but there is no `setup`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nenv = { \"A=B\" = \"c\" }",
            "drive.toml:4: the route for `a`: `A=B` in `env` is not the name of a variable",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\npass_env = [\"\"]",
            "drive.toml:4: the route for `a`: `` in `pass_env` is not the name of a variable",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nenv = { A = \"b\" }\npass_env = [\"A\"]",
            "drive.toml:5: the route for `a`: `A` is in both `env` and `pass_env`; use one",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\nskip = \"x\"\nservices = [{ command = [\"y\"], ready = { port = 1 } }]",
            "drive.toml:5: the route for `a`: it has `services`, but neither `targeted_tests` nor `startup_smoke`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nservices = [{ ready = { port = 1 } }]",
            "drive.toml:4: the route for `a`: a service has no `command`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nservices = [{ command = [\"y\"] }]",
            "drive.toml:4: the route for `a`: service `y`: `ready` has neither `line` nor `port`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nservices = [{ command = [\"y\"], ready = { port = 1 }, timeout = \"0s\" }]",
            "drive.toml:4: the route for `a`: service `y`: `timeout` must be longer than 0",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nservices = [{ name = \"a\\nb\", command = [\"y\"], ready = { port = 1 } }]",
            "drive.toml:4: the route for `a`: the name of a service must be one line",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\nservices = [{ command = [\"y\"], ready = { port = 1 } }, { command = [\"y\"], ready = { port = 2 } }]",
            "drive.toml:4: the route for `a`: two services are called `y`; give one a `name`",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\\u0000\"]",
            "drive.toml:3: the route for `a`: a command contains a NUL character",
        ),
        (
            "paths = [\"a\"]\ntargeted_tests = [\"x\"]\npass_env = [\"*\"]",
            "drive.toml:4: the route for `a`: `*` in `pass_env` is not the name of a variable",
        ),
    ];
    for (route, expected) in table {
        assert_mistake(&format!("[[verify.routes]]\n{route}\n"), expected);
    }
}

#[test]
fn a_quarantine_without_a_test_an_owner_or_a_day_is_refused() {
    let table = [
        (
            "test = \"\"\nowner = \"a\"\nexpires = \"2027-01-31\"",
            "drive.toml:2: `verify.quarantine.0.test` is empty",
        ),
        (
            "test = \"t\"\nowner = \" \"\nexpires = \"2027-01-31\"",
            "drive.toml:3: `verify.quarantine.0.owner` is empty",
        ),
        (
            "test = \"t\"\nowner = \"a\"\nexpires = \"31.1.2027\"",
            "drive.toml:4: `verify.quarantine.0.expires`: `31.1.2027` is not a day such as `2026-11-01`",
        ),
    ];
    for (entry, expected) in table {
        assert_mistake(&format!("[[verify.quarantine]]\n{entry}\n"), expected);
    }
    assert_mistake(
        "[[verify.quarantine]]\ntest = \"t\"\nowner = \"a\"\n",
        "drive.toml:1: `[verify.quarantine.0]` needs `expires`",
    );
    assert_mistake(
        "[[verify.quarantine]]\ntest = \"t\"\nowner = \"a\"\nexpires = 2027-01-31\n",
        "drive.toml:4: `verify.quarantine.0.expires` must be a day in quotes, not a date",
    );
    let twice =
        "[[verify.quarantine]]\ntest = \"t\"\nowner = \"a\"\nexpires = \"2027-01-31\"\n".repeat(2);
    assert_mistake(&twice, "drive.toml:6: `t` is in `verify.quarantine` twice");
}

#[test]
fn a_mistake_in_one_field_of_a_built_in_agent_is_shown_on_its_line() {
    for text in [
        "\n[agents.codex]\nhome = [\"\"]\n",
        "\n[agents.codex]\nenv = [\"GITHUB_TOKEN\"]\n",
        "\n[agents.codex]\nkind = \"acp\"\ncommand = []\n",
    ] {
        let findings = resolve(&[file(text)]).unwrap_err().0;
        let places: Vec<String> = findings.iter().map(|f| f.origin.to_string()).collect();
        assert_eq!(places, ["drive.toml:3"], "{text}");
    }
}

#[test]
fn servers_for_a_kind_that_takes_none_are_refused() {
    assert_mistake(
        "[agents.mine]\nkind = \"acp\"\ncommand = [\"x\"]\nmcp = [\"files\"]\n",
        "drive.toml:1: `mcp` of agent `mine` has no effect: kind `acp` takes no servers (remove it; \
         kinds `claude-code` and `codex` take servers)",
    );
}
