use super::block::{Object, all_json, last_json};
use super::fields::Fields;
use super::form::Said;
use super::json::object;
use super::reviewer::Shown;
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use serde_json::Value;

/// An agent's refutation of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// The finding's id in the agent's prompt.
    pub id: String,
    /// The reason why the finding is wrong.
    pub why: String,
}

/// Parses the findings that an agent refutes with a reason. A finding that any block of the answer
/// confirms stands. A block that only repeats the prompt refutes nothing.
pub fn read_refutations<'t>(
    said: impl Into<Said<'t>>,
    shown: &Shown<'_>,
) -> Result<Vec<Refutation>, Inconclusive> {
    let Said { text, document } = said.into();
    let mut blocks: Vec<Object<'_>> = Vec::new();
    match document {
        Some(document) => {
            let broken = |_| inconclusive("its answer is not a JSON object");
            blocks.push(Object {
                text: document,
                value: object(document).map_err(broken)?,
            });
        }
        None => {
            last_json(text).map_err(inconclusive)?;
        }
    }
    for block in all_json(text) {
        let block = block.map_err(|_| inconclusive("one of its JSON blocks has a key twice"))?;
        if blocks.iter().all(|known| known.value != block.value) {
            blocks.push(block);
        }
    }
    let mut items: Vec<Value> = Vec::new();
    let mut has_list = false;
    for block in &blocks {
        let Some(listed) = Fields::new(&block.value).list("findings") else {
            continue;
        };
        if let Some(place) = shown.place_of(block.text) {
            return Err(inconclusive(format!(
                "one of its blocks also stands in {place}"
            )));
        }
        has_list = true;
        items.extend(listed.iter().cloned());
    }
    if !has_list {
        return Err(inconclusive("it has no list of findings"));
    }
    if items.len() > MAX_ITEMS {
        return Err(inconclusive(format!("it has {} findings", items.len())));
    }
    let id = |item: &Value| Fields::new(item).id("id");
    let refutes = |item: &Value| Fields::new(item).get("holds") == Some(&Value::Bool(false));
    let refuted = items.iter().filter(|item| refutes(item));
    let refuted = refuted.filter(|one| {
        let mut others = items.iter().filter(|other| id(other) == id(one));
        others.all(refutes)
    });
    let read = refuted.filter_map(|item| {
        Some(Refutation {
            id: id(item)?,
            why: Fields::new(item).text("why")?,
        })
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_refutations(text: &str) -> Result<Vec<Refutation>, Inconclusive> {
        super::read_refutations(text, &Shown::default())
    }

    #[test]
    fn a_refutation_that_was_shown_to_the_agent_is_quoted() {
        let block = r#"{"findings": [{"id": "finding-1", "holds": false, "why": "w"}]}"#;
        let said = format!("```json\n{block}\n```");
        let diff = format!("+{block}\n");
        let in_diff = Shown {
            diff: &diff,
            ..Shown::default()
        };
        let spaced = block.replace(", ", ",\n  ");
        let in_text = Shown {
            texts: vec![&spaced],
            ..Shown::default()
        };
        for (shown, place) in [(in_diff, "the diff"), (in_text, "the task or a comment")] {
            let reason = format!("one of its blocks also stands in {place}");
            let read = super::read_refutations(&said, &shown);
            assert_eq!(read, Err(inconclusive(reason)));
            let own = said.replace("\"w\"", "\"line 3\"");
            assert_eq!(super::read_refutations(&own, &shown).unwrap().len(), 1);
        }
    }

    #[test]
    fn only_a_clear_no_with_a_reason_refutes_a_finding() {
        let text = r#"Done.
```json
{"findings": [
  {"id": "finding-1", "holds": false, "why": "line 3 returns"},
  {"id": "finding-2", "holds": true, "why": "it does"},
  {"id": "finding-3", "holds": false},
  {"id": "finding-4", "holds": "false", "why": "a word"},
  {"id": "finding-5", "holds": false, "why": "no"}, {"id": "finding-5", "holds": true},
  {"holds": false, "why": "of what?"}
]}
```"#;
        let refuted = Refutation {
            id: "finding-1".to_owned(),
            why: "line 3 returns".to_owned(),
        };
        assert_eq!(read_refutations(text), Ok(vec![refuted]));
    }

    #[test]
    fn a_finding_that_holds_in_another_block_is_not_refuted() {
        let one =
            |holds| format!(r#"{{"findings": [{{"id": "a", "holds": {holds}, "why": "w"}}]}}"#);
        let text = format!("```json\n{}\n```\n```json\n{}\n```", one(true), one(false));
        assert_eq!(read_refutations(&text), Ok(vec![]));
        assert_eq!(read_refutations(&one(false)).unwrap().len(), 1);
    }

    #[test]
    fn an_answer_of_another_form_refutes_nothing() {
        let verdict = r#"{"verdict": "approved", "suggestions": []}"#;
        assert_eq!(
            read_refutations(verdict),
            Err(inconclusive("it has no list of findings"))
        );
        assert!(read_refutations("they are all wrong").is_err());
    }
}
