//! Makes the texts of effects inert. Every effect passes here when it is decided, so no flow can
//! post or commit an agent's text unchanged.

use super::effect::Effect;
use super::forge_act::ForgeAct;
use super::post_key::PostKey;
use crate::forge::inert::{Said, description, markdown, plain, with_suggestion};
use crate::forge::part::unmarked;

impl Effect {
    /// Neutralises texts that would act on the forge, such as mentions, except those that a person
    /// wrote in the task.
    pub(super) fn inert(mut self, said: &Said) -> Self {
        match &mut self {
            Effect::CommitWork { message, .. } => *message = plain(message, said),
            Effect::OpenPullRequest { title, body, .. } => {
                *title = plain(title, said);
                *body = description(body, said);
            }
            Effect::OnForge {
                act,
                idempotency_key,
                ..
            } => {
                // A person's own words.
                if !matches!(idempotency_key, Some(PostKey::Injected(_))) {
                    act.make_inert(said);
                }
            }
            Effect::ChooseBranch { .. }
            | Effect::CreateSandbox { .. }
            | Effect::RunAgent { .. }
            | Effect::EndProcess { .. }
            | Effect::WriteFile { .. }
            | Effect::ReadFile { .. }
            | Effect::ReadDiff { .. }
            | Effect::Push { .. }
            | Effect::Integrate { .. }
            | Effect::ConcludeMerge { .. }
            | Effect::RollBack { .. }
            | Effect::Verify { .. }
            | Effect::CheckLanded { .. }
            | Effect::OnLine { .. }
            | Effect::ToRun { .. }
            | Effect::Notify { .. }
            | Effect::RemoveSandbox { .. } => {}
        }
        self
    }
}

impl ForgeAct {
    fn make_inert(&mut self, said: &Said) {
        match self {
            ForgeAct::PostReview { body, lines, .. } => {
                *body = post(body, said);
                for line in lines {
                    let block = line.suggestion.as_deref();
                    line.body = with_suggestion(&unmarked(&line.body), block, said);
                }
            }
            ForgeAct::PostComment { body }
            | ForgeAct::Summarize { body, .. }
            | ForgeAct::Reply { body, .. } => {
                *body = post(body, said);
            }
            ForgeAct::UpdateBody { body } => *body = description(body, said),
            ForgeAct::SetStatus { description, .. } => *description = plain(description, said),
            ForgeAct::Poll { .. }
            | ForgeAct::React { .. }
            | ForgeAct::ResolveThread { .. }
            | ForgeAct::MarkReady
            | ForgeAct::Merge { .. } => {}
        }
    }
}

/// Removes drive's marks from a post. Only a description has a part of drive's own: elsewhere its
/// mark would open an HTML comment and hide the text after it.
fn post(body: &str, said: &Said) -> String {
    markdown(&unmarked(body), said)
}
