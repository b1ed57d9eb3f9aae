//! Tests of whole pages and of their parts, with values written by hand.

use super::html::Html;
use super::{Visit, pulls, record};
use crate::session::Session;
use drive_core::agent::answer::Verdict;
use drive_core::agent::{Role, Usage};
use drive_core::forge::marker::{Claim, MarkerKey, Place};
use drive_core::forge::trust::Reason;
use drive_core::forge::{
    Author, Comment, CommentKey, CommentRef, PrState, PullRequest, ReviewState, Surface,
};
use drive_core::ids::{BranchName, CommentId, CommitSha, EffectKey, PrNumber, RunId};
use drive_core::review::Domain;
use drive_core::run::{
    FixerResult, IgnoredComment, JobRecord, Record, RemarkRecord, ReviewOf, ReviewRecord,
};
use drive_core::time::Timestamp;

const EVIL: &str = "<script>x</script>";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(round: u32) -> JobRecord {
    JobRecord {
        agent: format!("a{round} {EVIL}"),
        role: Role::Reviewer,
        argv: Vec::new(),
        round,
        domain: None,
        effect: None,
        started_at: at(0),
        ended_at: None,
        failure: Some(EVIL.to_owned()),
        usage: Usage::default(),
        cost: None,
        commands: Vec::new(),
        permissions: Vec::new(),
    }
}

const END: &str = "</tbody>\n</table>\n";

fn heads(columns: &[&str]) -> String {
    let cells = columns.iter();
    let cells = cells.map(|name| format!("<th scope=\"col\">{name}</th>"));
    let cells = cells.collect::<String>();
    format!("<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n")
}

fn visit() -> Visit {
    Visit::new(Session::new("5e".repeat(32)), None)
}

#[test]
fn a_record_is_told_in_full_and_as_text() {
    let record = Record {
        sandbox: None,
        jobs: vec![job(1)],
        reviews: vec![ReviewRecord {
            domain: None,
            round: 2,
            verdict: Some(Verdict::NeedsChanges),
            failure: None,
            findings: Vec::new(),
            head: None,
            resolution: None,
        }],
        rounds: Vec::new(),
        remarks: vec![RemarkRecord {
            comment: None,
            file: Some(EVIL.to_owned()),
            line: Some(3),
            commit: Some(CommitSha::new("0123456789abcdef".to_owned())),
            note: EVIL.to_owned(),
            resolved: true,
            action: Some(FixerResult::Fixed),
            review: Some(ReviewOf {
                domain: Some(Domain::Security),
                round: 2,
            }),
            text: Some(EVIL.to_owned()),
        }],
        ignored: vec![IgnoredComment {
            comment: CommentRef {
                surface: Surface::Inline,
                id: CommentId::new(7),
            },
            author: Some(EVIL.to_owned()),
            reason: Reason::NoWritePermission,
        }],
    };
    let mut html = Html::default();
    record::tell_record(&mut html, &record);
    let evil = "&lt;script&gt;x&lt;/script&gt;";
    assert_eq!(
        html.finish(),
        format!(
            "<h2>Agents</h2>\n{}\
             <tr><td data-label=\"agent\">a1 {evil}</td><td data-label=\"role\">reviewer</td>\
             <td data-label=\"round\">1</td><td data-label=\"tokens\">unknown</td>\
             <td data-label=\"cost\"></td><td data-label=\"failure\">{evil}</td></tr>\n{END}\
             <h2>Reviews</h2>\n{}\
             <tr><td data-label=\"domain\">whole change</td><td data-label=\"round\">2</td>\
             <td data-label=\"verdict\">needs changes</td><td data-label=\"findings\">0</td></tr>\n{END}\
             <h2>Comments</h2>\n{}\
             <tr><td data-label=\"file\">{evil}:3</td><td data-label=\"resolved\">yes</td>\
             <td data-label=\"commit\">0123456789</td><td data-label=\"note\">{evil}</td></tr>\n{END}\
             <h2>Ignored comments</h2>\n{}\
             <tr><td data-label=\"comment\">7</td><td data-label=\"author\">{evil}</td>\
             <td data-label=\"reason\">its author has no write permission</td></tr>\n{END}",
            heads(&["agent", "role", "round", "tokens", "cost", "failure"]),
            heads(&["domain", "round", "verdict", "findings"]),
            heads(&["file", "resolved", "commit", "note"]),
            heads(&["comment", "author", "reason"]),
        )
    );
}

