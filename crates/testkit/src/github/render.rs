//! The REST form of all objects, complete enough for GitHub's own schema.

use super::state::{BEGINNING, LineNote, Note, Pull, Repo, Review, Status, World};
use serde_json::{Map, Value, json};

/// Renders the objects of one repository with the links for one caller.
pub(crate) struct Render<'a> {
    pub(crate) world: &'a World,
    pub(crate) repo: &'a Repo,
    pub(crate) api: &'a str,
    pub(crate) html: &'a str,
}

const USER_LINKS: &[&str] = &[
    "followers",
    "following",
    "gists",
    "starred",
    "subscriptions",
    "organizations",
    "repos",
    "events",
    "received_events",
];

const REPO_LINKS: &[&str] = &[
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
];

/// An account; null for a deleted one.
pub(crate) fn user(world: &World, api: &str, html: &str, login: Option<&str>) -> Value {
    let Some(user) = login.and_then(|login| world.users.get(login)) else {
        return Value::Null;
    };
    let mut out = Map::new();
    for link in USER_LINKS {
        let url = format!("{api}/users/{}/{link}", user.login);
        out.insert(format!("{link}_url"), json!(url));
    }
    let mut out = Value::Object(out);
    out["login"] = json!(user.login);
    out["id"] = json!(user.id);
    out["node_id"] = json!(format!("U_{}", user.id));
    out["avatar_url"] = json!(format!("{html}/{}.png", user.login));
    out["gravatar_id"] = json!("");
    out["url"] = json!(format!("{api}/users/{}", user.login));
    out["html_url"] = json!(format!("{html}/{}", user.login));
    out["type"] = json!(user.kind);
    out["site_admin"] = json!(false);
    out
}

