//! The secret key of this installation, which signs drive's posts.

use drive_core::forge::marker::MarkerKey;
use drive_core::problem::{Kind, Problem};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const NAME: &str = "marker.key";
const BYTES: usize = 32;

/// The marker key in a state directory. It is created on first use, readable only by its owner.
pub fn require_marker_key(state_dir: &Path) -> Result<MarkerKey, Problem> {
    let path = state_dir.join(NAME);
    match File::open(&path) {
        Ok(file) => load(&path, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(&path),
        Err(error) => Err(unusable(&path, "cannot be read").because(error)),
    }
}

fn load(path: &Path, mut file: File) -> Result<MarkerKey, Problem> {
    let cannot = |error: io::Error| unusable(path, "cannot be read").because(error);
    let mode = file.metadata().map_err(cannot)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(unusable(path, "can be read by others")
            .hint(format!("run `chmod 600 '{}'`", path.display())));
    }
    let mut secret = Vec::with_capacity(BYTES + 1);
    Read::take(&mut file, BYTES as u64 + 1)
        .read_to_end(&mut secret)
        .map_err(cannot)?;
    match <&[u8; BYTES]>::try_from(secret.as_slice()) {
        Ok(secret) => Ok(MarkerKey::new(secret)),
        Err(_) => Err(unusable(path, "is damaged").hint(
            "delete it to get a new one; comments posted with the old key are still recognized \
             by their ids",
        )),
    }
}

/// Writes the key to another file and links it to its place: the first process wins, and nobody
/// ever sees half a key.
fn create(path: &Path) -> Result<MarkerKey, Problem> {
    let cannot = |error: io::Error| unusable(path, "cannot be created").because(error);
    let mut secret = [0; BYTES];
    getrandom::fill(&mut secret).map_err(|error| cannot(io::Error::other(error)))?;
    let draft = draft_path(path).map_err(cannot)?;
    let written = write(&draft, &secret);
    let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    });
    // A left-over file is harmless, so this may fail.
    let _ = fs::remove_file(&draft);
    linked.map_err(cannot)?;
    load(path, File::open(path).map_err(cannot)?)
}

fn write(draft: &Path, secret: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(secret)?;
    file.sync_all()
}

fn draft_path(path: &Path) -> io::Result<PathBuf> {
    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(io::Error::other)?;
    Ok(path.with_extension(format!("{:016x}", u64::from_ne_bytes(suffix))))
}

fn unusable(path: &Path, what: &str) -> Problem {
    Problem::new(
        Kind::MarkerKeyUnusable,
        format!("the key `{}` {what}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::forge::Surface;
    use drive_core::forge::marker::{Claim, MarkerCheck, Place};
    use drive_core::ids::{EffectKey, PrNumber, RunId};

    fn place() -> Place {
        Place::Comment {
            pr: PrNumber::new(1),
            surface: Surface::Conversation,
        }
    }

    fn claim() -> Claim {
        Claim {
            run: RunId::new("r"),
            key: EffectKey::new("k"),
        }
    }

    #[test]
    fn the_key_is_made_once_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let first = require_marker_key(dir.path()).unwrap();
        let second = require_marker_key(dir.path()).unwrap();
        let body = first.stamp("hello", &place(), &claim());
        assert_eq!(second.check(&body, &place()), MarkerCheck::Ours(claim()));
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [NAME]);
        let mode = fs::metadata(dir.path().join(NAME))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn processes_that_start_together_share_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let keys: Vec<MarkerKey> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| require_marker_key(dir.path()).unwrap()))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        let body = keys[0].stamp("hello", &place(), &claim());
        for key in &keys {
            assert_eq!(key.check(&body, &place()), MarkerCheck::Ours(claim()));
        }
    }

    #[test]
    fn the_file_is_the_secret_itself() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join(NAME), &[7; BYTES]).unwrap();
        let read = require_marker_key(dir.path()).unwrap();
        let expected = MarkerKey::new(&[7; BYTES]);
        assert_eq!(
            read.stamp("hello", &place(), &claim()),
            expected.stamp("hello", &place(), &claim())
        );
    }

    #[test]
    fn a_key_others_can_read_or_half_a_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        require_marker_key(dir.path()).unwrap();
        let path = dir.path().join(NAME);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let open = require_marker_key(dir.path()).unwrap_err();
        assert!(open.message.ends_with("can be read by others"), "{open}");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(7)
            .unwrap();
        let half = require_marker_key(dir.path()).unwrap_err();
        assert!(half.message.ends_with("is damaged"), "{half}");
    }
}
