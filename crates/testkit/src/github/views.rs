//! Shows a pull request as a person sees it, and changes it without a request.

use super::Simulator;

/// A pull request as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPull {
    /// The pull request's title.
    pub title: String,
    /// The pull request's description.
    pub body: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it was merged.
    pub merged: bool,
    /// The tip of its branch.
    pub head_sha: String,
    /// Every text on it, oldest first: conversation, lines, reviews.
    pub texts: Vec<String>,
}

impl Simulator {
    /// The pull request, if it exists.
    pub fn look(&self, repo: &str, pr: u64) -> Option<SeenPull> {
        let service = self.lock();
        let repo = service.world.repos.get(repo)?;
        let pull = repo.pulls.get(&pr)?;
        let lines = repo.line_notes.values().map(|line| &line.note);
        let reviews = repo.reviews.values().map(|review| &review.note);
        let mut notes: Vec<_> = repo.notes.values().chain(lines).chain(reviews).collect();
        notes.retain(|note| note.pr == pr && !note.body.is_empty());
        notes.sort_by_key(|note| note.id);
        Some(SeenPull {
            title: pull.title.clone(),
            body: pull.body.clone(),
            draft: pull.draft,
            merged: pull.merged.is_some(),
            head_sha: pull.head_sha.clone(),
            texts: notes.into_iter().map(|note| note.body.clone()).collect(),
        })
    }

    /// Every commit at which a branch was since its last creation, oldest first.
    pub fn positions(&self, repo: &str, branch: &str) -> Vec<String> {
        let service = self.lock();
        let git = service.world.repos.get(repo).map(|repo| &repo.git);
        git.map_or_else(Vec::new, |git| git.positions(branch))
    }

    /// The first and last line of each inline comment, in order.
    pub fn commented_lines(&self, repo: &str, pr: u64) -> Vec<(Option<u64>, u64)> {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        let lines = repo.into_iter().flat_map(|repo| repo.line_notes.values());
        lines
            .filter(|line| line.note.pr == pr)
            .map(|line| (line.original_start, line.original_line))
            .collect()
    }

    /// Rewrites the description as a person.
    pub fn rewrite_body(&self, repo: &str, pr: u64, rewrite: impl FnOnce(&str) -> String) {
        let mut service = self.lock();
        let repo = service.world.repos.get_mut(repo);
        if let Some(pull) = repo.and_then(|repo| repo.pulls.get_mut(&pr)) {
            pull.body = rewrite(&pull.body);
        }
    }
}
