//! Signs commits like the user's git (`commit.gpgSign`), outside of every sandbox.
//!
//! Agents commit unsigned, because they see neither the key nor the socket of a key agent. When
//! their commits are taken over, each is stored again with a signature before a branch of the
//! user's moves to it. Nothing asks for a passphrase: a key that needs one is an error.

use super::call::load_config;
use super::config::{self, last, last_trusted};
use super::raw_commits::{parts, raw_commits};
use super::unpublished::MOST_COMMITS;
use super::{Git, Location, Touches};
use crate::entropy::random_u32;
use crate::files;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{End, LeakPolicy, Limits};
use drive_engine::CancelToken;
use drive_engine::ports::{Collect, CommandSpec, Containment, OrphanPolicy, Place, Stdin};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one signature may take, because a hardware key waits for a touch.
const PATIENCE: Duration = Duration::from_secs(30);
/// More bytes than any signature has.
const SIGNATURE_BYTES: usize = 256 * 1024;
/// The text that is signed to test whether the key can be used.
const TRIAL: &[u8] = b"drive tries the key before an agent starts\n";

/// The kinds of signatures that `gpg.format` names, with git's default program for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    OpenPgp,
    Ssh,
    X509,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::OpenPgp => "openpgp",
            Format::Ssh => "ssh",
            Format::X509 => "x509",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Format::OpenPgp => "gpg",
            Format::Ssh => "ssh-keygen",
            Format::X509 => "gpgsm",
        }
    }
}

/// The key and program with which the user's git signs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Signer {
    format: Format,
    program: String,
    key: String,
}

impl Git {
    /// Whether commits in the repository of `folder` are signed, according to its settings and the user's.
    pub fn signs_commits(&self, folder: &Path) -> bool {
        let location = Location::of(Place::Checkout(folder));
        // An unusable key is reported when it is tried.
        signer(self, &location).map_or(true, |signer| signer.is_some())
    }
}

/// Tests a signature if the user's git signs, so that an unusable key is found before an agent
/// costs anything.
pub(crate) fn try_signing(git: &Git, at: &Location) -> Result<(), Problem> {
    match signer(git, at)? {
        Some(signer) => signer.sign(git, at, TRIAL).map(drop),
        None => Ok(()),
    }
}

/// A commit of the user's repository, signed if the user's git signs.
pub(crate) fn signed(git: &Git, at: &Location, commit: CommitSha) -> Result<CommitSha, Problem> {
    let Some(signer) = signer(git, at)? else {
        return Ok(commit);
    };
    let call = git.call_at(at.clone(), Touches::Objects);
    let raw = raw_commits(call, format!("{commit}\n"))?;
    match raw.first() {
        Some((_, raw)) => store(git, at, &signer, raw, &HashMap::new()),
        None => Ok(commit),
    }
}

/// Signs the commits that no branch, tag or remote of the repository contains, nor one of `refs`,
/// nor `base`. Returns the signed ones by their old ids.
pub(super) fn sign_new(
    git: &Git,
    at: &Location,
    wanted: &[&CommitSha],
    base: &CommitSha,
    refs: &[String],
) -> Result<HashMap<String, CommitSha>, Problem> {
    let mut signed = HashMap::new();
    let Some(signer) = signer(git, at)? else {
        return Ok(signed);
    };
    for (sha, raw) in new_commits(git, at, wanted, base, refs)? {
        if keeps_signature(&raw, &signed) {
            continue;
        }
        let made = store(git, at, &signer, &raw, &signed)?;
        signed.insert(sha, made);
    }
    Ok(signed)
}

