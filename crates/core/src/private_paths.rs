//! Paths of this machine, as a pull request may name them.

/// Where homes are, by the convention of the platforms.
const HOMES: [&str; 4] = ["/home/", "/Users/", "/var/home/", "/root/"];
/// What follows the home in the path of the state directory.
const STATE: [&str; 2] = ["/.local/state/", "/Library/Application Support/"];

/// The text with the sandbox by its id and homes as `~`.
pub fn without_private_paths(text: &str, sandbox: Option<(&str, &str)>) -> String {
    let mut text = text.to_owned();
    if let Some((path, id)) = sandbox {
        text = replaced(&text, path, id);
        let home = STATE.iter().find_map(|state| path.split_once(state));
        text = replaced(&text, home.map_or("", |(home, _)| home), "~");
    }
    HOMES
        .iter()
        .fold(text, |text, folder| without_homes(&text, folder))
}

/// The text with a path replaced, where it ends or goes on below.
fn replaced(text: &str, path: &str, instead: &str) -> String {
    if path.len() < 2 {
        return text.to_owned();
    }
    let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let mut parts = text.split(path);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(if part.starts_with(is_name) {
            path
        } else {
            instead
        });
        out.push_str(part);
    }
    out
}

fn without_homes(text: &str, folder: &str) -> String {
    let is_name = |c: char| !c.is_whitespace() && !"/:;,'\"`()<>|".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let after = &found[folder.len()..];
        // One that goes on from another path is a part of that.
        let goes_on = before.ends_with(|c: char| c.is_alphanumeric() || "_.-~".contains(c));
        let name = match folder {
            "/root/" => "",
            _ => &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())],
        };
        if goes_on || (name.is_empty() && folder != "/root/") {
            out.push_str(folder);
            rest = after;
        } else {
            out.push('~');
            rest = &after[name.len()..];
            if folder == "/root/" {
                out.push('/');
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_become_a_tilde_and_the_sandbox_its_id() {
        let sandbox = "/data/ann/.local/state/drive/sandboxes/r-1";
        for (text, expected) in [
            ("cat /home/ann/a.txt /home/bob", "cat ~/a.txt ~"),
            ("PATH=/Users/ann/bin:/root/bin", "PATH=~/bin:~/bin"),
            (
                "/data/ann/.config and /data/anna",
                "~/.config and /data/anna",
            ),
            (
                "cd /data/ann/.local/state/drive/sandboxes/r-1/src",
                "cd r-1/src",
            ),
            (
                "/srv/home/ann /home/ /roots/x",
                "/srv/home/ann /home/ /roots/x",
            ),
        ] {
            let told = without_private_paths(text, Some((sandbox, "r-1")));
            assert_eq!(told, expected);
        }
        assert_eq!(without_private_paths("a /root/.npm", None), "a ~/.npm");
    }
}
