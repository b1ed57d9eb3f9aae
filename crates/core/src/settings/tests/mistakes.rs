use super::*;
use crate::problem::Kind;

/// What a user sees of one text: origin, message and hint of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let findings = resolve(&[file(text)]).expect_err(text).0;
    let shown = findings.iter().map(|finding| match &finding.hint {
        Some(hint) => format!("{}: {} ({hint})", finding.origin, finding.message),
        None => format!("{}: {}", finding.origin, finding.message),
    });
    shown.collect()
}

#[track_caller]
fn assert_mistake(text: &str, expected: &str) {
    assert_eq!(mistakes(text), [expected], "{text}");
}

#[test]
fn a_typo_in_a_key_suggests_the_key() {
    assert_mistake(
        "[spawn]\nidle_timout = \"2m\"\n",
        "drive.toml:2: there is no key `idle_timout` in `[spawn]` (did you mean `idle_timeout`?)",
    );
    assert_mistake(
        "[spawn_team]\n",
        "drive.toml:1: there is no key `spawn_team` in the settings (did you mean `spawn-team`?)",
    );
    assert_mistake(
        "[verify]\n[verify.limits]\nprocesses = 5\nmemmory = \"1GiB\"\n",
        "drive.toml:4: there is no key `memmory` in `[verify.limits]` (did you mean `memory`?)",
    );
    assert_mistake(
        "verify.limits.leaked = \"fail\"\n",
        "drive.toml:1: there is no key `leaked` in `[verify.limits]` (did you mean `leaked_processes`?)",
    );
}

#[test]
fn a_key_in_the_wrong_table_names_the_right_one() {
    assert_mistake(
        "[spawn]\nmax_rounds = 3\n",
        "drive.toml:2: there is no key `max_rounds` in `[spawn]` (`max_rounds` is a key of `[cruise]`)",
    );
}

#[test]
fn a_key_that_nothing_reads_yet_is_refused_whatever_its_value() {
    let text = "[cruise]\nmax_parallel = 3\npr_strategy = \"single\"\nmerge = true\n\
                [forge]\npost_via = \"drive\"\n";
    assert_eq!(
        mistakes(text),
        [
            "drive.toml:2: `cruise.max_parallel` does nothing yet (remove it)",
            "drive.toml:3: `cruise.pr_strategy` does nothing yet (remove it)",
            "drive.toml:4: `cruise.merge` does nothing yet (remove it)",
            "drive.toml:6: `forge.post_via` does nothing yet (remove it)",
        ]
    );
}

#[test]
fn a_flag_for_a_setting_that_nothing_reads_yet_is_refused_by_its_name() {
    let flag = Layer::flag("--pr-strategy", "cruise.pr_strategy", "single");
    let problem = resolve(&[flag]).unwrap_err().into_problem();
    assert_eq!(
        (problem.message.as_str(), problem.hint.as_deref()),
        (
            "--pr-strategy: `cruise.pr_strategy` does nothing yet",
            Some("remove it")
        )
    );
}

#[test]
fn a_key_that_nothing_reads_yet_is_neither_shown_nor_offered() {
    let refused = ["max_parallel", "merge", "pr_strategy"];
    let cruise = json_schema()["properties"]["cruise"]["properties"].clone();
    for key in refused {
        assert!(cruise.get(key).is_none(), "{key}: {cruise:#}");
    }
    let shown = resolve(&[]).unwrap().entries;
    let shown = shown.iter().filter(|entry| entry.table == ["cruise"]);
    let shown: Vec<&str> = shown.map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        shown,
        [
            "poll_initial",
            "poll_max",
            "inactivity_timeout",
            "max_rounds"
        ]
    );
}

#[test]
fn a_key_deep_in_a_list_of_tables_has_its_own_line() {
    let text = "[[verify.routes]]\npaths = [\"a/**\"]\nskip = \"prose\"\n\n[[verify.routes]]\n\
                paths = [\"b/**\"]\ncompile = [\"make\"]\ntimeout = { compile = \"1m\",\n  tests = \"1m\" }\n";
    assert_mistake(
        text,
        "drive.toml:9: there is no key `tests` in `[verify.routes.1.timeout]` (did you mean `targeted_tests`?)",
    );
}

