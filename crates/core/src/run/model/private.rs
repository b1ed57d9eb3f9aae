//! Removes paths of this machine from the texts of effects. Every effect passes here when it is
//! decided, so no flow can post or commit a path.

use super::effect::Effect;
use super::forge_act::ForgeAct;
use super::post_key::PostKey;
use super::run::Run;
use crate::private_paths::KnownPaths;
use crate::settings::RecordDetail;

/// The folder of sandboxes in the state directory.
const SANDBOXES: &str = "/sandboxes/";

impl Run {
    /// Paths that this run knows, and their replacements: its sandboxes, the state directory and
    /// the user's repository.
    pub fn known_paths(&self) -> KnownPaths {
        let mut known = KnownPaths::default();
        for sandbox in self.sandboxes.values() {
            let path = sandbox.path.to_string_lossy();
            known.add(&path, self.id.as_str());
            if let Some((state, _)) = path.rsplit_once(SANDBOXES) {
                known.add(state, "(state)");
            }
        }
        if let Some(request) = &self.request {
            let name = request.repo.file_name();
            let name = name.map_or("repository".into(), |name| name.to_string_lossy());
            known.add(&request.repo.to_string_lossy(), &name);
        }
        known
    }

    /// Whether the settings ask for a complete record, so that its description may contain paths.
    fn publishes_all(&self) -> bool {
        let terms = self.request.as_ref().and_then(|one| one.kind.phase_terms());
        terms.is_some_and(|terms| terms.record == RecordDetail::Full)
    }
}

impl Effect {
    /// The effect with texts that contain no path of this machine.
    pub(super) fn without_paths(mut self, run: &Run) -> Self {
        let known = run.known_paths();
        let hide = |text: &mut String| *text = known.hide(text);
        match &mut self {
            Effect::CommitWork { message, .. } => hide(message),
            Effect::OpenPullRequest { title, body, .. } => {
                hide(title);
                if !run.publishes_all() {
                    hide(body);
                }
            }
            Effect::OnForge {
                act,
                idempotency_key,
                ..
            } => {
                // A person's own words.
                if !matches!(idempotency_key, Some(PostKey::Injected(_))) {
                    act.hide_paths(&known, run.publishes_all());
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
    fn hide_paths(&mut self, known: &KnownPaths, publishes_all: bool) {
        let hide = |text: &mut String| *text = known.hide(text);
        match self {
            ForgeAct::PostReview { body, lines, .. } => {
                hide(body);
                for line in lines {
                    // Suggested code is posted unchanged, or not as a suggestion.
                    match &line.suggestion {
                        Some(block) if known.hide_known(block) == *block => {
                            let parts = line.body.split(block.as_str());
                            let parts: Vec<String> = parts.map(|part| known.hide(part)).collect();
                            line.body = parts.join(block);
                        }
                        Some(_) | None => {
                            hide(&mut line.body);
                            line.suggestion = None;
                        }
                    }
                }
            }
            ForgeAct::PostComment { body }
            | ForgeAct::Summarize { body, .. }
            | ForgeAct::Reply { body, .. } => hide(body),
            ForgeAct::UpdateBody { body } => {
                if !publishes_all {
                    hide(body);
                }
            }
            ForgeAct::SetStatus { description, .. } => hide(description),
            ForgeAct::Poll { .. }
            | ForgeAct::React { .. }
            | ForgeAct::ResolveThread { .. }
            | ForgeAct::MarkReady
            | ForgeAct::Merge { .. } => {}
        }
    }
}
