use drive_engine::ports::InstructionFile;

/// The most that is told of one file. Codex takes 32 KiB by default, and none of them needs more.
const MAX_BYTES: usize = 64 * 1024;

/// The name of the instructions that every agent is meant to follow.
const COMMON: &str = "AGENTS.md";

/// One text of the user's instructions and the repository's, for an agent that reads `own` (such as
/// `CLAUDE.md`): that file and the common one, or where a repository has neither, what it has for
/// other agents. `None` where nobody says anything.
pub(super) fn combined(
    own: &str,
    user: Option<&str>,
    repository: &[InstructionFile],
) -> Option<String> {
    let is_meant = |file: &&InstructionFile| file.name == own || file.name == COMMON;
    let has_own = repository.iter().any(|file| is_meant(&file));
    let mut meant: Vec<&InstructionFile> = repository
        .iter()
        .filter(|file| !has_own || is_meant(file))
        .collect();
    meant.sort_by_key(|file| file.name != own);
    meant.dedup_by(|later, first| later.text == first.text);
    let user = user.map(inert).filter(|text| !text.trim().is_empty());
    let texts = meant.iter().map(|file| {
        let text = inert(&file.text);
        format!("<!-- {} of the repository -->\n{text}", file.name)
    });
    let all: Vec<String> = user.into_iter().chain(texts).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// The text, cut, without imports: claude and gemini would put the file behind `@path` in its place,
/// such as their own login.
fn inert(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_BYTES.min(text.len()));
    let mut out = String::with_capacity(end);
    let mut last = '\n';
    for c in text[..end].chars() {
        if c == '@' && !last.is_alphanumeric() {
            out.push('\\');
        }
        out.push(c);
        last = c;
    }
    if end < text.len() {
        out.push_str("\n[cut: the file is longer]\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> InstructionFile {
        InstructionFile {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_agent_gets_the_users_text_its_own_file_and_the_common_one() {
        let files = [
            file("AGENTS.md", "b"),
            file("CLAUDE.md", "a"),
            file("GEMINI.md", "c"),
        ];
        assert_eq!(
            combined("CLAUDE.md", Some("mine"), &files).unwrap(),
            "mine\n\n<!-- CLAUDE.md of the repository -->\na\n\n\
             <!-- AGENTS.md of the repository -->\nb"
        );
        assert_eq!(
            combined("AGENTS.md", None, &files[1..]).unwrap(),
            "<!-- CLAUDE.md of the repository -->\na\n\n<!-- GEMINI.md of the repository -->\nc"
        );
        let twice = [file("AGENTS.md", "same"), file("GEMINI.md", "same")];
        assert_eq!(
            combined("GEMINI.md", None, &twice).unwrap(),
            "<!-- GEMINI.md of the repository -->\nsame"
        );
        assert_eq!(combined("CLAUDE.md", Some(" \n"), &[]), None);
    }

    #[test]
    fn an_import_is_text_like_any_other() {
        assert_eq!(
            inert("@~/.claude/.credentials.json\n- @a.md (@b) mail me@example.org\n"),
            "\\@~/.claude/.credentials.json\n- \\@a.md (\\@b) mail me@example.org\n"
        );
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let cut = inert(&"é".repeat(MAX_BYTES));
        assert!(cut.ends_with("é\n[cut: the file is longer]\n"));
        assert!(cut.len() < MAX_BYTES + 64);
    }
}
