//! The report: a table of the configurations, then each case, as Markdown or as one JSON document.

use super::case::Case;
use super::options::Configuration;
use super::score::{Outcome, Score, score};
use super::trial::Trial;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// All results of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The agent that reviewed.
    pub agent: String,
    /// The results of each configuration.
    pub results: Vec<Results>,
}

/// The results of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// How the changes were reviewed.
    pub configuration: Configuration,
    /// Every case.
    pub judged: Vec<Judged>,
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The case.
    pub case: String,
    /// Whether it has a seeded defect.
    pub is_seeded: bool,
    /// Its score.
    pub score: Score,
    /// Why a verdict is missing.
    pub reason: Option<String>,
    /// Tokens, without those read from the model's cache; none where the agent reports none.
    pub tokens: Option<u64>,
    /// Cost in dollars; none where the agent reports none.
    pub cost_usd: Option<f64>,
    /// The duration of the whole run.
    pub time: Duration,
}

/// The sums over all cases of one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Cases with a defect.
    pub defects: usize,
    /// Cases without one.
    pub clean: usize,
    /// Defects that a blocking finding named.
    pub found: usize,
    /// Defects that no blocking finding named.
    pub missed: usize,
    /// Missed defects that a finding named which does not block.
    pub noted: usize,
    /// Blocking findings on clean changes.
    pub false_alarms: usize,
    /// Clean changes with at least one.
    pub alarmed: usize,
    /// Blocking findings elsewhere than the defect.
    pub elsewhere: usize,
    /// Cases without a verdict.
    pub no_verdict: usize,
    /// All tokens; none where no case reported any.
    pub tokens: Option<u64>,
    /// The whole cost; none where no case reported one.
    pub cost_usd: Option<f64>,
    /// All times together.
    pub time: Duration,
}

impl Judged {
    pub(super) fn new(case: &Case, trial: &Trial) -> Self {
        Self {
            case: case.name.clone(),
            is_seeded: case.defect.is_some(),
            score: score(case.defect.as_ref(), &trial.reviewed),
            reason: trial.reviewed.unjudged.clone(),
            tokens: trial.tokens,
            cost_usd: trial.cost_usd,
            time: trial.time,
        }
    }

    /// The result in a few words.
    pub(super) fn line(&self) -> String {
        let mut line = match self.score.outcome {
            Outcome::Found => "found".to_owned(),
            Outcome::Missed if self.score.noted => "missed, but noted".to_owned(),
            Outcome::Missed => "missed".to_owned(),
            Outcome::Quiet => "approved".to_owned(),
            Outcome::FalseAlarm => counted(self.score.false_alarms, "false alarm"),
            Outcome::NoVerdict => "no verdict".to_owned(),
        };
        if !self.score.found_by.is_empty() {
            let _ = write!(line, " by {}", self.score.found_by.join(", "));
        }
        if self.score.elsewhere > 0 {
            let _ = write!(line, ", {} elsewhere", self.score.elsewhere);
        }
        if let Some(reason) = &self.reason {
            let _ = write!(line, " ({})", one_line(reason));
        }
        line
    }

    fn document(&self) -> Value {
        json!({
            "case": self.case,
            "seeded": self.is_seeded,
            "outcome": self.score.outcome.as_str(),
            "noted": self.score.noted,
            "foundBy": self.score.found_by,
            "falseAlarms": self.score.false_alarms,
            "elsewhere": self.score.elsewhere,
            "reason": self.reason,
            "tokens": self.tokens,
            "costUsd": self.cost_usd,
            "durationMs": millis(self.time),
        })
    }
}

impl Results {
    /// The sums over all cases.
    pub fn summary(&self) -> Summary {
        let mut sum = Summary::default();
        for one in &self.judged {
            let score = &one.score;
            let has = |outcome| usize::from(score.outcome == outcome);
            sum.defects += usize::from(one.is_seeded);
            sum.clean += usize::from(!one.is_seeded);
            sum.found += has(Outcome::Found);
            sum.missed += has(Outcome::Missed);
            sum.noted += usize::from(score.noted);
            sum.false_alarms += score.false_alarms;
            sum.alarmed += has(Outcome::FalseAlarm);
            sum.elsewhere += score.elsewhere;
            sum.no_verdict += has(Outcome::NoVerdict);
            sum.tokens = added(sum.tokens, one.tokens, u64::saturating_add);
            sum.cost_usd = added(sum.cost_usd, one.cost_usd, |a, b| a + b);
            sum.time += one.time;
        }
        sum
    }

    fn document(&self) -> Value {
        let sum = self.summary();
        json!({
            "configuration": self.configuration.to_string(),
            "defects": sum.defects,
            "clean": sum.clean,
            "found": sum.found,
            "missed": sum.missed,
            "noted": sum.noted,
            "falseAlarms": sum.false_alarms,
            "falseAlarmCases": sum.alarmed,
            "elsewhere": sum.elsewhere,
            "noVerdict": sum.no_verdict,
            "tokens": sum.tokens,
            "costUsd": sum.cost_usd,
            "durationMs": millis(sum.time),
            "cases": self.judged.iter().map(Judged::document).collect::<Vec<_>>(),
        })
    }
}

