//! Mistakes in values: a wrong type, out of range, or impossible.

use super::*;

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
            "drive.toml:3: `spawn.max_escalations` must be a whole number, not a string",
            "drive.toml:4: `spawn.agent` must be a string, not a whole number",
            "drive.toml:5: `spawn.idle_timeout` must be a duration string, not a whole number",
            "drive.toml:7: `budget.cost_usd` must be a number, not a string",
            "drive.toml:8: `budget.tokens` must be a whole number, not a number",
            "drive.toml:10: `sandbox.copy` must be a list, not a string",
            "drive.toml:11: `sandbox.seed.1` must be a string, not a whole number",
            "drive.toml:13: `forge.repo` must be a string, not a date",
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
        "drive.toml:1: `spawn.agent` must be a string, not a table",
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
        "drive.toml:2: `budget.tokens` must be a whole number, not a number that is too large",
    );
    assert_mistake(
        "[budget]\ncost_usd = inf\n",
        "drive.toml:2: `budget.cost_usd` must be a number, not not a finite number",
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
    // The error is placed at the line that the user wrote, even if the message starts with a default.
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
            "`spawn.idle_timeout` must be longer than 0",
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
            "`verify.limits.memory` must be more than 0",
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
        "drive.toml:2: `forge.api_url` is not a URL: `api.github.com` (use \
         `https://api.github.com`, or `https://HOST/api/v3` for your own server)",
    );
    assert_mistake(
        "[forge]\nremote = \"--upload-pack=x\"",
        "drive.toml:2: `forge.remote` is not a remote name: `--upload-pack=x` (list remotes \
         with `git remote`)",
    );
    assert_mistake(
        "[sandbox]\nroot = \"\"",
        "drive.toml:2: `sandbox.root` is empty (remove it to use `sandboxes` in the state \
         directory)",
    );
}

#[test]
fn a_token_pasted_into_token_env_is_refused() {
    assert_mistake(
        "[forge]\ntoken_env = \"not-a-name\"",
        "drive.toml:2: `forge.token_env` is not a variable name: `not-a-name` \
         (set the name of the variable that contains the token, not the token itself)",
    );
}

#[test]
fn half_a_github_app_is_refused() {
    assert_mistake(
        "[forge]\napp_id = 7\n",
        "drive.toml:2: `forge.app_id` needs `forge.installation_id` and `forge.private_key_file` \
         as well (set all three keys of the GitHub App, or none)",
    );
    assert_mistake(
        "[forge]\ninstallation_id = 7\napp_id = 8\n",
        "drive.toml:3: `forge.app_id` needs `forge.private_key_file` as well (set all three keys \
         of the GitHub App, or none)",
    );
}

#[test]
fn a_secret_pasted_into_webhook_secret_env_or_given_to_an_agent_is_refused() {
    assert_mistake(
        "[forge]\nwebhook_secret_env = \"s3cret!\"",
        "drive.toml:2: `forge.webhook_secret_env` is not a variable name: `s3cret!` \
         (set the name of the variable that contains the secret, not the secret itself)",
    );
    assert_mistake(
        "[forge]\nwebhook_secret_env = \"MY_HOOK\"\n[agents.codex]\nenv = [\"MY_HOOK\"]",
        "drive.toml:4: agent `codex` would receive a secret of the forge in `MY_HOOK` \
         (remove `MY_HOOK` from `env` in `[agents.codex]`: drive itself pushes and posts)",
    );
}

#[test]
fn an_agent_that_would_refute_nothing_is_refused() {
    assert_mistake(
        "[review]\nrefute = false\nrefuter_llm = \"codex\"\n[agents.codex]\nkind = \"codex\"\n",
        "drive.toml:3: `review.refuter_llm` does nothing while `review.refute` is `false` (set \
         `refute = true`, or remove `refuter_llm`)",
    );
}
