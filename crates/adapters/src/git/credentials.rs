//! Credentials in the settings of a repository, which must never be shown.

use super::call::load_config;
use super::{Git, Location};
use drive_engine::ports::Place;
use std::path::Path;

impl Git {
    /// The user names, passwords and tokens in the addresses and headers of a repository's
    /// settings; empty without a repository.
    pub fn credentials(&self, folder: &Path) -> Vec<String> {
        let location = Location::of(Place::Checkout(folder));
        let entries = load_config(self, &location).unwrap_or_default();
        let mut found: Vec<String> = entries
            .iter()
            .flat_map(|entry| {
                let (key, value) = entry.pair();
                let header = key.ends_with(".extraheader") || key == "http.extraheader";
                let header = value.rsplit(' ').next().filter(|_| header);
                let header = header.map(str::to_owned).into_iter();
                in_address(key).chain(in_address(value)).chain(header)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The secrets before the host of an address: the password, or a user name without a password that
/// is long enough to be a token.
fn in_address(text: &str) -> impl Iterator<Item = String> {
    const TOKEN: usize = 20;
    let user = text.split_once("://").and_then(|(_, rest)| {
        let host_end = rest.find('/').unwrap_or(rest.len());
        rest[..host_end].rsplit_once('@').map(|(user, _)| user)
    });
    let secret = user.and_then(|user| match user.split_once(':') {
        Some((name, "" | "x-oauth-basic")) => Some(name),
        Some((_, password)) => Some(password),
        None => Some(user).filter(|user| user.len() >= TOKEN),
    });
    secret.map(str::to_owned).into_iter()
}

#[cfg(test)]
mod tests {
    use super::in_address;

    #[test]
    fn the_secret_of_an_address_is_its_password_or_a_long_name() {
        let token = "0123456789abcdef0123";
        let table = [
            ("https://me:pass@h.example/r.git", Some("pass")),
            ("https://0123456789abcdef0123@h.example/r", Some(token)),
            (
                "https://0123456789abcdef0123:x-oauth-basic@h/r",
                Some(token),
            ),
            ("https://me@h.example/r.git", None),
            ("ssh://git@h.example/r.git", None),
            ("https://h.example/a@b:c", None),
            ("git@h.example:r.git", None),
            ("url.https://me:pass@h.example/.insteadof", Some("pass")),
        ];
        for (address, secret) in table {
            assert_eq!(in_address(address).next().as_deref(), secret, "{address}");
        }
    }
}