#[test]
fn a_long_record_is_cut_to_its_newest_part_and_says_so() {
    let record = Record {
        jobs: (0..205).map(job).collect(),
        ..Record::default()
    };
    let mut html = Html::default();
    record::tell_record(&mut html, &record);
    let text = html.finish();
    assert!(
        text.contains("<p>5 older agents are not shown</p>"),
        "{text}"
    );
    assert!(!text.contains(">a4 "), "{text}");
    assert!(text.contains(">a5 ") && text.contains(">a204 "));
}

fn comment(id: u64) -> Comment {
    Comment {
        key: CommentKey {
            surface: Surface::Review,
            id: CommentId::new(id),
            updated_at: at(60),
        },
        pr: PrNumber::new(1),
        author: Author {
            login: Some("wim".to_owned()),
            is_bot: false,
        },
        body: MarkerKey::new(&[7; 32]).stamp(
            &format!("words {id} {EVIL}"),
            &Place::Comment {
                pr: PrNumber::new(1),
                surface: Surface::Review,
            },
            &Claim {
                run: RunId::new("r20261115-0942-k3f9z"),
                key: EffectKey::new("reply/41"),
            },
        ),
        path: None,
        line: None,
        origin: None,
        commit: None,
        in_reply_to: None,
        review: Some(ReviewState::ChangesRequested),
        created_at: at(60),
        url: None,
        aside: None,
    }
}

fn pull() -> PullRequest {
    PullRequest {
        number: PrNumber::new(1),
        title: format!("Work {EVIL}"),
        body: "What it does.".to_owned(),
        state: PrState::Open,
        draft: true,
        branch: BranchName::parse("feat/x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        head_sha: CommitSha::new("f00d".to_owned()),
        mergeable: None,
        merged_sha: None,
        updated_at: at(60),
        url: "local:///repo/.git/pull/1".to_owned(),
    }
}

#[test]
fn a_page_is_whole_plain_and_loads_nothing_but_its_style() {
    let page = pulls::show_page(&pull(), &[comment(3)], &visit());
    let token = visit().session.form_token();
    let form = |class: &str, what: &str, more: &str| {
        format!(
            "<form method=\"post\" class=\"{class}\" action=\"/pulls/1\">\
             <input type=\"hidden\" name=\"token\" value=\"{token}\">\
             <input type=\"hidden\" name=\"do\" value=\"{what}\">{more}</button></form>\n"
        )
    };
    let approve = form(
        "",
        "approve",
        "<input type=\"hidden\" name=\"head\" value=\"f00d\"><span class=\"meta\">at f00d</span> <button class=\"main\">Approve",
    );
    let close = form("", "close", "<button class=\"\">Close");
    let said = form(
        "wide",
        "comment",
        "<label for=\"comment\">Comment</label><textarea id=\"comment\" name=\"text\" required \
         maxlength=\"60000\"></textarea><button class=\"\">Comment",
    );
    assert_eq!(
        page,
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n\
         <title>#1 Work &lt;script&gt;x&lt;/script&gt; · drive</title>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header><nav aria-label=\"Pages\"><a href=\"/\">runs</a> <a href=\"/pulls\">pull requests</a> \
         <a href=\"/verifications\">verifications</a> \
         <a href=\"/budget\">request budget</a></nav></header>\n<main id=\"main\" tabindex=\"-1\">\n\
         <h1>#1 Work &lt;script&gt;x&lt;/script&gt;</h1>\n<dl>\n\
         <dt>state</dt><dd>draft</dd>\n<dt>branch</dt><dd>feat/x</dd>\n\
         <dt>base</dt><dd>main</dd>\n<dt>head</dt><dd>f00d</dd>\n\
         <dt>changed</dt><dd>1970-01-01 00:01:00 UTC</dd>\n</dl>\n\
         <pre>What it does.</pre>\n<h2>Actions</h2>\n{approve}{close}{said}<h2>Comments</h2>\n<article>\n\
         <h3>wim requested changes</h3>\n<p>1970-01-01 00:01:00 UTC, review 3</p>\n\
         <pre>words 3 &lt;script&gt;x&lt;/script&gt;</pre>\n</article>\n\
         </main>\n</body>\n</html>\n"
        )
    );
}

#[test]
fn a_long_conversation_is_cut_to_its_newest_part_and_says_so() {
    let comments: Vec<Comment> = (0..203).map(comment).collect();
    let page = pulls::show_page(&pull(), &comments, &visit());
    assert!(page.contains("<p>3 older comments are not shown</p>"));
    assert!(!page.contains("words 2 "));
    assert!(page.contains("words 3 ") && page.contains("words 202 "));
}
