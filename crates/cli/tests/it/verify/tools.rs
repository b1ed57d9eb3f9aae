//! Tests real package managers in a stage without a network: they do their whole job with the
//! caches of the user, which stay unchanged.

use crate::verify::support::{PATH, Scene};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The tools that npm and pip install for these tests.
const TOOLS: [&str; 2] = ["pnpm@10.20.0", "yarn@1.22.22"];
const UV: &str = "uv==0.9.7";

/// Folders with the tools, for `PATH`; `None` if they are not available, which `scripts/test` reports.
fn tools() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("interop/package-managers");
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let ran = |program: &str, args: &[&str]| {
        // The developer's own tools, with their registry and proxy settings.
        let output = Command::new(program).args(args).output();
        let failed = match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        Err(format!(
            "`{program}` cannot install package managers: {failed}"
        ))
    };
    let (node, python) = (folder.join("node"), folder.join("uv"));
    let install = || {
        if !node.join("bin/pnpm").exists() {
            let prefix = node.to_str().unwrap();
            ran(
                "npm",
                &[
                    &["install", "-g", "--silent", "--prefix", prefix],
                    &TOOLS[..],
                ]
                .concat(),
            )?;
        }
        if !python.join("bin/uv").exists() {
            let target = python.to_str().unwrap();
            ran(
                "/usr/bin/python3",
                &["-m", "pip", "install", "-q", "--target", target, UV],
            )?;
        }
        Ok(())
    };
    let installed: Result<(), String> = install();
    let _ = fs::remove_file(folder.join("failed"));
    if let Err(why) = installed {
        eprintln!("skipped: {why}");
        fs::write(folder.join("failed"), why).unwrap();
        return None;
    }
    Some(format!("{0}/node/bin:{0}/uv/bin:{PATH}", folder.display()))
}

/// A registry for npm and PyPI on this machine with one package, `tiny`.
struct Registry {
    url: String,
}

impl Registry {
    fn start(scene: &Scene) -> Self {
        scene.shell(
            "mkdir -p package && cd package && mkdir package && \
             echo '{\"name\": \"tiny\", \"version\": \"1.0.0\", \"main\": \"index.js\"}' > package/package.json && \
             echo 'module.exports = 42' > package/index.js && tar czf tiny-1.0.0.tgz package && \
             python3 -c '
import zipfile
with zipfile.ZipFile(\"tiny-1.0.0-py3-none-any.whl\", \"w\") as wheel:
    info = \"tiny-1.0.0.dist-info/\"
    wheel.writestr(\"tiny.py\", \"answer = 42\\n\")
    wheel.writestr(info + \"METADATA\", \"Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0.0\\n\")
    wheel.writestr(info + \"WHEEL\", \"Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n\")
    wheel.writestr(info + \"RECORD\", \"tiny.py,,\\n\" + info + \"METADATA,,\\n\" + info + \"WHEEL,,\\n\" + info + \"RECORD,,\\n\")
'",
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let integrity =
            scene.shell("openssl dgst -sha512 -binary package/tiny-1.0.0.tgz | base64 -w0");
        let shasum = scene.shell("sha1sum package/tiny-1.0.0.tgz");
        let shasum = shasum.split(' ').next().unwrap_or_default();
        let about = format!(
            r#"{{"name": "tiny", "dist-tags": {{"latest": "1.0.0"}}, "versions": {{"1.0.0": {{"name": "tiny", "version": "1.0.0",
            "main": "index.js", "dist": {{"tarball": "{url}/tiny/-/tiny-1.0.0.tgz", "integrity": "sha512-{integrity}",
            "shasum": "{shasum}"}}}}}}}}"#
        );
        let read = |name: &str| fs::read(scene.path("package").join(name)).unwrap();
        let wheel = "tiny-1.0.0-py3-none-any.whl";
        let index = format!("<!DOCTYPE html><a href=\"/{wheel}\">{wheel}</a>");
        let pages: BTreeMap<String, (&str, Vec<u8>)> = [
            ("/tiny".to_owned(), ("application/json", about.into_bytes())),
            (
                "/tiny/-/tiny-1.0.0.tgz".to_owned(),
                ("application/octet-stream", read("tiny-1.0.0.tgz")),
            ),
            (
                "/simple/tiny/".to_owned(),
                ("text/html", index.into_bytes()),
            ),
            (
                format!("/{wheel}"),
                ("application/octet-stream", read(wheel)),
            ),
        ]
        .into();
        let pages = Arc::new(pages);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = pages.clone();
                std::thread::spawn(move || serve(stream, &pages));
            }
        });
        Self { url }
    }
}

/// Answers one request and closes the connection.
fn serve(mut stream: std::net::TcpStream, pages: &BTreeMap<String, (&str, Vec<u8>)>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, (kind, body)) = match pages.get(path) {
        Some(page) => ("200 OK", page.clone()),
        None => ("404 Not Found", ("text/plain", Vec::new())),
    };
    let body = if first.starts_with("HEAD") {
        Vec::new()
    } else {
        body
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: max-age=3600\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
}

/// Everything below a folder, with the sizes of the files.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let meta = entry.path().symlink_metadata().unwrap();
        all.insert(entry.path(), meta.len());
        if meta.is_dir() {
            all.extend(snapshot(&entry.path()));
        }
    }
    all
}

