use super::block::last_json;
use super::fields::Fields;
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a fixer did about a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FixerAction")]
pub enum CommentAction {
    /// Changed something.
    Fixed,
    /// Will not change it, and says why.
    Declined,
    /// Asks back.
    Question,
}

/// A fixer's answer to one comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentAnswer {
    /// The comment's id in the fixer's prompt.
    pub id: String,
    /// How the fixer handled the comment.
    pub action: CommentAction,
    /// The reply to its author.
    pub note: String,
}

/// A fixer's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FixerAnswer {
    /// One clear answer for each comment. A comment that is missing here was not answered.
    pub comments: Vec<CommentAnswer>,
    /// The number of entries that were unclear or contradicted each other.
    pub unclear: u32,
}

/// Parses a fixer's answer. An unclear entry is left out, so its comment counts as unanswered.
pub fn read_fixer(text: &str) -> Result<FixerAnswer, Inconclusive> {
    let answer = last_json(text).map_err(inconclusive)?.value;
    let items = Fields::new(&answer)
        .list("comments")
        .ok_or_else(|| inconclusive("it has no list of comments"))?;
    if items.len() > MAX_ITEMS {
        return Err(inconclusive(format!("it has {} comments", items.len())));
    }
    let read: Vec<CommentAnswer> = items.iter().filter_map(entry).collect();
    let contradicts = |one: &CommentAnswer| {
        read.iter()
            .any(|other| other.id == one.id && other.action != one.action)
    };
    let mut comments: Vec<CommentAnswer> = Vec::new();
    let mut contradictions = 0;
    for one in &read {
        if contradicts(one) {
            contradictions += 1;
        } else if let Some(known) = comments.iter_mut().find(|known| known.id == one.id) {
            known.note = one.note.clone();
        } else {
            comments.push(one.clone());
        }
    }
    let unreadable = items.len() - read.len();
    Ok(FixerAnswer {
        comments,
        unclear: u32::try_from(unreadable).unwrap_or(u32::MAX) + contradictions,
    })
}

fn entry(value: &Value) -> Option<CommentAnswer> {
    let fields = Fields::new(value);
    let action = match fields.word("action")?.as_str() {
        "fixed" => CommentAction::Fixed,
        "declined" => CommentAction::Declined,
        "question" => CommentAction::Question,
        _ => return None,
    };
    Some(CommentAnswer {
        id: fields.id("id")?,
        action,
        note: fields.text("note").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, action: CommentAction, note: &str) -> CommentAnswer {
        CommentAnswer {
            id: id.to_owned(),
            action,
            note: note.to_owned(),
        }
    }

    #[test]
    fn clear_entries_are_kept_and_unclear_ones_are_counted() {
        let text = r#"```json
{"comments": [
  {"id": 12, "action": "fixed", "note": "done"},
  {"ID": "c-13", "Action": "DECLINED"},
  {"id": "14", "action": "maybe"},
  {"action": "fixed"},
  {"id": 15, "action": "fixed"}, {"id": "15", "action": "declined"},
  {"id": 16, "action": "question", "note": "a"}, {"id": 16, "action": "question", "note": "b"},
  "nonsense"
]}
```"#;
        assert_eq!(
            read_fixer(text),
            Ok(FixerAnswer {
                comments: vec![
                    answer("12", CommentAction::Fixed, "done"),
                    answer("c-13", CommentAction::Declined, ""),
                    answer("16", CommentAction::Question, "b"),
                ],
                unclear: 5,
            })
        );
    }

    #[test]
    fn an_answer_without_a_list_is_inconclusive() {
        assert_eq!(
            read_fixer("all fixed"),
            Err(inconclusive("it has no JSON block"))
        );
        assert_eq!(
            read_fixer(r#"{"comments": {"id": 1, "action": "fixed"}}"#),
            Err(inconclusive("it has no list of comments"))
        );
    }
}