/// The unknown commits, parents first.
fn new_commits(
    git: &Git,
    at: &Location,
    wanted: &[&CommitSha],
    base: &CommitSha,
    refs: &[String],
) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let objects = || git.call_at(at.clone(), Touches::Objects);
    let known = objects()
        .args(["for-each-ref", "--format=^%(objectname)"])
        .args(["refs/heads", "refs/remotes", "refs/tags"])
        .args(refs)
        .ok()?;
    let mut revisions: String = wanted.iter().map(|sha| format!("{sha}\n")).collect();
    revisions.push_str(&format!("^{base}\n"));
    revisions.push_str(&String::from_utf8_lossy(&known.stdout));
    let listed = objects()
        .args(["rev-list", "--reverse", "--topo-order", "--ignore-missing"])
        .arg(format!("--max-count={}", MOST_COMMITS + 1))
        .arg("--stdin")
        .stdin(revisions)
        .ok()?;
    let count = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
    if count > MOST_COMMITS {
        return Err(failed(&format!(
            "there are more than {MOST_COMMITS} commits to sign"
        )));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    raw_commits(objects(), listed.stdout)
}

/// Stores a commit with a signature, on top of the signed versions of its parents.
fn store(
    git: &Git,
    at: &Location,
    signer: &Signer,
    raw: &[u8],
    signed: &HashMap<String, CommitSha>,
) -> Result<CommitSha, Problem> {
    let payload = unsigned(raw, signed);
    let signature = signer.sign(git, at, &payload)?;
    git.call_at(at.clone(), Touches::Objects)
        .args(["hash-object", "-t", "commit", "-w", "--stdin"])
        .stdin(with_signature(&payload, &signature))
        .ok()?
        .sha()
}

/// Whether a commit has a signature that is still valid with its parents: drive made it before, or
/// an agent fetched another person's. A forged signature is useless, because no forge accepts it.
fn keeps_signature(raw: &[u8], signed: &HashMap<String, CommitSha>) -> bool {
    let (header, _) = parts(raw);
    let header = String::from_utf8_lossy(header);
    let is_moved = |line: &str| {
        let parent = line.strip_prefix("parent ");
        parent.is_some_and(|parent| signed.contains_key(parent))
    };
    header.lines().any(|line| line.starts_with("gpgsig")) && !header.lines().any(is_moved)
}

/// A commit without the signature that it may claim, on top of the signed versions of its parents.
fn unsigned(raw: &[u8], signed: &HashMap<String, CommitSha>) -> Vec<u8> {
    let (header, message) = parts(raw);
    let mut out = Vec::with_capacity(raw.len());
    let mut is_dropped = false;
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        // A line that begins with a space continues the previous one.
        if !line.starts_with(b" ") {
            is_dropped = line.starts_with(b"gpgsig");
        }
        if is_dropped {
            continue;
        }
        let text = String::from_utf8_lossy(line);
        let parent = text.trim_end().strip_prefix("parent ");
        match parent.and_then(|parent| signed.get(parent)) {
            Some(new) => out.extend_from_slice(format!("parent {new}\n").as_bytes()),
            None => out.extend_from_slice(line),
        }
    }
    out.push(b'\n');
    out.extend_from_slice(message);
    out
}

/// A commit with its signature, which git expects as the last header.
fn with_signature(payload: &[u8], signature: &str) -> Vec<u8> {
    let (header, message) = parts(payload);
    let is_long = header.starts_with(b"tree ")
        && header.iter().position(|byte| *byte == b'\n') == Some("tree ".len() + 64);
    let name = if is_long { "gpgsig-sha256" } else { "gpgsig" };
    let signature = signature.trim_end().replace('\n', "\n ");
    let mut out = header.to_vec();
    out.extend_from_slice(format!("{name} {signature}\n\n").as_bytes());
    out.extend_from_slice(message);
    out
}

/// The signer of the user's git; `None` if it does not sign.
fn signer(git: &Git, at: &Location) -> Result<Option<Signer>, Problem> {
    signer_of(&load_config(git, at)?)
}

