//! Makes an agent's commit messages inert before its commits leave the sandbox.

use super::raw_commits::{parts, raw_commits};
use super::sandbox::{head_of, own_tip, theirs_of};
use super::unpublished::MOST_COMMITS;
use super::{Call, Git, Location, Touches, remote};
use drive_core::forge::inert::{Said, plain};
use drive_core::ids::{CommitSha, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::Sandbox;
use std::collections::HashMap;

/// The longest message that is checked, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;

/// A sandbox whose new commits are checked.
pub(crate) struct Judged<'a> {
    pub(crate) git: &'a Git,
    pub(crate) sandbox: &'a Sandbox,
    /// The current location of its repository.
    pub(crate) inside: &'a Location,
    /// The commit where its work begins.
    pub(crate) base: &'a CommitSha,
    /// The texts that its task allows.
    pub(crate) said: &'a Said,
    /// The remote that may have commits which an agent fetched.
    pub(crate) remote: Option<&'a RemoteName>,
}

/// A commit of an agent.
struct Written {
    sha: String,
    raw: Vec<u8>,
    /// The inert replacement of its message, if the message is not inert.
    inert: Option<String>,
}

impl Judged<'_> {
    /// Rewrites new commits whose messages would act on the forge, and those that build on them,
    /// with the same files, authors and dates. Commits that the user's repository or the remote has
    /// are never rewritten. Returns how many messages changed.
    pub(crate) fn make_inert(&self) -> Result<usize, Problem> {
        let tips = self.tips()?;
        let mut commits = self.written(&tips)?;
        let acts = |commits: &[Written]| commits.iter().any(|commit| commit.inert.is_some());
        if let Some(remote) = self.remote
            && acts(&commits)
        {
            // The sandbox's own refs of the remote are not trusted.
            remote::fetch(self.git, &Location::bare(&self.sandbox.git_dir), remote)?;
            commits = self.written(&tips)?;
        }
        if !acts(&commits) {
            return Ok(0);
        }
        let mut rewritten: HashMap<String, CommitSha> = HashMap::new();
        let mut changed = 0;
        for commit in &commits {
            let Some(new) = commit.rebuilt(&rewritten) else {
                continue;
            };
            let made = self
                .objects()
                .args(["hash-object", "-t", "commit", "-w", "--stdin"])
                .stdin(new)
                .ok()?
                .sha()?;
            rewritten.insert(commit.sha.clone(), made);
            changed += usize::from(commit.inert.is_some());
        }
        for (name, old) in tips {
            if let Some(new) = rewritten.get(old.as_str())
                && self.current(&name)?.as_ref() != Some(new)
            {
                self.objects().args(["update-ref", &name, new, &old]).ok()?;
            }
        }
        Ok(changed)
    }

    /// The head and the branch, with their commits.
    fn tips(&self) -> Result<Vec<(String, CommitSha)>, Problem> {
        let mut refs = vec!["HEAD".to_owned()];
        refs.extend(self.sandbox.branch.as_ref().map(|branch| branch.full()));
        let mut tips = Vec::new();
        for name in refs {
            let found = self
                .objects()
                .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
                .arg(format!("{name}^{{commit}}"))
                .run()?;
            // A broken ref is repaired or refused when the work is collected.
            let sha = CommitSha::parse(&found.line()).filter(|_| found.code == 0);
            tips.extend(sha.map(|sha| (name, sha)));
        }
        Ok(tips)
    }

    /// The commits that only the sandbox has, parents first.
    fn written(&self, tips: &[(String, CommitSha)]) -> Result<Vec<Written>, Problem> {
        let sandbox = self.sandbox;
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let known = self
            .git
            .call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
            .args(["for-each-ref", "--format=^%(objectname)"])
            .args(["refs/heads", "refs/remotes", "refs/tags"])
            .args([head_of(&sandbox.id), theirs_of(&sandbox.id)])
            .ok()?;
        let mut revisions: String = tips.iter().map(|(_, sha)| format!("{sha}\n")).collect();
        revisions.push_str(&format!("^{}\n^{}\n", self.base, sandbox.base_sha));
        revisions.push_str(&String::from_utf8_lossy(&known.stdout));
        let listed = self
            .objects()
            .args(["log", "-z", "--reverse", "--topo-order", "--ignore-missing"])
            .args(["--no-show-signature", "--no-notes", "--encoding=UTF-8"])
            .arg(format!("--max-count={}", MOST_COMMITS + 1))
            .args(["--stdin", "--format=%H%x0a%B"])
            .stdin(revisions)
            .ok()?;
        let shown: Vec<_> = listed.fields().map(String::from_utf8_lossy).collect();
        let shown = shown.iter().map(|text| text.split_once('\n'));
        let shown: Vec<(&str, &str)> = shown.map(Option::unwrap_or_default).collect();
        if shown.len() > MOST_COMMITS {
            return Err(refused(&format!("there are more than {MOST_COMMITS}")));
        }
        let names: String = shown.iter().map(|(sha, _)| format!("{sha}\n")).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let raw = raw_commits(self.objects(), names)?;
        let each = raw.into_iter().zip(shown);
        each.map(|((sha, raw), (_, message))| self.judged(sha, raw, message))
            .collect()
    }

    /// A commit with the inert form of its message, if that is needed. A forge may read the text
    /// that git decoded, or the bytes.
    fn judged(&self, sha: String, raw: Vec<u8>, message: &str) -> Result<Written, Problem> {
        let (_, bytes) = parts(&raw);
        if bytes.len() > MESSAGE_BYTES {
            return Err(refused(&format!("the message of {sha} is over 1 MB")));
        }
        let stored = String::from_utf8_lossy(bytes);
        let is_decoded = !message.trim().is_empty();
        let text = if is_decoded { message } else { &*stored };
        let inert = plain(text, self.said);
        let acts = inert != text || plain(&stored, self.said) != stored;
        let inert = acts.then_some(inert);
        Ok(Written { sha, raw, inert })
    }

    /// The current commit of the sandbox's branch, which moves with a `HEAD` that names it.
    fn current(&self, name: &str) -> Result<Option<CommitSha>, Problem> {
        match &self.sandbox.branch {
            Some(branch) if branch.full() == name => own_tip(self.git, self.inside, branch),
            Some(_) | None => Ok(None),
        }
    }

    /// A call in which the sandbox's own claims about its history are ignored.
    fn objects(&self) -> Call<'_> {
        self.git
            .call_at(self.inside.clone(), Touches::Objects)
            .config("core.commitGraph", "false")
    }
}

