//! GraphQL mutations of the simulated GitHub.

use super::super::actions::Proposal;
use super::super::http::Refusal;
use super::Execution;
use super::objects::REACTIONS;
use serde_json::{Value, json};

impl Execution<'_> {
    pub(super) fn mutate(&mut self, name: &str, input: &Value) -> Result<Value, String> {
        let outcome = match name {
            "createPullRequest" => self.create_pull(input),
            "updatePullRequest" => self.update_pull(input),
            "closePullRequest" => self.close_pull(input),
            "mergePullRequest" => self.merge_pull(input),
            "enqueuePullRequest" => self.enqueue_pull(input),
            "markPullRequestReadyForReview" => self.ready(input),
            "addComment" => self.add_comment(input),
            "addPullRequestReview" => self.add_review(input),
            "updatePullRequestReview" => self.update_review(input),
            "resolveReviewThread" => self.resolve_thread(input),
            "addReaction" => self.add_reaction(input),
            "addLabelsToLabelable" => self.add_labels(input),
            _ => return Err(format!("Field '{name}' doesn't exist on type 'Mutation'")),
        };
        let mut payload = outcome.map_err(|refusal| words(&refusal))?;
        payload["__typename"] = json!("Payload");
        payload["clientMutationId"] = input["clientMutationId"].clone();
        Ok(payload)
    }

    fn create_pull(&mut self, input: &Value) -> Result<Value, Refusal> {
        let id = text(input, "repositoryId");
        let repos = self.world.repos.values();
        let found = repos.map(|r| (format!("R_{}", r.id), r.full_name()));
        let repo = found.into_iter().find(|(known, _)| known == id);
        let (_, repo) = repo.ok_or_else(Refusal::not_found)?;
        let number = self.world.open_pull(
            &repo,
            &Proposal {
                by: self.viewer,
                title: text(input, "title"),
                body: text(input, "body"),
                branch: text(input, "headRefName"),
                base: text(input, "baseRefName"),
                draft: input["draft"].as_bool().unwrap_or(false),
            },
        )?;
        self.pull_payload(&repo, number)
    }

    fn update_pull(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        self.world.touch(&repo, number);
        let names = self.label_names(&repo, &input["labelIds"])?;
        let pull = self.world.repo_mut(&repo)?.pulls.get_mut(&number);
        let pull = pull.ok_or_else(Refusal::not_found)?;
        for (field, target) in [("title", &mut pull.title), ("body", &mut pull.body)] {
            if let Some(new) = input[field].as_str() {
                new.clone_into(target);
            }
        }
        pull.labels.extend(names);
        self.pull_payload(&repo, number)
    }

    fn close_pull(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        self.world.close(&repo, number, self.viewer)?;
        self.pull_payload(&repo, number)
    }

    fn merge_pull(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        let method = input["mergeMethod"].as_str().unwrap_or("MERGE");
        let method = method.to_ascii_lowercase();
        let how = self.world.permit_merge(&repo, number, &method)?;
        let expected = input["expectedHeadOid"].as_str();
        let viewer = self.viewer;
        self.world.merge(&repo, number, viewer, expected, how)?;
        self.pull_payload(&repo, number)
    }

    fn enqueue_pull(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        let expected = input["expectedHeadOid"].as_str();
        self.world.enqueue(&repo, number, expected)?;
        Ok(json!({"mergeQueueEntry": {
            "__typename": "MergeQueueEntry", "id": format!("MQE_{number}"),
        }}))
    }

    fn ready(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        self.world.touch(&repo, number);
        if let Some(pull) = self.world.repo_mut(&repo)?.pulls.get_mut(&number) {
            pull.draft = false;
        }
        self.pull_payload(&repo, number)
    }

    fn add_comment(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "subjectId"))?;
        let body = text(input, "body");
        let id = self.world.comment(&repo, number, self.viewer, body)?;
        let url = format!(
            "{}/{repo}/pull/{number}#issuecomment-{id}",
            self.request.html
        );
        let node = json!({
            "__typename": "IssueComment", "id": format!("IC_{id}"), "databaseId": id, "url": url,
            "body": body,
        });
        Ok(json!({"commentEdge": {"__typename": "IssueCommentEdge", "node": node}}))
    }

    fn add_review(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "pullRequestId"))?;
        let (event, body) = (text(input, "event"), text(input, "body"));
        let viewer = self.viewer;
        let id = self.world.review(&repo, number, viewer, event, body, &[])?;
        Ok(json!({"pullRequestReview": {
            "__typename": "PullRequestReview", "id": format!("PRR_{id}"), "databaseId": id,
        }}))
    }

    fn update_review(&mut self, input: &Value) -> Result<Value, Refusal> {
        let id = number_of(text(input, "pullRequestReviewId"), "PRR_")?;
        let repo = self.repo_with(|repo| repo.reviews.contains_key(&id))?;
        self.world.edit(&repo, id, text(input, "body"))?;
        Ok(json!({"pullRequestReview": {
            "__typename": "PullRequestReview", "id": format!("PRR_{id}"), "databaseId": id,
        }}))
    }

    fn resolve_thread(&mut self, input: &Value) -> Result<Value, Refusal> {
        let first = number_of(text(input, "threadId"), "PRRT_")?;
        let repo = self.repo_with(|repo| repo.line_notes.contains_key(&first))?;
        self.world.repo_mut(&repo)?.resolved.insert(first);
        Ok(json!({"thread": {
            "__typename": "PullRequestReviewThread", "id": format!("PRRT_{first}"),
            "isResolved": true,
        }}))
    }

    fn add_reaction(&mut self, input: &Value) -> Result<Value, Refusal> {
        let subject = text(input, "subjectId");
        let id = subject.split_once('_').and_then(|(_, id)| id.parse().ok());
        let id: u64 = id.ok_or_else(Refusal::not_found)?;
        let word = text(input, "content");
        let content = REACTIONS.iter().find(|(_, graphql)| *graphql == word);
        let (content, _) = content.ok_or_else(|| Refusal::new(422, "no such reaction"))?;
        let repo = self.repo_with(|repo| {
            repo.reviews.contains_key(&id)
                || repo.notes.contains_key(&id)
                || repo.line_notes.contains_key(&id)
        })?;
        self.world.react(&repo, id, self.viewer, content)?;
        Ok(json!({"reaction": {"__typename": "Reaction", "content": word}}))
    }

    fn add_labels(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (repo, number) = self.find_pull(text(input, "labelableId"))?;
        let names = self.label_names(&repo, &input["labelIds"])?;
        if let Some(pull) = self.world.repo_mut(&repo)?.pulls.get_mut(&number) {
            pull.labels.extend(names);
        }
        Ok(json!({}))
    }

    fn label_names(&self, repo: &str, ids: &Value) -> Result<Vec<String>, Refusal> {
        let labels = &self.world.repo(repo)?.labels;
        let wanted = ids.as_array().cloned().unwrap_or_default();
        Ok(labels
            .iter()
            .filter(|(_, id)| wanted.contains(&json!(format!("L_{id}"))))
            .map(|(name, _)| name.clone())
            .collect())
    }

    fn find_pull(&self, id: &str) -> Result<(String, u64), Refusal> {
        let id = number_of(id, "PR_")?;
        for repo in self.world.repos.values() {
            if let Some(pull) = repo.pulls.values().find(|pull| pull.id == id) {
                return Ok((repo.full_name(), pull.number));
            }
        }
        Err(Refusal::not_found())
    }

    fn repo_with(
        &self,
        has: impl Fn(&super::super::state::Repo) -> bool,
    ) -> Result<String, Refusal> {
        let mut repos = self.world.repos.values();
        let found = repos.find(|repo| has(repo)).map(|repo| repo.full_name());
        found.ok_or_else(Refusal::not_found)
    }

    fn pull_payload(&self, repo: &str, number: u64) -> Result<Value, Refusal> {
        let repo = self.world.repo(repo)?;
        let pull = repo.pulls.get(&number).ok_or_else(Refusal::not_found)?;
        Ok(json!({ "pullRequest": self.pull(repo, pull) }))
    }
}

fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

fn number_of(id: &str, prefix: &str) -> Result<u64, Refusal> {
    let number = id.strip_prefix(prefix).and_then(|id| id.parse().ok());
    number.ok_or_else(Refusal::not_found)
}

/// GraphQL puts the details of a refusal into its message.
fn words(refusal: &Refusal) -> String {
    let details: Vec<&str> = refusal
        .errors
        .iter()
        .filter_map(|error| error.as_str().or_else(|| error["message"].as_str()))
        .collect();
    if details.is_empty() {
        refusal.message.clone()
    } else {
        details.join(", ")
    }
}
