//! Fenced code blocks in Markdown written by an agent.

/// One fenced block. A fence is a line of three or more backticks or tildes; the block ends at a
/// line of at least as many, or with the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'t> {
    marks: &'t str,
    info: &'t str,
    /// The text between its fences.
    pub(crate) body: &'t str,
    /// The line of its opening fence, from 1.
    pub(crate) line: usize,
    /// Whether a fence closes it.
    pub(crate) is_closed: bool,
}

impl Block<'_> {
    /// Whether the words after the opening fence begin with these, in any letter case.
    pub(crate) fn is_tagged(&self, tags: &[&str]) -> bool {
        let mut words = self.info.split_whitespace();
        tags.iter()
            .all(|tag| words.next().is_some_and(|w| w.eq_ignore_ascii_case(tag)))
    }
}

/// The fenced blocks of a text. Only the last one may be unclosed.
pub(crate) fn fenced_blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let Some((marks, info)) = fence(line) else {
            continue;
        };
        match blocks.last_mut().filter(|block| !block.is_closed) {
            None => blocks.push(Block {
                marks,
                info,
                body: &text[at..],
                line: index + 1,
                is_closed: false,
            }),
            Some(open) if marks.starts_with(open.marks) && info.is_empty() => {
                let rest = text.len() - start;
                open.body = &open.body[..open.body.len() - rest];
                open.is_closed = true;
            }
            Some(_) => {}
        }
    }
    blocks
}

/// The characters of a fence, and the text after them.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let marks = &line[..line.len() - info.len()];
    // Backticks after a word of the line are code within the line, not a fence.
    let is_fence = marks.len() >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then_some((marks, info.trim()))
}
