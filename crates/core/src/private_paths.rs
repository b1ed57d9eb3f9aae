//! Replaces paths of this machine in texts for pull requests.

/// The parents of home directories, by convention of the platforms.
const HOMES: [&str; 4] = ["/home/", "/Users/", "/var/home/", "/root/"];
/// The path of the state directory below a home directory.
const STATE: [&str; 2] = ["/.local/state/", "/Library/Application Support/"];

/// The text with the sandbox replaced by its id and home directories by `~`.
pub fn without_private_paths(text: &str, sandbox: Option<(&str, &str)>) -> String {
    let mut known = KnownPaths::default();
    if let Some((path, id)) = sandbox {
        known.add(path, id);
    }
    known.hide(text)
}

/// Known paths of this machine, and their replacements in published texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownPaths(Vec<(String, String)>);

impl KnownPaths {
    /// Adds a path. If it is a state directory in a home, that home is added too.
    pub fn add(&mut self, path: &str, instead: &str) {
        let home = STATE.iter().find_map(|state| path.split_once(state));
        for (path, instead) in [(path, instead), (home.map_or("", |(home, _)| home), "~")] {
            // The root reveals nothing about the machine.
            if path.len() >= 2 && path.starts_with('/') {
                self.0.push((path.to_owned(), instead.to_owned()));
            }
        }
        // Longer paths come first, because a nested path may have its own replacement.
        self.0
            .sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    }

    /// The text with all known paths replaced, and homes replaced by `~`.
    pub fn hide(&self, text: &str) -> String {
        let text = self.hide_known(text);
        HOMES
            .iter()
            .fold(text, |text, folder| without_homes(&text, folder))
    }

    /// The text with all known paths replaced. Other homes remain: in code they may be intended.
    pub fn hide_known(&self, text: &str) -> String {
        let known = self.0.iter();
        known.fold(text.to_owned(), |text, (path, instead)| {
            replaced(&text, path, instead)
        })
    }
}

/// The text with a path replaced, if it begins there, and ends or continues with a subfolder.
fn replaced(text: &str, path: &str, instead: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let mut parts = text.split(path);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = out.ends_with(|c: char| is_name(c) || c == '~');
        out.push_str(if goes_on || part.starts_with(is_name) {
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
        // A match in the middle of another path is a part of that path.
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

    #[test]
    fn a_path_below_another_one_has_its_own_name_and_a_part_of_a_path_is_none() {
        let mut known = KnownPaths::default();
        known.add("/data/drive", "(state)");
        known.add("/data/drive/sandboxes/r-1", "r-1");
        known.add("/srv/shop", "shop");
        known.add("/", "(root)");
        let text = "/data/drive/sandboxes/r-1/a.rs, /data/drive/logs, /srv/shop: src/srv/shop /srv/shopping";
        let told = "r-1/a.rs, (state)/logs, shop: src/srv/shop /srv/shopping";
        assert_eq!(known.hide(text), told);
        assert_eq!(known.hide(told), told);
        assert_eq!(
            known.hide_known("COPY /home/app /srv/shop"),
            "COPY /home/app shop"
        );
    }
}
