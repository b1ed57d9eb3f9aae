use std::collections::BTreeMap;

/// The maximum depth at which values are located: tasks, entries and expectations are five levels deep.
const DEEPEST: usize = 8;

/// The place of a value in a block, and the places of its parts, for error messages with line numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    /// How often the key of this value occurs in its object.
    times: usize,
    keys: BTreeMap<String, Place>,
    items: Vec<Place>,
}

impl Place {
    /// The places in a JSON text. A text that is not JSON gives meaningless but harmless places.
    pub(super) fn of(json: &str, first_line: usize) -> Self {
        let mut scan = Scan {
            json,
            at: 0,
            line: first_line,
        };
        scan.value(0)
    }

    /// The line number, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// An item of a list.
    pub(super) fn item(&self, index: usize) -> Option<&Place> {
        self.items.get(index)
    }

    /// The place of a key's value. Its line is that of the key.
    pub(super) fn key(&self, key: &str) -> Option<&Place> {
        self.keys.get(key)
    }

    /// The line of a key, or of the whole value if it lacks the key.
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.key(key).map_or(self.line, Place::line)
    }

    /// The keys that occur more than once.
    pub(super) fn repeated(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter();
        keys.filter_map(|(key, place)| (place.times > 1).then_some(key.as_str()))
    }
}

struct Scan<'t> {
    json: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Scan<'t> {
    fn value(&mut self, depth: usize) -> Place {
        let mut place = Place::default();
        let Some(sign) = self.sign() else {
            place.line = self.line;
            return place;
        };
        place.line = self.line;
        match sign {
            b'"' => {
                self.string();
            }
            b'[' | b'{' if depth == DEEPEST => self.skip_all(),
            b'[' => {
                self.at += 1;
                while self.goes_on(b']') {
                    place.items.push(self.value(depth + 1));
                }
            }
            b'{' => {
                self.at += 1;
                while self.goes_on(b'}') {
                    self.pair(&mut place, depth);
                }
            }
            _ => self.scalar(),
        }
        place
    }

    fn pair(&mut self, place: &mut Place, depth: usize) {
        let line = self.line;
        let is_text = self.json.as_bytes().get(self.at) == Some(&b'"');
        let key = is_text.then(|| serde_json::from_str::<String>(self.string()).ok());
        let mut value = self.value(depth + 1);
        if let Some(key) = key.flatten() {
            let times = place.keys.get(&key).map_or(0, |earlier| earlier.times);
            value.line = line;
            value.times = times + 1;
            place.keys.insert(key, value);
        }
    }

    /// The next significant byte, which is not consumed.
    fn sign(&mut self) -> Option<u8> {
        while let Some(&byte) = self.json.as_bytes().get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | b':' | b',' => {}
                _ => return Some(byte),
            }
            self.at += 1;
        }
        None
    }

    /// Whether another item follows before the end of a list or an object; consumes the end.
    fn goes_on(&mut self, end: u8) -> bool {
        let next = self.sign();
        if next == Some(end) {
            self.at += 1;
        }
        next.is_some_and(|next| next != end)
    }

    /// Consumes a string with its quotes.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        let bytes = self.json.as_bytes();
        self.at += 1;
        while let Some(&byte) = bytes.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.at = self.json.ceil_char_boundary(self.at.min(bytes.len()));
        &self.json[start..self.at]
    }

    /// Consumes a number or a word, or one unexpected character.
    fn scalar(&mut self) {
        let rest = &self.json.as_bytes()[self.at..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:[]{}\"".contains(byte);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += length.max(1);
    }

    /// Consumes a list or an object with its contents.
    fn skip_all(&mut self) {
        let mut depth = 0_usize;
        while let Some(sign) = self.sign() {
            match sign {
                b'"' => {
                    self.string();
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_and_keys_are_found_on_their_lines() {
        let json = "[\n {\"id\": \"a\",\n  \"x\": {\"id\": [\n1, 23,\n[]]}, \"\\u0069d\" : 2},\n\n 7, {\n\"id\":\n\"]}\"}]";
        let places = Place::of(json, 10);
        let lines: Vec<_> = (0..4).map(|n| places.item(n).map(Place::line)).collect();
        assert_eq!(lines, [Some(11), Some(16), Some(16), None]);
        let (first, last) = (places.item(0).unwrap(), places.item(2).unwrap());
        assert_eq!(first.line_of("x"), 12);
        assert_eq!(first.line_of("title"), 11);
        assert_eq!(last.line_of("id"), 17);
        assert_eq!(first.repeated().collect::<Vec<_>>(), ["id"]);
        assert_eq!(first.line_of("id"), 14);
        assert_eq!(last.repeated().count(), 0);
        let inner = first.key("x").and_then(|x| x.key("id")).unwrap();
        let lines: Vec<_> = (0..4).map(|n| inner.item(n).map(Place::line)).collect();
        assert_eq!(lines, [Some(13), Some(13), Some(14), None]);
    }

    #[test]
    fn what_is_too_deep_to_tell_apart_moves_nothing_after_it() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let places = Place::of(&format!("[{deep},\n[\"]\", {deep}],\n7]"), 1);
        let lines: Vec<_> = (0..4).map(|n| places.item(n).map(Place::line)).collect();
        assert_eq!(lines, [Some(1), Some(2), Some(3), None]);
    }

    proptest! {
        #[test]
        fn every_task_is_found_whatever_its_texts_are(texts in prop::collection::vec(any::<String>(), 1..6)) {
            let tasks: Vec<_> = texts
                .iter()
                .map(|text| serde_json::json!({"a": text, "z": {"id": text}}).to_string())
                .collect();
            let places = Place::of(&format!("[\n{}]", tasks.join(",\n")), 1);
            let lines: Vec<_> = (0..=texts.len()).map(|n| Some(places.item(n)?.line_of("z"))).collect();
            let expected = (0..texts.len()).map(|n| Some(n + 2)).chain([None]);
            prop_assert_eq!(lines, expected.collect::<Vec<_>>());
            prop_assert!(places.items.iter().all(|task| task.keys.len() == 2));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:\\\\né 1a]{0,60}") {
            let _ = Place::of(&text, 1);
        }
    }
}
