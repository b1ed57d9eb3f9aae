//! Settings of a repository that start programs, and how they are disabled.
//!
//! The config of a repository may come from anybody. So the programs in it are foreign code:
//! filters, monitors, hooks, helpers. Settings of the user and of the machine are trusted, except
//! filters, which read every file of a foreign tree.

use std::collections::BTreeMap;

/// A setting from git's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    scope: Scope,
    pub(crate) key: String,
    pub(crate) value: String,
}

impl Entry {
    /// Its key and its value.
    pub(super) fn pair(&self) -> (&str, &str) {
        (&self.key, &self.value)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The user's or the machine's own.
    Trusted,
    /// The repository's or the worktree's.
    Foreign,
}

/// Settings that override every file, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Key and value.
    pub pairs: Vec<(String, String)>,
    /// Foreign keys that were disabled, for hints.
    pub withheld: Vec<String>,
}

/// Settings for every call.
pub(super) const ALWAYS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("core.safecrlf", "false"),
    // Faster checks that miss some changes are disabled.
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.untrackedCache", "false"),
    ("core.filesRefLockTimeout", "10000"),
    ("core.packedRefsTimeout", "10000"),
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    ("core.alternateRefsCommand", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("protocol.ext.allow", "never"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("advice.graftFileDeprecated", "false"),
    ("status.showUntrackedFiles", "all"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "none"),
    ("log.showSignature", "false"),
    ("color.ui", "never"),
    // Hooks named in settings, which git 2.54 and newer support: whole events can be disabled.
    ("hook.applypatch-msg.enabled", "false"),
    ("hook.pre-applypatch.enabled", "false"),
    ("hook.post-applypatch.enabled", "false"),
    ("hook.pre-commit.enabled", "false"),
    ("hook.pre-merge-commit.enabled", "false"),
    ("hook.prepare-commit-msg.enabled", "false"),
    ("hook.commit-msg.enabled", "false"),
    ("hook.post-commit.enabled", "false"),
    ("hook.pre-rebase.enabled", "false"),
    ("hook.post-checkout.enabled", "false"),
    ("hook.post-merge.enabled", "false"),
    ("hook.pre-push.enabled", "false"),
    ("hook.pre-receive.enabled", "false"),
    ("hook.update.enabled", "false"),
    ("hook.proc-receive.enabled", "false"),
    ("hook.post-receive.enabled", "false"),
    ("hook.post-update.enabled", "false"),
    ("hook.reference-transaction.enabled", "false"),
    ("hook.push-to-checkout.enabled", "false"),
    ("hook.pre-auto-gc.enabled", "false"),
    ("hook.post-rewrite.enabled", "false"),
    ("hook.sendemail-validate.enabled", "false"),
    ("hook.fsmonitor-watchman.enabled", "false"),
    ("hook.post-index-change.enabled", "false"),
];

/// Commands that may run a hook. For other commands the settings are not read.
const RUN_HOOKS: [&str; 12] = [
    "branch",
    "checkout",
    "commit",
    "fetch",
    "merge",
    "push",
    "read-tree",
    "reset",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
];

/// Whether a git command may run a hook.
pub(super) fn runs_hooks(command: &str) -> bool {
    RUN_HOOKS.contains(&command)
}

/// Settings that disable all hooks named in settings, by anybody: git 2.54 runs them whatever
/// `core.hooksPath` is.
pub(super) fn hook_overrides(entries: &[Entry]) -> Overrides {
    let mut overrides = Overrides::default();
    for name in subsections(entries, "hook.") {
        overrides.set(&format!("hook.{name}.enabled"), "false");
    }
    overrides
}

/// Parses the output of `git config --list --show-scope -z`: scope, NUL, key, newline, value, NUL.
pub(super) fn parse(listing: &[u8]) -> Vec<Entry> {
    let mut fields = listing.split(|byte| *byte == 0);
    let mut all = Vec::new();
    while let (Some(scope), Some(pair)) = (fields.next(), fields.next()) {
        let pair = String::from_utf8_lossy(pair);
        let (key, value) = pair.split_once('\n').unwrap_or((&pair, "true"));
        let scope = match scope {
            // Settings that drive sets for the call itself.
            b"command" => continue,
            b"system" | b"global" => Scope::Trusted,
            _ => Scope::Foreign,
        };
        all.push(Entry {
            scope,
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    all
}

/// Settings that disable all filters, and all programs that only the repository's own config names.
pub(super) fn content_overrides(entries: &[Entry]) -> Overrides {
    let mut overrides = Overrides::default();
    for name in subsections(entries, "filter.") {
        for variable in ["clean", "smudge", "process"] {
            overrides.set(&format!("filter.{name}.{variable}"), "");
        }
        overrides.set(&format!("filter.{name}.required"), "false");
    }
    for name in subsections(entries, "diff.") {
        overrides.set(&format!("diff.{name}.command"), "");
        overrides.set(&format!("diff.{name}.textconv"), "");
    }
    for name in subsections(entries, "merge.") {
        overrides.set(&format!("merge.{name}.driver"), "false");
    }
    overrides
}

/// Settings that disable network programs that only the repository's own config names.
pub(super) fn network_overrides(entries: &[Entry]) -> Overrides {
    let mut overrides = Overrides::default();
    for key in foreign_program_keys(entries) {
        overrides.withheld.push(key.clone());
        overrides.set(&key, neutral(&key));
        // The user's own values are set again after the reset.
        for entry in entries {
            if entry.scope == Scope::Trusted && entry.key == key {
                overrides.set(&key, &entry.value);
            }
        }
    }
    overrides
}

/// Whether git fetches missing objects from a remote when they are needed.
pub(super) fn is_partial_clone(entries: &[Entry]) -> bool {
    entries
        .iter()
        .any(|entry| entry.key.starts_with("remote.") && entry.key.ends_with(".promisor"))
}

/// Whether the settings include other files.
pub(super) fn includes_others(entries: &[Entry]) -> bool {
    let is_include = |entry: &Entry| entry.key.starts_with("include");
    entries.iter().any(is_include)
}

/// The last value of a key in the user's or the machine's own settings.
pub(super) fn last_trusted<'a>(entries: &'a [Entry], key: &str) -> Option<&'a str> {
    let own = |entry: &&Entry| entry.scope == Scope::Trusted && entry.key == key;
    entries
        .iter()
        .rev()
        .find(own)
        .map(|entry| entry.value.as_str())
}

/// The last value of a key.
pub(crate) fn last<'a>(entries: &'a [Entry], key: &str) -> Option<&'a str> {
    entries
        .iter()
        .rev()
        .find(|entry| entry.key == key)
        .map(|entry| entry.value.as_str())
}

