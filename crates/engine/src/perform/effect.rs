//! Dispatches each effect to the method that performs it.

use super::World;
use super::merge::Merging;
use super::publish::Expected;
use crate::executor::Task;
use crate::ports::NewPullRequest;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, EffectResult};

impl World<'_> {
    pub(super) fn perform_effect(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        match &task.claimed.effect {
            Effect::ChooseBranch {
                wanted,
                exact,
                remote,
            } => self.choose_branch(task, wanted, *exact, remote.as_ref()),
            Effect::CreateSandbox { spec } => {
                let sandbox = Box::new(self.sandboxes.create(spec)?);
                Ok(EffectResult::SandboxCreated { sandbox })
            }
            Effect::RunAgent { sandbox, job } => self.run_agent(task, sandbox.as_ref(), job),
            Effect::EndProcess { identity } => {
                self.processes.end(identity)?;
                self.agents.tidy(&self.runs_dir.join(task.run.id.as_str()));
                Ok(EffectResult::ProcessEnded)
            }
            Effect::CommitWork {
                sandbox,
                message,
                since,
            } => self.commit_work(task, sandbox, message, since),
            Effect::WriteFile {
                sandbox,
                path,
                text,
            } => {
                let sandbox = self.require_sandbox(task, sandbox)?;
                match text {
                    Some(text) => self.sandboxes.write_file(&sandbox, path, text)?,
                    None => self.sandboxes.remove_file(&sandbox, path)?,
                }
                Ok(EffectResult::FileWritten)
            }
            Effect::ReadFile {
                sandbox,
                commit,
                path,
            } => self.read_file(task, sandbox, commit, path),
            Effect::ReadDiff {
                sandbox,
                base,
                head,
                since,
            } => self.read_diff(task, sandbox, (base, head), since.as_ref()),
            Effect::OnForge {
                pr,
                act,
                idempotency_key,
            } => self.on_forge(task, *pr, act, idempotency_key.as_ref()),
            Effect::Push {
                sandbox,
                remote,
                branch,
                head_sha,
                published,
            } => {
                let sandbox = self.require_sandbox(task, sandbox)?;
                let expected = Expected {
                    head_sha,
                    published: published.is_some(),
                };
                self.push(task, &sandbox, (remote, branch), &expected)
            }
            Effect::OpenPullRequest {
                branch,
                base,
                title,
                body,
                draft,
            } => {
                let new = NewPullRequest {
                    title: title.clone(),
                    body: body.clone(),
                    branch: branch.clone(),
                    base: base.clone(),
                    draft: *draft,
                };
                self.open_pull_request(task, &new)
            }
            Effect::Integrate {
                sandbox,
                from,
                when,
                base,
                published,
            } => {
                let sandbox = self.require_sandbox(task, sandbox)?;
                let merging = Merging {
                    task,
                    sandbox: &sandbox,
                    from,
                    base: base.as_ref(),
                };
                self.integrate(&merging, *when, published.as_ref())
            }
            Effect::ConcludeMerge {
                sandbox,
                from,
                ours,
                theirs,
                base,
            } => {
                let sandbox = self.require_sandbox(task, sandbox)?;
                let merging = Merging {
                    task,
                    sandbox: &sandbox,
                    from,
                    base: base.as_ref(),
                };
                self.conclude_merge(&merging, ours, theirs)
            }
            Effect::RollBack { sandbox, to } => {
                let sandbox = self.require_sandbox(task, sandbox)?;
                let kept = self.sandboxes.roll_back(&sandbox, to)?;
                Ok(EffectResult::RolledBack { kept })
            }
            Effect::Verify { head, base, rules } => self.verify(task, head, (base, rules.as_ref())),
            Effect::CheckLanded {
                landed,
                base,
                base_sha,
                tree,
            } => self.check_landed(task, landed.as_ref(), base, (base_sha, tree)),
            Effect::OnLine { act } => self.on_line(task, act),
            // The executor delivers messages itself.
            Effect::ToRun { run, .. } => Err(Problem::new(
                Kind::Internal,
                format!("a message to run `{run}` was not delivered by the executor"),
            )),
            Effect::Notify { notice } => self.notify(task, notice),
            Effect::RemoveSandbox { sandbox } => self.remove_sandbox(task, sandbox),
        }
    }
}
