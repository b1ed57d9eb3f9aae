//! The environment of a stage: `PATH`, a private home, the network settings, the variables that its
//! route passes, and nothing else of the caller's.

use crate::Environment;
use crate::environment::{HOME, PATH};
use drive_core::network::{CERTIFICATE_VARIABLES, PROXY_VARIABLES};
use drive_core::verify::Rules;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Default folders of tool chains, relative to the user's real home, for when their variable is
/// unset. Stages share their programs and cannot write them.
const TOOLCHAINS: [(&str, &str); 7] = [
    ("RUSTUP_HOME", ".rustup"),
    ("CARGO_HOME", ".cargo"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("ASDF_DATA_DIR", ".asdf"),
];

/// Tool chains that are only found by their variable.
const PASSED_ON: [&str; 4] = ["GOROOT", "JAVA_HOME", "RUSTUP_TOOLCHAIN", "TZ"];

/// Variables that are the same in every stage, unless its route changes them. The project decides
/// whether its output is coloured: it is not written to a terminal.
const FIXED: [(&str, &str); 4] = [
    ("CI", "true"),
    ("LANG", "C.UTF-8"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// The folders in which programs are searched. All are absolute, so none belongs to the candidate.
pub(super) fn search_path(environment: &Environment) -> Vec<PathBuf> {
    let path = environment.get(PATH).unwrap_or_default();
    std::env::split_paths(path).collect()
}

/// The tool chain folders in the environment of a stage.
pub(super) fn toolchains(pairs: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let names = TOOLCHAINS
        .map(|(name, _)| name)
        .into_iter()
        .chain(PASSED_ON);
    let values = names.flat_map(|name| pairs.iter().filter(move |(key, _)| key == name));
    let folders = values.map(|(_, value)| PathBuf::from(value));
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// The environment of a stage whose private folder is `tmp`.
pub(super) fn stage(environment: &Environment, tmp: &Path) -> Vec<(OsString, OsString)> {
    let mut pairs: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| pairs.push((name.into(), value));
    set(PATH, environment.get(PATH).unwrap_or_default().to_owned());
    set(HOME, tmp.join("home").into());
    for (name, value) in FIXED {
        set(name, value.into());
    }
    let network = PROXY_VARIABLES.into_iter().chain(CERTIFICATE_VARIABLES);
    for name in PASSED_ON.into_iter().chain(network) {
        if let Some(value) = environment.get(name) {
            set(name, value.to_owned());
        }
    }
    let home = environment.absolute_path(HOME);
    for (name, below) in TOOLCHAINS {
        let own = environment.absolute_path(name);
        let usual = home
            .as_ref()
            .map(|home| home.join(below))
            .filter(|dir| dir.is_dir());
        if let Some(dir) = own.or(usual) {
            set(name, dir.into());
        }
    }
    pairs
}

/// The variables of the user's environment that routes pass to stages.
pub(super) fn passed(environment: &Environment, rules: &Rules) -> Vec<(OsString, OsString)> {
    let names = rules.passed_variables().into_iter();
    let pairs = names.filter_map(|name| Some((name.into(), environment.get(name)?.to_owned())));
    pairs.collect()
}

/// Certificate files of the network, which a stage must be able to read.
pub(super) fn certificates(pairs: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let named = pairs
        .iter()
        .filter(|(name, _)| CERTIFICATE_VARIABLES.iter().any(|one| name == one));
    let paths = named.map(|(_, value)| PathBuf::from(value));
    paths.filter(|path| path.is_absolute()).collect()
}

/// Lets cargo keep its registry inside the private folder if the shared one, which no stage can
/// write, lacks a crate of the candidate's lock file. Otherwise cargo needs no network for crates.
pub(super) fn settle_cargo(pairs: &mut Vec<(OsString, OsString)>, locks: &[PathBuf], tmp: &Path) {
    let shared = pairs
        .iter()
        .find(|(name, _)| name == "CARGO_HOME")
        .map(|(_, dir)| PathBuf::from(dir));
    let Some(shared) = shared.filter(|_| !locks.is_empty()) else {
        return;
    };
    if has_all_crates(&shared, locks) {
        pairs.push(("CARGO_NET_OFFLINE".into(), "true".into()));
        return;
    }
    pairs.retain(|(name, _)| name != "CARGO_HOME");
    pairs.push(("CARGO_HOME".into(), tmp.join("home/.cargo").into()));
}

fn has_all_crates(cargo_home: &Path, locks: &[PathBuf]) -> bool {
    let indexes = std::fs::read_dir(cargo_home.join("registry/cache"));
    let caches: Vec<PathBuf> = indexes
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    let is_there = |file: &str| caches.iter().any(|cache| cache.join(file).is_file());
    locks.iter().all(|lock| {
        let text = std::fs::read_to_string(lock).unwrap_or_default();
        crates_of(&text).iter().all(|file| is_there(file))
    })
}

/// The archive names of all registry crates in a lock file.
fn crates_of(lock: &str) -> Vec<String> {
    let Ok(lock) = lock.parse::<toml::Table>() else {
        return Vec::new();
    };
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| {
        package
            .get(key)
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    packages
        .into_iter()
        .flatten()
        .filter(|package| text(package, "source").is_some_and(|s| s.starts_with("registry+")))
        .filter_map(|package| {
            Some(format!(
                "{}-{}.crate",
                text(package, "name")?,
                text(package, "version")?
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_callers_environment_leaks_but_where_tools_are() {
        let environment = Environment::from_pairs([
            ("PATH", "/usr/bin:.:relative:/bin"),
            ("HOME", "/nonexistent"),
            ("GITHUB_TOKEN", "secret"),
            ("GOROOT", "/opt/go"),
            ("CARGO_HOME", "/opt/cargo"),
            ("https_proxy", "http://proxy:3128"),
            ("SSL_CERT_FILE", "/etc/company.pem"),
        ]);
        let pairs = stage(&environment, Path::new("/t"));
        let get = |name: &str| {
            pairs
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.to_str().unwrap())
        };
        assert_eq!(get("PATH"), Some("/usr/bin:/bin"));
        assert_eq!(get("HOME"), Some("/t/home"));
        assert_eq!(get("GOROOT"), Some("/opt/go"));
        assert_eq!(get("CARGO_HOME"), Some("/opt/cargo"));
        assert_eq!(get("GITHUB_TOKEN"), None);
        assert_eq!(get("https_proxy"), Some("http://proxy:3128"));
        assert_eq!(get("CI"), Some("true"));
        assert_eq!((get("NO_COLOR"), get("TERM")), (None, None));
        assert_eq!(certificates(&pairs), [Path::new("/etc/company.pem")]);
    }

    #[test]
    fn a_missing_crate_moves_cargo_to_the_private_folder() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cargo/registry/cache/index");
        std::fs::create_dir_all(&cache).unwrap();
        let lock = dir.path().join("Cargo.lock");
        let text = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        crate::files::replace(&lock, text.as_bytes()).unwrap();
        let settle = || {
            let mut pairs = vec![("CARGO_HOME".into(), dir.path().join("cargo").into())];
            settle_cargo(&mut pairs, std::slice::from_ref(&lock), Path::new("/t"));
            pairs
        };
        assert_eq!(
            settle(),
            [("CARGO_HOME".into(), OsString::from("/t/home/.cargo"))]
        );
        std::fs::File::create(cache.join("a-1.0.0.crate")).unwrap();
        let offline = ("CARGO_NET_OFFLINE".into(), OsString::from("true"));
        assert_eq!(settle()[1], offline);
    }
}
