//! Comments in the conversation and on lines, and reactions to both.

use super::super::actions::Remark;
use super::super::http::{Answer, Refusal};
use super::{Call, Outcome, text};
use drive_core::time::Timestamp;
use serde_json::json;

/// One comment of a list: when it was created and last changed, and its id.
type Listed = (Timestamp, Timestamp, u64);

pub(super) fn list_for_repo(call: &mut Call<'_>) -> Outcome {
    let notes = notes(call, None)?;
    sorted(call, notes)
}

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let pr = call.number("issue_number")?;
    call.world.pull(&call.repo_name(), pr)?;
    let notes = notes(call, Some(pr))?;
    sorted(call, notes)
}

pub(super) fn list_lines_for_repo(call: &mut Call<'_>) -> Outcome {
    let lines = lines(call, None)?;
    sorted(call, lines)
}

pub(super) fn list_lines(call: &mut Call<'_>) -> Outcome {
    let pr = call.number("pull_number")?;
    let lines = lines(call, Some(pr))?;
    sorted(call, lines)
}

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (repo, pr) = (call.repo_name(), call.number("issue_number")?);
    let body = text(&call.request.json(), "body");
    let id = call.world.comment(&repo, pr, call.viewer, &body)?;
    one(call, id, 201)
}

pub(super) fn update(call: &mut Call<'_>) -> Outcome {
    let (repo, id) = (call.repo_name(), call.number("comment_id")?);
    if !call.world.repo(&repo)?.notes.contains_key(&id) {
        return Err(Refusal::not_found());
    }
    let body = text(&call.request.json(), "body");
    call.world.edit(&repo, id, &body)?;
    one(call, id, 200)
}

pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let (repo, id) = (call.repo_name(), call.number("comment_id")?);
    let removed = call.world.repo_mut(&repo)?.notes.remove(&id);
    removed
        .map(|_| Answer::empty(204))
        .ok_or_else(Refusal::not_found)
}

pub(super) fn create_line(call: &mut Call<'_>) -> Outcome {
    let (repo, pr) = (call.repo_name(), call.number("pull_number")?);
    let body = call.request.json();
    let remark = Remark {
        path: text(&body, "path"),
        line: body["line"].as_u64().unwrap_or(0),
        start: body["start_line"].as_u64(),
        body: text(&body, "body"),
    };
    let id = call
        .world
        .comment_on_line(&repo, pr, call.viewer, &remark)?;
    one_line(call, id, 201)
}

pub(super) fn update_line(call: &mut Call<'_>) -> Outcome {
    let (repo, id) = (call.repo_name(), call.number("comment_id")?);
    if !call.world.repo(&repo)?.line_notes.contains_key(&id) {
        return Err(Refusal::not_found());
    }
    let body = text(&call.request.json(), "body");
    call.world.edit(&repo, id, &body)?;
    one_line(call, id, 200)
}

pub(super) fn reply(call: &mut Call<'_>) -> Outcome {
    let (repo, pr) = (call.repo_name(), call.number("pull_number")?);
    let to = call.number("comment_id")?;
    let body = text(&call.request.json(), "body");
    let id = call.world.reply(&repo, pr, to, call.viewer, &body)?;
    one_line(call, id, 201)
}

pub(super) fn react(call: &mut Call<'_>) -> Outcome {
    let (repo, id) = (call.repo_name(), call.number("comment_id")?);
    let content = text(&call.request.json(), "content");
    let new = call.world.react(&repo, id, call.viewer, &content)?;
    let render = call.render()?;
    let reaction = json!({
        "id": id, "node_id": format!("REA_{id}"), "user": render.user(call.viewer),
        "content": content, "created_at": call.world.now().to_string(),
    });
    Ok(Answer::json(if new { 201 } else { 200 }, &reaction))
}

fn notes(call: &Call<'_>, pr: Option<u64>) -> Result<Vec<Listed>, Refusal> {
    let notes = call.world.repo(&call.repo_name())?.notes.values();
    Ok(notes
        .filter(|note| pr.is_none_or(|pr| pr == note.pr) && call.world.shows(note.id))
        .map(|note| (note.created_at, note.updated_at, note.id))
        .collect())
}

fn lines(call: &Call<'_>, pr: Option<u64>) -> Result<Vec<Listed>, Refusal> {
    let lines = call.world.repo(&call.repo_name())?.line_notes.values();
    Ok(lines
        .map(|line| &line.note)
        .filter(|note| pr.is_none_or(|pr| pr == note.pr) && call.world.shows(note.id))
        .map(|note| (note.created_at, note.updated_at, note.id))
        .collect())
}

/// Filters by `since`, sorts and pages like GitHub.
fn sorted(call: &Call<'_>, mut items: Vec<Listed>) -> Outcome {
    if let Some(since) = call.query("since") {
        let since: Timestamp = since
            .parse()
            .map_err(|_| Refusal::new(422, "since is not a time"))?;
        items.retain(|(_, updated, _)| *updated >= since);
    }
    let by_update = call.query("sort").as_deref() == Some("updated");
    items.sort_by_key(|(created, updated, id)| (if by_update { *updated } else { *created }, *id));
    if call.query("direction").as_deref() == Some("desc") {
        items.reverse();
    }
    let items = call.world.in_todays_order(items);
    let render = call.render()?;
    Ok(call.page(items, |(_, _, id)| {
        let note = render.repo.notes.get(&id).map(|note| render.note(note));
        let line = || render.repo.line_notes.get(&id);
        note.or_else(|| line().map(|line| render.line_note(line)))
            .unwrap_or_default()
    }))
}

fn one(call: &Call<'_>, id: u64, status: u16) -> Outcome {
    let render = call.render()?;
    let note = render.repo.notes.get(&id).ok_or_else(Refusal::not_found)?;
    Ok(Answer::json(status, &render.note(note)))
}

fn one_line(call: &Call<'_>, id: u64, status: u16) -> Outcome {
    let render = call.render()?;
    let line = render.repo.line_notes.get(&id);
    let line = line.ok_or_else(Refusal::not_found)?;
    Ok(Answer::json(status, &render.line_note(line)))
}
