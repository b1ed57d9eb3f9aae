use serde::{Deserialize, Serialize};
use std::fmt;

/// Token counts. Each token is counted in exactly one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens from the model's cache.
    pub cached: u64,
    /// Output tokens, including thinking.
    pub output: u64,
}

impl Usage {
    /// The tokens that count against a budget: all but cached input, which is cheap and which an
    /// agent repeats with every turn.
    pub fn counted(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Like `counted`, but `None` if no agent reported anything: that means unknown, not zero.
    pub fn reported(&self) -> Option<u64> {
        (*self != Usage::default()).then(|| self.counted())
    }

    /// The token count as text.
    pub fn describe(&self) -> String {
        match self.reported() {
            Some(tokens) => format!("{tokens} tokens"),
            None => "tokens unknown".to_owned(),
        }
    }

    /// Adds two values.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
        }
    }

    /// The usage on top of `before`; zero where `before` is larger.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            output: self.output.saturating_sub(before.output),
        }
    }
}

/// An amount in millionths of a US dollar, so that sums are exact.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost {
    micro_usd: u64,
}

impl Cost {
    /// Creates a cost from millionths of a dollar.
    pub fn from_micro_usd(micro_usd: u64) -> Self {
        Self { micro_usd }
    }

    /// Creates a cost from dollars; `None` if it is not an amount.
    pub fn from_usd(usd: f64) -> Option<Self> {
        let micros = usd * 1e6;
        (micros.is_finite() && (0.0..9e15).contains(&micros)).then(|| Self {
            micro_usd: micros.round() as u64,
        })
    }

    /// Returns the cost in dollars.
    pub fn usd(self) -> f64 {
        self.micro_usd as f64 / 1e6
    }

    /// Returns the cost in millionths of a dollar.
    pub fn micro_usd(self) -> u64 {
        self.micro_usd
    }

    /// Adds two values.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
        }
    }

    /// The cost on top of `before`; zero where `before` is larger.
    #[must_use]
    pub fn since(self, before: Cost) -> Cost {
        Cost {
            micro_usd: self.micro_usd.saturating_sub(before.micro_usd),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Below one cent, two decimals would show zero, so two significant digits are shown.
        let decimals = match self.micro_usd {
            micros @ 1..10_000 => (7 - micros.ilog10() as usize).min(6),
            _ => 2,
        };
        write!(f, "${:.decimals$}", self.usd())
    }
}

/// Usage of a conversation over all runs that resumed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionTotals {
    /// The token counts.
    pub usage: Usage,
    /// The cost.
    pub cost: Cost,
}

/// Whether a number that an agent reports is about this run or about the whole conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// About this run only.
    Run,
    /// About the whole conversation, earlier runs included.
    Session,
}

/// Turns the numbers that an agent reports into those of one run.
///
/// The agents differ: after a resume, one reports tokens of the run and the cost of the whole conversation,
/// another reports tokens of the whole conversation. Simply adding these would count earlier rounds again.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    before: SessionTotals,
    tokens: Scope,
    money: Scope,
    usage: Usage,
    cost: Option<Cost>,
}

impl Meter {
    /// A meter for a run that resumes a conversation with these totals.
    pub fn new(before: SessionTotals, tokens: Scope, money: Scope) -> Self {
        Self {
            before,
            tokens,
            money,
            usage: Usage::default(),
            cost: None,
        }
    }

    /// Takes the agent's own token total. A total never shrinks, so a smaller number is ignored.
    pub fn tokens(&mut self, reported: Usage) {
        let of_run = match self.tokens {
            Scope::Run => reported,
            Scope::Session => reported.since(self.before.usage),
        };
        self.usage = Usage {
            input: self.usage.input.max(of_run.input),
            cached: self.usage.cached.max(of_run.cached),
            output: self.usage.output.max(of_run.output),
        };
    }

    /// Takes tokens that were counted elsewhere, if they are more than the agent reported: an agent
    /// cannot lower its usage.
    pub fn or_counted(&mut self, counted: Usage) {
        if self.usage == Usage::default() || counted.counted() > self.usage.counted() {
            self.usage = counted;
        }
    }

    /// Takes the agent's own cost total. A total never shrinks, so a smaller number is ignored.
    pub fn money(&mut self, reported: Cost) {
        let of_run = match self.money {
            Scope::Run => reported,
            Scope::Session => reported.since(self.before.cost),
        };
        self.cost = Some(self.cost.unwrap_or_default().max(of_run));
    }

    /// Tokens of this run.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The cost of this run, if the agent reported it.
    pub fn cost(&self) -> Option<Cost> {
        self.cost
    }