/// Fills the caches of the user with `warm`, then verifies with `stage`, offline.
fn works_offline(warm: &str, cache: &str, stage: &str) {
    let Some(path) = tools() else { return };
    let scene = Scene::me();
    let registry = Registry::start(&scene);
    let script = format!("export REGISTRY={} PATH={path}\n", registry.url);
    scene.shell(
        "cd repo && printf 'node_modules\\n.venv\\n' > .gitignore && \
         echo '{\"name\": \"app\", \"version\": \"1.0.0\", \"dependencies\": {\"tiny\": \"1.0.0\"}}' > package.json",
    );
    scene.shell(&format!(
        "{script}cd repo && echo \"registry=$REGISTRY/\" > .npmrc && {warm}"
    ));
    scene.shell("cd repo && rm -rf node_modules .venv");
    let quoted = toml::Value::from(format!("{script}{stage}"));
    scene.settings(&format!(
        "[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ncompile = [\"sh\", \"-ec\", {quoted}]\nskip = \"not tested here\"\n"
    ));
    scene.change();
    let before = snapshot(&scene.path("home"));
    assert!(
        before
            .keys()
            .any(|path| path.starts_with(scene.path("home").join(cache))),
        "{before:?}"
    );
    let run = |scene: &Scene| {
        let mut command = scene.drive(&["verify", "--base", "base", "--json", "--fresh"]);
        command.env("PATH", &path);
        scene.answer(&command.output().unwrap())
    };
    let answer = run(&scene);
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    assert_eq!(
        answer.text("/stages/0/stdoutTail"),
        "42\n",
        "{:#}",
        answer.report
    );
    assert_eq!(snapshot(&scene.path("home")), before);
    // The control: without the cache the same stage fails.
    fs::remove_dir_all(scene.path("home")).unwrap();
    fs::create_dir(scene.path("home")).unwrap();
    assert_eq!(run(&scene).text("/overall"), "fail");
}

const RUN: &str = "node -e 'console.log(require(\"tiny\"))'";

#[test]
fn npm_installs_offline_from_the_users_cache() {
    let stage = format!("npm ci --offline --silent --no-audit --no-fund >&2\n{RUN}");
    works_offline(
        "npm install --silent --no-audit --no-fund",
        ".npm/_cacache",
        &stage,
    );
}

#[test]
fn pnpm_installs_offline_from_the_users_store() {
    let stage = format!("pnpm install --offline --frozen-lockfile --silent >&2\n{RUN}");
    works_offline(
        "pnpm install --silent --store-dir ~/.local/share/pnpm/store",
        ".local/share/pnpm/store",
        &stage,
    );
}

#[test]
fn yarn_installs_offline_from_the_users_cache() {
    // Without the variable, root's cache is not in the home.
    let install = "YARN_CACHE_FOLDER=$HOME/.cache/yarn yarn install --silent";
    let stage = format!("{install} --offline --frozen-lockfile >&2\n{RUN}");
    works_offline(install, ".cache/yarn", &stage);
}

#[test]
fn uv_installs_offline_from_the_users_cache() {
    let install = "uv venv -q --python /usr/bin/python3 .venv >&2 && \
        uv pip install -q --index-url $REGISTRY/simple tiny";
    let stage = format!(
        "export UV_OFFLINE=1\n{install} >&2\n.venv/bin/python -c 'import tiny; print(tiny.answer)'"
    );
    works_offline(install, ".cache/uv", &stage);
}

/// The version of a crate with which this project itself is built, so that it is in the cache.
fn version_of(name: &str) -> String {
    let lock = include_str!("../../../../../Cargo.lock");
    let lock: toml::Table = lock.parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"].as_str() == Some(name));
    package.unwrap()["version"].as_str().unwrap().to_owned()
}

#[test]
fn cargo_builds_offline_from_the_users_registry() {
    let version = version_of("itoa");
    let home = std::env::var("HOME").unwrap_or_default();
    let or =
        |name: &str, below: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
    let (cargo, rustup) = (or("CARGO_HOME", ".cargo"), or("RUSTUP_HOME", ".rustup"));
    let scene = Scene::me();
    // Only the archive and its line of the index: to unpack it, cargo must write into the registry.
    let copied = format!(
        "cd {cargo}/registry && for file in cache/*/itoa-{version}.crate index/*/config.json index/*/.cache/it/oa/itoa; do \
         mkdir -p $OLDPWD/home/.cargo/registry/$(dirname $file) && cp $file $OLDPWD/home/.cargo/registry/$file; done"
    );
    let output = scene.command("sh").args(["-ec", &copied]).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: the crate `itoa` is not in the registry of this user");
        return;
    }
    let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    scene.shell(&format!(
        "cd repo && git rm -rq . && mkdir -p src && echo target > .gitignore && \
         printf '[package]\\nname = \"app\"\\nversion = \"0.1.0\"\\nedition = \"2024\"\\n[dependencies]\\nitoa = \"={version}\"\\n' > Cargo.toml && \
         echo '#[test] fn t() {{ assert_eq!(itoa::Buffer::new().format(4), \"4\") }}' > src/lib.rs && \
         PATH={path} RUSTUP_HOME={rustup} cargo generate-lockfile -q --offline && rm -rf ~/.cargo/registry/src && \
         git add -A && git commit -qm project && git tag base && echo >> src/lib.rs && git commit -qam change"
    ));
    let before = snapshot(&scene.path("home"));
    let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
    command.env("PATH", &path).env("RUSTUP_HOME", &rustup);
    let answer = scene.answer(&command.output().unwrap());
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    assert_eq!(snapshot(&scene.path("home")), before);
}