#[test]
fn a_wrong_type_shows_its_line_and_what_it_should_be() {
    let text = r#"
[spawn]
max_escalations = "five"
agent = 3
idle_timeout = 120
[budget]
cost_usd = "20"
tokens = 1.5
[sandbox]
copy = ".env"
seed = ["target", 7]
[forge]
repo = 2026-11-15
"#;
    assert_eq!(
        mistakes(text),
        [
            "drive.toml:3: `spawn.max_escalations` must be a whole number, not a text",
            "drive.toml:4: `spawn.agent` must be a text in quotes, not a whole number",
            "drive.toml:5: `spawn.idle_timeout` must be a duration in quotes, not a whole number",
            "drive.toml:7: `budget.cost_usd` must be a number, not a text",
            "drive.toml:8: `budget.tokens` must be a whole number, not a number",
            "drive.toml:10: `sandbox.copy` must be a list, not a text",
            "drive.toml:11: `sandbox.seed.1` must be a text in quotes, not a whole number",
            "drive.toml:13: `forge.repo` must be a text in quotes, not a date",
        ]
    );
}

#[test]
fn a_table_where_a_value_belongs_and_a_value_where_a_table_belongs() {
    assert_mistake(
        "spawn = 3\n",
        "drive.toml:1: `spawn` must be a table, not a whole number",
    );
    assert_mistake(
        "[spawn.agent]\nname = \"x\"\n",
        "drive.toml:1: `spawn.agent` must be a text in quotes, not a table",
    );
    assert_mistake(
        "[verify.routes]\npaths = []\n",
        "drive.toml:1: `verify.routes` must be a list, not a table",
    );
}

#[test]
fn a_choice_that_is_none_lists_or_suggests() {
    assert_mistake(
        "[spawn-team]\nmode = \"githb\"\n",
        "drive.toml:2: `spawn-team.mode` cannot be `githb` (did you mean `github`?)",
    );
    assert_mistake(
        "[sandbox]\nisolation = \"yes\"\n",
        "drive.toml:2: `sandbox.isolation` cannot be `yes` (possible here: `auto`, `require`, `off`)",
    );
}

#[test]
fn numbers_out_of_range_say_the_range() {
    assert_mistake(
        "[cruise]\nmax_rounds = -1\n",
        "drive.toml:2: `cruise.max_rounds` must be at least 0, not -1",
    );
    assert_mistake(
        "[cruise]\nmax_rounds = 5_000_000_000\n",
        "drive.toml:2: `cruise.max_rounds` must be at most 4294967295, not 5000000000",
    );
    assert_mistake(
        "[budget]\ntokens = 99999999999999999999\n",
        "drive.toml:2: `budget.tokens` must be a whole number, not a number too large for any setting",
    );
    assert_mistake(
        "[budget]\ncost_usd = inf\n",
        "drive.toml:2: `budget.cost_usd` must be a number, not no finite number",
    );
}

#[test]
fn units_that_are_none_show_a_right_one() {
    assert_mistake(
        "[spawn]\nidle_timeout = \"2 minutes\"\n",
        "drive.toml:2: `spawn.idle_timeout`: `2 minutes` is not a duration such as `2m`",
    );
    assert_mistake(
        "[verify.limits]\nmemory = \"4G\"\n",
        "drive.toml:2: `verify.limits.memory`: `4G` is not a size such as `4GiB`",
    );
}

#[test]
fn an_idle_timeout_not_shorter_than_the_total_one_is_impossible() {
    assert_mistake(
        "[spawn]\nidle_timeout = \"30m\"\n",
        "drive.toml:2: `spawn.idle_timeout` (30m) must be shorter than `spawn.total_timeout` (30m)",
    );
    // The culprit is the line the user wrote, even if the message starts with a default.
    assert_mistake(
        "[spawn]\n\ntotal_timeout = \"1m\"\n",
        "drive.toml:3: `spawn.idle_timeout` (2m) must be shorter than `spawn.total_timeout` (1m)",
    );
}