impl Overrides {
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.pairs.push((key.to_owned(), value.to_owned()));
    }
}

fn subsections(entries: &[Entry], prefix: &str) -> Vec<String> {
    let mut names = BTreeMap::new();
    for entry in entries {
        if let Some(rest) = entry.key.strip_prefix(prefix)
            && let Some((name, _)) = rest.rsplit_once('.')
        {
            names.insert(name.to_owned(), ());
        }
    }
    names.into_keys().collect()
}

fn foreign_program_keys(entries: &[Entry]) -> Vec<String> {
    let mut keys: Vec<String> = entries
        .iter()
        .filter(|entry| entry.scope == Scope::Foreign && names_a_program(&entry.key))
        .map(|entry| entry.key.clone())
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

fn names_a_program(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    matches!(key, "core.sshcommand" | "core.askpass" | "core.gitproxy")
        || (key.starts_with("credential.") && last == "helper")
        || (key.starts_with("remote.") && last == "vcs")
}

fn neutral(key: &str) -> &'static str {
    match key.rsplit('.').next() {
        Some("sshcommand") => "ssh -o BatchMode=yes",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn every_filter_is_put_out_of_force_whoever_set_it() {
        let entries = parse(
            b"global\0filter.lfs.smudge\ngit-lfs smudge\0local\0filter.a.b=c.clean\nevil\0local\0core.bare\nfalse\0",
        );
        assert_eq!(
            content_overrides(&entries).pairs,
            pairs(&[
                ("filter.a.b=c.clean", ""),
                ("filter.a.b=c.smudge", ""),
                ("filter.a.b=c.process", ""),
                ("filter.a.b=c.required", "false"),
                ("filter.lfs.clean", ""),
                ("filter.lfs.smudge", ""),
                ("filter.lfs.process", ""),
                ("filter.lfs.required", "false"),
            ])
        );
    }

    #[test]
    fn every_configured_hook_is_put_out_of_force() {
        let entries = parse(
            b"global\0hook.scan.event\npre-push\0global\0hook.scan.command\nscan\0local\0hook.a.b.command\nevil\0local\0core.bare\nfalse\0",
        );
        assert_eq!(
            hook_overrides(&entries).pairs,
            pairs(&[
                ("hook.a.b.enabled", "false"),
                ("hook.scan.enabled", "false")
            ])
        );
        for command in ["update-ref", "push", "fetch", "merge", "commit", "checkout"] {
            assert!(runs_hooks(command), "{command}");
        }
        assert!(!runs_hooks("config"), "reading the settings would not end");
        for event in ["reference-transaction", "pre-push", "post-checkout"] {
            let key = format!("hook.{event}.enabled");
            assert!(ALWAYS.contains(&(&key, "false")), "{event}");
        }
    }

    #[test]
    fn a_helper_of_the_user_is_used_and_one_of_the_repository_is_not() {
        let entries = parse(
            b"global\0credential.helper\nstore\0local\0credential.helper\n!evil\0local\0core.sshcommand\nevil\0worktree\0remote.origin.vcs\nevil\0local\0remote.origin.url\nx\0",
        );
        let overrides = network_overrides(&entries);
        assert_eq!(
            overrides.pairs,
            pairs(&[
                ("core.sshcommand", "ssh -o BatchMode=yes"),
                ("credential.helper", ""),
                ("credential.helper", "store"),
                ("remote.origin.vcs", ""),
            ])
        );
        assert_eq!(
            overrides.withheld,
            ["core.sshcommand", "credential.helper", "remote.origin.vcs"]
        );
    }

    #[test]
    fn a_listing_that_ends_early_is_read_as_far_as_it_goes() {
        assert_eq!(parse(b"local"), []);
        assert_eq!(parse(b"local\0flag").len(), 1);
    }
}