fn signer_of(entries: &[config::Entry]) -> Result<Option<Signer>, Problem> {
    if !last(entries, "commit.gpgsign").is_some_and(is_true) {
        return Ok(None);
    }
    let format = match last(entries, "gpg.format") {
        None | Some("openpgp") => Format::OpenPgp,
        Some("ssh") => Format::Ssh,
        Some("x509") => Format::X509,
        Some(other) => return Err(failed(&format!("`gpg.format` is `{other}`"))),
    };
    // A repository may choose the key, but the program only comes from the user's own settings.
    let named = last_trusted(entries, &format!("gpg.{}.program", format.name()));
    let plain = last_trusted(entries, "gpg.program").filter(|_| format == Format::OpenPgp);
    let program = named.or(plain).unwrap_or(format.program()).to_owned();
    let given = |key: &str| last(entries, key).filter(|value| !value.is_empty());
    let key = match (given("user.signingkey"), format) {
        (Some(key), _) => key.to_owned(),
        (None, Format::Ssh) => return Err(failed("`user.signingKey` is not set")),
        (None, Format::OpenPgp | Format::X509) => format!(
            "{} <{}>",
            given("user.name").unwrap_or_default(),
            given("user.email").unwrap_or_default()
        ),
    };
    Ok(Some(Signer {
        format,
        program,
        key,
    }))
}

fn is_true(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(value.as_str(), "true" | "yes" | "on")
        || value.parse::<i64>().is_ok_and(|number| number != 0)
}

impl Signer {
    /// The signature of some bytes, in ASCII armor.
    fn sign(&self, git: &Git, at: &Location, payload: &[u8]) -> Result<String, Problem> {
        let (args, _public) = self.arguments(git, at)?;
        let mut spec = CommandSpec::new(expanded(git, &self.program), &at.dir);
        spec.args = args;
        spec.env = git.signing.clone();
        spec.stdin = Stdin::Bytes(payload.to_vec());
        spec.containment = Containment::Light;
        // A key agent that gpg starts for this call ends with it; the user's own continues.
        spec.leaks = LeakPolicy::Kill;
        spec.orphans = OrphanPolicy::End;
        spec.limits = Limits {
            wall: PATIENCE,
            output_bytes: SIGNATURE_BYTES as u64,
            tail_bytes: 4096,
            ..Limits::default()
        };
        let mut sink = Collect::new(SIGNATURE_BYTES);
        let ran = git
            .runner
            .run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut sink)
            .map_err(|problem| failed(&problem.message))?;
        let signature = String::from_utf8_lossy(&sink.stdout).replace('\r', "");
        let code = match ran.end {
            End::Exited { code } => code,
            End::TimedOut { .. } => {
                let waited = format!("`{}` did not sign within 30 seconds", self.program);
                return Err(failed(&waited));
            }
            End::Aborted
            | End::OutputLimit
            | End::Signalled { .. }
            | End::LeakedProcesses { .. }
            | End::MemoryLimit
            | End::ProcessLimit
            | End::DiskLimit { .. }
            | End::Infra { .. } => -1,
        };
        if code == 0 && signature.starts_with("-----BEGIN ") {
            return Ok(signature);
        }
        let said = String::from_utf8_lossy(&sink.stderr).into_owned();
        Err(failed(&format!(
            "`{}` {}",
            self.program,
            complaint(&said, code)
        )))
    }

    /// The arguments, and a public key file that must exist until the program has ended.
    fn arguments(
        &self,
        git: &Git,
        at: &Location,
    ) -> Result<(Vec<OsString>, Option<PublicKey>), Problem> {
        let texts = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
        match self.format {
            // These are git's own arguments, plus ones that prevent a question for a passphrase.
            Format::OpenPgp => {
                let quiet = ["--batch", "--no-tty", "--pinentry-mode=error"];
                let sign = ["--status-fd=2", "-bsau", &self.key];
                Ok((texts(&[&quiet[..], &sign].concat()), None))
            }
            Format::X509 => Ok((texts(&["--status-fd=2", "-bsau", &self.key]), None)),
            Format::Ssh => {
                let mut args = texts(&["-Y", "sign", "-n", "git", "-f"]);
                let literal = self.key.strip_prefix("key::").unwrap_or(&self.key);
                if literal == self.key && !literal.starts_with("ssh-") {
                    args.push(expanded(git, &self.key));
                    return Ok((args, None));
                }
                let public = PublicKey::write(&at.dir, literal)?;
                args.push(public.0.clone().into_os_string());
                args.push("-U".into());
                Ok((args, Some(public)))
            }
        }
    }
}