#[test]
fn impossible_values_are_named() {
    let table = [
        (
            "[spawn]\nidle_timeout = \"0s\"",
            "`spawn.idle_timeout` must be longer than no time at all",
        ),
        (
            "[spawn-team]\nmax_iterations = 0",
            "`spawn-team.max_iterations` must be at least 1, not 0",
        ),
        (
            "[cruise]\nmax_rounds = 0",
            "`cruise.max_rounds` must be at least 1, not 0",
        ),
        (
            "[verify]\nmax_parallel = 0",
            "`verify.max_parallel` must be at least 1, not 0",
        ),
        (
            "[cruise]\npoll_initial = \"10m\"",
            "`cruise.poll_initial` (10m) must not be longer than `cruise.poll_max` (5m)",
        ),
        (
            "[cruise]\ninactivity_timeout = \"1m\"",
            "`cruise.poll_max` (5m) must not be longer than `cruise.inactivity_timeout` (1m)",
        ),
        (
            "[budget]\ncost_usd = 0",
            "`budget.cost_usd` must be more than 0, not 0",
        ),
        (
            "[budget]\ncost_usd = -1.5",
            "`budget.cost_usd` must be more than 0, not -1.5",
        ),
        (
            "[budget]\ntokens = 0",
            "`budget.tokens` must be more than 0",
        ),
        (
            "[forge]\nrepo = \"name\"",
            "`forge.repo` must be `owner/name`, not `name`",
        ),
        (
            "[forge]\nrepo = \"a/b/c\"",
            "`forge.repo` must be `owner/name`, not `a/b/c`",
        ),
        (
            "[forge]\nrepo = \"https://github.com/a/b\"",
            "`forge.repo` must be `owner/name`, not `https://github.com/a/b`",
        ),
        (
            "[sandbox]\ncopy = [\"../secret\"]",
            "`sandbox.copy` names `../secret`, which is not a path inside the repository",
        ),
        (
            "[sandbox]\nseed = [\"/etc\"]",
            "`sandbox.seed` names `/etc`, which is not a path inside the repository",
        ),
        (
            "[sandbox]\ncopy = [\".git/config\"]",
            "`sandbox.copy` names `.git/config`, which is not a path inside the repository",
        ),
        (
            "[verify.limits]\nmemory = \"0B\"",
            "`verify.limits.memory` must be more than nothing",
        ),
        (
            "[verify.limits]\nprocesses = 0",
            "`verify.limits.processes` must be at least 1, not 0",
        ),
        (
            "[verify.limits]\noutput_tail = \"2GiB\"",
            "`verify.limits.output_tail` (2GiB) must not be larger than `output_total` (1GiB)",
        ),
    ];
    for (text, message) in table {
        assert_mistake(text, &format!("drive.toml:2: {message}"));
    }
}

#[test]
fn values_that_need_a_word_of_advice_have_one() {
    assert_mistake(
        "[forge]\napi_url = \"api.github.com\"",
        "drive.toml:2: `forge.api_url` is no web address: `api.github.com` (GitHub's is \
         `https://api.github.com`; of an own server `https://HOST/api/v3`)",
    );
    assert_mistake(
        "[forge]\nremote = \"--upload-pack=x\"",
        "drive.toml:2: `forge.remote` is no name of a remote: `--upload-pack=x` (run `git remote` to see them)",
    );
    assert_mistake(
        "[sandbox]\nroot = \"\"",
        "drive.toml:2: `sandbox.root` is empty (leave it out for the state directory's `sandboxes`)",
    );
}

#[test]
fn a_token_pasted_into_token_env_is_refused() {
    assert_mistake(
        "[forge]\ntoken_env = \"not-a-name\"",
        "drive.toml:2: `forge.token_env` is no name of a variable: `not-a-name` \
         (it is the name of the variable that holds the token, never the token itself)",
    );
}

