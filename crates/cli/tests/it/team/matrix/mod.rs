//! Tests what must be true for every team: on either forge, with scripts and with the real CLIs as
//! agents. Each case is written once.

mod findings;
mod insisting;
mod modes;
mod others;
mod verdicts;

use crate::stage::{Ended, gist};
use serde_json::{Value, json};

/// The cases, each with the reviewers of real claude's work on the local forge and on the simulator.
macro_rules! matrix {
    ($($theme:ident::$case:ident: $local:ident, $simulated:ident;)+) => {
        mod scripted {
            mod local {
                use crate::team::opening::{Hub, Opening};
                $(#[test] fn $case() {
                    crate::team::matrix::$theme::$case(Opening::scripted(Hub::Local));
                })+
            }
            mod simulated {
                use crate::team::opening::{Hub, Opening};
                $(#[test] fn $case() {
                    crate::team::matrix::$theme::$case(Opening::scripted(Hub::Simulated));
                })+
            }
        }
        mod real {
            mod local {
                use crate::team::opening::{Hub, Opening};
                use drive_testkit::interop::Cli;
                $(#[test] fn $case() {
                    Opening::real(Hub::Local, Cli::$local).map(crate::team::matrix::$theme::$case);
                })+
            }
            mod simulated {
                use crate::team::opening::{Hub, Opening};
                use drive_testkit::interop::Cli;
                $(#[test] fn $case() {
                    Opening::real(Hub::Simulated, Cli::$simulated).map(crate::team::matrix::$theme::$case);
                })+
            }
        }
    };
}

// Gemini takes seconds to start and codex a moment: all of this must fit into two minutes.
matrix! {
    modes::sequential_is_approved_at_once: Gemini, Codex;
    modes::pingpong_is_approved_at_once: Gemini, Codex;
    modes::github_is_approved_at_once_and_ready_for_a_person: Codex, Codex;
    modes::sequential_is_work_one_review_one_fix_done: Codex, Gemini;
    modes::pingpong_is_approved_on_round_two_and_the_description_tells_it: Gemini, Codex;
    modes::github_is_approved_on_round_two_and_the_remark_is_fixed_answered_and_resolved: Codex, Gemini;
    verdicts::never_approved_ends_with_exit_code_1_and_says_what_is_open: Gemini, Codex;
    verdicts::a_garbage_verdict_is_never_an_approval: Codex, Gemini;
    verdicts::a_reviewer_that_crashes_is_noted_and_the_other_reviews_go_on: Gemini, Codex;
    findings::a_finding_outside_the_diff_stands_in_the_review_and_is_answered: Codex, Codex;
    findings::two_hundred_findings_are_all_told_once: Gemini, Codex;
    others::a_person_in_the_middle_is_heard_and_a_stranger_is_only_shown: Codex, Gemini;
    verdicts::an_approval_beside_a_blocker_is_asked_again_and_never_counts: Gemini, Claude;
    verdicts::a_domain_that_does_not_apply_is_shown_as_that_and_does_not_block: Codex, Claude;
    insisting::sixty_findings_alike_are_one_comment_and_one_fix_round: Codex, Claude;
    insisting::a_fixer_is_not_asked_again_about_what_it_declined_with_a_reason: Claude, Codex;
    insisting::a_blocker_that_is_refuted_is_shown_as_refuted_and_does_not_block: Claude, Codex;
    others::what_a_reviewer_is_shown: Gemini, Claude;
    others::a_conflict_with_the_base_becomes_a_round_of_the_coder: Codex, Gemini;
    others::the_reviewer_sees_the_very_folder_of_the_coder_and_cannot_change_it: Codex, Gemini;
}

/// Asserts the end of the run, and returns the kind of its failure.
fn ended_as(ended: &Ended, status: &str, verdict: &str, rounds: u32, commits: &[&str]) -> Value {
    let mut told = gist(&ended.document);
    let failure = told["failure"].take();
    assert_eq!(
        told,
        json!({
            "kind": "spawn-team",
            "status": status,
            "verdict": verdict,
            "branch": "greet-by-name",
            "prNumber": 1,
            "rounds": rounds,
            "commits": commits,
            "failure": null,
        }),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(i32::from(status != "succeeded")));
    failure
}
