//! Renders the forms that perform actions. They work without scripts.

use super::html::Html;
use crate::session::Session;
use drive_core::forge::{PrState, PullRequest};
use drive_core::ids::CommitSha;
use drive_core::run::{Flow, PlanCheck, Run, TaskLabel, is_cruise, tasks};

/// The target of forms, and the token that ties them to this session.
pub(super) struct Forms<'a> {
    folder: &'static str,
    name: &'a str,
    token: String,
}

impl<'a> Forms<'a> {
    pub(super) fn new(session: &Session, folder: &'static str, name: &'a str) -> Self {
        Self {
            folder,
            name,
            token: session.form_token(),
        }
    }

    /// Renders a form whose button performs `what`.
    fn form(
        &self,
        html: &mut Html,
        what: &'static str,
        label: &'static str,
        fields: impl FnOnce(&mut Html),
    ) {
        let class = match what {
            "approve" => "main",
            _ => "",
        };
        html.raw("<form method=\"post\" class=\"").raw(match what {
            "comment" | "extend" => "wide",
            _ => "",
        });
        html.raw("\" action=\"").raw(self.folder);
        html.text(super::html::percent_encoded(self.name))
            .raw("\">");
        hidden(html, "token", &self.token);
        hidden(html, "do", what);
        fields(html);
        html.raw("<button class=\"").raw(class).raw("\">");
        html.raw(label).raw("</button></form>\n");
    }

    fn button(&self, html: &mut Html, what: &'static str, label: &'static str) {
        self.form(html, what, label, |_| {});
    }

    fn comment(&self, html: &mut Html, label: &'static str) {
        self.form(html, "comment", "Comment", |html| {
            html.raw("<label for=\"comment\">").raw(label);
            html.raw("</label><textarea id=\"comment\" name=\"text\" required maxlength=\"60000\"></textarea>");
        });
    }

    fn approve(&self, html: &mut Html, label: &'static str, head: &CommitSha) {
        self.form(html, "approve", label, |html| {
            hidden(html, "head", head.as_str());
            html.raw("<span class=\"meta\">at ").text(head.short());
            html.raw("</span> ");
        });
    }
}

fn hidden(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<input type=\"hidden\"").attr("name", name);
    html.attr("value", value).raw(">");
}

/// The forms for a run. Actions on a child are requested on its root.
pub(super) fn of_run(html: &mut Html, forms: &Forms<'_>, run: &Run, children: &[Run]) {
    if !run.is_active() || run.parent().is_some() {
        return;
    }
    html.raw("<h2>Actions</h2>\n");
    if let Some((label, head)) = approvable(run, children) {
        forms.approve(html, label, head);
    }
    if is_cruise(run) {
        forms.button(html, "poll", "Fix now");
        if let Flow::Cruise { build } = &run.flow {
            if build.paused {
                forms.button(html, "unpause", "Start tasks again");
            } else {
                forms.button(html, "pause", "Start no more tasks");
            }
        }
        forms.button(html, "cleanup", "End and clean up");
    }
    forms.button(html, "stop", "Stop and save work");
    tasks_of(html, forms, run);
    if is_cruise(run) {
        forms.comment(html, "Comment for the agents");
    }
    html.raw("<details><summary>Raise limits</summary>\n");
    forms.form(html, "extend", "Raise limits", |html| {
        number(html, "cost", "Dollars to add", "any");
        number(html, "tokens", "Tokens to add", "1");
        if is_cruise(run) {
            number(html, "rounds", "Fixer rounds to add", "1");
        }
    });
    html.raw("</details>\n");
}

fn number(html: &mut Html, name: &'static str, label: &'static str, step: &'static str) {
    html.raw("<label>")
        .raw(label)
        .raw(" <input type=\"number\" min=\"0\"");
    html.attr("step", step).attr("name", name).raw("></label>");
}

/// What an approval of this run would approve, with the commit.
fn approvable<'r>(run: &'r Run, children: &'r [Run]) -> Option<(&'static str, &'r CommitSha)> {
    if let Flow::Cruise { build } = &run.flow
        && !build.doubts.is_empty()
    {
        let line = build.line.as_ref()?;
        return Some(("Accept and build", &line.tip));
    }
    let all = std::iter::once(run).chain(children);
    let planned = all.filter(|run| run.is_active() && run.awaits_approval());
    planned
        .filter_map(|run| match &run.flow {
            Flow::Phase { phase } if matches!(phase.plan, PlanCheck::Valid { .. }) => {
                Some(("Approve the plan", run.work.head_sha.as_ref()?))
            }
            Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
        })
        .next()
}

/// Renders forms that retry or skip blocked tasks.
fn tasks_of(html: &mut Html, forms: &Forms<'_>, run: &Run) {
    let blocked = tasks(run).into_iter();
    for task in blocked.filter(|task| task.state == TaskLabel::Blocked) {
        html.raw("<div>Task <strong>")
            .text(&task.id)
            .raw("</strong> is blocked: ");
        for (what, label) in [("retry", "Try again"), ("skip", "Leave out")] {
            forms.form(html, what, label, |html| {
                hidden(html, "task", task.id.as_str())
            });
        }
        html.raw("</div>\n");
    }
}

/// The forms for a pull request of the local forge.
pub(super) fn of_pull(html: &mut Html, forms: &Forms<'_>, pull: &PullRequest) {
    if pull.state != PrState::Open {
        return;
    }
    html.raw("<h2>Actions</h2>\n");
    forms.approve(html, "Approve", &pull.head_sha);
    forms.button(html, "close", "Close");
    forms.comment(html, "Comment");
}

/// Renders a confirmation after a form was sent.
pub(super) fn notice(html: &mut Html, query: &str) {
    let done = query.split('&').find_map(|pair| pair.strip_prefix("done="));
    let text = match done {
        Some("approve") => "The approval was delivered.",
        Some("comment") => "The comment was delivered.",
        Some("poll") => "The pull request is read now.",
        Some("stop") => "The run was asked to stop; it saves its work first.",
        Some("extend") => "The limits were raised.",
        Some("retry") => "The task is tried again.",
        Some("skip") => "The task is left out.",
        Some("pause") => "No more tasks are started.",
        Some("unpause") => "Tasks are started again.",
        Some("cleanup") => "The run was asked to end; it saves its work and removes its sandbox.",
        Some("close") => "The pull request is closed.",
        Some(_) | None => return,
    };
    html.raw("<p class=\"notice\" role=\"status\">").raw(text);
    html.raw("</p>\n");
}