#[test]
fn a_secret_pasted_into_webhook_secret_env_or_given_to_an_agent_is_refused() {
    assert_mistake(
        "[forge]\nwebhook_secret_env = \"s3cret!\"",
        "drive.toml:2: `forge.webhook_secret_env` is no name of a variable: `s3cret!` \
         (it is the name of the variable that holds the secret, never the secret itself)",
    );
    assert_mistake(
        "[forge]\nwebhook_secret_env = \"MY_HOOK\"\n[agents.codex]\nenv = [\"MY_HOOK\"]",
        "drive.toml:4: agent `codex` would be given a secret of the forge in `MY_HOOK` \
         (remove `MY_HOOK` from `env` in `[agents.codex]`: drive itself pushes and posts)",
    );
}

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
                "drive.toml:3: agent `claude-code` has a permission rule that is none: `{rule}` \
                 (write `Tool`, or `Tool(pattern)` with both brackets)"
            ),
        );
    }
    for kind in ["gemini-cli", "codex"] {
        assert_mistake(
            &format!("[agents.{kind}]\npermissions = {{ deny = [\"Bash(git push*)\"] }}\n"),
            &format!(
                "drive.toml:2: agent `{kind}` would keep no permission rule: one of kind `{kind}` asks nobody \
                 (remove them: what holds it is its sandbox, see `sandbox.isolation`)"
            ),
        );
    }
    let mine =
        "[agents.mine]\nkind = \"command\"\ncommand = [\"x\"]\npermissions.allow = [\"Bash\"]\n";
    assert_eq!(mistakes(mine).len(), 1);
    assert!(
        mistakes(mine)[0].starts_with("drive.toml:4: agent `mine` would keep no permission rule")
    );
}

#[test]
fn an_agent_that_is_not_described_suggests_one_that_is() {
    assert_mistake(
        "[spawn]\nagent = \"claude\"\n",
        "drive.toml:2: `spawn.agent` names the agent `claude`, which is not described \
         (did you mean `claude-code`?; or add a table `[agents.claude]`)",
    );
    assert_mistake(
        "[spawn-team]\nnamer_llm = \"xyz\"\n",
        "drive.toml:2: `spawn-team.namer_llm` names the agent `xyz`, which is not described \
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
        "drive.toml:1: `my agent.v2` is no name for an agent (use letters, digits, `-` and `_`)",
    );
    let leaky = mistakes("[agents.codex]\nenv = [\"GITHUB_TOKEN\"]\n");
    assert!(
        leaky[0].contains("would be given a secret of the forge"),
        "{leaky:?}"
    );
}

