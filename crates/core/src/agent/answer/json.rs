//! JSON as models write it: with comments and trailing commas. An object that names a key twice is refused.

use super::fields::plain;
use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// Why a text cannot be read as an object or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotObject {
    /// It is not JSON, or another kind of value.
    Invalid,
    /// It names a key twice.
    Twice,
}

/// The syntax that is accepted besides JSON. Anything more would be a guess.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text as an object.
pub(super) fn object(text: &str) -> Result<Value, NotObject> {
    match object_or_list(text) {
        Ok(Value::Array(_)) => Err(NotObject::Invalid),
        read => read,
    }
}

/// Parses a text as an object or a list.
pub(super) fn object_or_list(text: &str) -> Result<Value, NotObject> {
    let parsed = parse_to_ast(text.trim(), &CollectOptions::default(), &OPTIONS);
    match parsed.map(|parsed| parsed.value) {
        Ok(Some(value @ (ast::Value::Object(_) | ast::Value::Array(_)))) => converted(value),
        Ok(_) | Err(_) => Err(NotObject::Invalid),
    }
}

/// Converts a parsed value. The recursion is safe because the parser limits the depth.
fn converted(value: ast::Value<'_>) -> Result<Value, NotObject> {
    Ok(match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.into_owned()),
        ast::Value::NumberLit(literal) => {
            let number = serde_json::from_str(literal.value);
            Value::Number(number.map_err(|_| NotObject::Invalid)?)
        }
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(converted);
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut fields = Map::new();
            let mut known = std::collections::HashSet::new();
            for property in object.properties {
                let name = property.name.into_string();
                if !known.insert(plain(&name)) {
                    return Err(NotObject::Twice);
                }
                fields.insert(name, converted(property.value)?);
            }
            Value::Object(fields)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_trailing_commas_are_read_and_other_slips_are_not() {
        let table = [
            (r#"{"a": 1}"#, Ok(json!({"a": 1}))),
            (
                "{ // the verdict\n \"a\": [1, 2,], /* done */ }",
                Ok(json!({"a": [1, 2]})),
            ),
            (
                r#"{"a": "no // comment, no /* either */"}"#,
                Ok(json!({"a": "no // comment, no /* either */"})),
            ),
            (r#"{"a": {"b": null}}"#, Ok(json!({"a": {"b": null}}))),
            (r#"{"a": 0.5}"#, Ok(json!({"a": 0.5}))),
            (r#"{a: 1}"#, Err(NotObject::Invalid)),
            (r#"{'a': 1}"#, Err(NotObject::Invalid)),
            (r#"{"a": 1 "b": 2}"#, Err(NotObject::Invalid)),
            (r#"{"a": 1} {"b": 2}"#, Err(NotObject::Invalid)),
            (r#"[1]"#, Err(NotObject::Invalid)),
            ("", Err(NotObject::Invalid)),
        ];
        for (text, expected) in table {
            assert_eq!(object(text), expected, "{text}");
        }
    }

    #[test]
    fn a_key_that_is_named_twice_in_whatever_spelling_makes_the_object_unusable() {
        for text in [
            r#"{"verdict": "needs_changes", "verdict": "approved"}"#,
            r#"{"verdict": "needs_changes", "Verdict": "approved"}"#,
            r#"{"a": [{"is_open": 1, "isOpen": 2}]}"#,
        ] {
            assert_eq!(object(text), Err(NotObject::Twice), "{text}");
        }
        assert!(object(r#"{"a": {"b": 1}, "c": {"b": 1}}"#).is_ok());
    }

    #[test]
    fn a_wall_of_brackets_is_refused() {
        let wall = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(object(&wall), Err(NotObject::Invalid));
        assert_eq!(object(&"{\"a\":".repeat(100_000)), Err(NotObject::Invalid));
    }
}
