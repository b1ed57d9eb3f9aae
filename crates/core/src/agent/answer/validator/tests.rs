use super::*;

const ASKED: [(&str, &str); 3] = [("a", "a1"), ("a", "a2"), ("b", "a1")];

fn read(text: &str) -> Result<ValidatorAnswer, Inconclusive> {
    read_validation(text, &ASKED)
}

fn why(text: &str) -> String {
    read(text).unwrap_err().reason
}

fn with(a: &str, b: &str) -> String {
    format!(
        r#"Judged.
```json
{{"tasks": [{{"id": "a", {a}}}, {{"id": "b", {b}}}]}}
```"#
    )
}

const MET: &str = r#""status": "implemented", "evidence": [{"criterion": "a1", "file": "x", "line": 3},
    {"criterion": "a2", "file": "y"}]"#;

#[test]
fn each_entry_has_the_evidence_that_names_it() {
    let b = r#""status": "missing", "note": "no such page", "evidence": [
        {"criterion": "a1", "command": ["sh", "-c", "test -e page"], "expect": {"exit": 0, "contains": "ok"}}]"#;
    let answer = read(&with(MET, b)).unwrap();
    assert_eq!(answer.entries.len(), 3);
    assert_eq!(answer.entries[0].places[0].file, "x");
    assert_eq!(answer.entries[0].places[0].line, Some(3));
    assert_eq!(answer.entries[1].places[0].line, None);
    let missing = &answer.entries[2];
    assert_eq!(missing.status, Standing::Missing);
    assert_eq!(missing.note.as_deref(), Some("no such page"));
    let proof = missing.proof.as_ref().unwrap();
    assert_eq!(proof.command, ["sh", "-c", "test -e page"]);
    assert_eq!((proof.exit, proof.contains.as_deref()), (0, Some("ok")));
}

#[test]
fn of_a_partial_task_only_the_entries_that_are_shown_are_met() {
    let b = r#""status": "implemented""#;
    let half = r#""status": "partial", "evidence": [{"criterion": "a1", "file": "x"}]"#;
    let answer = read(&with(half, b)).unwrap();
    let standings: Vec<Standing> = answer.entries.iter().map(|one| one.status).collect();
    use Standing::{Implemented, Partial};
    assert_eq!(standings, [Implemented, Partial, Implemented]);
    // Something is missing, and the answer does not say what.
    let all = MET.replace("implemented", "partial");
    let answer = read(&with(&all, b)).unwrap();
    assert!(answer.entries[..2].iter().all(|one| one.status == Partial));
}

#[test]
fn findings_come_worst_first_and_are_read_with_their_command() {
    let text = r#"{"tasks": [{"id": "a", "status": "implemented"}, {"id": "b", "status": "deviated"}],
        "findings": [
            {"severity": "low", "title": "a typo"},
            {"severity": "critical", "title": "it deletes files", "file": "x", "line": 4, "detail": "all of them",
             "command": ["./run"], "expect": {"exit": 2}}],
        "additions": ["a mode that nobody asked for", " "]}"#;
    let answer = read(text).unwrap();
    assert_eq!(answer.findings[0].severity, AuditSeverity::Critical);
    assert_eq!(answer.findings[0].proof.as_ref().unwrap().exit, 2);
    assert_eq!(answer.findings[1].proof, None);
    assert_eq!(answer.additions, ["a mode that nobody asked for"]);
}

#[test]
fn an_answer_that_is_not_clear_is_no_answer() {
    let b = r#""status": "implemented""#;
    let table = [
        ("all is well".to_owned(), "it has no JSON block"),
        (r#"{"verdict": "approved"}"#.to_owned(), "it has no list of tasks"),
        (
            r#"{"tasks": [{"id": "a", "status": "implemented"}]}"#.to_owned(),
            "it does not judge task `b`",
        ),
        (
            r#"{"tasks": [{"id": "a", "status": "implemented"}, {"id": "a", "status": "missing"}]}"#.to_owned(),
            "it judges task `a` twice",
        ),
        (
            r#"{"tasks": [{"id": "z", "status": "implemented"}]}"#.to_owned(),
            "it judges the unknown task `z`",
        ),
        (with(r#""status": "done""#, b), "task `a` has no readable `status`"),
        (
            with(r#""status": "implemented", "evidence": [{"criterion": "a9", "file": "x"}]"#, b),
            "the evidence of task `a` names the unknown entry `a9`",
        ),
        (
            with(r#""status": "missing", "evidence": [{"criterion": "a1", "command": "rm x"}]"#, b),
            "a `command` is not a list of texts",
        ),
        (
            with(
                r#""status": "missing", "evidence": [{"criterion": "a1", "command": ["x"], "expect": {"exit": 300}}]"#,
                b,
            ),
            "an `exit` is not a number from 0 to 255",
        ),
        (
            format!("{}\n{}", with(MET, b), with(r#""status": "missing""#, b)),
            "it has two answers that differ",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(why(&text), expected, "{text}");
    }
}

#[test]
fn an_answer_without_bounds_is_refused() {
    let b = r#""status": "implemented""#;
    let many = format!(
        "[{}]",
        vec![r#"{"criterion": "a1", "file": "x"}"#; 201].join(",")
    );
    let many = with(
        &format!(r#""status": "implemented", "evidence": {many}"#),
        b,
    );
    assert_eq!(
        why(&many),
        "task `a` has 201 items of evidence; the limit is 200"
    );
    let long = "x".repeat(COMMAND_BYTES + 1);
    let long = format!(
        r#""status": "missing", "evidence": [{{"criterion": "a1", "command": ["{long}"]}}]"#
    );
    assert_eq!(
        why(&with(&long, b)),
        "a `command` is too long or cannot be run"
    );
    let all = vec![r#"{"severity": "low", "title": "t"}"#; 101].join(",");
    let all =
        format!(r#"{{"tasks": [{{"id": "a", {b}}}, {{"id": "b", {b}}}], "findings": [{all}]}}"#);
    assert_eq!(why(&all), "it has 101 findings; the limit is 100");
}
