//! The comments on a run's work with their answers, the findings of its reviews, and the sums of what each
//! agent used.

use super::html::{Html, clip, newest};
use super::page::left_out;
use super::words::{place, tokens};
use drive_core::agent::answer::Finding;
use drive_core::agent::{Cost, Usage};
use drive_core::review::Domain;
use drive_core::run::{Entry, JobRecord, Life, Phase, Record};
use std::collections::BTreeMap;

/// Rows of each table.
const ROWS: usize = 200;
/// Characters of what somebody wrote.
const WORDS: usize = 500;

/// Every finding of every review, the newest last.
pub(super) fn tell_findings(html: &mut Html, record: &Record) {
    let all = record.reviews.iter().flat_map(|review| {
        let domain = review.domain.as_ref().map_or("whole change", Domain::name);
        let round = review.round;
        let each = review.findings.iter();
        each.map(move |finding| (domain, round, finding))
    });
    let all: Vec<(&str, u32, &Finding)> = all.collect();
    if all.is_empty() {
        return;
    }
    html.raw("<h2>Findings</h2>\n");
    let (shown, hidden) = newest(&all, ROWS);
    left_out(html, hidden, "findings");
    let columns = &["place", "severity", "domain", "round", "finding", "stands"];
    html.table(columns, |rows| {
        for (domain, round, finding) in shown {
            rows.row(|row| {
                row.cell(place(finding.file.as_deref(), finding.line));
                row.cell(finding.severity.name()).cell(domain).cell(round);
                row.cell(clip(&finding.issue, WORDS));
                row.cell(match (&finding.refuted, finding.pre_existing) {
                    (Some(why), _) => format!("refuted: {}", clip(why, WORDS)),
                    (None, true) => "was there before".to_owned(),
                    (None, false) => "as its reviewer says".to_owned(),
                });
            });
        }
    });
}

/// Every comment that counts and its state, open ones first.
pub(super) fn tell_ledger(html: &mut Html, phase: &Phase) {
    let open = phase.ledger.entries().filter(|one| one.life.is_open());
    let over = phase.ledger.entries().filter(|one| !one.life.is_open());
    let all: Vec<&Entry> = open.chain(over).collect();
    if all.is_empty() {
        return;
    }
    html.raw("<h2>Ledger of comments</h2>\n");
    let columns = &["comment", "place", "author", "said", "state", "answer"];
    html.table(columns, |rows| {
        for entry in all.iter().take(ROWS) {
            rows.row(|row| {
                row.cell_with(|html| match &entry.url {
                    Some(url) => html.outward(url, entry.id()),
                    None => {
                        html.text(entry.id());
                    }
                });
                row.cell(place(entry.path.as_deref(), entry.line));
                row.cell(&entry.author).cell(clip(entry.body.trim(), WORDS));
                let (state, answer) = state(&entry.life);
                row.cell(state).cell(clip(answer, WORDS));
            });
        }
    });
    left_out(html, all.len().saturating_sub(ROWS), "comments");
}

/// The state of a comment, and what was answered.
fn state(life: &Life) -> (&'static str, &str) {
    match life {
        Life::Seen => ("pending", ""),
        Life::Dispatched { .. } => ("being fixed", ""),
        Life::Pushed { answer } => ("replying", &answer.note),
        Life::Replied { answer, .. } => ("replied", &answer.note),
        Life::Asked { answer, .. } => ("asked back", &answer.note),
        Life::Unanswerable { why } => ("gone", why),
        Life::Left => ("left to a person", ""),
        Life::Superseded => ("edited", ""),
        Life::Withdrawn { .. } => ("put aside", ""),
    }
}

/// What each agent used in all its jobs.
pub(super) fn tell_spent(html: &mut Html, record: &Record) {
    let totals = totals(&record.jobs);
    if totals.is_empty() {
        return;
    }
    html.raw("<h2>Tokens and cost by agent</h2>\n");
    html.table(&["agent", "jobs", "failed", "tokens", "cost"], |rows| {
        for (agent, total) in totals.iter().take(ROWS) {
            rows.row(|row| {
                row.cell(agent).cell(total.jobs).cell(total.failed);
                row.cell(tokens(total.usage));
                // A sum without the cost of one job would be too small.
                row.cell(match (total.cost, total.unpriced) {
                    (Some(cost), 0) => cost.to_string(),
                    (Some(cost), unpriced) => format!("{cost} and {unpriced} jobs of unknown cost"),
                    (None, _) => "unknown".to_owned(),
                });
            });
        }
    });
}

