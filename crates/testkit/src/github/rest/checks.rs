//! Check runs, jobs and their logs, and the rules of branches.

use super::super::http::{Answer, Refusal};
use super::super::landing::Run;
use super::super::render::Render;
use super::super::rules::rules_of;
use super::super::state::BEGINNING;
use super::{Call, Outcome, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The path of logs, which are on another host than the API.
pub(crate) const LOGS: &str = "/_logs/";

/// One page of a list inside of an object, under `name`, beside the total count.
pub(super) fn listed<T>(
    call: &Call<'_>,
    (name, mut whole): (&str, Value),
    items: Vec<T>,
    draw: impl Fn(T) -> Value,
) -> Answer {
    whole["total_count"] = json!(items.len());
    let page = call.page(items, draw);
    whole[name] = serde_json::from_slice(&page.body).unwrap_or_default();
    let links = page.headers.into_iter().filter(|(name, _)| name == "link");
    let mut answer = Answer::json(200, &whole);
    answer.headers.extend(links);
    answer
}

pub(super) fn list_runs(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let name = call.param("ref");
    let sha = render.repo.branches.get(name).map_or(name, String::as_str);
    // The newest run for each app and name.
    let mut latest: BTreeMap<(&str, &str, &str), &Run> = BTreeMap::new();
    for run in render.repo.landing.runs.iter().filter(|run| run.sha == sha) {
        let id = run.external_id.as_deref().unwrap_or_default();
        latest.insert((&run.app, &run.name, id), run);
    }
    let mut runs: Vec<&Run> = latest.into_values().collect();
    runs.sort_by_key(|run| run.id);
    let whole = ("check_runs", json!({}));
    Ok(listed(call, whole, runs, |run| draw(&render, run)))
}

pub(super) fn create_run(call: &mut Call<'_>) -> Outcome {
    let (repo, body) = (call.repo_name(), call.request.json());
    require_app(call, &repo)?;
    let run = Run {
        id: call.world.fresh_id(),
        sha: text(&body, "head_sha"),
        name: text(&body, "name"),
        status: "queued".to_owned(),
        conclusion: None,
        title: None,
        summary: None,
        external_id: None,
        details_url: None,
        app: call.viewer.to_owned(),
        annotations: Vec::new(),
        failed_step: None,
        log: None,
        at: call.world.now(),
    };
    let id = run.id;
    call.world.repo_mut(&repo)?.landing.runs.push(run);
    change(call, &repo, id, &body)?;
    one(call, id, 201)
}

pub(super) fn update_run(call: &mut Call<'_>) -> Outcome {
    let (repo, body) = (call.repo_name(), call.request.json());
    let id = call.number("check_run_id")?;
    require_app(call, &repo)?;
    change(call, &repo, id, &body)?;
    one(call, id, 200)
}

fn require_app(call: &Call<'_>, repo: &str) -> Result<(), Refusal> {
    if call.is_app || call.world.repo(repo)?.landing.apps.contains(call.viewer) {
        return Ok(());
    }
    let text = "You must authenticate via a GitHub App.";
    Err(Refusal::new(403, text))
}

fn change(call: &mut Call<'_>, repo: &str, id: u64, body: &Value) -> Result<(), Refusal> {
    let runs = &mut call.world.repo_mut(repo)?.landing.runs;
    let run = runs.iter_mut().find(|run| run.id == id);
    let run = run.ok_or_else(Refusal::not_found)?;
    let given = |name: &str| body[name].as_str().map(str::to_owned);
    if let Some(status) = given("status") {
        run.status = status;
        run.conclusion = None;
    }
    if let Some(conclusion) = given("conclusion") {
        run.status = "completed".to_owned();
        run.conclusion = Some(conclusion);
    }
    run.external_id = given("external_id").or(run.external_id.take());
    run.details_url = given("details_url").or(run.details_url.take());
    let output = &body["output"];
    run.title = output["title"]
        .as_str()
        .map(str::to_owned)
        .or(run.title.take());
    run.summary = output["summary"]
        .as_str()
        .map(str::to_owned)
        .or(run.summary.take());
    // GitHub appends the annotations of each request to the earlier ones.
    for one in output["annotations"].as_array().into_iter().flatten() {
        run.annotations.push((
            text(one, "path"),
            one["start_line"].as_u64().unwrap_or(0),
            text(one, "annotation_level"),
            text(one, "message"),
        ));
    }
    Ok(())
}

fn one(call: &Call<'_>, id: u64, status: u16) -> Outcome {
    let render = call.render()?;
    Ok(Answer::json(status, &draw(&render, find(&render, id)?)))
}

fn find<'a>(render: &Render<'a>, id: u64) -> Result<&'a Run, Refusal> {
    let mut runs = render.repo.landing.runs.iter();
    runs.find(|run| run.id == id).ok_or_else(Refusal::not_found)
}

