//! Sets up apps and their keys, names of repositories, and rules of branches for a test.

use super::Simulator;
use super::apps::{KEY, OTHER_KEY, der, pem};
use super::git::GitStore;
use super::renaming::moved;
use super::state::{App, Rule};
use serde_json::Value;

impl Simulator {
    /// Adds an app with one installation, which has these permissions and acts as `login`.
    pub fn add_app(&self, id: u64, installation: u64, login: &str, permissions: &[(&str, &str)]) {
        let mut service = self.lock();
        service.world.ensure_user(login);
        let permissions = permissions.iter();
        let app = App {
            id,
            installation,
            login: login.to_owned(),
            permissions: permissions
                .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
                .collect(),
            suspended: false,
        };
        service.world.apps.push(app);
        for repo in service.world.repos.values_mut() {
            repo.permissions.insert(login.to_owned(), "write");
        }
    }

    /// The app's private key in GitHub's format, PKCS #1.
    pub fn app_key() -> String {
        pem("RSA PRIVATE KEY", KEY)
    }

    /// The same key in the format of other tools, PKCS #8.
    pub fn app_key_pkcs8() -> String {
        // Version 0, and the algorithm: RSA encryption without parameters.
        let head = [
            0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01,
            0x01, 0x01, 0x05, 0x00,
        ];
        let body = [&head[..], &der(0x04, KEY)].concat();
        pem("PRIVATE KEY", &der(0x30, &body))
    }

    /// A private key that belongs to no app.
    pub fn other_key() -> String {
        pem("RSA PRIVATE KEY", OTHER_KEY)
    }

    /// Suspends every installation.
    pub fn suspend_apps(&self) {
        for app in &mut self.lock().world.apps {
            app.suspended = true;
        }
    }

    /// Makes this token invalid.
    pub fn revoke_token(&self, token: &str) {
        self.lock().world.tokens.remove(token);
    }

    /// Makes all tokens of apps invalid.
    pub fn revoke_app_tokens(&self) {
        let world = &mut self.lock().world;
        for token in std::mem::take(&mut world.token_ends).into_keys() {
            world.tokens.remove(&token);
        }
    }

    /// The number of tokens that apps have received so far.
    pub fn app_tokens(&self) -> usize {
        self.lock().world.minted
    }

    /// Makes git require a token as well.
    pub fn require_git_login(&self) {
        self.lock().world.git_needs_token = true;
    }

    /// Renames a repository.
    pub fn rename_repo(&self, from: &str, name: &str) {
        let mut service = self.lock();
        let root = service.git_root.clone();
        let world = &mut service.world;
        let Some(mut repo) = world.repos.remove(from) else {
            panic!("there is no repository {from}");
        };
        repo.name = name.to_owned();
        let to = repo.full_name();
        if let GitStore::Bare(path) = &mut repo.git {
            *path = moved(&root, path, &to);
        }
        world.renamed.remove(&to);
        world.renamed.insert(from.to_owned(), to.clone());
        world.repos.insert(to, repo);
    }

    /// Archives a repository: it accepts no more writes.
    pub fn archive(&self, repo: &str) {
        if let Some(repo) = self.lock().world.repos.get_mut(repo) {
            repo.archived = true;
        }
    }

    /// Adds a rule of a GitHub kind, such as `creation`, for branches that begin with `prefix`.
    pub fn add_rule(&self, repo: &str, prefix: &str, kind: &str, parameters: Option<Value>) {
        self.put_rule(repo, prefix, kind, parameters, false);
    }

    /// Adds a rule that every token may bypass.
    pub fn add_bypassed_rule(&self, repo: &str, prefix: &str, kind: &str) {
        self.put_rule(repo, prefix, kind, None, true);
    }

    fn put_rule(
        &self,
        repo: &str,
        prefix: &str,
        kind: &str,
        parameters: Option<Value>,
        bypass: bool,
    ) {
        let mut service = self.lock();
        let id = service.world.fresh_id();
        if let Some(repo) = service.world.repos.get_mut(repo) {
            repo.rules.push(Rule {
                id,
                prefix: prefix.to_owned(),
                kind: kind.to_owned(),
                parameters,
                bypass,
            });
        }
    }
}
