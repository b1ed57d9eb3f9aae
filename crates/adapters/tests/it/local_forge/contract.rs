//! Runs the unchanged forge contract on the local forge.

use crate::local_forge::world::World;
use drive_adapters::forge::local::{CommentTarget, PersonalComment};
use drive_core::forge::{CommentRef, Permission, ReviewState};
use drive_core::ids::PrNumber;
use drive_engine::ports::{Forge, Reaction, StatusState};
use drive_testkit::forge_contract::ForgeFixture;
use std::time::Duration;

struct Local(World);

impl Local {
    fn say(&self, by: &str, pr: PrNumber, body: &str, target: CommentTarget<'_>) -> CommentRef {
        let author = Some(by);
        let said = PersonalComment {
            author,
            body,
            target,
        };
        self.0.forge.comment(pr, &said).unwrap()
    }
}

impl ForgeFixture for Local {
    fn forge(&self) -> &dyn Forge {
        &self.0.forge
    }

    fn push(&self, branch: &str, path: &str, content: &str) -> String {
        self.0.push(branch, path, content)
    }

    fn add_person(&self, login: &str, permission: Permission) {
        self.0.forge.set_permission(login, permission).unwrap();
    }

    fn comment(&self, by: &str, pr: PrNumber, body: &str) -> CommentRef {
        self.say(by, pr, body, CommentTarget::Conversation)
    }

    fn comment_on_line(
        &self,
        by: &str,
        pr: PrNumber,
        path: &str,
        line: u64,
        body: &str,
    ) -> CommentRef {
        self.say(by, pr, body, CommentTarget::Line { path, line })
    }

    fn review(&self, by: &str, pr: PrNumber, state: ReviewState, body: &str) -> CommentRef {
        self.0
            .forge
            .personal_review(pr, Some(by), state, body)
            .unwrap()
    }

    fn edit(&self, pr: PrNumber, comment: CommentRef, body: &str) {
        self.0.forge.rewrite(pr, comment, body).unwrap();
    }

    fn delete(&self, _pr: PrNumber, comment: CommentRef) {
        // The command line cannot delete a comment.
        let database = self.0.database();
        let gone = database.execute(
            "DELETE FROM local_comments WHERE id = ?1",
            [comment.id.get()],
        );
        assert_eq!(gone.unwrap(), 1);
    }

    fn pass_time(&self) {
        self.0.clock.pass(Duration::from_secs(600));
    }

    fn lose_next_answer(&self) {
        // There is no network between the forge and its database.
    }

    fn statuses(&self, sha: &str) -> Vec<(String, StatusState)> {
        self.0.forge.statuses(sha).unwrap()
    }

    fn reactions(&self, _pr: PrNumber, comment: CommentRef) -> Vec<Reaction> {
        self.0.forge.reactions(comment).unwrap()
    }

    fn is_resolved(&self, _pr: PrNumber, comment: CommentRef) -> bool {
        self.0.forge.is_resolved(comment).unwrap()
    }
}

fn local() -> Local {
    Local(World::bare())
}

drive_testkit::forge_contract!(crate::local_forge::contract::local);
