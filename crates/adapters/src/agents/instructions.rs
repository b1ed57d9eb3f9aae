use drive_core::agent::Role;
use drive_core::prompts::{RULE_FILES, cut_rules};
use drive_engine::ports::InstructionFile;

/// The name of the file with instructions for all agents.
const COMMON: &str = "AGENTS.md";

/// The file with rules for people, which apply to agents too.
const FOR_PEOPLE: &str = "CONTRIBUTING.md";

/// The user's and the repository's instructions in one text, for an agent that reads `own` (such as
/// `CLAUDE.md`): that file and the common one or, if a repository has neither, its instructions for
/// other agents; and its rules for people. A reviewer gets everything that a change is checked
/// against. `None` if there are no instructions.
pub(super) fn combined(
    own: &str,
    role: Role,
    user: Option<&str>,
    repository: &[InstructionFile],
) -> Option<String> {
    let is_own = |name: &str| name == own || name == COMMON;
    let has_own = repository.iter().any(|file| is_own(&file.name));
    let is_reviewer = role == Role::Reviewer;
    let is_meant = |name: &str| {
        let is_rule = is_reviewer && RULE_FILES.contains(&name);
        is_own(name) || name == FOR_PEOPLE || is_rule || !has_own
    };
    let mut meant: Vec<&InstructionFile> = Vec::new();
    for file in repository.iter().filter(|file| is_meant(&file.name)) {
        meant.push(file);
    }
    meant.sort_by_key(|file| (file.name != own, file.name == FOR_PEOPLE));
    let mut told: Vec<&InstructionFile> = Vec::new();
    for file in meant {
        if told.iter().all(|other| other.text != file.text) {
            told.push(file);
        }
    }
    let meant = told;
    let user = user.map(|text| inert(&cut_rules(own, text)));
    let user = user.filter(|text| !text.trim().is_empty());
    let texts = meant.iter().map(|file| {
        let text = inert(&cut_rules(&file.name, &file.text));
        format!("{} of the repository:\n{text}", file.name)
    });
    let all: Vec<String> = user.into_iter().chain(texts).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// The text without imports: claude and gemini would replace `@path` by the file, which could be
/// their own login.
fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = '\n';
    for c in text.chars() {
        if c == '@' && !last.is_alphanumeric() {
            out.push('\\');
        }
        out.push(c);
        last = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::prompts::LONGEST_RULES;

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
            combined("CLAUDE.md", Role::Coder, Some("mine"), &files).unwrap(),
            "mine\n\nCLAUDE.md of the repository:\na\n\n\
             AGENTS.md of the repository:\nb"
        );
        assert_eq!(
            combined("AGENTS.md", Role::Coder, None, &files[1..]).unwrap(),
            "CLAUDE.md of the repository:\na\n\nGEMINI.md of the repository:\nc"
        );
        let twice = [file("AGENTS.md", "same"), file("GEMINI.md", "same")];
        assert_eq!(
            combined("GEMINI.md", Role::Coder, None, &twice).unwrap(),
            "GEMINI.md of the repository:\nsame"
        );
        assert_eq!(combined("CLAUDE.md", Role::Coder, Some(" \n"), &[]), None);
    }

    #[test]
    fn an_import_is_text_like_any_other() {
        assert_eq!(
            inert("@~/.claude/.credentials.json\n- @a.md (@b) mail me@example.org\n"),
            "\\@~/.claude/.credentials.json\n- \\@a.md (\\@b) mail me@example.org\n"
        );
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let files = [file("AGENTS.md", &"x".repeat(LONGEST_RULES + 7))];
        let text = combined("CLAUDE.md", Role::Coder, None, &files).unwrap();
        assert!(text.ends_with("x\n[cut: the last 7 bytes of AGENTS.md]\n"));
    }

    #[test]
    fn a_reviewer_gets_every_rule_of_the_repository_and_the_same_text_once() {
        let files = [
            file("CLAUDE.md", "a"),
            file("AGENTS.md", "b"),
            file("GEMINI.md", "c"),
            file("CONTRIBUTING.md", "d"),
        ];
        assert_eq!(
            combined("AGENTS.md", Role::Reviewer, None, &files).unwrap(),
            "AGENTS.md of the repository:\nb\n\nCLAUDE.md of the repository:\na\n\n\
             CONTRIBUTING.md of the repository:\nd"
        );
        assert_eq!(
            combined("AGENTS.md", Role::Coder, None, &files).unwrap(),
            "AGENTS.md of the repository:\nb\n\n\
             CONTRIBUTING.md of the repository:\nd"
        );
        let same = [
            file("CLAUDE.md", "a"),
            file("GEMINI.md", "b"),
            file("CONTRIBUTING.md", "a"),
        ];
        assert_eq!(
            combined("GEMINI.md", Role::Reviewer, None, &same).unwrap(),
            "GEMINI.md of the repository:\nb\n\nCLAUDE.md of the repository:\na"
        );
    }
}