fn draw(render: &Render<'_>, run: &Run) -> Value {
    let repo = render.repo.full_name();
    let url = format!("{}/repos/{repo}/check-runs/{}", render.api, run.id);
    let html = format!("{}/{repo}/runs/{}", render.html, run.id);
    let job = format!("{}/{repo}/actions/runs/1/job/{}", render.html, run.id);
    let details = run.details_url.clone().unwrap_or(job);
    let ended = run.conclusion.as_ref().map(|_| run.at.to_string());
    json!({
        "id": run.id, "node_id": format!("CR_{}", run.id), "head_sha": run.sha, "name": run.name,
        "url": url, "html_url": html, "details_url": details, "status": run.status,
        "conclusion": run.conclusion, "started_at": run.at.to_string(), "completed_at": ended,
        "external_id": run.external_id.clone().unwrap_or_default(), "check_suite": {"id": 1},
        "output": {
            "title": run.title, "summary": run.summary, "text": null,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{url}/annotations"),
        },
        "app": {
            "id": 15368, "node_id": "A_1", "slug": run.app, "name": run.app,
            "owner": render.user(&render.repo.owner), "description": null,
            "external_url": "https://example.com", "html_url": "https://example.com",
            "created_at": BEGINNING, "updated_at": BEGINNING, "permissions": {}, "events": [],
        },
        "pull_requests": [],
    })
}

pub(super) fn annotations(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let run = find(&render, call.number("check_run_id")?)?;
    let blob = format!(
        "{}/{}/blob/{}",
        render.html,
        render.repo.full_name(),
        run.sha
    );
    let all: Vec<_> = run.annotations.iter().collect();
    Ok(call.page(all, |(path, line, level, message)| {
        json!({
            "path": path, "blob_href": format!("{blob}/{path}"), "start_line": line,
            "end_line": line, "start_column": null, "end_column": null,
            "annotation_level": level, "title": null, "message": message, "raw_details": null,
        })
    }))
}

pub(super) fn job(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let run = find(&render, call.number("job_id")?)?;
    let repo = format!("{}/repos/{}", render.api, render.repo.full_name());
    let at = run.at.to_string();
    let step = |number: u64, name: &str, conclusion: &str| {
        json!({
            "name": name, "status": "completed", "conclusion": conclusion, "number": number,
            "started_at": at, "completed_at": at,
        })
    };
    let mut steps = vec![step(1, "Set up job", "success")];
    steps.extend(run.failed_step.iter().map(|name| step(2, name, "failure")));
    let body = json!({
        "id": run.id, "node_id": format!("J_{}", run.id), "run_id": 1, "run_attempt": 1,
        "run_url": format!("{repo}/actions/runs/1"), "head_sha": run.sha, "head_branch": null,
        "workflow_name": "CI", "name": run.name, "status": "completed",
        "conclusion": run.conclusion, "url": format!("{repo}/actions/jobs/{}", run.id),
        "html_url": null, "started_at": at, "created_at": at, "completed_at": at,
        "check_run_url": format!("{repo}/check-runs/{}", run.id), "labels": [],
        "runner_id": null, "runner_name": null, "runner_group_id": null,
        "runner_group_name": null, "steps": steps,
    });
    Ok(Answer::json(200, &body))
}