impl Evaluation {
    /// Whether at least one case has a verdict.
    pub fn has_verdicts(&self) -> bool {
        let mut all = self.results.iter().flat_map(|results| &results.judged);
        all.any(|one| one.score.outcome != Outcome::NoVerdict)
    }

    /// The report as one JSON document.
    pub fn document(&self) -> Value {
        json!({
            "schema": "drive-benches.reviews/1",
            "agent": self.agent,
            "configurations": self.results.iter().map(Results::document).collect::<Vec<_>>(),
        })
    }

    /// The report as Markdown.
    pub fn text(&self) -> String {
        let mut out = format!("Reviews by `{}`\n\n", self.agent);
        out += "| configuration | found | missed | noted | false alarms | elsewhere | no verdict | tokens | cost | time |\n";
        out += "|---|---|---|---|---|---|---|---|---|---|\n";
        for results in &self.results {
            let sum = results.summary();
            let _ = writeln!(
                out,
                "| {} | {} of {} | {} | {} | {} in {} of {} | {} | {} | {} | {} | {} |",
                results.configuration,
                sum.found,
                sum.defects,
                sum.missed,
                sum.noted,
                sum.false_alarms,
                sum.alarmed,
                sum.clean,
                sum.elsewhere,
                sum.no_verdict,
                shown_tokens(sum.tokens),
                shown_cost(sum.cost_usd),
                shown_time(sum.time),
            );
        }
        for results in &self.results {
            let _ = write!(
                out,
                "\n{}\n\n| case | defect | result | tokens | cost | time |\n|---|---|---|---|---|---|\n",
                results.configuration
            );
            for one in &results.judged {
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} | {} |",
                    one.case,
                    if one.is_seeded { "yes" } else { "no" },
                    one.line().replace('|', "\\|"),
                    shown_tokens(one.tokens),
                    shown_cost(one.cost_usd),
                    shown_time(one.time),
                );
            }
        }
        out
    }
}

fn added<T>(sum: Option<T>, more: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(add(sum, more)),
        (sum, more) => sum.or(more),
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn shown_tokens(tokens: Option<u64>) -> String {
    tokens.map_or_else(|| "–".to_owned(), |tokens| tokens.to_string())
}

fn shown_cost(cost: Option<f64>) -> String {
    cost.map_or_else(|| "–".to_owned(), |cost| format!("{cost:.2} $"))
}

fn shown_time(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(case: &str, outcome: Outcome) -> Judged {
        Judged {
            case: case.to_owned(),
            is_seeded: matches!(outcome, Outcome::Found | Outcome::Missed),
            score: Score {
                outcome,
                false_alarms: 0,
                elsewhere: 0,
                noted: false,
                found_by: Vec::new(),
            },
            reason: None,
            tokens: None,
            cost_usd: None,
            time: Duration::from_millis(1500),
        }
    }

    #[test]
    fn the_report_counts_every_case_once() {
        let mut found = judged("a", Outcome::Found);
        found.score.found_by = vec!["Security".to_owned()];
        found.score.elsewhere = 2;
        found.tokens = Some(1000);
        found.cost_usd = Some(0.25);
        let mut missed = judged("b", Outcome::Missed);
        missed.score.noted = true;
        missed.tokens = Some(500);
        let mut alarmed = judged("c", Outcome::FalseAlarm);
        alarmed.score.false_alarms = 3;
        let mut unjudged = judged("d", Outcome::NoVerdict);
        unjudged.reason = Some("no | key\nat all".to_owned());
        let quiet = judged("e", Outcome::Quiet);
        let evaluation = Evaluation {
            agent: "mine".to_owned(),
            results: vec![Results {
                configuration: Configuration::Domains,
                judged: vec![found, missed, alarmed, unjudged, quiet],
            }],
        };
        let expected = "\
Reviews by `mine`

| configuration | found | missed | noted | false alarms | elsewhere | no verdict | tokens | cost | time |
|---|---|---|---|---|---|---|---|---|---|
| domains | 1 of 2 | 1 | 1 | 3 in 1 of 3 | 2 | 1 | 1500 | 0.25 $ | 7.5 s |

domains

| case | defect | result | tokens | cost | time |
|---|---|---|---|---|---|
| a | yes | found by Security, 2 elsewhere | 1000 | 0.25 $ | 1.5 s |
| b | yes | missed, but noted | 500 | – | 1.5 s |
| c | no | 3 false alarms | – | – | 1.5 s |
| d | no | no verdict (no \\| key at all) | – | – | 1.5 s |
| e | no | approved | – | – | 1.5 s |
";
        assert_eq!(evaluation.text(), expected);
        assert!(evaluation.has_verdicts());
        let document = evaluation.document();
        let sums = &document["configurations"][0];
        assert_eq!(sums["falseAlarmCases"], 1);
        assert_eq!(sums["cases"][3]["reason"], "no | key\nat all");
    }

    #[test]
    fn an_evaluation_without_any_verdict_says_so() {
        let evaluation = Evaluation {
            agent: "mine".to_owned(),
            results: vec![Results {
                configuration: Configuration::One,
                judged: vec![judged("a", Outcome::NoVerdict)],
            }],
        };
        assert!(!evaluation.has_verdicts());
    }
}
