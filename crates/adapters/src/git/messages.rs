//! Makes the commit messages of an agent inert, before its commits leave the sandbox.

use super::sandbox::{head_of, own_tip, theirs_of};
use super::{Call, Git, Location, Touches};
use drive_core::forge::inert::{Said, plain};
use drive_core::ids::CommitSha;
use drive_core::problem::Problem;
use drive_core::sandbox::Sandbox;
use std::collections::HashMap;

/// Rewrites new commits of a sandbox whose messages would act on the forge, and those that build on
/// them: same files, same author, same dates. Commits that the user's repository has are nobody's to
/// rewrite. Returns how many messages changed.
pub(super) fn make_inert(
    git: &Git,
    sandbox: &Sandbox,
    base: &CommitSha,
    said: &Said,
) -> Result<usize, Problem> {
    let inside = Location::inside(&sandbox.path, &sandbox.git_dir);
    let mut refs = vec!["HEAD".to_owned()];
    refs.extend(sandbox.branch.as_ref().map(|branch| branch.full()));
    let mut tips = Vec::new();
    for name in refs {
        let call = objects(git, &inside);
        let found = call
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"))
            .run()?;
        // One that is broken is put right, or refused, where the work is collected.
        let sha = CommitSha::parse(&found.line()).filter(|_| found.code == 0);
        tips.extend(sha.map(|sha| (name, sha)));
    }
    if tips.is_empty() {
        return Ok(0);
    }
    let known = git
        .call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
        .args(["for-each-ref", "--format=^%(objectname)"])
        .args(["refs/heads", "refs/remotes", "refs/tags"])
        .args([head_of(&sandbox.id), theirs_of(&sandbox.id)])
        .ok()?;
    let mut revisions: String = tips.iter().map(|(_, sha)| format!("{sha}\n")).collect();
    revisions.push_str(&format!("^{base}\n^{}\n", sandbox.base_sha));
    revisions.push_str(&String::from_utf8_lossy(&known.stdout));
    let listed = objects(git, &inside)
        .args(["log", "-z", "--reverse", "--topo-order", "--ignore-missing"])
        .args(["--no-show-signature", "--no-notes", "--stdin"])
        .arg("--format=%H%x20%P%x0a%B")
        .stdin(revisions)
        .ok()?;
    let mut rewritten: HashMap<String, CommitSha> = HashMap::new();
    let mut changed = 0;
    for field in listed.fields() {
        let text = String::from_utf8_lossy(field);
        let (ids, message) = text.split_once('\n').unwrap_or((&text, ""));
        let mut ids = ids.split(' ');
        let own = ids.next().unwrap_or_default();
        let is_active = plain(message, said) != message;
        if is_active || ids.any(|parent| rewritten.contains_key(parent)) {
            let raw = objects(git, &inside)
                .args(["cat-file", "commit", own])
                .ok()?;
            let commit = rebuilt(&raw.stdout, &rewritten, is_active.then_some(said));
            let made = objects(git, &inside)
                .args(["hash-object", "-t", "commit", "-w", "--stdin"])
                .stdin(commit)
                .ok()?
                .sha()?;
            rewritten.insert(own.to_owned(), made);
            changed += usize::from(is_active);
        }
    }
    for (name, old) in tips {
        if let Some(new) = rewritten.get(old.as_str())
            && current(git, &inside, sandbox, &name)?.as_ref() != Some(new)
        {
            objects(git, &inside)
                .args(["update-ref", &name, new, &old])
                .ok()?;
        }
    }
    Ok(changed)
}

/// Where the sandbox's branch is by now: it moves with a `HEAD` that names it.
fn current(
    git: &Git,
    inside: &Location,
    sandbox: &Sandbox,
    name: &str,
) -> Result<Option<CommitSha>, Problem> {
    match &sandbox.branch {
        Some(branch) if branch.full() == name => own_tip(git, inside, branch),
        Some(_) | None => Ok(None),
    }
}

/// What the sandbox says about its own history is not believed.
fn objects<'a>(git: &'a Git, inside: &Location) -> Call<'a> {
    git.call_at(inside.clone(), Touches::Objects)
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .config("core.commitGraph", "false")
}

/// A commit with other parents and, where `said` is given, an inert message. A signature would not
/// hold any more.
fn rebuilt(raw: &[u8], rewritten: &HashMap<String, CommitSha>, said: Option<&Said>) -> Vec<u8> {
    let end = raw.windows(2).position(|pair| pair == b"\n\n");
    let (header, message) = raw.split_at(end.map_or(raw.len(), |end| end + 1));
    let mut out = Vec::with_capacity(raw.len() + 64);
    let mut is_dropped = false;
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        // A line that begins with a space goes on with the one before.
        if !line.starts_with(b" ") {
            is_dropped =
                line.starts_with(b"gpgsig") || (said.is_some() && line.starts_with(b"encoding "));
        }
        if is_dropped {
            continue;
        }
        let text = String::from_utf8_lossy(line);
        let parent = text.trim_end().strip_prefix("parent ");
        match parent.and_then(|parent| rewritten.get(parent)) {
            Some(new) => out.extend_from_slice(format!("parent {new}\n").as_bytes()),
            None => out.extend_from_slice(line),
        }
    }
    match said {
        Some(said) => {
            out.extend_from_slice(plain(&String::from_utf8_lossy(message), said).as_bytes())
        }
        None => out.extend_from_slice(message),
    }
    out
}
