//! Details of a failed check run: its annotations, and for GitHub Actions the job, the step and the end
//! of the log.

use super::client::Client;
use super::read_checks as read;
use super::transport::{Ask, JSON};
use drive_core::forge::checks::CheckFailure;
use drive_core::forge::github::checks::RunRead;
use drive_core::problem::{Kind, Problem};
use ureq::http::Method;

/// How many bytes of a log's end are searched: the error is near the end, before the steps that clean up.
const LOG_END: usize = 256 * 1024;
/// The largest log that is read to its end, in bytes.
const LARGEST_LOG: u64 = 64 * 1024 * 1024;

impl Client {
    /// Reads the details of a failure. Details that the token may not read, or that are gone, are left out.
    pub(super) fn failure(&self, run: &RunRead) -> Result<CheckFailure, Problem> {
        let annotations = if run.annotations == 0 {
            Vec::new()
        } else {
            let tail = format!("check-runs/{}/annotations?per_page=100", run.id);
            let page = permitted(self.get_optional(&self.endpoint.rest(&tail), read::annotations))?;
            page.flatten().map(|page| page.value).unwrap_or_default()
        };
        let Some(job) = run.job else {
            return Ok(CheckFailure::new(&run.check.name, None, annotations, None));
        };
        let url = self.endpoint.rest(&format!("actions/jobs/{job}"));
        let found = permitted(self.get_optional(&url, read::job))?.flatten();
        let (name, step) = found.map_or_else(|| (run.check.name.clone(), None), |page| page.value);
        let log = self.job_log(job)?;
        Ok(CheckFailure::new(name, step, annotations, log.as_deref()))
    }

    /// The end of a job's log; `None` if it cannot be read. GitHub keeps logs on another server,
    /// which does not get the token: the address itself grants access.
    fn job_log(&self, job: u64) -> Result<Option<Vec<u8>>, Problem> {
        let url = self.endpoint.rest(&format!("actions/jobs/{job}/logs"));
        let sent = self.send(Ask {
            method: Method::GET,
            url: &url,
            etag: None,
            accept: JSON,
            body: None,
        });
        let reply = match sent.map_err(Problem::from) {
            Ok(reply) => reply,
            Err(problem) if problem.kind == Kind::Interrupted => return Err(problem),
            Err(_) => return Ok(None),
        };
        self.observe(&reply)?;
        if reply.status == 200 {
            return Ok(Some(reply.body));
        }
        let there = reply.header("location").filter(|to| is_as_safe(to, &url));
        let (302 | 307, Some(there)) = (reply.status, there) else {
            return Ok(None);
        };
        match self.send_elsewhere(there, (LOG_END, LARGEST_LOG)) {
            Ok(log) if log.status == 200 => Ok(Some(log.body)),
            Err(problem) if problem.kind == Kind::Interrupted => Err(problem),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

/// Whether the connection to one address is at least as secure as that to the other.
fn is_as_safe(to: &str, from: &str) -> bool {
    let is_web = to.starts_with("https://") || to.starts_with("http://");
    is_web && (to.starts_with("https://") || from.starts_with("http://"))
}

/// The result of a read for which the token may lack permission.
fn permitted<T>(read: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(problem) if problem.kind == Kind::ForgeForbidden => Ok(None),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_not_fetched_over_a_weaker_connection() {
        assert!(is_as_safe(
            "https://logs.example/x",
            "https://api.github.com/y"
        ));
        assert!(is_as_safe("http://127.0.0.1/x", "http://127.0.0.1/y"));
        assert!(!is_as_safe(
            "http://logs.example/x",
            "https://api.github.com/y"
        ));
        assert!(!is_as_safe("file:///etc/passwd", "http://127.0.0.1/y"));
    }
}
