//! The JSON blocks of an agent's text.

use super::json::{NotObject, object, object_or_list};
use crate::fences::{Block, fenced_blocks};
use crate::verify::text::tail;
use serde_json::Value;

/// An object or list in an agent's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object<'t> {
    /// Its source text.
    pub(super) text: &'t str,
    /// Its parsed value.
    pub(super) value: Value,
}

/// The last JSON block of an agent's text.
///
/// Lenient in form: the last fenced block tagged `json`; else the last fenced block that holds an
/// object; else the last object in the text. Strict in meaning: if the last block tagged `json` is
/// broken, no earlier block replaces it.
pub(super) fn last_json(text: &str) -> Result<Object<'_>, &'static str> {
    let blocks = fenced_blocks(text);
    if let Some(block) = blocks.iter().rev().find(|block| block.is_tagged(&["json"])) {
        return read(block.body).map_err(|why| match why {
            NotObject::Invalid => "its last JSON block is not valid JSON",
            NotObject::Twice => TWICE,
        });
    }
    let mut fenced = blocks.iter().rev().map(|block| read(block.body));
    if let Some(found) = fenced.find(|read| *read != Err(NotObject::Invalid)) {
        return found.map_err(|_| TWICE);
    }
    let last = only_bare_object(text).or_else(|| bare_json(tail(text, NEAR), &['{']).pop());
    match last.ok_or("it has no JSON block")? {
        Ok(found) => Ok(found),
        Err(NotObject::Twice) => Err(TWICE),
        Err(NotObject::Invalid) => Err("it has no JSON block"),
    }
}

const TWICE: &str = "its JSON block has a key twice";

/// Every outermost object and list of a text, fenced or bare, in no order.
pub(super) fn all_json(text: &str) -> Vec<Result<Object<'_>, NotObject>> {
    let blocks = fenced_blocks(text);
    let mut all = Vec::new();
    for block in &blocks {
        match read_any(block.body) {
            Err(NotObject::Invalid) => all.extend(bare_json(tail(block.body, NEAR), &['{', '['])),
            read => all.push(read),
        }
    }
    for part in between(text, &blocks) {
        all.extend(bare_json(tail(part, NEAR), &['{', '[']));
    }
    all.retain(|read| *read != Err(NotObject::Invalid));
    all
}

/// The parts of the text outside of the blocks.
fn between<'t>(text: &'t str, blocks: &[Block<'t>]) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for block in blocks {
        let start = block.body.as_ptr() as usize - text.as_ptr() as usize;
        parts.push(&text[from..start]);
        from = start + block.body.len();
    }
    parts.push(&text[from..]);
    parts
}

fn read(text: &str) -> Result<Object<'_>, NotObject> {
    let value = object(text)?;
    let text = text.trim();
    Ok(Object { text, value })
}

fn read_any(text: &str) -> Result<Object<'_>, NotObject> {
    let value = object_or_list(text)?;
    let text = text.trim();
    Ok(Object { text, value })
}

/// The only object in the text, of any length.
fn only_bare_object(text: &str) -> Option<Result<Object<'_>, NotObject>> {
    let object = text.get(text.find('{')?..=text.rfind('}')?)?;
    Some(read(object)).filter(|read| *read != Err(NotObject::Invalid))
}

/// How many bytes of a text are searched for bare objects, and how many tries the search makes.
const NEAR: usize = 64 * 1024;
const MAX_TRIES: usize = 2000;

/// The bare objects or lists in a text that begin with one of these characters.
fn bare_json<'t>(text: &'t str, starts: &[char]) -> Vec<Result<Object<'t>, NotObject>> {
    let mut rest = text;
    let mut found = Vec::new();
    for _ in 0..MAX_TRIES {
        let Some(start) = rest.find(starts) else {
            break;
        };
        rest = &rest[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(_)) => {
                let (value, after) = rest.split_at(values.byte_offset());
                found.push(read_any(value));
                rest = after;
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
            let read = last_json(text).map(|object| object.value);
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn a_bare_object_is_read_whole_however_long_it_is() {
        let long = json!({"a": 1, "list": vec![json!({"b": "x".repeat(1000)}); 100]});
        let text = format!("I looked.\n{long}\nThat is all.");
        assert_eq!(last_json(&text).map(|object| object.value), Ok(long));
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
