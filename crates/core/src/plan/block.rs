use super::error::PlanErrors;
use crate::fences::{Block, fenced_blocks};

/// The only task block of a plan.
pub(super) fn tasks_block(text: &str) -> Result<Block<'_>, PlanErrors> {
    let (mut tasks, others): (Vec<_>, Vec<_>) = fenced_blocks(text)
        .into_iter()
        .partition(|block| block.is_tagged(&["json", "tasks"]));
    if let [first, second, ..] = tasks.as_slice() {
        let first = first.line;
        let message = format!("second task block (the first is on line {first}): keep one");
        return Err(PlanErrors::one(Some(second.line), message));
    }
    // An unclosed fence after the block hides nothing of it.
    if let Some(block) = tasks.pop_if(|block| block.is_closed) {
        return Ok(block);
    }
    if let Some(open) = tasks.iter().chain(&others).find(|block| !block.is_closed) {
        let message = "the fence that opens here is never closed";
        return Err(PlanErrors::one(Some(open.line), message));
    }
    // An untagged JSON block is most likely meant as the task block.
    let untagged = others.iter().rfind(|block| block.is_tagged(&["json"]));
    Err(PlanErrors::one(
        untagged.map(|block| block.line),
        "no task block: add a fence that starts with three backticks and `json tasks` and \
         contains a list of tasks",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Result<(usize, &str), (Option<usize>, String)> {
        match tasks_block(text) {
            Ok(block) => Ok((block.line, block.body)),
            Err(errors) => {
                let error = errors.list()[0].clone();
                Err((error.line, error.message))
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
        let missing = "no task block: add a fence that starts with three backticks and `json tasks` \
                       and contains a list of tasks";
        let open = "the fence that opens here is never closed";
        let table = [
            ("", None, missing),
            ("only prose", None, missing),
            ("x\n```json\n[]\n```", Some(2), missing),
            (
                two,
                Some(5),
                "second task block (the first is on line 1): keep one",
            ),
            ("\n```json tasks\n[]\n", Some(2), open),
            ("```\nx\n```json tasks\n[]\n", Some(1), open),
        ];
        for (text, line, message) in table {
            assert_eq!(block(text), Err((line, message.to_owned())), "{text}");
        }
    }
}
