//! GitHub's own examples through our own readers.

use super::super::merging::AllowedMethods;
use super::super::read_checks;
use super::super::refusal::message;
use super::super::transport::Reply;
use super::*;
use operations::CALLED;
use serde_json::Value;
use std::collections::BTreeSet;
use ureq::http::HeaderMap;

#[path = "../../../tests/it/github_support/operations.rs"]
mod operations;

const EXAMPLES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testkit/data/github/examples"
);

/// Of these only the status is looked at.
const STATUS_ONLY: [&str; 9] = [
    "actions/download-job-logs-for-workflow-run",
    "checks/create",
    "checks/update",
    "issues/update-comment",
    "pulls/update",
    "pulls/update-review-comment",
    "reactions/create-for-issue-comment",
    "reactions/create-for-pull-request-review-comment",
    "repos/create-commit-status",
];

/// Operations with examples that drive never asks for.
const NEVER: [&str; 15] = [
    "activity/list-notifications-for-authenticated-user",
    "activity/list-repo-events",
    "git/get-ref",
    "issues/add-labels",
    "issues/create-label",
    "issues/list-events-for-timeline",
    "issues/list-labels-on-issue",
    "issues/remove-label",
    "pulls/create-review-comment",
    "pulls/list-commits",
    "pulls/list-files",
    "pulls/request-reviewers",
    "rate-limit/get",
    "repos/create-webhook",
    "users/get-authenticated",
];

/// Whether a body is understood.
type Understood = fn(&[u8]) -> bool;

/// The reader of each kind of answer that is read.
fn reader(operation: &str) -> Option<Understood> {
    Some(match operation {
        "pulls/get" | "pulls/create" => |body| pull(body).is_ok(),
        "pulls/list" => |body| pulls(body).is_ok_and(|read| !read.is_empty()),
        "pulls/merge" => |body| merged(body).is_ok_and(|sha| sha.is_some()),
        "issues/create-comment" => |body| note(body).is_ok(),
        "issues/list-comments" | "issues/list-comments-for-repo" => {
            |body| notes(body).is_ok_and(|read| !read.is_empty())
        }
        "pulls/create-reply-for-review-comment" => |body| line_note(body).is_ok(),
        "pulls/list-review-comments"
        | "pulls/list-review-comments-for-repo"
        | "pulls/list-comments-for-review" => {
            |body| line_notes(body).is_ok_and(|read| !read.is_empty())
        }
        "pulls/create-review" => |body| review(body).is_ok_and(|read| read.is_some()),
        "pulls/list-reviews" => |body| reviews(body).is_ok_and(|read| !read.is_empty()),
        "repos/get-collaborator-permission-level" => |body| permission(body).is_ok(),
        "repos/get-combined-status-for-ref" => {
            |body| statuses(body).is_ok_and(|read| !read.is_empty())
        }
        "checks/list-for-ref" => {
            |body| read_checks::check_runs(body).is_ok_and(|read| !read.items.is_empty())
        }
        "checks/list-annotations" => {
            |body| read_checks::annotations(body).is_ok_and(|read| !read.is_empty())
        }
        "actions/get-job-for-workflow-run" => |body| read_checks::job(body).is_ok(),
        "repos/get" => |body| AllowedMethods::read(body).is_ok(),
        "repos/get-branch" => |body| read_checks::branch(body).is_ok(),
        "repos/get-branch-rules" => |body| read_checks::rules(body).is_ok(),
        _ => return None,
    })
}

struct Example {
    name: String,
    operation: String,
    status: u16,
    body: Vec<u8>,
}

fn examples() -> Vec<Example> {
    let mut all: Vec<Example> = std::fs::read_dir(EXAMPLES)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut parts = name.split('.');
            Example {
                operation: parts.next().unwrap().replace("__", "/"),
                status: parts.next().unwrap().parse().unwrap(),
                body: std::fs::read(path).unwrap(),
                name,
            }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[test]
fn every_example_of_an_answer_that_is_read_is_understood() {
    let (mut read, mut status_only) = (0, 0);
    let mut never = BTreeSet::new();
    let all = examples();
    for example in &all {
        let (name, operation) = (&example.name, example.operation.as_str());
        serde_json::from_slice::<Value>(&example.body).unwrap();
        if !CALLED.contains(&operation) {
            never.insert(operation);
        } else if example.status >= 400 {
            let reply = Reply {
                status: example.status,
                headers: HeaderMap::new(),
                body: example.body.clone(),
            };
            assert_ne!(message(&reply), "", "{name}");
            read += 1;
        } else if STATUS_ONLY.contains(&operation) {
            status_only += 1;
        } else {
            let Some(reads) = reader(operation) else {
                panic!("no reader for {name}");
            };
            assert!(reads(&example.body), "{name}");
            read += 1;
        }
    }
    assert_eq!(never, BTreeSet::from(NEVER));
    assert_eq!((all.len(), read, status_only), (50, 23, 11));
    for operation in CALLED {
        let ways = [
            reader(operation).is_some(),
            STATUS_ONLY.contains(&operation),
        ];
        assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{operation}");
    }
}

#[test]
fn an_odd_value_in_any_field_but_the_identity_is_read_as_not_said() {
    for example in examples() {
        let operation = example.operation.as_str();
        // The fields that identify an object: its id, its parent, its commit and branches, and the
        // value of a permission or verdict.
        let needed: &[&str] = match operation {
            "repos/get-collaborator-permission-level" => &["permission"],
            "repos/get-combined-status-for-ref" => &["statuses"],
            "checks/list-for-ref" => &["check_runs"],
            // Annotations contain nothing but their texts.
            "checks/list-annotations" => &["message", "title"],
            "pulls/merge" => &["sha"],
            "pulls/create-review" | "pulls/list-reviews" => {
                &["id", "state", "body", "pull_request_url"]
            }
            _ => &[
                "id",
                "number",
                "issue_url",
                "pull_request_url",
                "head",
                "base",
            ],
        };
        let Some(reads) = reader(operation).filter(|_| example.status < 400) else {
            continue;
        };
        let whole: Value = serde_json::from_slice(&example.body).unwrap();
        let one = whole.get(0).unwrap_or(&whole);
        let fields: Vec<String> = one.as_object().unwrap().keys().cloned().collect();
        for field in fields.iter().filter(|f| !needed.contains(&f.as_str())) {
            for odd in [Value::Null, Value::from(-1), Value::from("new word")] {
                let mut changed = whole.clone();
                let one = match changed.get_mut(0) {
                    Some(first) => first,
                    None => &mut changed,
                };
                one[field] = odd.clone();
                let bytes = changed.to_string().into_bytes();
                assert!(reads(&bytes), "{}: {field} = {odd}", example.name);
            }
        }
    }
}
