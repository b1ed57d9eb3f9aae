//! Repositories, people, refs, statuses and hooks.

use super::super::http::{Answer, Refusal};
use super::super::state::Hook;
use super::super::state::Status;
use super::super::{render, state};
use super::checks::listed;
use super::{Call, Outcome, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn viewer(call: &mut Call<'_>) -> Outcome {
    let request = call.request;
    let mut user = render::user(call.world, &request.api, &request.html, Some(call.viewer));
    for name in [
        "name", "company", "blog", "location", "email", "hireable", "bio",
    ] {
        user[name] = Value::Null;
    }
    user["blog"] = json!("");
    for name in ["public_repos", "public_gists", "followers", "following"] {
        user[name] = json!(0);
    }
    user["created_at"] = json!(state::BEGINNING);
    user["updated_at"] = json!(state::BEGINNING);
    Ok(Answer::json(200, &user))
}

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let mut repository = render.repository();
    let role = render.repo.permissions.get(call.viewer).copied();
    // GitHub reports no account role to an app.
    let role = role.filter(|_| !call.is_app);
    let at_least = |roles: &[&str]| role.is_some_and(|role| roles.contains(&role));
    let may_push = at_least(&["admin", "maintain", "write"]);
    repository["permissions"] = json!({
        "admin": at_least(&["admin"]), "maintain": at_least(&["admin", "maintain"]),
        "push": may_push,
        "triage": at_least(&["admin", "maintain", "write", "triage"]), "pull": !call.is_app,
    });
    repository["allow_forking"] = json!(true);
    // GitHub shows these only to accounts that may push.
    if may_push {
        let methods = &render.repo.landing.methods;
        for (field, method) in [
            ("allow_merge_commit", "merge"),
            ("allow_squash_merge", "squash"),
            ("allow_rebase_merge", "rebase"),
        ] {
            repository[field] = json!(methods.contains(method));
        }
    }
    Ok(Answer::json(200, &repository))
}

pub(super) fn get_ref(call: &mut Call<'_>) -> Outcome {
    let name = call.param("ref").to_owned();
    let repo = call.world.repo(&call.repo_name())?;
    let sha = name
        .strip_prefix("heads/")
        .and_then(|b| repo.branches.get(b));
    let sha = sha.ok_or_else(Refusal::not_found)?;
    let url = format!("{}/repos/{}/git", call.request.api, repo.full_name());
    Ok(Answer::json(
        200,
        &json!({
            "ref": format!("refs/{name}"), "node_id": format!("REF_{name}"),
            "url": format!("{url}/refs/{name}"),
            "object": {"type": "commit", "sha": sha, "url": format!("{url}/commits/{sha}")},
        }),
    ))
}

pub(super) fn delete_ref(call: &mut Call<'_>) -> Outcome {
    let (repo, name) = (call.repo_name(), call.param("ref").to_owned());
    let branch = name.strip_prefix("heads/").unwrap_or_default();
    if !call.world.repo(&repo)?.branches.contains_key(branch) {
        return Err(Refusal::new(422, "Reference does not exist"));
    }
    call.world.repo(&repo)?.git.delete_branch(branch);
    call.world.refresh_branches(&repo);
    Ok(Answer::empty(204))
}

pub(super) fn permission(call: &mut Call<'_>) -> Outcome {
    let login = call.param("username").to_owned();
    let render = call.render()?;
    if !call.world.users.contains_key(&login) {
        return Err(Refusal::new(404, &format!("{login} is not a user")));
    }
    let role = render.repo.permissions.get(&login).copied();
    let role = role.unwrap_or("read");
    let permission = match role {
        "maintain" => "write",
        "triage" => "read",
        word => word,
    };
    let mut user = render.user(&login);
    user["role_name"] = json!(role);
    let body = json!({"permission": permission, "role_name": role, "user": user});
    Ok(Answer::json(200, &body))
}

pub(super) fn create_hook(call: &mut Call<'_>) -> Outcome {
    let (repo, body) = (call.repo_name(), call.request.json());
    let (id, now) = (call.world.fresh_id(), call.world.now());
    let config = &body["config"];
    let hook = Hook {
        url: text(config, "url"),
        secret: text(config, "secret"),
    };
    let url = format!("{}/repos/{repo}/hooks/{id}", call.request.api);
    call.world.repo_mut(&repo)?.hooks.push(hook);
    Ok(Answer::json(
        201,
        &json!({
            "type": "Repository", "id": id, "name": "web", "active": true,
            "events": body["events"].as_array().cloned().unwrap_or_else(|| vec![json!("push")]),
            "config": {"url": config["url"], "content_type": "json"},
            "created_at": now.to_string(), "updated_at": now.to_string(),
            "url": url, "test_url": format!("{url}/test"), "ping_url": format!("{url}/pings"),
            "deliveries_url": format!("{url}/deliveries"),
            "last_response": {"code": null, "status": "unused", "message": null},
        }),
    ))
}

pub(super) fn create_status(call: &mut Call<'_>) -> Outcome {
    let (repo, body) = (call.repo_name(), call.request.json());
    let optional = |name: &str| body[name].as_str().map(str::to_owned);
    let status = Status {
        id: 0,
        sha: call.param("sha").to_owned(),
        context: optional("context").unwrap_or_else(|| "default".to_owned()),
        state: text(&body, "state"),
        description: optional("description"),
        target_url: optional("target_url"),
        by: call.viewer.to_owned(),
        at: call.world.now(),
    };
    let status = call.world.set_status(&repo, status)?;
    Ok(Answer::json(201, &call.render()?.status(&status)))
}

pub(super) fn combined_status(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let name = call.param("ref");
    let sha = render.repo.branches.get(name).map_or(name, String::as_str);
    let mut newest: BTreeMap<&str, &Status> = BTreeMap::new();
    for status in render.repo.statuses.iter().filter(|s| s.sha == sha) {
        newest.insert(&status.context, status);
    }
    let any = |word: &str| newest.values().any(|status| status.state == word);
    let state = if any("failure") || any("error") {
        "failure"
    } else if any("pending") || newest.is_empty() {
        "pending"
    } else {
        "success"
    };
    let url = format!(
        "{}/repos/{}/commits/{sha}",
        call.request.api,
        call.repo_name()
    );
    let whole = json!({
        "state": state, "sha": sha, "repository": render.repository(), "commit_url": url,
        "url": format!("{url}/status"),
    });
    let statuses: Vec<&Status> = newest.into_values().collect();
    let whole = ("statuses", whole);
    Ok(listed(call, whole, statuses, |one| render.status(one)))
}
