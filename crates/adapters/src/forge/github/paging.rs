//! Paged lists.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// The `next` address of a `link` header.
pub(super) fn next_link(header: &str) -> Option<String> {
    header.split(',').find_map(|link| {
        let (url, rel) = link.trim().split_once(';')?;
        let url = url.trim().strip_prefix('<')?.strip_suffix('>')?;
        rel.contains("rel=\"next\"").then(|| url.to_owned())
    })
}

/// Whether a list contains as many items as its address requests.
pub(super) fn is_full(url: &str, body: &[u8]) -> bool {
    let Some(most) = per_page(url) else {
        return false;
    };
    if let Ok(items) = serde_json::from_slice::<Vec<IgnoredAny>>(body) {
        return items.len() >= most;
    }
    // Some lists are inside an object, next to their total number.
    let fields = serde_json::from_slice::<Map<String, Value>>(body).unwrap_or_default();
    let mut lists = fields.values().filter_map(Value::as_array);
    lists.any(|items| items.len() >= most)
}

fn per_page(url: &str) -> Option<usize> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, most) = pairs.find(|(name, _)| *name == "per_page")?;
    most.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_read_from_the_link_header() {
        let header = "<https://a.example/x?page=1>; rel=\"prev\", <https://a.example/x?page=3>; rel=\"next\", <https://a.example/x?page=9>; rel=\"last\"";
        assert_eq!(
            next_link(header).as_deref(),
            Some("https://a.example/x?page=3")
        );
        assert_eq!(
            next_link("<https://a.example/x?page=1>; rel=\"prev\""),
            None
        );
        assert_eq!(next_link("nonsense"), None);
    }

    #[test]
    fn a_page_is_full_when_it_holds_what_was_asked_for() {
        let url = "https://a.example/x?sort=updated&per_page=2";
        assert!(is_full(url, b"[{}, {}]"));
        assert!(!is_full(url, b"[{}]"));
        assert!(!is_full(url, b"{}"));
        assert!(is_full(
            url,
            b"{\"total_count\": 2, \"check_runs\": [{}, {}]}"
        ));
        assert!(!is_full(url, b"{\"total_count\": 1, \"check_runs\": [{}]}"));
        assert!(!is_full("https://a.example/x", b"[{}, {}]"));
    }
}