impl Render<'_> {
    pub(crate) fn user(&self, login: &str) -> Value {
        user(self.world, self.api, self.html, Some(login))
    }

    fn api_repo(&self) -> String {
        format!("{}/repos/{}", self.api, self.repo.full_name())
    }

    fn html_repo(&self) -> String {
        format!("{}/{}", self.html, self.repo.full_name())
    }

    pub(crate) fn pull_html(&self, pr: u64) -> String {
        format!("{}/pull/{pr}", self.html_repo())
    }

    pub(crate) fn repository(&self) -> Value {
        let (repo, url, html) = (self.repo, self.api_repo(), self.html_repo());
        let made = BEGINNING;
        let mut out = json!({
            "id": repo.id, "node_id": format!("R_{}", repo.id), "name": repo.name,
            "full_name": repo.full_name(), "owner": self.user(&repo.owner), "private": false,
            "html_url": html, "description": null, "fork": false, "url": url,
            "clone_url": format!("{html}.git"), "git_url": format!("{html}.git"),
            "ssh_url": format!("git@github.localhost:{}.git", repo.full_name()),
            "svn_url": html, "default_branch": repo.default_branch, "homepage": null,
            "language": null, "license": null, "mirror_url": null, "archived": repo.archived,
            "disabled": false, "has_downloads": true, "has_issues": true, "has_projects": false,
            "has_wiki": false, "has_pages": false, "has_discussions": false,
            "created_at": made, "updated_at": made, "pushed_at": made,
        });
        let counts = [
            "forks",
            "forks_count",
            "open_issues",
            "open_issues_count",
            "size",
            "stargazers_count",
            "watchers",
            "watchers_count",
            "network_count",
            "subscribers_count",
        ];
        for count in counts {
            out[count] = json!(0);
        }
        for link in REPO_LINKS {
            out[format!("{link}_url")] = json!(format!("{url}/{link}"));
        }
        out
    }

    /// A pull request in the short form of lists.
    pub(crate) fn pull_simple(&self, pull: &Pull) -> Value {
        let api = format!("{}/pulls/{}", self.api_repo(), pull.number);
        let issue = format!("{}/issues/{}", self.api_repo(), pull.number);
        let html = self.pull_html(pull.number);
        let statuses = format!("{}/statuses/{}", self.api_repo(), pull.head_sha);
        let link = |href: &str| json!({ "href": href });
        let side = |branch: &str, sha: &str| {
            json!({
                "label": format!("{}:{branch}", self.repo.owner), "ref": branch, "sha": sha,
                "user": self.user(&self.repo.owner), "repo": self.repository(),
            })
        };
        json!({
            "id": pull.id, "node_id": format!("PR_{}", pull.id), "number": pull.number,
            "state": pull.rest_state(), "locked": false, "title": pull.title, "body": pull.body,
            "user": self.user(&pull.author), "draft": pull.draft,
            "created_at": pull.created_at.to_string(), "updated_at": pull.updated_at.to_string(),
            "closed_at": pull.closed_at.map(|at| at.to_string()),
            "merged_at": pull.merged.as_ref().map(|m| m.at.to_string()),
            "merge_commit_sha": pull.merged.as_ref().map(|m| m.sha.clone()),
            "assignee": null, "assignees": [], "requested_reviewers": [], "requested_teams": [],
            "labels": pull.labels.iter().map(|name| self.label(name)).collect::<Vec<_>>(),
            "milestone": null, "author_association": self.association(&pull.author),
            "auto_merge": null, "active_lock_reason": null,
            "head": side(&pull.branch, &pull.head_sha), "base": side(&pull.base, &pull.base_sha),
            "url": api, "html_url": html, "issue_url": issue, "statuses_url": statuses,
            "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
            "commits_url": format!("{api}/commits"), "comments_url": format!("{issue}/comments"),
            "review_comments_url": format!("{api}/comments"),
            "review_comment_url": format!("{}/pulls/comments{{/number}}", self.api_repo()),
            "_links": {
                "self": link(&api), "html": link(&html), "issue": link(&issue),
                "comments": link(&format!("{issue}/comments")),
                "review_comments": link(&format!("{api}/comments")),
                "review_comment": link(&format!("{}/pulls/comments", self.api_repo())),
                "commits": link(&format!("{api}/commits")), "statuses": link(&statuses),
            },
        })
    }

    /// A pull request in its full form.
    pub(crate) fn pull(&self, pull: &Pull) -> Value {
        let mut out = self.pull_simple(pull);
        let known = pull.mergeable.as_ref().filter(|(head, base, _)| {
            *head == pull.head_sha && *base == pull.base_sha && pull.closed_at.is_none()
        });
        let mergeable = known.map(|(_, _, clean)| *clean);
        let count = |n: usize| json!(n);
        out["mergeable"] = json!(mergeable);
        out["mergeable_state"] = json!(match mergeable {
            Some(true) => "clean",
            Some(false) => "dirty",
            None => "unknown",
        });
        out["merged"] = json!(pull.merged.is_some());
        out["merged_by"] = match &pull.merged {
            Some(merged) => self.user(&merged.by),
            None => Value::Null,
        };
        out["commits"] = count(pull.commits.len());
        out["comments"] = count(of(&self.repo.notes, |n| n.pr == pull.number));
        out["review_comments"] = count(of(&self.repo.line_notes, |n| n.note.pr == pull.number));
        out["additions"] = json!(0);
        out["deletions"] = json!(0);
        out["changed_files"] = json!(1);
        out["maintainer_can_modify"] = json!(true);
        out
    }

    pub(crate) fn note(&self, note: &Note) -> Value {
        json!({
            "id": note.id, "node_id": format!("IC_{}", note.id), "body": note.body,
            "user": user(self.world, self.api, self.html, note.author.as_deref()),
            "created_at": note.created_at.to_string(), "updated_at": note.updated_at.to_string(),
            "url": format!("{}/issues/comments/{}", self.api_repo(), note.id),
            "issue_url": format!("{}/issues/{}", self.api_repo(), note.pr),
            "html_url": self.note_html(note),
            "author_association": self.association(note.author.as_deref().unwrap_or("ghost")),
        })
    }

    pub(crate) fn note_html(&self, note: &Note) -> String {
        format!("{}#issuecomment-{}", self.pull_html(note.pr), note.id)
    }

    pub(crate) fn line_note(&self, line: &LineNote) -> Value {
        let note = &line.note;
        let api = format!("{}/pulls/comments/{}", self.api_repo(), note.id);
        let pull = format!("{}/pulls/{}", self.api_repo(), note.pr);
        let html = format!("{}#discussion_r{}", self.pull_html(note.pr), note.id);
        let mut out = json!({
            "id": note.id, "node_id": format!("PRRC_{}", note.id), "body": note.body,
            "user": user(self.world, self.api, self.html, note.author.as_deref()),
            "created_at": note.created_at.to_string(), "updated_at": note.updated_at.to_string(),
            "pull_request_review_id": line.review, "path": line.path, "side": "RIGHT",
            "diff_hunk": line.hunk, "position": line.line, "line": line.line,
            "original_position": line.original_line, "original_line": line.original_line,
            "commit_id": line.commit, "original_commit_id": line.original_commit,
            "start_line": line.line.and(line.original_start),
            "original_start_line": line.original_start,
            "start_side": line.original_start.map(|_| "RIGHT"),
            "subject_type": "line", "url": api, "html_url": html, "pull_request_url": pull,
            "author_association": self.association(note.author.as_deref().unwrap_or("ghost")),
            "_links": {
                "self": {"href": api}, "html": {"href": html}, "pull_request": {"href": pull},
            },
        });
        if let Some(first) = line.in_reply_to {
            out["in_reply_to_id"] = json!(first);
        }
        out
    }

    pub(crate) fn review(&self, review: &Review) -> Value {
        let note = &review.note;
        let pull = format!("{}/pulls/{}", self.api_repo(), note.pr);
        let html = format!("{}#pullrequestreview-{}", self.pull_html(note.pr), note.id);
        json!({
            "id": note.id, "node_id": format!("PRR_{}", note.id), "body": note.body,
            "user": user(self.world, self.api, self.html, note.author.as_deref()),
            "state": review.state, "commit_id": review.commit,
            "submitted_at": note.created_at.to_string(),
            "html_url": html, "pull_request_url": pull,
            "author_association": self.association(note.author.as_deref().unwrap_or("ghost")),
            "_links": {"html": {"href": html}, "pull_request": {"href": pull}},
        })
    }

    pub(crate) fn status(&self, status: &Status) -> Value {
        json!({
            "id": status.id, "node_id": format!("SC_{}", status.id), "state": status.state,
            "context": status.context, "description": status.description,
            "target_url": status.target_url, "avatar_url": null,
            "url": format!("{}/statuses/{}", self.api_repo(), status.sha),
            "created_at": status.at.to_string(), "updated_at": status.at.to_string(),
            "creator": self.user(&status.by),
        })
    }

    pub(crate) fn label(&self, name: &str) -> Value {
        let id = self.repo.labels.get(name).copied().unwrap_or(0);
        json!({
            "id": id, "node_id": format!("L_{id}"), "name": name, "description": "",
            "color": "ededed", "default": false,
            "url": format!("{}/labels/{name}", self.api_repo()),
        })
    }

    pub(crate) fn association(&self, login: &str) -> &'static str {
        match self.repo.permissions.get(login).copied() {
            Some("admin") => "OWNER",
            Some(_) => "COLLABORATOR",
            None => "NONE",
        }
    }
}

fn of<T>(map: &std::collections::BTreeMap<u64, T>, keep: impl Fn(&T) -> bool) -> usize {
    map.values().filter(|value| keep(value)).count()
}
