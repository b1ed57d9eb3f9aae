//! Whole pages and parts of them, from values made by hand.

use super::html::Html;
use super::{pulls, record};
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
            "<h2>Agents</h2>\n\
             <table>\n<tr><th>agent<th>role<th>round<th>tokens<th>cost<th>failure</tr>\n\
             <tr><td>a1 {evil}</td><td>reviewer</td><td>1</td><td>unknown</td><td></td><td>{evil}</td></tr>\n\
             </table>\n\
             <h2>Reviews</h2>\n\
             <table>\n<tr><th>domain<th>round<th>verdict<th>findings</tr>\n\
             <tr><td>whole change</td><td>2</td><td>needs changes</td><td>0</td></tr>\n\
             </table>\n\
             <h2>Comments</h2>\n\
             <table>\n<tr><th>file<th>resolved<th>commit<th>note</tr>\n\
             <tr><td>{evil}</td><td>yes</td><td>0123456789…</td><td>{evil}</td></tr>\n\
             </table>\n\
             <h2>Ignored comments</h2>\n\
             <table>\n<tr><th>comment<th>author<th>reason</tr>\n\
             <tr><td>7</td><td>{evil}</td><td>its author has no write permission</td></tr>\n\
             </table>\n"
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
    assert!(!text.contains("<td>a4 "), "{text}");
    assert!(text.contains("<td>a5 ") && text.contains("<td>a204 "));
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
    let page = pulls::show_page(&pull(), &[comment(3)]);
    assert_eq!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n\
         <title>#1 Work &lt;script&gt;x&lt;/script&gt; · drive</title>\n</head>\n<body>\n\
         <nav><a href=\"/\">runs</a> <a href=\"/pulls\">pull requests</a> \
         <a href=\"/verifications\">verifications</a> \
         <a href=\"/budget\">request budget</a></nav>\n<main>\n\
         <h1>#1 Work &lt;script&gt;x&lt;/script&gt;</h1>\n<dl>\n\
         <dt>state</dt><dd>draft</dd>\n<dt>branch</dt><dd>feat/x</dd>\n\
         <dt>base</dt><dd>main</dd>\n<dt>head</dt><dd>f00d</dd>\n\
         <dt>changed</dt><dd>1970-01-01 00:01:00 UTC</dd>\n</dl>\n\
         <pre>What it does.</pre>\n<h2>Comments</h2>\n<article>\n\
         <h3>wim requested changes</h3>\n<p>1970-01-01 00:01:00 UTC, review 3</p>\n\
         <pre>words 3 &lt;script&gt;x&lt;/script&gt;</pre>\n</article>\n\
         </main>\n</body>\n</html>\n"
    );
}

#[test]
fn a_long_conversation_is_cut_to_its_newest_part_and_says_so() {
    let comments: Vec<Comment> = (0..203).map(comment).collect();
    let page = pulls::show_page(&pull(), &comments);
    assert!(page.contains("<p>3 older comments are not shown</p>"));
    assert!(!page.contains("words 2 "));
    assert!(page.contains("words 3 ") && page.contains("words 202 "));
}
