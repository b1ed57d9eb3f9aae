use super::*;
use proptest::prelude::*;

fn redact(secrets: &Secrets, chunks: &[&[u8]]) -> String {
    let mut redactor = Redactor::new(secrets.clone());
    let mut out = Vec::new();
    for chunk in chunks {
        out.extend(redactor.push(chunk));
    }
    out.extend(redactor.finish());
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn a_secret_is_replaced_in_each_of_its_forms() {
    let secrets = Secrets::new(["p4ss/w\"rd!"]);
    let table = [
        ("a p4ss/w\"rd! b", "a [redacted] b"),
        ("{\"k\":\"p4ss/w\\\"rd!\"}", "{\"k\":\"[redacted]\"}"),
        ("?k=p4ss%2Fw%22rd%21&x", "?k=[redacted]&x"),
        ("p4ss/w", "p4ss/w"),
        ("=70347373 2f772272 6421", "=70347373 2f772272 6421"),
        ("=703473732f7722726421", "=[redacted]"),
        ("=703473732F77\n22726421.", "=[redacted]."),
        ("p4ss/w\"rd!p4ss/w\"rd!", "[redacted][redacted]"),
    ];
    for (dirty, clean) in table {
        assert_eq!(redact(&secrets, &[dirty.as_bytes()]), clean);
    }
}

/// Encodes `bytes` like the program `base64`.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(*three.get(i).unwrap_or(&0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            if i <= three.len() {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]))
            } else {
                out.push('=')
            }
        }
    }
    out
}

#[test]
fn a_long_secret_is_found_in_base64_that_is_wrapped_anywhere() {
    let secret: String = (0..107u8)
        .map(|i| char::from(b'!' + i.wrapping_mul(37) % 94))
        .collect();
    let secrets = Secrets::new([&secret]);
    let ends = ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n"];
    for before in 0..120 {
        let text = format!("{}{secret}\n and more", "x".repeat(before));
        let encoded = base64(text.as_bytes());
        let windows: Vec<&str> = (0..encoded.len() - 8).map(|i| &encoded[i..i + 8]).collect();
        let from = (before * 4).div_ceil(3);
        let to = (before + secret.len()) * 4 / 3 - 8;
        for columns in [64, 76] {
            let lines = encoded.as_bytes().chunks(columns);
            let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
            let wrapped = lines.join(ends[before % ends.len()]);
            let clean = redact(&secrets, &[wrapped.as_bytes()]);
            let mut own = windows[from..to].iter();
            let left = own.find(|window| clean.contains(**window));
            assert_eq!(left, None, "{before} before, {columns} wide: {clean}");
            let (first, second) = wrapped.as_bytes().split_at(wrapped.len() / 2);
            assert_eq!(redact(&secrets, &[first, second]), clean);
        }
    }
}

#[test]
fn a_line_of_plain_text_is_not_held_back_for_its_end() {
    let mut redactor = Redactor::new(Secrets::new(["0123456789-abcdefghij"]));
    for first in b'0'..=b'z' {
        let line = [b"so far so good ", &[first][..], b"\n"].concat();
        assert_eq!(redactor.push(&line), line);
    }
}

#[test]
fn well_known_tokens_are_replaced_without_being_told() {
    let secrets = Secrets::default();
    let word = "a1B2".repeat(12);
    let table = [
        (format!("ghp_{word} x"), "[redacted] x".to_owned()),
        (format!("github_pat_{word}"), "[redacted]".to_owned()),
        (format!("sk-ant-api03-{word}-x."), "[redacted].".to_owned()),
        (format!("\\nAIza{word}\""), "\\n[redacted]\"".to_owned()),
        (
            format!("Authorization: Bearer {word}.{word}\r\n"),
            "Authorization: Bearer [redacted]\r\n".to_owned(),
        ),
        (format!("xapp-{word}"), "[redacted]".to_owned()),
        (
            format!("pypi-AgEIcHlwaS5vcmc{word}"),
            "p[redacted]".to_owned(),
        ),
        (
            format!("eyJhbGciOiJIUzI1NiJ9.{word}.{word} x"),
            "e[redacted] x".to_owned(),
        ),
        (
            "ghp_short and sk-ant- alone".to_owned(),
            "ghp_short and sk-ant- alone".to_owned(),
        ),
        (
            "Bearer of bad news".to_owned(),
            "Bearer of bad news".to_owned(),
        ),
    ];
    for (dirty, clean) in table {
        assert_eq!(redact(&secrets, &[dirty.as_bytes()]), clean, "{dirty}");
    }
}

