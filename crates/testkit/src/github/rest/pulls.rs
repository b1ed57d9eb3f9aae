//! Pull requests.

use super::super::actions::Proposal;
use super::super::http::{Answer, Refusal};
use super::super::state::Pull;
use super::{Call, Outcome, text};
use serde_json::json;
use std::cmp::Reverse;

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let render = call.render()?;
    let state = call.query("state").unwrap_or_else(|| "open".to_owned());
    let (head, base) = (call.query("head"), call.query("base"));
    let owner = call.param("owner");
    let keep = |pull: &&Pull| {
        let by_head = head.as_ref().is_none_or(|head| {
            // GitHub ignores a head without its owner.
            head.split_once(':')
                .is_none_or(|(user, branch)| user == owner && branch == pull.branch)
        });
        by_head
            && base.as_ref().is_none_or(|base| *base == pull.base)
            && (state == "all" || state == pull.rest_state())
    };
    let mut pulls: Vec<&Pull> = render.repo.pulls.values().filter(keep).collect();
    let sort = call.query("sort").unwrap_or_else(|| "created".to_owned());
    let direction = call.query("direction");
    let descending = match direction.as_deref() {
        Some(word) => word == "desc",
        None => sort == "created",
    };
    let at = |pull: &Pull| {
        if sort == "updated" {
            (pull.updated_at, pull.number)
        } else {
            (pull.created_at, pull.number)
        }
    };
    if descending {
        pulls.sort_by_key(|pull| Reverse(at(pull)));
    } else {
        pulls.sort_by_key(|pull| at(pull));
    }
    let pulls = call.world.in_todays_order(pulls);
    Ok(call.page(pulls, |pull| render.pull_simple(pull)))
}

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (repo, body) = (call.repo_name(), call.request.json());
    let head = text(&body, "head");
    let branch = head.split_once(':').map_or(head.as_str(), |(_, b)| b);
    let number = call.world.open_pull(
        &repo,
        &Proposal {
            by: call.viewer,
            title: &text(&body, "title"),
            body: &text(&body, "body"),
            branch,
            base: &text(&body, "base"),
            draft: body["draft"].as_bool().unwrap_or(false),
        },
    )?;
    whole(call, number, 201)
}

pub(super) fn get(call: &mut Call<'_>) -> Outcome {
    let (repo, number) = (call.repo_name(), call.number("pull_number")?);
    if call.request.header("accept").contains("diff") {
        let pull = call.world.pull(&repo, number)?;
        let diff = call
            .world
            .repo(&repo)?
            .git
            .diff(&pull.base_sha, &pull.head_sha);
        return Ok(Answer::text(200, &diff));
    }
    let answer = whole(call, number, 200)?;
    work_out_mergeable(call, &repo, number);
    Ok(answer)
}

/// Computes mergeability: GitHub first answers `null`, and starts the computation because of the request.
fn work_out_mergeable(call: &mut Call<'_>, repo: &str, number: u64) {
    let Ok(repo) = call.world.repo_mut(repo) else {
        return;
    };
    let Some(pull) = repo.pulls.get_mut(&number) else {
        return;
    };
    let pair = (pull.head_sha.clone(), pull.base_sha.clone());
    if pull.asked.as_ref() != Some(&pair) {
        let clean = repo.git.merged_tree(&pair.1, &pair.0).is_some();
        pull.mergeable = Some((pair.0.clone(), pair.1.clone(), clean));
        pull.asked = Some(pair);
    }
}

pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let (repo, number) = (call.repo_name(), call.number("pull_number")?);
    let body = call.request.json();
    call.world.pull(&repo, number)?;
    if body["state"] == "closed" {
        call.world.close(&repo, number, call.viewer)?;
    }
    call.world.touch(&repo, number);
    let pulls = &mut call.world.repo_mut(&repo)?.pulls;
    let pull = pulls.get_mut(&number).ok_or_else(Refusal::not_found)?;
    for (field, target) in [("title", &mut pull.title), ("body", &mut pull.body)] {
        if let Some(new) = body[field].as_str() {
            new.clone_into(target);
        }
    }
    whole(call, number, 200)
}

pub(super) fn merge(call: &mut Call<'_>) -> Outcome {
    let (repo, number) = (call.repo_name(), call.number("pull_number")?);
    let body = call.request.json();
    let method = body["merge_method"].as_str().unwrap_or("merge");
    let how = call.world.permit_merge(&repo, number, method)?;
    let expected = body["sha"].as_str();
    let sha = call
        .world
        .merge(&repo, number, call.viewer, expected, how)?;
    Ok(Answer::json(
        200,
        &json!({"sha": sha, "merged": true, "message": "Pull Request successfully merged"}),
    ))
}

pub(super) fn is_merged(call: &mut Call<'_>) -> Outcome {
    let (repo, number) = (call.repo_name(), call.number("pull_number")?);
    match &call.world.pull(&repo, number)?.merged {
        Some(_) => Ok(Answer::empty(204)),
        None => Err(Refusal::not_found()),
    }
}

/// The labels of a pull request; a POST adds some first.
pub(super) fn labels(call: &mut Call<'_>) -> Outcome {
    let (repo, number) = (call.repo_name(), call.number("issue_number")?);
    let wanted = call.request.json()["labels"].clone();
    for name in wanted.as_array().into_iter().flatten() {
        let name = name.as_str().or_else(|| name["name"].as_str());
        let (name, id) = (name.unwrap_or_default().to_owned(), call.world.fresh_id());
        let repo = call.world.repo_mut(&repo)?;
        repo.labels.entry(name.clone()).or_insert(id);
        if let Some(pull) = repo.pulls.get_mut(&number) {
            pull.labels.insert(name);
        }
    }
    let render = call.render()?;
    let pull = call.world.pull(&repo, number)?;
    let labels: Vec<&String> = pull.labels.iter().collect();
    Ok(call.page(labels, |name| render.label(name)))
}

fn whole(call: &Call<'_>, number: u64, status: u16) -> Outcome {
    let render = call.render()?;
    let pull = call.world.pull(&call.repo_name(), number)?;
    Ok(Answer::json(status, &render.pull(pull)))
}