impl Written {
    /// The commit with other parents and an inert message, in UTF-8; `None` if it stays unchanged.
    /// A signature is dropped, because it would be invalid.
    fn rebuilt(&self, rewritten: &HashMap<String, CommitSha>) -> Option<Vec<u8>> {
        let (header, message) = parts(&self.raw);
        let mut out = Vec::with_capacity(self.raw.len() + 64);
        let (mut is_dropped, mut is_changed) = (false, self.inert.is_some());
        for line in header.split_inclusive(|byte| *byte == b'\n') {
            // A line that begins with a space continues the previous one.
            if !line.starts_with(b" ") {
                is_dropped = line.starts_with(b"gpgsig")
                    || (self.inert.is_some() && line.starts_with(b"encoding "));
            }
            if is_dropped {
                continue;
            }
            let text = String::from_utf8_lossy(line);
            let parent = text.trim_end().strip_prefix("parent ");
            match parent.and_then(|parent| rewritten.get(parent)) {
                Some(new) => {
                    out.extend_from_slice(format!("parent {new}\n").as_bytes());
                    is_changed = true;
                }
                None => out.extend_from_slice(line),
            }
        }
        out.push(b'\n');
        let inert = self.inert.as_ref();
        out.extend_from_slice(inert.map_or(message, |inert| inert.as_bytes()));
        is_changed.then_some(out)
    }
}

fn refused(why: &str) -> Problem {
    Problem::new(
        Kind::WorkRefused,
        format!("the sandbox's commits are refused: {why}"),
    )
    .hint("its files are saved: `drive kept list`")
}