#[test]
fn a_private_key_is_replaced_up_to_its_last_line_wherever_chunks_end() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(20);
    for (kind, end) in [("RSA PRIVATE KEY", "\n"), ("PGP PRIVATE KEY BLOCK", "\\n")] {
        let body = body.replace('\n', end);
        let text = format!("a -----BEGIN {kind}-----{end}{body}-----END {kind}-----{end} b.");
        let clean = format!("a [redacted]{end} b.");
        for size in [1, 3, 7, 64, 4096] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(redact(&Secrets::default(), &chunks), clean, "{size}");
        }
    }
}

#[test]
fn a_private_key_without_a_last_line_does_not_swallow_the_rest() {
    let secrets = Secrets::default();
    let text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n{\"next\": 1}";
    assert_eq!(
        redact(&secrets, &[text.as_bytes()]),
        "[redacted]{\"next\": 1}"
    );
    let mut redactor = Redactor::new(secrets);
    for _ in 0..1000 {
        redactor.push(b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg");
        assert!(redactor.held.len() < 64, "{}", redactor.held.len());
    }
}

#[test]
fn a_longer_secret_wins_over_one_it_begins_with() {
    let secrets = Secrets::new(["secret-one", "secret-one-and-more"]);
    assert_eq!(
        redact(&secrets, &[b"<secret-one-", b"and-more>"]),
        "<[redacted]>"
    );
    assert_eq!(
        redact(&secrets, &[b"<secret-one-", b"and>"]),
        "<[redacted]-and>"
    );
}

#[test]
fn what_is_held_back_is_bounded_by_the_longest_secret() {
    let mut redactor = Redactor::new(Secrets::new(["0123456789"]));
    for _ in 0..1000 {
        redactor.push(b"Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert!(redactor.held.len() < 64, "{}", redactor.held.len());
    }
}

#[test]
fn nothing_is_lost_when_the_stream_ends_in_the_middle_of_a_maybe() {
    let secrets = Secrets::new(["secret-one"]);
    assert_eq!(redact(&secrets, &[b"so secret-"]), "so secret-");
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        pieces in proptest::collection::vec(prop_oneof![
            Just("hunter2-hunter2".to_owned()),
            Just("hunter2".to_owned()),
            Just("Bearer ".to_owned()),
            Just("ghp_".to_owned()),
            Just("a1B2a1B2a1B2a1B2".to_owned()),
            Just(" ".to_owned()),
            "[a-zA-Z0-9 _.-]{0,12}",
        ], 0..12),
        sizes in proptest::collection::vec(1usize..9, 1..8),
    ) {
        let secrets = Secrets::new(["hunter2-hunter2", "hunter2-hunter3-longer"]);
        let text = pieces.concat();
        let mut chunks = Vec::new();
        let mut rest = text.as_bytes();
        let mut sizes = sizes.iter().copied().cycle();
        while !rest.is_empty() {
            let take = sizes.next().unwrap_or(1).min(rest.len());
            chunks.push(&rest[..take]);
            rest = &rest[take..];
        }
        let whole = redact(&secrets, &[text.as_bytes()]);
        prop_assert_eq!(&redact(&secrets, &chunks), &whole);
        prop_assert!(!whole.contains("hunter2-hunter2"));
    }

    #[test]
    fn text_without_secrets_is_left_as_it_is(text in "[ -~é\n]{0,200}") {
        prop_assume!(!text.contains("earer"));
        let secrets = Secrets::new(["\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}"]);
        prop_assert_eq!(secrets.redact(&text), text);
    }
}
