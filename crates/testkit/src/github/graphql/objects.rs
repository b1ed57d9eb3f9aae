//! The GraphQL form of all objects.

use super::super::render::Render;
use super::super::state::{Note, Pull, Repo};
use super::Execution;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn connected(nodes: Vec<Value>) -> Value {
    json!({ "__connection": nodes })
}

impl Execution<'_> {
    fn render<'a>(&'a self, repo: &'a Repo) -> Render<'a> {
        Render {
            world: self.world,
            repo,
            api: &self.request.api,
            html: &self.request.html,
        }
    }

    /// An account. GitHub's GraphQL omits the `[bot]` that its REST API shows.
    pub(super) fn actor(&self, login: Option<&str>) -> Value {
        let Some(user) = login.and_then(|login| self.world.users.get(login)) else {
            return Value::Null;
        };
        json!({
            "__typename": user.kind, "id": format!("U_{}", user.id), "databaseId": user.id,
            "login": user.login.trim_end_matches("[bot]"), "name": user.login,
        })
    }

    pub(super) fn repository(&self, full_name: &str) -> Value {
        let Some(repo) = self.world.repos.get(full_name) else {
            return Value::Null;
        };
        let permission = match repo.permissions.get(self.viewer).copied() {
            Some("admin") => "ADMIN",
            Some("write") => "WRITE",
            Some(_) | None => "READ",
        };
        let labels = repo.labels.iter().map(|(name, id)| label(name, *id));
        json!({
            "__typename": "Repository", "id": format!("R_{}", repo.id), "databaseId": repo.id,
            "name": repo.name, "nameWithOwner": full_name, "owner": self.actor(Some(&repo.owner)),
            "description": null, "hasIssuesEnabled": true, "hasWikiEnabled": false,
            "viewerPermission": permission, "parent": null, "mergeCommitAllowed": true,
            "rebaseMergeAllowed": true, "squashMergeAllowed": true,
            "sshUrl": format!("git@github.localhost:{full_name}.git"),
            "url": format!("{}/{full_name}", self.request.html),
            "defaultBranchRef": {"__typename": "Ref", "name": repo.default_branch},
            "labels": connected(labels.collect()),
        })
    }

    /// The fields of a repository that take arguments.
    pub(super) fn of_repository(
        &self,
        full_name: &str,
        field: &str,
        arguments: &Value,
    ) -> Result<Value, String> {
        let repo = self
            .world
            .repos
            .get(full_name)
            .ok_or("no such repository")?;
        match field {
            "pullRequest" => {
                let number = arguments["number"].as_u64().unwrap_or(0);
                let pull = repo.pulls.get(&number).ok_or_else(|| {
                    format!("Could not resolve to a PullRequest with the number of {number}.")
                })?;
                Ok(self.pull(repo, pull))
            }
            "label" => {
                let name = arguments["name"].as_str().unwrap_or_default();
                let id = repo.labels.get(name);
                Ok(id.map_or(Value::Null, |id| label(name, *id)))
            }
            _ => {
                let wanted = |field: &str, value: &str| {
                    arguments[field].as_str().is_none_or(|word| word == value)
                };
                let states = match &arguments["states"] {
                    Value::Array(words) => Some(words.clone()),
                    Value::String(word) => Some(vec![json!(word)]),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
                };
                let pulls = repo.pulls.values().rev().filter(|pull| {
                    wanted("headRefName", &pull.branch)
                        && wanted("baseRefName", &pull.base)
                        && states
                            .as_ref()
                            .is_none_or(|states| states.contains(&json!(pull.graphql_state())))
                });
                let nodes: Vec<Value> = pulls.map(|pull| self.pull(repo, pull)).collect();
                super::connection(&nodes, arguments)
            }
        }
    }

    pub(super) fn pull(&self, repo: &Repo, pull: &Pull) -> Value {
        let render = self.render(repo);
        let clean = repo
            .git
            .merged_tree(&pull.base_sha, &pull.head_sha)
            .is_some();
        let mergeable = match (pull.closed_at, clean) {
            (Some(_), _) => "UNKNOWN",
            (None, true) => "MERGEABLE",
            (None, false) => "CONFLICTING",
        };
        let labels = pull.labels.iter();
        let labels = labels.map(|name| label(name, repo.labels.get(name).copied().unwrap_or(0)));
        let instant = |at: Option<jiff::Timestamp>| at.map(|at| at.to_string());
        let mut value = json!({
            "__typename": "PullRequest", "id": format!("PR_{}", pull.id), "databaseId": pull.id,
            "number": pull.number, "title": pull.title, "body": pull.body,
            "url": render.pull_html(pull.number), "state": pull.graphql_state(),
            "isDraft": pull.draft, "closed": pull.closed_at.is_some(),
            "closedAt": instant(pull.closed_at), "merged": pull.merged.is_some(),
            "mergedAt": instant(pull.merged.as_ref().map(|m| m.at)),
            "mergedBy": self.actor(pull.merged.as_ref().map(|m| m.by.as_str())),
            "createdAt": pull.created_at.to_string(), "updatedAt": pull.updated_at.to_string(),
            "author": self.actor(Some(&pull.author)), "baseRefName": pull.base,
            "headRefName": pull.branch, "headRefOid": pull.head_sha, "baseRefOid": pull.base_sha,
            "headRepositoryOwner": self.actor(Some(&repo.owner)),
            "headRepository": self.repository(&repo.full_name()), "isCrossRepository": false,
            "maintainerCanModify": true, "mergeable": mergeable,
            "mergeStateStatus": if clean { "CLEAN" } else { "DIRTY" },
        });
        let more = json!({
            "isInMergeQueue": self.world.is_queued(&repo.full_name(), pull),
            "isMergeQueueEnabled": repo.landing.merge_queue, "autoMergeRequest": null,
            "reviewDecision": self.decision(repo, pull), "additions": 0, "deletions": 0,
            "changedFiles": 1, "milestone": null, "reactionGroups": [],
            "commits": connected(self.commits(repo, pull)), "labels": connected(labels.collect()),
            "assignees": connected(Vec::new()), "reviewRequests": connected(Vec::new()),
            "assignedActors": connected(Vec::new()), "projectCards": connected(Vec::new()),
            "projectItems": connected(Vec::new()),
            "comments": connected(self.comments(repo, pull)),
            "reviews": connected(self.reviews(repo, pull)),
            "reviewThreads": connected(self.threads(repo, pull)),
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }

    fn note(&self, repo: &Repo, note: &Note, kind: &str, prefix: &str, url: String) -> Value {
        let login = note.author.as_deref();
        json!({
            "__typename": kind, "id": format!("{prefix}_{}", note.id), "databaseId": note.id,
            "body": note.body, "author": self.actor(login), "url": url,
            "authorAssociation": self.render(repo).association(login.unwrap_or("ghost")),
            "createdAt": note.created_at.to_string(), "updatedAt": note.updated_at.to_string(),
            "includesCreatedEdit": false, "isMinimized": repo.minimized.contains(&note.id),
            "minimizedReason": "",
            "reactionGroups": reaction_groups(note), "viewerDidAuthor": login == Some(self.viewer),
        })
    }

    fn comments(&self, repo: &Repo, pull: &Pull) -> Vec<Value> {
        let notes = repo.notes.values().filter(|note| note.pr == pull.number);
        notes
            .map(|note| {
                let url = self.render(repo).note_html(note);
                self.note(repo, note, "IssueComment", "IC", url)
            })
            .collect()
    }

    fn reviews(&self, repo: &Repo, pull: &Pull) -> Vec<Value> {
        let reviews = repo.reviews.values();
        let is_shown = |id| self.world.shows(id);
        let reviews = reviews
            .filter(|review| review.note.pr == pull.number && is_shown(review.note.id))
            .collect();
        let reviews: Vec<_> = self.world.in_todays_order(reviews);
        reviews
            .into_iter()
            .map(|review| {
                let html = self.render(repo).pull_html(pull.number);
                let url = format!("{html}#pullrequestreview-{}", review.note.id);
                let mut value = self.note(repo, &review.note, "PullRequestReview", "PRR", url);
                value["state"] = json!(review.state);
                value["submittedAt"] = json!(review.note.created_at.to_string());
                value["commit"] = json!({"__typename": "Commit", "oid": review.commit});
                value
            })
            .collect()
    }

    fn threads(&self, repo: &Repo, pull: &Pull) -> Vec<Value> {
        let mut threads: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for line in repo.line_notes.values() {
            if line.note.pr == pull.number {
                let comment = json!({
                    "__typename": "PullRequestReviewComment", "databaseId": line.note.id,
                    "id": format!("PRRC_{}", line.note.id), "body": line.note.body,
                    "isMinimized": repo.minimized.contains(&line.note.id),
                });
                let first = line.in_reply_to.unwrap_or(line.note.id);
                threads.entry(first).or_default().push(comment);
            }
        }
        threads
            .into_iter()
            .map(|(first, comments)| {
                json!({
                    "__typename": "PullRequestReviewThread", "id": format!("PRRT_{first}"),
                    "isResolved": repo.resolved.contains(&first),
                    "comments": connected(comments),
                })
            })
            .collect()
    }

    fn commits(&self, repo: &Repo, pull: &Pull) -> Vec<Value> {
        let commit = |sha: &String| {
            let contexts = repo.statuses.iter().filter(|status| status.sha == *sha);
            let contexts: Vec<Value> = contexts
                .map(|status| {
                    json!({
                        "__typename": "StatusContext", "context": status.context,
                        "state": status.state.to_uppercase(), "targetUrl": status.target_url,
                        "createdAt": status.at.to_string(), "description": status.description,
                        "isRequired": false,
                    })
                })
                .collect();
            let rollup = if contexts.is_empty() {
                Value::Null
            } else {
                json!({"__typename": "StatusCheckRollup", "contexts": connected(contexts)})
            };
            let commit = json!({"__typename": "Commit", "oid": sha, "statusCheckRollup": rollup});
            json!({"__typename": "PullRequestCommit", "commit": commit})
        };
        pull.commits.iter().map(commit).collect()
    }

    fn decision(&self, repo: &Repo, pull: &Pull) -> Value {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for review in repo.reviews.values().filter(|r| r.note.pr == pull.number) {
            if review.state != "COMMENTED" {
                last.insert(review.note.author.as_deref().unwrap_or(""), review.state);
            }
        }
        let any = |word: &str| last.values().any(|state| *state == word);
        if any("CHANGES_REQUESTED") {
            json!("CHANGES_REQUESTED")
        } else if any("APPROVED") {
            json!("APPROVED")
        } else {
            Value::Null
        }
    }

    /// Describes a type for `gh`, which reads it to decide which fields to request. Only pull
    /// requests are described.
    pub(super) fn type_named(&self, name: &str) -> Value {
        let mut repos = self.world.repos.values();
        let known = repos.find_map(|repo| Some(self.pull(repo, repo.pulls.values().next()?)));
        let known = known.filter(|_| name == "PullRequest").unwrap_or_default();
        let names = known
            .as_object()
            .into_iter()
            .flat_map(|object| object.keys());
        let fields: Vec<Value> = names
            .map(|name| json!({"__typename": "__Field", "name": name}))
            .collect();
        json!({"__typename": "__Type", "name": name, "fields": fields})
    }

    /// Any object by its global id.
    pub(super) fn node(&self, id: &str) -> Result<Value, String> {
        let found = self.world.repos.values().find_map(|repo| {
            let pull = repo.pulls.values().find(|p| format!("PR_{}", p.id) == id)?;
            Some(self.pull(repo, pull))
        });
        found.ok_or_else(|| format!("Could not resolve to a node with the global id of '{id}'"))
    }
}

fn label(name: &str, id: u64) -> Value {
    json!({
        "__typename": "Label", "id": format!("L_{id}"), "name": name, "description": "",
        "color": "ededed",
    })
}

/// Reactions in REST and in GraphQL.
pub(super) const REACTIONS: &[(&str, &str)] = &[
    ("+1", "THUMBS_UP"),
    ("-1", "THUMBS_DOWN"),
    ("confused", "CONFUSED"),
    ("eyes", "EYES"),
];

fn reaction_groups(note: &Note) -> Value {
    let groups = REACTIONS.iter().map(|(rest, graphql)| {
        let count = note.reactions.iter().filter(|(c, _)| c == rest).count();
        json!({
            "__typename": "ReactionGroup", "content": graphql,
            "users": {"__typename": "ReactingUserConnection", "totalCount": count},
        })
    });
    groups.collect()
}
