//! Reviews.

use super::super::actions::Remark;
use super::super::http::{Answer, Refusal};
use super::{Call, Outcome, text};
use serde_json::Value;

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let pr = call.number("pull_number")?;
    let render = call.render()?;
    let reviews = render.repo.reviews.values();
    let is_shown = |id| call.world.shows(id);
    let reviews = reviews.filter(|review| review.note.pr == pr && is_shown(review.note.id));
    let reviews = call.world.in_todays_order(reviews.collect());
    Ok(call.page(reviews, |review| render.review(review)))
}

pub(super) fn create(call: &mut Call<'_>) -> Outcome {
    let (repo, pr) = (call.repo_name(), call.number("pull_number")?);
    let body = call.request.json();
    let given = body["comments"].as_array().cloned().unwrap_or_default();
    let remarks: Vec<Remark> = given
        .iter()
        .map(|remark| Remark {
            path: text(remark, "path"),
            line: remark["line"].as_u64().unwrap_or(0),
            start: remark["start_line"].as_u64(),
            body: text(remark, "body"),
        })
        .collect();
    let (event, text) = (text(&body, "event"), text(&body, "body"));
    let id = call
        .world
        .review(&repo, pr, call.viewer, &event, &text, &remarks)?;
    let render = call.render()?;
    let review = render.repo.reviews.get(&id);
    let review = review.ok_or_else(Refusal::not_found)?;
    Ok(Answer::json(200, &render.review(review)))
}

pub(super) fn list_lines(call: &mut Call<'_>) -> Outcome {
    let id = call.number("review_id")?;
    let render = call.render()?;
    if !render.repo.reviews.contains_key(&id) {
        return Err(Refusal::not_found());
    }
    let lines = render.repo.line_notes.values();
    let lines: Vec<_> = lines.filter(|line| line.review == id).collect();
    Ok(call.page(lines, |line| {
        let mut value = render.line_note(line);
        // Only this list omits the line of an outdated comment; others set it to null.
        if let Some(object) = value.as_object_mut() {
            object.retain(|name, value| name != "line" || *value != Value::Null);
        }
        value
    }))
}