#[test]
fn routes_that_cannot_work_are_named() {
    let table = [
        (
            "compile = [\"make\"]",
            "drive.toml:1: route 1: it covers no paths (add `paths`, such as `paths = [\"crates/api/**\"]`)",
        ),
        (
            "paths = [\"a\"]",
            "drive.toml:1: the route for `a`: it has neither a command nor `skip` \
             (add `compile`, `targeted_tests` or `startup_smoke`, or `skip` with the reason)",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"make\"]\nskip = \"no\"",
            "drive.toml:4: the route for `a`: it has commands and says `skip` (leave out one of the two)",
        ),
        (
            "paths = [\"a\"]\nskip = \" \"",
            "drive.toml:3: the route for `a`: `skip` gives no reason",
        ),
        (
            "paths = [\"a\"]\ncompile = []",
            "drive.toml:3: the route for `a`: `compile` names no program",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\ntimeout = { compile = \"1h\" }",
            "drive.toml:4: the route for `a`: `timeout.compile` (1h) must not be longer than `verify.deadline` (20m)",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\ntimeout = { startup_smoke = \"1s\" }",
            "drive.toml:4: the route for `a`: `timeout.startup_smoke` is set, but there is no `startup_smoke`",
        ),
        (
            "paths = [\"a\"]\ncompile = [\"x\"]\nready = { line = \"up\" }",
            "drive.toml:4: the route for `a`: `ready` is set, but there is no `startup_smoke`",
        ),
        (
            "name = \"web\"\npaths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { path = \"/\" }",
            "drive.toml:5: route `web`: `ready.path` needs `ready.port`",
        ),
        (
            "paths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { line = \"up\", port = 80 }",
            "drive.toml:4: the route for `a`: `ready` is either a `line` or a `port`, not both",
        ),
        (
            "paths = [\"a\"]\nstartup_smoke = [\"x\"]\nready = { port = 99999 }",
            "drive.toml:4: `verify.routes.0.ready.port` must be at most 65535, not 99999",
        ),
        (
            "paths = [\"a[\"]\ncompile = [\"x\"]",
            "drive.toml:2: the route for `a[`: `a[` is no glob: unclosed character class; missing ']'",
        ),
    ];
    for (route, expected) in table {
        assert_mistake(&format!("[[verify.routes]]\n{route}\n"), expected);
    }
}

#[test]
fn all_mistakes_of_a_file_come_at_once_by_line() {
    let text = "[cruise]\nmax_rounds = 0\npoll_max = \"long\"\n[spawn]\nidle_timout = \"2m\"\ntotal_timeout = \"1m\"\n[forge]\nkind = \"gitlab\"\n";
    assert_eq!(
        mistakes(text),
        [
            "drive.toml:2: `cruise.max_rounds` must be at least 1, not 0",
            "drive.toml:3: `cruise.poll_max`: `long` is not a duration such as `2m`",
            "drive.toml:5: there is no key `idle_timout` in `[spawn]` (did you mean `idle_timeout`?)",
            "drive.toml:6: `spawn.idle_timeout` (2m) must be shorter than `spawn.total_timeout` (1m)",
            "drive.toml:8: `forge.kind` cannot be `gitlab` (did you mean `github`?)",
        ]
    );
}

/// The default that stands in for an unreadable value is not what the user wrote.
#[test]
fn no_rule_judges_a_value_that_could_not_be_read() {
    assert_mistake(
        "[spawn]\nidle_timeout = \"soon\"\ntotal_timeout = \"1m\"\n",
        "drive.toml:2: `spawn.idle_timeout`: `soon` is not a duration such as `2m`",
    );
}

#[test]
fn a_mistake_a_higher_layer_hides_is_still_told() {
    let layers = [
        Layer::file("~/config.toml", "[spawn]\nagent = 3\n"),
        file("[spawn]\nagent = \"codex\"\n"),
    ];
    let findings = resolve(&layers).unwrap_err().0;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].origin.to_string(), "~/config.toml:2");
}

#[test]
fn what_is_no_toml_names_each_line() {
    let mistakes =
        mistakes("[spawn\nagent = \"x\"\n\n[cruise]\nmax_rounds = = 3\nmerge = \"manual\n");
    let lines: Vec<&str> = mistakes
        .iter()
        .filter_map(|m| m.split(": not TOML").next())
        .collect();
    assert_eq!(
        lines,
        ["drive.toml:1", "drive.toml:5", "drive.toml:6"],
        "{mistakes:?}"
    );
}

#[test]
fn a_key_given_twice_is_a_mistake() {
    let mistakes = mistakes("[spawn]\nagent = \"codex\"\nagent = \"codex\"\n");
    assert_eq!(mistakes, ["drive.toml:3: not TOML: duplicate key"]);
}

#[test]
fn one_mistake_is_one_line_with_the_text_below() {
    let problem = resolve(&[file("[spawn]\n  idle_timout = \"2m\" # soon\n")])
        .unwrap_err()
        .into_problem();
    assert_eq!(
        problem,
        crate::Problem::new(
            Kind::SettingsInvalid,
            "drive.toml:2: there is no key `idle_timout` in `[spawn]`"
        )
        .cause("2 | idle_timout = \"2m\" # soon")
        .hint("did you mean `idle_timeout`?")
    );
}

#[test]
fn many_mistakes_are_counted_and_cut() {
    let text: String = (0..100).map(|n| format!("key{n:03} = 1\n")).collect();
    let problem = resolve(&[file(&text)]).unwrap_err().into_problem();
    assert_eq!(problem.message, "the settings have 100 mistakes");
    assert_eq!(problem.causes.len(), 21);
    assert_eq!(
        problem.causes.last().map(String::as_str),
        Some("and 80 more")
    );
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
