//! The common layout of all pages.

use super::html::Html;
use drive_core::Problem;
use drive_core::time::Timestamp;

/// How a page is kept current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refresh {
    /// A stream reports changes; without scripts, the page reloads.
    Stream,
    /// A stream reports changes; without scripts, the page does not reload, so that no form is emptied.
    Form(String),
    Still,
}

/// Renders a whole page.
pub(super) fn page(title: &str, refresh: Refresh, content: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    head(&mut html, title);
    let events = match &refresh {
        Refresh::Stream => {
            html.raw("<noscript>").raw(EVERY_10_SECONDS);
            html.raw("</noscript>\n");
            Some("/events")
        }
        Refresh::Form(events) => Some(events.as_str()),
        Refresh::Still => None,
    };
    if events.is_some() {
        html.raw("<script src=\"/live.js\" defer></script>\n");
    }
    html.raw("</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    html.raw("<header><nav aria-label=\"Pages\"><a href=\"/\">runs</a> ");
    html.raw("<a href=\"/pulls\">pull requests</a> ");
    html.raw("<a href=\"/verifications\">verifications</a> ");
    html.raw("<a href=\"/budget\">request budget</a></nav></header>\n");
    body(html, title, events, content)
}

const EVERY_10_SECONDS: &str = "<meta http-equiv=\"refresh\" content=\"10\">";

/// Renders a part of a page that a stream keeps current, unless the user is filling in a form in it.
pub(super) fn part(html: &mut Html, name: &'static str, content: impl FnOnce(&mut Html)) {
    html.raw("<div data-live=\"").raw(name).raw("\">\n");
    content(html);
    html.raw("</div>\n");
}

/// Renders a page for a visitor who is not logged in. It has no navigation, and redirects to `next`
/// if that is given.
pub(super) fn bare_page(
    title: &str,
    next: Option<&str>,
    content: impl FnOnce(&mut Html),
) -> String {
    let mut html = Html::default();
    head(&mut html, title);
    if let Some(path) = next {
        html.raw("<meta http-equiv=\"refresh\"");
        html.attr("content", format_args!("0;url={path}"))
            .raw(">\n");
    }
    html.raw("</head>\n<body>\n");
    body(html, title, None, content)
}

fn head(html: &mut Html, title: &str) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\n");
    html.raw("<link rel=\"stylesheet\" href=\"/style.css\">\n<title>");
    html.text(title).raw(" · drive</title>\n");
}

fn body(
    mut html: Html,
    title: &str,
    events: Option<&str>,
    content: impl FnOnce(&mut Html),
) -> String {
    html.raw("<main id=\"main\" tabindex=\"-1\"");
    if let Some(events) = events {
        html.attr("data-events", events);
    }
    html.raw(">\n<h1>");
    html.text(title).raw("</h1>\n");
    content(&mut html);
    html.raw("</main>\n</body>\n</html>\n");
    html.finish()
}

/// Renders a page about a problem.
pub(super) fn problem_page(problem: &Problem) -> String {
    page("something went wrong", Refresh::Still, |html| {
        tell(html, problem);
    })
}

/// The age of an event, in words.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Renders a command that a person can paste.
pub(super) fn command(html: &mut Html, command: &str) {
    html.raw("<p class=\"next\">next: <code>");
    html.text(command).raw("</code></p>\n");
}

/// Renders a problem as part of a page.
pub(super) fn tell(html: &mut Html, problem: &Problem) {
    html.element("p", &problem.message).raw("\n");
    for cause in &problem.causes {
        html.element("pre", cause).raw("\n");
    }
    if let Some(hint) = &problem.hint {
        html.element("p", hint).raw("\n");
    }
}

/// Renders how many items were left out of a list.
pub(super) fn left_out(html: &mut Html, hidden: usize, of: &'static str) {
    if hidden > 0 {
        html.raw("<p>").text(hidden).raw(" older ").raw(of);
        html.raw(" are not shown</p>\n");
    }
}

/// A timestamp in a readable form.
pub(super) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
