//! Earlier posts of review threads, for a fixer that gets a comment of the thread.

use crate::ids::CommentId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many threads are stored; the oldest are dropped first.
const MOST_THREADS: usize = 200;
/// How many of the last posts of a thread are stored.
const MOST_POSTS: usize = 20;
/// How many characters of each post are stored.
const POST_CHARS: usize = 2_000;

/// Threads by the id of the comment that began them. Comments of untrusted authors are left out.
///
/// The ids are text because serde cannot read numeric map keys inside an internally tagged enum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Threads(BTreeMap<String, Vec<ThreadPost>>);

/// One post of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadPost {
    /// The comment's id; `None` for our own reply.
    comment: Option<CommentId>,
    text: String,
}

impl Threads {
    /// Whether there are no posts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a post to a thread.
    pub(in crate::run) fn add(
        &mut self,
        thread: CommentId,
        comment: Option<CommentId>,
        author: &str,
        text: &str,
    ) {
        let posts = self.0.entry(thread.to_string()).or_default();
        let text: String = text.chars().take(POST_CHARS).collect();
        posts.push(ThreadPost {
            comment,
            text: format!("{author}: {}", text.trim_end()),
        });
        if posts.len() > MOST_POSTS {
            posts.remove(0);
        }
        if self.0.len() > MOST_THREADS {
            let age = |id: &&String| (id.len(), (*id).clone());
            let oldest = self.0.keys().min_by_key(age).cloned();
            oldest.map(|id| self.0.remove(&id));
        }
    }

    /// The posts of a thread, oldest first, up to but without this comment.
    pub(in crate::run) fn before(&self, thread: CommentId, comment: CommentId) -> String {
        let posts = self.0.get(&thread.to_string());
        let posts = posts.map_or(&[][..], Vec::as_slice);
        let earlier = |post: &&ThreadPost| post.comment.is_none_or(|id| id < comment);
        let texts: Vec<&str> = posts
            .iter()
            .filter(earlier)
            .map(|post| post.text.as_str())
            .collect();
        texts.join("\n\n")
    }
}