    /// The totals that the next run of this conversation needs.
    pub fn totals(&self) -> SessionTotals {
        SessionTotals {
            usage: self.before.usage.plus(self.usage),
            cost: self.before.cost.plus(self.cost.unwrap_or_default()),
        }
    }
}

/// The remaining budget of a run. `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Tokens, as [`Usage::counted`] counts them.
    pub tokens: Option<u64>,
    /// The cost.
    pub cost: Option<Cost>,
}

/// A budget limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "budget")]
pub enum Overrun {
    /// The token limit.
    Tokens {
        /// The limit.
        allowed: u64,
        /// The amount used.
        used: u64,
    },
    /// The cost limit.
    Cost {
        /// The limit.
        allowed: Cost,
        /// The amount used.
        used: Cost,
    },
}

impl Budget {
    /// The limit that `usage` and `cost` exceed; cost is checked first.
    pub fn overrun(&self, usage: Usage, cost: Option<Cost>) -> Option<Overrun> {
        if let (Some(allowed), Some(used)) = (self.cost, cost)
            && used > allowed
        {
            return Some(Overrun::Cost { allowed, used });
        }
        let used = usage.counted();
        match self.tokens {
            Some(allowed) if used > allowed => Some(Overrun::Tokens { allowed, used }),
            Some(_) | None => None,
        }
    }

    /// The budget plus `more`. A missing limit stays missing.
    #[must_use]
    pub fn plus(&self, more: Budget) -> Budget {
        Budget {
            tokens: self
                .tokens
                .map(|t| t.saturating_add(more.tokens.unwrap_or(0))),
            cost: self.cost.map(|c| c.plus(more.cost.unwrap_or_default())),
        }
    }

    /// One of `parts` equal shares, rounded down. A missing limit stays missing.
    #[must_use]
    pub fn split(&self, parts: usize) -> Budget {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX).max(1);
        Budget {
            tokens: self.tokens.map(|tokens| tokens / parts),
            cost: self
                .cost
                .map(|cost| Cost::from_micro_usd(cost.micro_usd() / parts)),
        }
    }

    /// The rest after this part is given away.
    #[must_use]
    pub fn without(&self, part: Budget) -> Budget {
        Budget {
            tokens: self
                .tokens
                .map(|tokens| tokens.saturating_sub(part.tokens.unwrap_or(0))),
            cost: self
                .cost
                .map(|cost| cost.since(part.cost.unwrap_or_default())),
        }
    }

    /// The smaller limit of both, separately for tokens and cost.
    #[must_use]
    pub fn min(&self, other: Budget) -> Budget {
        let tighter = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        let micros = |budget: &Budget| budget.cost.map(Cost::micro_usd);
        Budget {
            tokens: tighter(self.tokens, other.tokens),
            cost: tighter(micros(self), micros(&other)).map(Cost::from_micro_usd),
        }
    }

    /// Whether one of its limits is used up.
    pub fn is_used_up(&self) -> bool {
        self.tokens == Some(0) || self.cost.is_some_and(|cost| cost.micro_usd() == 0)
    }

    /// The rest after a run with this usage.
    #[must_use]
    pub fn minus(&self, usage: Usage, cost: Option<Cost>) -> Budget {
        Budget {
            tokens: self.tokens.map(|t| t.saturating_sub(usage.counted())),
            cost: self.cost.map(|c| c.since(cost.unwrap_or_default())),
        }
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overrun::Tokens { allowed, used } => {
                write!(f, "used {used} tokens (limit {allowed})")
            }
            Overrun::Cost { allowed, used } if used.to_string() == allowed.to_string() => {
                write!(f, "spent ${:.6} (limit {allowed})", used.usd())
            }
            Overrun::Cost { allowed, used } => {
                write!(f, "spent {used} (limit {allowed})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_higher_of_reported_and_counted_tokens_is_used() {
        let used = |input, output| Usage {
            input,
            cached: 1,
            output,
        };
        for (reported, counted, expected) in [
            (used(1, 0), used(900, 90), used(900, 90)),
            (used(900, 91), used(900, 90), used(900, 91)),
            (Usage::default(), used(0, 0), used(0, 0)),
        ] {
            let mut meter = Meter::new(SessionTotals::default(), Scope::Run, Scope::Run);
            meter.tokens(reported);
            meter.or_counted(counted);
            assert_eq!(meter.usage(), expected);
        }
    }

    #[test]
    fn usage_that_was_not_reported_is_unknown_and_not_zero() {
        assert_eq!(Usage::default().reported(), None);
        assert_eq!(Usage::default().describe(), "tokens unknown");
        let cached = Usage {
            cached: 5,
            ..Usage::default()
        };
        assert_eq!(cached.reported(), Some(0));
        let some = Usage {
            output: 7,
            ..cached
        };
        assert_eq!(some.describe(), "7 tokens");
    }
}
