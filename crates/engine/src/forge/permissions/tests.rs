use super::*;
use crate::ports::{
    CheckReport, CommitStatus, GoAhead, MergeOutcome, NewPullRequest, NewReview, Polled, Post,
    Posted, PostedReview, Reaction, Reported, Since,
};
use drive_core::forge::trust::Reason;
use drive_core::forge::{
    Checks, CommentKey, CommentRef, Opinions, PullRequest, RequestBudget, Surface,
};
use drive_core::ids::{BranchName, CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};

/// A forge with one maintainer, which records its requests and can be made unreachable.
#[derive(Default)]
struct People {
    asked: Mutex<Vec<String>>,
    maintainer: Mutex<Option<&'static str>>,
    down: Mutex<bool>,
}

impl People {
    fn with_maintainer(login: &'static str) -> Arc<Self> {
        let people = Self::default();
        *people.maintainer.lock().unwrap() = Some(login);
        Arc::new(people)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

macro_rules! not_asked {
    ($($name:ident($($arg:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $(_: $arg),*) -> Result<$answer, Problem> {
            unreachable!("only permissions are asked for")
        })*
    };
}

impl Forge for People {
    fn permission(&self, login: &str) -> Result<Permission, Problem> {
        self.asked.lock().unwrap().push(login.to_owned());
        if *self.down.lock().unwrap() {
            return Err(Problem::new(
                Kind::ForgeUnreachable,
                "the forge did not answer",
            ));
        }
        Ok(match *self.maintainer.lock().unwrap() {
            Some(maintainer) if maintainer == login => Permission::Write,
            Some(_) | None => Permission::Read,
        })
    }

    not_asked! {
        open(&NewPullRequest) -> PullRequest;
        find(&BranchName) -> Option<PullRequest>;
        fetch(PrNumber) -> PullRequest;
        poll(&[PrNumber], Since) -> Polled;
        opinions(PrNumber) -> Opinions;
        checks(PrNumber, &CommitSha) -> Checks;
        post(PrNumber, Post<'_>) -> Posted;
        review(PrNumber, &NewReview<'_>) -> PostedReview;
        reply(PrNumber, CommentRef, Post<'_>) -> Posted;
        resolve(PrNumber, CommentRef) -> ();
        edit(PrNumber, CommentRef, Post<'_>) -> ();
        set_status(&CommitSha, &CommitStatus<'_>) -> ();
        report_check(&CommitSha, &CheckReport<'_>) -> Reported;
        react(PrNumber, CommentRef, Reaction) -> ();
        merge_if(PrNumber, &CommitSha, Option<&CommitSha>, &mut GoAhead<'_>) -> MergeOutcome;
        mark_ready(PrNumber) -> ();
        update_body(PrNumber, &str) -> ();
        close(PrNumber) -> ();
        budget() -> Option<RequestBudget>;
    }
}

#[derive(Default)]
struct Hands(Mutex<Timestamp>);

impl Hands {
    fn pass(&self, wait: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = after(*now, wait);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

fn comment(login: &str) -> Comment {
    let at = Timestamp::UNIX_EPOCH;
    Comment {
        key: CommentKey {
            surface: Surface::Conversation,
            id: CommentId::new(1),
            updated_at: at,
        },
        pr: PrNumber::new(1),
        author: Author {
            login: Some(login.to_owned()),
            is_bot: false,
        },
        body: String::new(),
        path: None,
        line: None,
        origin: None,
        commit: None,
        in_reply_to: None,
        review: None,
        created_at: at,
        url: None,
        aside: None,
    }
}

fn judge(permissions: &Permissions, login: &str) -> Judgement {
    permissions.judge(
        &comment(login),
        &Trusted::new(["trillian"]),
        &OwnPosts::default(),
        &MarkerCheck::Absent,
    )
}

#[test]
fn an_answer_is_remembered_briefly_whatever_the_letter_case() {
    let (people, clock) = (People::with_maintainer("ford"), Arc::new(Hands::default()));
    let permissions = Permissions::new(people.clone(), clock.clone());
    assert_eq!(judge(&permissions, "ford").verdict, Verdict::Act);
    assert_eq!(judge(&permissions, "Ford").verdict, Verdict::Act);
    assert_eq!(people.asked(), ["ford"]);

    *people.maintainer.lock().unwrap() = None;
    clock.pass(PERMISSION_LIFETIME);
    assert_eq!(
        judge(&permissions, "ford").verdict,
        Verdict::Ignore(Reason::NoWritePermission)
    );
    assert_eq!(people.asked(), ["ford", "ford"]);
}

#[test]
fn the_forge_is_asked_about_a_name_as_it_was_written() {
    let people = People::with_maintainer("Émile");
    let permissions = Permissions::new(people.clone(), Arc::new(Hands::default()));
    assert_eq!(judge(&permissions, "Émile").verdict, Verdict::Act);
    assert_eq!(judge(&permissions, "ÉMILE").verdict, Verdict::Act);
    assert_eq!(people.asked(), ["Émile"]);
}

#[test]
fn no_answer_is_a_no_for_now_and_is_asked_again() {
    let people = People::with_maintainer("ford");
    let permissions = Permissions::new(people.clone(), Arc::new(Hands::default()));
    *people.down.lock().unwrap() = true;
    let unanswered = judge(&permissions, "ford");
    assert_eq!(
        unanswered.verdict,
        Verdict::Ignore(Reason::PermissionUnknown)
    );
    assert_eq!(unanswered.problem.unwrap().kind, Kind::ForgeUnreachable);
    *people.down.lock().unwrap() = false;
    assert_eq!(judge(&permissions, "ford").verdict, Verdict::Act);
}

#[test]
fn an_old_answer_does_not_outlive_an_outage() {
    let (people, clock) = (People::with_maintainer("ford"), Arc::new(Hands::default()));
    let permissions = Permissions::new(people.clone(), clock.clone());
    assert_eq!(judge(&permissions, "ford").verdict, Verdict::Act);
    *people.down.lock().unwrap() = true;
    clock.pass(PERMISSION_LIFETIME);
    assert_eq!(
        judge(&permissions, "ford").verdict,
        Verdict::Ignore(Reason::PermissionUnknown)
    );
}

#[test]
fn the_forge_is_not_asked_about_those_the_settings_list() {
    let people = Arc::new(People::default());
    let permissions = Permissions::new(people.clone(), Arc::new(Hands::default()));
    assert_eq!(judge(&permissions, "Trillian").verdict, Verdict::Act);
    assert_eq!(people.asked(), Vec::<String>::new());
}

#[test]
fn strangers_without_end_do_not_fill_the_memory() {
    let people = Arc::new(People::default());
    let permissions = Permissions::new(people, Arc::new(Hands::default()));
    for n in 0..3 * REMEMBERED {
        judge(&permissions, &format!("stranger{n}"));
    }
    assert!(permissions.lock().len() <= REMEMBERED);
}

#[test]
fn an_approval_counts_from_those_who_could_push_the_change_themselves() {
    let people = People::with_maintainer("ford");
    let permissions = Permissions::new(people.clone(), Arc::new(Hands::default()));
    let verdict = |login: Option<&str>| {
        let author = Author {
            login: login.map(str::to_owned),
            is_bot: login.is_some_and(|login| login.ends_with("[bot]")),
        };
        let judged = permissions.judge_author(&author, &Trusted::new(["trillian"]));
        (judged.verdict, judged.problem.map(|problem| problem.kind))
    };
    let ignored = |reason| (Verdict::Ignore(reason), None);
    assert_eq!(verdict(Some("ford")), (Verdict::Act, None));
    assert_eq!(verdict(Some("trillian")), (Verdict::Act, None));
    assert_eq!(verdict(Some("zaphod")), ignored(Reason::NoWritePermission));
    assert_eq!(verdict(Some("eddie[bot]")), ignored(Reason::UnlistedBot));
    assert_eq!(verdict(None), ignored(Reason::NoAuthor));
    assert_eq!(people.asked(), ["ford", "zaphod"]);

    *people.down.lock().unwrap() = true;
    let (verdict, problem) = verdict(Some("marvin"));
    assert_eq!(verdict, Verdict::Ignore(Reason::PermissionUnknown));
    assert_eq!(problem, Some(Kind::ForgeUnreachable));
}
