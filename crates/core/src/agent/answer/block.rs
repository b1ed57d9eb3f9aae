use crate::fences::fenced_blocks;
use crate::verify::text::tail;
use serde_json::Value;

/// The last JSON block of an agent's text.
///
/// Lenient in form: the last fenced block tagged `json`; else the last fenced block that holds an
/// object; else the last object that stands in the text. Strict in meaning: when the last block
/// tagged `json` is broken, no earlier one is taken for it.
pub(super) fn last_json(text: &str) -> Result<Value, &'static str> {
    let blocks = fenced_blocks(text);
    if let Some(block) = blocks.iter().rev().find(|block| block.is_tagged(&["json"])) {
        return parse_object(block.body).ok_or("its last JSON block is not valid JSON");
    }
    blocks
        .iter()
        .rev()
        .find_map(|block| parse_object(block.body))
        .or_else(|| only_bare_object(text))
        .or_else(|| last_bare_object(text))
        .ok_or("it has no JSON block")
}

fn parse_object(body: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(body.trim()).ok()?;
    value.is_object().then_some(value)
}

/// The only object in the text, however long it is.
fn only_bare_object(text: &str) -> Option<Value> {
    let rest = &text[text.find('{')?..];
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let value = values.next()?.ok()?;
    (!rest[values.byte_offset()..].contains('{')).then_some(value)
}

/// The last object near the end of the text that is not inside another one.
fn last_bare_object(text: &str) -> Option<Value> {
    const NEAR: usize = 64 * 1024;
    const MAX_TRIES: usize = 2000;
    let mut rest = tail(text, NEAR);
    let mut found = None;
    for _ in 0..MAX_TRIES {
        let Some(start) = rest.find('{') else { break };
        rest = &rest[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                rest = &rest[values.byte_offset()..];
                found = Some(value);
            }
            Some(Err(_)) | None => rest = &rest[1..],
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_last_block_is_found_in_whatever_form_it_comes() {
        let table = [
            ("```json\n{\"a\":1}\n```", Ok(json!({"a": 1}))),
            ("```JSON\n{\"a\":1}\n```\nThat is all.", Ok(json!({"a": 1}))),
            (
                "```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```",
                Ok(json!({"a": 2})),
            ),
            (
                "```json\n{\"a\":1}\n```\n```sh\nls\n```",
                Ok(json!({"a": 1})),
            ),
            ("```json\n{\"a\":1}", Ok(json!({"a": 1}))),
            ("  ```json\r\n  {\"a\":1}\r\n  ```\r\n", Ok(json!({"a": 1}))),
            ("~~~json\n{\"a\":1}\n~~~", Ok(json!({"a": 1}))),
            ("````json\n{\"a\":\"```\"}\n````", Ok(json!({"a": "```"}))),
            ("```\n{\"a\":1}\n```", Ok(json!({"a": 1}))),
            (
                "I say {\"a\":{\"b\":2}} and no more",
                Ok(json!({"a": {"b": 2}})),
            ),
            ("{\"a\":1} then {\"a\":2}", Ok(json!({"a": 2}))),
            ("{\"a\":\"}{\"}", Ok(json!({"a": "}{"}))),
            (
                "```json\n{\"a\":1}\n```\n```json\n{\"a\":\n```",
                Err("its last JSON block is not valid JSON"),
            ),
            (
                "```json\n[1]\n```",
                Err("its last JSON block is not valid JSON"),
            ),
            ("```json\n```", Err("its last JSON block is not valid JSON")),
            ("no answer {here}", Err("it has no JSON block")),
            ("", Err("it has no JSON block")),
        ];
        for (text, expected) in table {
            assert_eq!(last_json(text), expected, "{text}");
        }
    }

    #[test]
    fn a_bare_object_is_read_whole_however_long_it_is() {
        let long = json!({"a": 1, "list": vec![json!({"b": "x".repeat(1000)}); 100]});
        let text = format!("I looked.\n{long}\nThat is all.");
        assert_eq!(last_json(&text), Ok(long));
    }

    #[test]
    fn a_wall_of_braces_is_given_up_on() {
        assert!(last_json(&"{".repeat(50_000)).is_err());
        assert!(last_json(&format!("{}}}", "{".repeat(50_000))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[`~{}\\[\\]\":,a-zé\n ]{0,120}") {
            let _ = last_json(&text);
        }
    }
}