#[derive(Default)]
struct Total {
    jobs: u32,
    failed: u32,
    usage: Usage,
    cost: Option<Cost>,
    /// Jobs whose cost is not known.
    unpriced: u32,
}

fn totals(jobs: &[JobRecord]) -> BTreeMap<&str, Total> {
    let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
    for job in jobs {
        let total = totals.entry(&job.agent).or_default();
        total.jobs += 1;
        total.failed += u32::from(job.failure.is_some());
        total.usage = total.usage.plus(job.usage);
        match job.cost {
            Some(cost) => total.cost = Some(total.cost.unwrap_or_default().plus(cost)),
            None => total.unpriced += 1,
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::agent::Role;
    use drive_core::agent::answer::{Confidence, Severity};
    use drive_core::run::ReviewRecord;
    use drive_core::time::Timestamp;

    const EVIL: &str = "<script>x</script>";

    fn job(agent: &str, tokens: u64, cost: Option<u64>, failure: Option<&str>) -> JobRecord {
        JobRecord {
            agent: agent.to_owned(),
            role: Role::Coder,
            argv: Vec::new(),
            round: 1,
            domain: None,
            effect: None,
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            failure: failure.map(str::to_owned),
            usage: Usage {
                input: tokens,
                cached: 0,
                output: 1,
            },
            cost: cost.map(Cost::from_micro_usd),
            commands: Vec::new(),
            permissions: Vec::new(),
        }
    }

    #[test]
    fn tokens_and_cost_are_summed_by_agent_and_an_unknown_cost_is_said() {
        let record = Record {
            jobs: vec![
                job("a", 10, Some(1_000_000), None),
                job("a", 20, Some(500_000), Some("it failed")),
                job("b", 5, Some(1_000_000), None),
                job("b", 5, None, None),
                job(EVIL, 5, None, None),
            ],
            ..Record::default()
        };
        let mut html = Html::default();
        tell_spent(&mut html, &record);
        let text = html.finish();
        let row = |agent: &str, rest: [&str; 4]| {
            let labels = ["jobs", "failed", "tokens", "cost"];
            let cells = labels.iter().zip(rest);
            let cells =
                cells.map(|(label, cell)| format!("<td data-label=\"{label}\">{cell}</td>"));
            let cells: String = cells.collect();
            format!("<tr><td data-label=\"agent\">{agent}</td>{cells}</tr>")
        };
        let sum = Cost::from_micro_usd(1_500_000).to_string();
        assert!(text.contains(&row("a", ["2", "1", "32", &sum])), "{text}");
        let one = Cost::from_micro_usd(1_000_000);
        let part = format!("{one} and 1 jobs of unknown cost");
        assert!(text.contains(&row("b", ["2", "0", "12", &part])), "{text}");
        let evil = "&lt;script&gt;x&lt;/script&gt;";
        assert!(
            text.contains(&row(evil, ["1", "0", "6", "unknown"])),
            "{text}"
        );
    }

    #[test]
    fn a_finding_names_its_file_and_line_as_text() {
        let finding = Finding {
            file: Some(EVIL.to_owned()),
            line: Some(3),
            end_line: None,
            issue: EVIL.to_owned(),
            suggestion: None,
            replacement: None,
            evidence: None,
            severity: Severity::Major,
            confidence: Confidence::CERTAIN,
            refuted: Some("it is <b>checked</b>".to_owned()),
            pre_existing: false,
        };
        let record = Record {
            reviews: vec![ReviewRecord {
                domain: Some(Domain::Security),
                round: 2,
                verdict: None,
                failure: None,
                findings: vec![finding],
                head: None,
                resolution: None,
            }],
            ..Record::default()
        };
        let mut html = Html::default();
        tell_findings(&mut html, &record);
        let text = html.finish();
        let evil = "&lt;script&gt;x&lt;/script&gt;";
        let cell = format!("<td data-label=\"place\">{evil}:3</td>");
        assert!(text.contains(&cell), "{text}");
        assert!(text.contains("refuted: it is &lt;b&gt;checked"), "{text}");
        assert!(!text.contains(EVIL), "{text}");
    }
}
