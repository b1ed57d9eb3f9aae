use super::progress::Progress;
use crate::agent::event::AgentEvent;
use crate::agent::outcome::Failure;
use crate::agent::permission::{Decision, PermissionRequest, decide};
use crate::agent::role::Access;

/// How many bytes of a request's detail are shown and judged.
const MAX_DETAIL: usize = 2000;

/// Permission requests and their answers.
impl Progress {
    /// Answers a request by the rules, and emits both as events.
    pub(super) fn ask(&mut self, tool: &str, detail: &str) -> Decision {
        let request = self.request(tool, detail);
        self.emit(AgentEvent::PermissionAsked {
            request: request.clone(),
        });
        // A rule must not grant a detail that is not shown in full. Such a request counts
        // nevertheless, and the limit on requests is reported first.
        let is_last = self.escalations >= self.setup.max_escalations;
        let decision = if is_last || detail.len() <= MAX_DETAIL {
            decide(
                &PermissionRequest {
                    tool: tool.to_owned(),
                    detail: detail.to_owned(),
                },
                self.setup.role.access(),
                &self.setup.permissions,
                self.escalations,
                self.setup.max_escalations,
            )
        } else {
            Decision::Deny {
                reason: "the request is too long to check".to_owned(),
            }
        };
        self.escalations += 1;
        self.emit(AgentEvent::PermissionAnswered {
            request,
            decision: decision.clone(),
        });
        if let Decision::Exhausted { allowed } = decision {
            self.abandon(Failure::Escalations { allowed }, "");
        }
        decision
    }

    /// Emits a grant that the role implies without a rule.
    pub(super) fn granted_by_role(&mut self, tool: &str, detail: &str) {
        let request = self.request(tool, detail);
        self.emit(AgentEvent::PermissionAsked {
            request: request.clone(),
        });
        self.emit(AgentEvent::PermissionAnswered {
            request,
            decision: Decision::Grant,
        });
    }

    pub(super) fn access(&self) -> Access {
        self.setup.role.access()
    }

    pub(super) fn is_denied_by_rule(&self, tool: &str, detail: &str) -> bool {
        let request = PermissionRequest {
            tool: tool.to_owned(),
            detail: detail.to_owned(),
        };
        self.setup.permissions.denies(&request)
    }

    /// Emits a decision that the agent made itself and only reports.
    pub(super) fn denied(&mut self, tool: &str, detail: &str, reason: &str) {
        self.emit(AgentEvent::PermissionAnswered {
            request: self.request(tool, detail),
            decision: Decision::Deny {
                reason: self.shown(reason, 1000),
            },
        });
    }

    /// The request with redacted and shortened texts.
    fn request(&self, tool: &str, detail: &str) -> PermissionRequest {
        PermissionRequest {
            tool: self.shown(tool, 200),
            detail: self.shown(detail, MAX_DETAIL),
        }
    }
}
