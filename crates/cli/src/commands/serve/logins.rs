//! One-time codes and sessions of the dashboard: an empty file each, named by its kind, its expiry and the
//! hash of its secret. Creating and removing a file is atomic, so several processes can share them.

use drive_adapters::entropy::random_token;
use drive_adapters::files;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::Clock;
use drive_web::{Logins, is_stored_hash_of, stored_hash};
use std::fs::{DirBuilder, OpenOptions, read_dir, remove_file};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a link is valid.
const CODE_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a browser stays logged in; its cookie expires at the same time.
const SESSION_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The file that contains the server's address for `drive serve --link`.
const ADDRESS: &str = "address";

/// What a secret gives access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    /// A session, once.
    Code,
    /// The pages.
    Session,
}

impl Opens {
    fn name(self) -> &'static str {
        match self {
            Opens::Code => "code",
            Opens::Session => "session",
        }
    }

    fn time(self) -> Duration {
        match self {
            Opens::Code => CODE_TIME,
            Opens::Session => SESSION_TIME,
        }
    }
}

/// The logins of a state directory.
pub(super) struct FileLogins {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
}

impl FileLogins {
    /// Opens the logins of a state directory.
    pub(super) fn open(state: &Path, clock: Arc<dyn Clock>) -> Result<Self, Problem> {
        let folder = state.join("dashboard");
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(|error| unusable(&folder, error))?;
        Ok(Self { folder, clock })
    }

    /// A new one-time code.
    pub(super) fn new_code(&self) -> Result<String, Problem> {
        self.new_secret(Opens::Code)
    }

    /// Stores the server's address.
    pub(super) fn store_address(&self, url: &str) -> Result<(), Problem> {
        files::replace(&self.folder.join(ADDRESS), url.as_bytes())
            .map_err(|error| unusable(&self.folder, error))
    }

    /// The address of the server that was started last.
    pub(super) fn load_address(&self) -> Option<String> {
        let bytes = files::load_plain(&self.folder.join(ADDRESS), 1024).ok()?;
        let url = String::from_utf8(bytes).ok()?;
        url.starts_with("http://").then_some(url)
    }

    fn new_secret(&self, opens: Opens) -> Result<String, Problem> {
        let secret = format!("{}{}", random_token()?, random_token()?);
        let end = self.clock.now().as_second() + i64::try_from(opens.time().as_secs()).unwrap_or(0);
        let name = format!("{}-{end}-{}", opens.name(), stored_hash(&secret));
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600);
        new.open(self.folder.join(name))
            .map_err(|error| unusable(&self.folder, error))?;
        Ok(secret)
    }

    /// The file of a secret that has not expired. Removes expired files.
    fn find(&self, opens: Opens, secret: &str) -> Result<Option<PathBuf>, Problem> {
        let now = self.clock.now().as_second();
        let mut found = None;
        let entries = read_dir(&self.folder).map_err(|error| unusable(&self.folder, error))?;
        for entry in entries {
            let path = entry.map_err(|error| unusable(&self.folder, error))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let mut parts = name.unwrap_or_default().splitn(3, '-');
            let (Some(kind), Some(end), Some(hash)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let Ok(end) = end.parse::<i64>() else {
                continue;
            };
            if end <= now {
                // Another process may have removed it already.
                let _ = remove_file(&path);
            } else if kind == opens.name() && is_stored_hash_of(hash, secret) {
                found = Some(path);
            }
        }
        Ok(found)
    }
}

impl Logins for FileLogins {
    fn redeem(&self, code: &str) -> Result<Option<String>, Problem> {
        let Some(path) = self.find(Opens::Code, code)? else {
            return Ok(None);
        };
        match remove_file(&path) {
            Ok(()) => self.new_secret(Opens::Session).map(Some),
            // Another process used the code first; it works only once.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&self.folder, error)),
        }
    }

    fn is_session(&self, secret: &str) -> Result<bool, Problem> {
        Ok(self.find(Opens::Session, secret)?.is_some())
    }
}

fn unusable(folder: &Path, error: io::Error) -> Problem {
    let message = format!("cannot use `{}` for logins", folder.display());
    Problem::new(Kind::StateDirUnusable, message)
        .because(error)
        .hint("make it writable for you, or set `DRIVE_STATE_DIR` to another folder")
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::time::Timestamp;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicI64, Ordering};

    struct At(AtomicI64);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
        }
    }

    fn logins(state: &Path) -> (FileLogins, Arc<At>) {
        let clock = Arc::new(At(AtomicI64::new(1_000)));
        (FileLogins::open(state, clock.clone()).unwrap(), clock)
    }

    #[test]
    fn a_code_makes_one_session_and_another_process_knows_both() {
        let state = tempfile::tempdir().unwrap();
        let (one, _) = logins(state.path());
        let (other, _) = logins(state.path());
        let code = one.new_code().unwrap();
        assert_eq!(code.len(), 64);
        assert!(!other.is_session(&code).unwrap());
        let session = other.redeem(&code).unwrap().unwrap();
        assert!(one.is_session(&session).unwrap());
        assert_eq!(one.redeem(&code).unwrap(), None);
        assert_eq!(one.redeem(&session).unwrap(), None);
        assert!(!one.is_session(&"0".repeat(64)).unwrap());
    }

    #[test]
    fn codes_and_sessions_end_and_leave_nothing() {
        let state = tempfile::tempdir().unwrap();
        let (logins, clock) = logins(state.path());
        let late = logins.new_code().unwrap();
        let code = logins.new_code().unwrap();
        let session = logins.redeem(&code).unwrap().unwrap();
        clock.0.fetch_add(60 * 60, Ordering::SeqCst);
        assert_eq!(logins.redeem(&late).unwrap(), None);
        assert!(logins.is_session(&session).unwrap());
        clock.0.fetch_add(31 * 24 * 60 * 60, Ordering::SeqCst);
        assert!(!logins.is_session(&session).unwrap());
        assert_eq!(read_dir(state.path().join("dashboard")).unwrap().count(), 0);
    }

    #[test]
    fn only_the_user_can_read_the_files_and_no_secret_is_in_them() {
        let state = tempfile::tempdir().unwrap();
        let (logins, _) = logins(state.path());
        let code = logins.new_code().unwrap();
        let folder = state.path().join("dashboard");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for entry in read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600);
            assert!(!path.to_string_lossy().contains(&code));
        }
        assert_eq!(logins.load_address(), None);
        logins.store_address("http://127.0.0.1:4242").unwrap();
        assert_eq!(
            logins.load_address().as_deref(),
            Some("http://127.0.0.1:4242")
        );
    }
}
