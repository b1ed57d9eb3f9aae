use drive_core::agent::{AgentOutcome, Ending, Failure, Ignored, Usage};
use drive_core::time::Timestamp;

/// The known facts about an agent's login before it starts.
pub(super) struct Login {
    /// The expiry of its access token. The agent cannot renew it by itself.
    pub(super) ends: Option<Timestamp>,
    /// Whether it has neither a login nor a key.
    pub(super) is_missing: bool,
    /// The command with which a person logs in.
    pub(super) command: Option<&'static str>,
}

impl Login {
    /// The outcome of an agent that need not start, because its model would refuse it.
    pub(super) fn expired(&self, now: Timestamp) -> Option<AgentOutcome> {
        let message = if self.is_missing {
            "it has neither a login nor an API key".to_owned()
        } else {
            let ends = self.ends.filter(|ends| *ends <= now)?;
            format!("its login expired at {ends}")
        };
        Some(self.named(AgentOutcome {
            ending: Ending::Failed {
                reason: Failure::LoginExpired,
                message,
            },
            text: String::new(),
            summary: String::new(),
            document: None,
            usage: Usage::default(),
            cost: None,
            session: None,
            escalations: 0,
            ignored: Ignored::default(),
        }))
    }

    /// A warning about a login that expires while the agent works.
    pub(super) fn warning(&self, agent: &str, until: Timestamp) -> Option<String> {
        let ends = self.ends.filter(|ends| *ends < until)?;
        let command = self.command?;
        Some(format!(
            "the login of agent `{agent}` expires at {ends}, before its time limit; renew it with \
             `{command}`"
        ))
    }

    /// The outcome, with the login command added if the login is missing or expired.
    pub(super) fn named(&self, mut outcome: AgentOutcome) -> AgentOutcome {
        if let (
            Ending::Failed {
                reason: Failure::LoginExpired,
                message,
            },
            Some(command),
        ) = (&mut outcome.ending, self.command)
        {
            let separator = if message.is_empty() { "" } else { "; " };
            message.push_str(&format!("{separator}log in with `{command}`"));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(ends: &str) -> Login {
        Login {
            ends: Some(ends.parse().unwrap()),
            is_missing: false,
            command: Some("codex login"),
        }
    }

    #[test]
    fn an_expired_login_is_an_outcome_that_names_the_command() {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let expired = login("2026-11-16T11:59:59Z").expired(now).unwrap();
        assert_eq!(
            expired.ending,
            Ending::Failed {
                reason: Failure::LoginExpired,
                message: "its login expired at 2026-11-16T11:59:59Z; log in with `codex login`"
                    .to_owned(),
            }
        );
        let missing = Login {
            ends: None,
            is_missing: true,
            command: Some("codex login"),
        };
        assert_eq!(
            missing.expired(now).unwrap().ending,
            Ending::Failed {
                reason: Failure::LoginExpired,
                message: "it has neither a login nor an API key; log in with `codex login`"
                    .to_owned(),
            }
        );
        assert_eq!(login("2026-11-16T12:00:01Z").expired(now), None);
    }

    #[test]
    fn a_login_that_ends_before_the_job_may_is_told() {
        let until = "2026-11-16T12:30:00Z".parse().unwrap();
        assert_eq!(
            login("2026-11-16T12:10:00Z").warning("mine", until),
            Some(
                "the login of agent `mine` expires at 2026-11-16T12:10:00Z, before its time \
                 limit; renew it with `codex login`"
                    .to_owned()
            )
        );
        assert_eq!(login("2026-11-16T12:30:00Z").warning("mine", until), None);
    }
}
