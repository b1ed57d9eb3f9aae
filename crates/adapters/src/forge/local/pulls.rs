//! Rows of pull requests.

use super::sql_text::{SqlText, branch_from_sql, sha_from_sql};
use super::{LocalForge, instant};
use drive_core::forge::{PrState, PullRequest};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::NewPullRequest;
use rusqlite::{Row, ToSql, Transaction};

/// How many numbers an error lists.
const LISTED: usize = 10;

const COLUMNS: &str = "number, title, body, state, draft, branch, base, head_sha, base_sha, \
                       merge_sha, updated_at";

/// A pull request as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PullRow {
    pub(super) number: PrNumber,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) state: PrState,
    pub(super) draft: bool,
    pub(super) branch: BranchName,
    pub(super) base: BranchName,
    pub(super) head_sha: CommitSha,
    pub(super) base_sha: CommitSha,
    pub(super) merge_sha: Option<CommitSha>,
    pub(super) updated_at: i64,
}

impl PullRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: PrNumber::new(row.get(0)?),
            title: row.get(1)?,
            body: row.get(2)?,
            state: PrState::from_sql_text(3, &row.get::<_, String>(3)?)?,
            draft: row.get(4)?,
            branch: branch_from_sql(5, &row.get::<_, String>(5)?)?,
            base: branch_from_sql(6, &row.get::<_, String>(6)?)?,
            head_sha: sha_from_sql(7, &row.get::<_, String>(7)?)?,
            base_sha: sha_from_sql(8, &row.get::<_, String>(8)?)?,
            merge_sha: row
                .get::<_, Option<String>>(9)?
                .map(|text| sha_from_sql(9, &text))
                .transpose()?,
            updated_at: row.get(10)?,
        })
    }
}

impl LocalForge {
    /// All pull requests, oldest first, updated from the branches.
    pub fn list(&self) -> Result<Vec<PullRequest>, Problem> {
        self.refresh()?;
        let rows = self.read(|tx| self.load_rows(tx, "TRUE", &[]))?;
        Ok(rows.into_iter().map(|row| self.pull_request(row)).collect())
    }

    pub(super) fn insert_pull(
        &self,
        new: &NewPullRequest,
        head_sha: &str,
        base_sha: &str,
    ) -> Result<PrNumber, Problem> {
        self.write(|tx| {
            let open = self.load_rows(
                tx,
                "branch = ?2 AND state = 'open'",
                &[&new.branch.as_str()],
            )?;
            if let Some(open) = open.first() {
                return Ok(open.number);
            }
            let at = self.tick(tx)?;
            tx.query_row(
                "INSERT INTO local_pull_requests (repository, number, title, body, state, draft,
                     branch, base, head_sha, base_sha, created_at, updated_at)
                 SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, 'open', ?4, ?5, ?6, ?7, ?8, ?9, ?9
                 FROM local_pull_requests WHERE repository = ?1
                 RETURNING number",
                (
                    self.repository,
                    &new.title,
                    &new.body,
                    new.draft,
                    new.branch.as_str(),
                    new.base.as_str(),
                    head_sha,
                    base_sha,
                    at,
                ),
                |row| Ok(PrNumber::new(row.get(0)?)),
            )
        })
    }

    /// One row; the problem for an unknown number lists the existing ones.
    pub(super) fn require_pull(&self, number: PrNumber) -> Result<PullRow, Problem> {
        let row = self
            .read(|tx| self.load_rows(tx, "number = ?2", &[&number.get()]))?
            .pop();
        match row {
            Some(row) => Ok(row),
            None => Err(self.unknown_pull(number)?),
        }
    }

    pub(super) fn newest_of(&self, branch: &BranchName) -> Result<Option<PullRow>, Problem> {
        self.read(|tx| self.load_rows(tx, "branch = ?2", &[&branch.as_str()]))
            .map(|mut rows| rows.pop())
    }

    /// Rows by number. `?1` is the repository; the values follow it.
    pub(super) fn load_rows(
        &self,
        tx: &Transaction<'_>,
        condition: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<Vec<PullRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM local_pull_requests WHERE repository = ?1 AND {condition}
             ORDER BY number"
        );
        let mut all: Vec<&dyn ToSql> = vec![&self.repository];
        all.extend_from_slice(values);
        tx.prepare_cached(&sql)?
            .query_map(&*all, PullRow::read)?
            .collect()
    }

    /// Sets one column of a pull request if it is in this state. Returns whether it was.
    pub(super) fn set_while(
        &self,
        number: PrNumber,
        state: PrState,
        column: &'static str,
        value: &dyn ToSql,
    ) -> Result<bool, Problem> {
        self.write(|tx| {
            let at = self.tick(tx)?;
            let changed = tx.execute(
                &format!(
                    "UPDATE local_pull_requests SET {column} = ?4, updated_at = ?5
                     WHERE repository = ?1 AND number = ?2 AND state = ?3"
                ),
                rusqlite::params![self.repository, number.get(), state.sql_text(), value, at],
            )?;
            Ok(changed == 1)
        })
    }

    /// The pull request of a row. Git tells elsewhere whether it can be merged.
    pub(super) fn pull_request(&self, row: PullRow) -> PullRequest {
        PullRequest {
            url: self.url(row.number),
            number: row.number,
            title: row.title,
            body: row.body,
            state: row.state,
            draft: row.draft,
            branch: row.branch,
            base: row.base,
            head_sha: row.head_sha,
            mergeable: None,
            merged_sha: row.merge_sha,
            updated_at: instant(row.updated_at),
        }
    }

    fn url(&self, number: PrNumber) -> String {
        format!("local://{}/pull/{number}", self.git_dir.display())
    }

    fn unknown_pull(&self, number: PrNumber) -> Result<Problem, Problem> {
        let rows = self.read(|tx| self.load_rows(tx, "TRUE", &[]))?;
        let problem = Problem::new(
            Kind::PullRequestNotFound,
            format!("no pull request `{number}` in this repository"),
        );
        let named: Vec<String> = rows
            .iter()
            .rev()
            .take(LISTED)
            .map(|row| {
                format!(
                    "{} (`{}`, {})",
                    row.number,
                    row.branch,
                    row.state.sql_text()
                )
            })
            .collect();
        Ok(if named.is_empty() {
            problem.hint("open one with `drive spawn TASK` or `drive pr open BRANCH`")
        } else {
            problem.hint(format!("pass one of: {}", named.join(", ")))
        })
    }
}
