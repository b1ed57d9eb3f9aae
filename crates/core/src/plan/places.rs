use std::collections::BTreeMap;

/// Where the tasks of a block stand, so that a mistake in one is shown on its line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    tasks: Vec<TaskPlace>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct TaskPlace {
    line: usize,
    keys: BTreeMap<String, KeyPlace>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct KeyPlace {
    line: usize,
    times: usize,
}

impl Places {
    /// The places in a text that is known to be a JSON list. Any other text gives some places that
    /// mean nothing, and no more harm.
    pub(super) fn of(json: &str, first_line: usize) -> Self {
        let mut places = Self::default();
        let mut depth = 0_usize;
        let mut line = first_line;
        let mut begins = false;
        let mut at = 0;
        let bytes = json.as_bytes();
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'\n' => line += 1,
                b' ' | b'\t' | b'\r' | b':' => {}
                b',' => begins = depth == 1,
                _ => {
                    if depth == 1 && begins && byte != b']' {
                        places.tasks.push(TaskPlace {
                            line,
                            ..TaskPlace::default()
                        });
                        begins = false;
                    }
                    match byte {
                        b'[' | b'{' => {
                            depth += 1;
                            begins = depth == 1;
                        }
                        b']' | b'}' => depth = depth.saturating_sub(1),
                        b'"' => {
                            at = end_of_string(bytes, at);
                            if depth == 2 && is_key(bytes, at) {
                                places.key(&json[start..at], line);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        places
    }

    /// The line of a task.
    pub(super) fn task(&self, index: usize) -> Option<usize> {
        self.tasks.get(index).map(|task| task.line)
    }

    /// The line of a key of a task, or of the task where it has no such key.
    pub(super) fn key_of(&self, index: usize, key: &str) -> Option<usize> {
        let task = self.tasks.get(index)?;
        Some(task.keys.get(key).map_or(task.line, |place| place.line))
    }

    /// The keys that stand more than once in a task.
    pub(super) fn repeated(&self, index: usize) -> impl Iterator<Item = &str> {
        let keys = self.tasks.get(index).map(|task| &task.keys);
        keys.into_iter()
            .flatten()
            .filter_map(|(key, place)| (place.times > 1).then_some(key.as_str()))
    }

    fn key(&mut self, quoted: &str, line: usize) {
        let Ok(key) = serde_json::from_str::<String>(quoted) else {
            return;
        };
        if let Some(task) = self.tasks.last_mut() {
            let place = task.keys.entry(key).or_default();
            place.line = line;
            place.times += 1;
        }
    }
}

/// The place after the closing quote of a string whose content starts at `from`.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_key(bytes: &[u8], from: usize) -> bool {
    let next = bytes
        .iter()
        .skip(from)
        .find(|byte| !byte.is_ascii_whitespace());
    next == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tasks_and_keys_are_found_on_their_lines() {
        let json = "[\n {\"id\": \"a\",\n  \"x\": {\"id\": [\n1]}, \"\\u0069d\" : 2},\n\n 7, {\n\"id\":\n\"]}\"}]";
        let places = Places::of(json, 10);
        let lines: Vec<_> = (0..4).map(|index| places.task(index)).collect();
        assert_eq!(lines, [Some(11), Some(15), Some(15), None]);
        assert_eq!(places.key_of(0, "x"), Some(12));
        assert_eq!(places.key_of(0, "title"), Some(11));
        assert_eq!(places.key_of(2, "id"), Some(16));
        assert_eq!(places.repeated(0).collect::<Vec<_>>(), ["id"]);
        assert_eq!(places.key_of(0, "id"), Some(13));
        assert_eq!(places.repeated(2).count(), 0);
    }

    proptest! {
        #[test]
        fn every_task_is_found_whatever_its_texts_are(texts in prop::collection::vec(any::<String>(), 1..6)) {
            let tasks: Vec<_> = texts
                .iter()
                .map(|text| serde_json::json!({"a": text, "z": {"id": text}}).to_string())
                .collect();
            let places = Places::of(&format!("[\n{}]", tasks.join(",\n")), 1);
            let lines: Vec<_> = (0..=texts.len()).map(|n| places.key_of(n, "z")).collect();
            let expected = (0..texts.len()).map(|n| Some(n + 2)).chain([None]);
            prop_assert_eq!(lines, expected.collect::<Vec<_>>());
            prop_assert!(places.tasks.iter().all(|task| task.keys.len() == 2));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:\\\\né 1a]{0,60}") {
            let _ = Places::of(&text, 1);
        }
    }
}