/// A file with a public key, for a private key that only a key agent has.
struct PublicKey(PathBuf);

impl PublicKey {
    fn write(folder: &Path, key: &str) -> Result<Self, Problem> {
        let path = folder.join(format!("drive-sign-{:08x}.pub", random_u32()?));
        let content = format!("{key}\n");
        files::replace(&path, content.as_bytes())
            .map_err(|error| failed(&format!("`{}`: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for PublicKey {
    fn drop(&mut self) {
        // A left-over public key is harmless.
        let _ = files::remove_file(&self.0);
    }
}

/// A path from the settings, with `~` replaced by the user's home.
fn expanded(git: &Git, path: &str) -> OsString {
    match (path.strip_prefix("~/"), git.home()) {
        (Some(rest), Some(home)) => home.join(rest).into_os_string(),
        _ => path.into(),
    }
}

/// The last line of a failed program's output, without gpg's status lines.
fn complaint(said: &str, code: i32) -> String {
    let lines = said.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("[GNUPG:]"));
    match lines.next_back() {
        Some(line) => format!("says: {line}"),
        None => format!("failed (exit code {code})"),
    }
}

fn failed(why: &str) -> Problem {
    Problem::new(
        Kind::SigningFailed,
        format!("cannot sign commits: {why}"),
    )
    .hint(
        "make `git commit -S` work without a question (`ssh-add`, or unlock the key in `gpg-agent`), or \
         turn signing off here: `git config commit.gpgSign false`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &[u8] = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
        parent 1111111111111111111111111111111111111111\n\
        author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\
        gpgsig -----BEGIN\n forged\n -----END\n\nSay it\n\ngpgsig in the text\n";

    #[test]
    fn a_signature_goes_with_its_parents_and_the_new_one_ends_the_header() {
        let parent = "1".repeat(40);
        let new = CommitSha::parse(&"2".repeat(40)).unwrap();
        assert!(keeps_signature(COMMIT, &HashMap::new()));
        let moved = HashMap::from([(parent, new)]);
        assert!(!keeps_signature(COMMIT, &moved));
        let payload = unsigned(COMMIT, &moved);
        assert!(!keeps_signature(&payload, &HashMap::new()));
        let text = String::from_utf8(payload.clone()).unwrap();
        let expected = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
            parent 2222222222222222222222222222222222222222\n\
            author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\
            \nSay it\n\ngpgsig in the text\n";
        assert_eq!(text, expected);
        let made = with_signature(&payload, "-----BEGIN\nx\n\n-----END\n");
        let made = String::from_utf8(made).unwrap();
        assert!(
            made.contains("+0000\ngpgsig -----BEGIN\n x\n \n -----END\n\nSay it\n"),
            "{made}"
        );
    }

    #[test]
    fn the_settings_decide_whether_and_how_it_signs() {
        let of = |text: &str| {
            let listing = text.replace('|', "\0").replace('=', "\n");
            signer_of(&config::parse(listing.as_bytes()))
        };
        assert_eq!(of("global|commit.gpgsign=false|"), Ok(None));
        assert_eq!(of("global|gpg.format=ssh|"), Ok(None));
        let ssh = "global|commit.gpgsign=yes|local|gpg.format=ssh|";
        let problem = of(ssh).unwrap_err();
        assert_eq!(problem.kind, Kind::SigningFailed);
        let program = "local|gpg.ssh.program=/evil|local|user.signingkey=~/.ssh/id|";
        let signer = of(&format!("{ssh}{program}")).unwrap().unwrap();
        assert_eq!(
            (signer.program.as_str(), signer.key.as_str()),
            ("ssh-keygen", "~/.ssh/id"),
            "a program that only the repository names is not run"
        );
        let user = "global|user.name=Ann|global|user.email=a@b|global|gpg.program=/my/gpg|";
        let signer = of(&format!("global|commit.gpgsign=true|{user}"));
        let signer = signer.unwrap().unwrap();
        assert_eq!(
            (signer.program.as_str(), signer.key.as_str()),
            ("/my/gpg", "Ann <a@b>")
        );
    }
}