/// Redirects to the log, which is on another server at an address that needs no token.
pub(super) fn logs(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let run = find(&render, call.number("job_id")?)?;
    if render.repo.landing.hides_logs {
        let text = "Must have admin rights to Repository.";
        return Err(Refusal::new(403, text));
    }
    if run.log.is_none() {
        return Err(Refusal::not_found());
    }
    let there = render.html.replace("127.0.0.1", "localhost");
    let there = format!("{there}{LOGS}{}?sig=secret", run.id);
    Ok(Answer::empty(302).with("location", there))
}

pub(super) fn branch(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let name = call.param("branch");
    let sha = render.repo.branches.get(name);
    let sha = sha.ok_or_else(Refusal::not_found)?;
    let required = &render.repo.landing.protected;
    let (repo, html) = (
        format!("{}/repos/{}", render.api, render.repo.full_name()),
        format!("{}/{}", render.html, render.repo.full_name()),
    );
    let url = format!("{repo}/branches/{name}");
    let commit = format!("{repo}/commits/{sha}");
    let level = if required.is_empty() {
        "off"
    } else {
        "everyone"
    };
    let checks: Vec<Value> = required
        .iter()
        .map(|context| json!({"context": context, "app_id": null}))
        .collect();
    let git_user = json!({"name": "a", "email": "a@example.com", "date": BEGINNING});
    let body = json!({
        "name": name, "protected": !required.is_empty(), "protection_url": format!("{url}/protection"),
        "_links": {"self": url, "html": format!("{html}/tree/{name}")},
        "protection": {
            "enabled": !required.is_empty(),
            "required_status_checks": {
                "enforcement_level": level, "contexts": required, "checks": checks,
            },
        },
        "commit": {
            "url": commit, "sha": sha, "node_id": format!("C_{sha}"),
            "html_url": format!("{html}/commit/{sha}"), "comments_url": format!("{commit}/comments"),
            "author": null, "committer": null, "parents": [],
            "commit": {
                "url": commit, "author": git_user, "committer": git_user, "message": "work",
                "comment_count": 0, "tree": {"sha": sha, "url": format!("{repo}/git/trees/{sha}")},
            },
        },
    });
    Ok(Answer::json(200, &body))
}

pub(super) fn branch_rules(call: &mut Call<'_>) -> Outcome {
    let repo = call.render()?.repo;
    let rules = &repo.landing;
    if rules.lacks_rulesets {
        let text = "Upgrade to GitHub Pro or make this repository public to enable this feature.";
        return Err(Refusal::new(403, text));
    }
    let mut all = rules_of(repo, call.param("branch"));
    // They belong to the branch into which changes are merged.
    if !rules.ruled.is_empty() && call.param("branch") == "main" {
        let checks = rules.ruled.iter().map(|name| json!({ "context": name }));
        all.push(json!({"type": "required_status_checks", "parameters": {
            "required_status_checks": checks.collect::<Vec<_>>(),
            "strict_required_status_checks_policy": false,
        }}));
    }
    if rules.linear_history {
        all.push(json!({"type": "required_linear_history"}));
    }
    if rules.merge_queue {
        all.push(json!({"type": "merge_queue", "parameters": {
            "check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN",
            "max_entries_to_build": 5, "max_entries_to_merge": 5, "merge_method": "MERGE",
            "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
        }}));
    }
    for rule in all.iter_mut().filter(|rule| rule["ruleset_id"].is_null()) {
        rule["ruleset_source_type"] = json!("Repository");
        rule["ruleset_source"] = json!(repo.full_name());
        rule["ruleset_id"] = json!(42);
    }
    Ok(call.page(all, |rule| rule))
}
