//! The contract of a forge, as one suite of tests.
//!
//! An adapter writes a [`ForgeFixture`] and one line, `drive_testkit::forge_contract!(my_fixture)`,
//! where `my_fixture()` creates a forge with an empty repository. All adapters run the same suite.
#![expect(
    clippy::unwrap_used,
    reason = "a contract test fails by panicking, as every test does"
)]

pub mod checking;
mod fixture;
pub mod merging;
pub mod polling;
pub mod posting;
pub mod pull_requests;
pub mod reviewing;

pub use fixture::{BASE, ForgeFixture};

/// Generates one named test for each clause of the contract.
#[macro_export]
macro_rules! forge_contract {
    ($fixture:path) => {
        $crate::forge_contract!(@tests $fixture,
            pull_requests: {
                opening_twice_returns_the_same_pull_request,
                a_branch_without_pull_request_is_not_found,
                a_branch_is_found_in_its_newest_pull_request,
                a_draft_becomes_ready_and_stays_ready,
                the_head_follows_a_push,
                the_description_is_replaced,
                a_description_too_long_is_cut_with_a_note,
                closing_twice_is_closing_once,
                an_unknown_pull_request_is_a_typed_problem,
                permissions_are_told_and_strangers_have_none,
                the_newest_status_of_a_context_counts,
            }
            polling: {
                three_surfaces_are_one_stream,
                a_later_poll_brings_nothing_old_beyond_the_overlap,
                an_edit_comes_again_as_a_new_version,
                only_watched_pull_requests_are_delivered,
                a_poll_tells_which_pull_requests_changed,
                many_comments_all_arrive,
            }
            posting: {
                the_same_marker_posts_once,
                a_lost_answer_does_not_post_twice,
                two_markers_are_two_posts_even_with_the_same_text,
                a_reply_stands_in_the_thread_of_the_first_comment,
                a_reply_to_a_reply_stands_in_the_same_thread,
                a_reply_with_the_same_marker_stands_once,
                a_reply_outside_a_thread_stands_in_the_conversation,
                a_reply_to_a_deleted_comment_on_a_line_says_that_it_is_gone,
                an_edit_replaces_the_text_and_keeps_the_marker,
                a_reaction_given_twice_stands_once,
                a_body_too_long_is_cut_and_keeps_its_marker,
            }
            reviewing: {
                a_review_stands_on_its_lines,
                a_review_with_the_same_marker_stands_once,
                a_lost_answer_does_not_review_twice,
                a_line_the_diff_does_not_reach_is_not_lost,
                a_remark_on_several_lines_stands_on_one_of_them,
                a_thread_is_resolved_by_any_of_its_comments,
                an_approval_stands_for_the_head_it_was_given_for,
                a_later_verdict_of_the_same_person_takes_an_approval_back,
                a_request_for_changes_stands_until_its_author_approves,
                a_resolved_thread_is_told_with_its_comments,
            }
            checking: {
                the_statuses_of_a_head_are_its_checks,
                a_newer_head_has_no_checks_yet,
                a_report_is_changed_from_pending_to_its_result,
                a_lost_answer_does_not_report_twice,
            }
            merging: {
                the_expected_head_is_merged_once,
                another_head_is_not_merged,
                a_lost_answer_to_a_merge_is_found_out,
                a_closed_pull_request_is_not_merged,
                a_conflict_is_told_and_not_merged,
            }
        );
    };
    (@tests $fixture:path, $($noun:ident: { $($clause:ident,)* })*) => {
        $(mod $noun {
            $(#[test]
            fn $clause() {
                $crate::forge_contract::$noun::$clause(&$fixture());
            })*
        })*
    };
}
