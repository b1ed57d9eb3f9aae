use super::{PlanErrors, PlanMistake};

/// The task block of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'t> {
    pub(super) body: &'t str,
    /// The line of its opening fence, from 1.
    pub(super) line: usize,
}

/// The one task block.
pub(super) fn tasks_block(text: &str) -> Result<Block<'_>, PlanErrors> {
    let found = scan(text);
    if let [block, rest @ ..] = found.blocks.as_slice() {
        if let Some(second) = rest.first() {
            let first = block.line;
            let mistake = PlanMistake::TwoBlocks { first };
            return Err(PlanErrors::one(Some(second.line), mistake));
        }
        // A fence that is left open after the block hides nothing of it.
        if found.open.is_none_or(|open| open != block.line) {
            return Ok(Block { ..*block });
        }
    }
    Err(match found.open {
        Some(line) => PlanErrors::one(Some(line), PlanMistake::UnclosedFence),
        None => PlanErrors::one(found.untagged, PlanMistake::NoBlock),
    })
}

struct Found<'t> {
    blocks: Vec<Block<'t>>,
    /// The line of a fence that nothing closes.
    open: Option<usize>,
    /// The line of the last block that is JSON and not called tasks: most likely the one meant.
    untagged: Option<usize>,
}

struct Open<'t> {
    fence: Fence<'t>,
    line: usize,
    from: usize,
}

/// A fence is a line of three or more backticks or tildes; it ends at a line of at least as many.
fn scan(text: &str) -> Found<'_> {
    let mut found = Found {
        blocks: Vec::new(),
        open: None,
        untagged: None,
    };
    let mut open: Option<Open<'_>> = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let Some(fence) = Fence::read(line) else {
            continue;
        };
        match &open {
            None => {
                open = Some(Open {
                    fence,
                    line: index + 1,
                    from: at,
                });
            }
            Some(opened) if fence.closes(&opened.fence) => {
                found.take(opened, &text[opened.from..start]);
                open = None;
            }
            Some(_) => {}
        }
    }
    if let Some(opened) = open {
        found.open = Some(opened.line);
        found.take(&opened, &text[opened.from..]);
    }
    found
}

impl<'t> Found<'t> {
    fn take(&mut self, open: &Open<'_>, body: &'t str) {
        if open.fence.is_tasks() {
            self.blocks.push(Block {
                body,
                line: open.line,
            });
        } else if open.fence.is_json() {
            self.untagged = Some(open.line);
        }
    }
}

struct Fence<'t> {
    mark: char,
    length: usize,
    info: &'t str,
}

impl<'t> Fence<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let info = line.get(length..)?.trim();
        // Backticks after backticks are code within a line, not a fence.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { mark, length, info })
    }

    fn closes(&self, opened: &Fence<'_>) -> bool {
        self.mark == opened.mark && self.length >= opened.length && self.info.is_empty()
    }

    fn words(&self) -> impl Iterator<Item = &'t str> {
        self.info.split_whitespace()
    }

    fn is_json(&self) -> bool {
        self.words()
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("json"))
    }

    fn is_tasks(&self) -> bool {
        self.is_json()
            && self
                .words()
                .nth(1)
                .is_some_and(|word| word.eq_ignore_ascii_case("tasks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Result<(usize, &str), (Option<usize>, PlanMistake)> {
        match tasks_block(text) {
            Ok(block) => Ok((block.line, block.body)),
            Err(errors) => {
                let error = errors.list()[0].clone();
                Err((error.line, error.mistake))
            }
        }
    }

    #[test]
    fn the_block_is_found_in_whatever_fence_it_stands() {
        let table = [
            ("```json tasks\n[1]\n```", (1, "[1]\n")),
            ("# Plan\n\n~~~JSON Tasks\n[1]\n~~~\nend\n", (3, "[1]\n")),
            ("````json tasks x\n[1]\n````\n", (1, "[1]\n")),
            ("  ```json tasks\r\n[1]\r\n  ```\r\n", (1, "[1]\r\n")),
            ("```json\n{}\n```\n```json tasks\n```", (4, "")),
            ("a ``` b\n```x``` y\n```json tasks\n[]\n```", (3, "[]\n")),
            (
                "````md\n```json tasks\n[]\n```\n````\n```json tasks\n[1]\n```",
                (6, "[1]\n"),
            ),
            ("```json tasks\n[1]\n```\n```sh\nls\n", (1, "[1]\n")),
        ];
        for (text, expected) in table {
            assert_eq!(block(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn no_block_two_blocks_and_an_open_fence_are_told_apart() {
        let two = "```json tasks\n[]\n```\n\n```json tasks\n[]\n```";
        let table = [
            ("", None, PlanMistake::NoBlock),
            ("only prose", None, PlanMistake::NoBlock),
            ("x\n```json\n[]\n```", Some(2), PlanMistake::NoBlock),
            (two, Some(5), PlanMistake::TwoBlocks { first: 1 }),
            ("\n```json tasks\n[]\n", Some(2), PlanMistake::UnclosedFence),
            (
                "```\nx\n```json tasks\n[]\n",
                Some(1),
                PlanMistake::UnclosedFence,
            ),
        ];
        for (text, line, mistake) in table {
            assert_eq!(block(text), Err((line, mistake)), "{text}");
        }
    }
}
