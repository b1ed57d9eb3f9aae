use super::*;
use proptest::prelude::*;

/// Any small value that TOML can express.
fn any_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        Just("1.5".to_owned()),
        Just("nan".to_owned()),
        Just("2026-11-15".to_owned()),
        "[a-z0-9/.-]{0,8}".prop_map(|text| format!("\"{text}\"")),
        prop::sample::select(vec![
            "\"2m\"",
            "\"4GiB\"",
            "\"auto\"",
            "\"codex\"",
            "{}",
            "[]"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            inner.prop_map(|value| format!("{{ kind = {value} }}")),
        ]
    })
}

/// Any key of the defaults, as a dotted path.
fn any_key() -> impl Strategy<Value = String> {
    let entries = resolve(&[]).unwrap().entries;
    let keys: Vec<String> = entries
        .iter()
        .flat_map(|entry| {
            let table = entry.table.join(".");
            [format!("{table}.{}", entry.key), table]
        })
        .collect();
    prop::sample::select(keys)
}

proptest! {
    /// Every text that passes the check can be decoded, and every error has a place.
    #[test]
    fn any_value_at_any_key_is_accepted_or_blamed_on_its_line(key in any_key(), value in any_value()) {
        let text = format!("\n{key} = {value}\n");
        if let Err(findings) = resolve(&[file(&text)]) {
            prop_assert!(!findings.0.is_empty());
            for finding in findings.0 {
                prop_assert_eq!(finding.origin.to_string(), "drive.toml:2", "{}", finding.message);
            }
        }
    }

    #[test]
    fn any_name_of_a_domain_is_accepted_or_blamed_on_its_line(name in "[A-Za-z0-9-]{0,42}") {
        let text = format!("\nreview.domains = [\"{name}\"]\n");
        if let Err(findings) = resolve(&[file(&text)]) {
            for finding in findings.0 {
                prop_assert_eq!(finding.origin.to_string(), "drive.toml:2", "{}", finding.message);
            }
        }
    }

    #[test]
    fn no_text_at_all_panics(text in "\\PC{0,80}") {
        let _ = resolve(&[file(&text)]);
    }

    #[test]
    fn no_text_of_toml_signs_panics(text in "[\\[\\]{}=\"'.,#a-c0-9\\n -]{0,60}") {
        let _ = resolve(&[file(&text)]);
    }
}
