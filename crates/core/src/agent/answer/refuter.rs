use super::block::last_json;
use super::fields::Fields;
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use serde_json::Value;

/// What an agent says of a finding that it tried to refute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// The finding, as it was named to the agent.
    pub id: String,
    /// What shows that it is wrong.
    pub why: String,
}

/// The findings that an agent refutes with a reason. A finding it contradicts itself about holds.
pub fn read_refutations(text: &str) -> Result<Vec<Refutation>, Inconclusive> {
    let answer = last_json(text).map_err(inconclusive)?.value;
    let items = Fields::new(&answer)
        .list("findings")
        .ok_or_else(|| inconclusive("it has no list of findings"))?;
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
    fn an_answer_of_another_form_refutes_nothing() {
        let verdict = r#"{"verdict": "approved", "suggestions": []}"#;
        assert_eq!(
            read_refutations(verdict),
            Err(inconclusive("it has no list of findings"))
        );
        assert!(read_refutations("they are all wrong").is_err());
    }
}
