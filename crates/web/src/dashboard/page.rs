//! The common layout of all pages.

use super::html::Html;
use drive_core::Problem;
use drive_core::time::Timestamp;

/// How a page is kept up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refresh {
    /// It changes by itself, so it is asked for again.
    Live,
    Still,
}

/// A whole page.
pub(super) fn page(title: &str, refresh: Refresh, content: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width\">\n");
    match refresh {
        Refresh::Live => html.raw("<meta http-equiv=\"refresh\" content=\"10\">\n"),
        Refresh::Still => &mut html,
    };
    html.raw("<link rel=\"stylesheet\" href=\"/style.css\">\n<title>");
    html.text(title).raw(" · drive</title>\n</head>\n<body>\n");
    html.raw("<nav><a href=\"/\">runs</a> <a href=\"/pulls\">pull requests</a> ");
    html.raw("<a href=\"/verifications\">verifications</a> ");
    html.raw("<a href=\"/budget\">request budget</a></nav>\n<main>\n<h1>");
    html.text(title).raw("</h1>\n");
    content(&mut html);
    html.raw("</main>\n</body>\n</html>\n");
    html.finish()
}

/// A page that says what went wrong.
pub(super) fn problem_page(problem: &Problem) -> String {
    page("something went wrong", Refresh::Still, |html| {
        tell(html, problem);
    })
}

/// A problem, as part of a page.
pub(super) fn tell(html: &mut Html, problem: &Problem) {
    html.element("p", &problem.message).raw("\n");
    for cause in &problem.causes {
        html.element("pre", cause).raw("\n");
    }
    if let Some(hint) = &problem.hint {
        html.element("p", hint).raw("\n");
    }
}

/// How many were left out of a list.
pub(super) fn left_out(html: &mut Html, hidden: usize, of: &'static str) {
    if hidden > 0 {
        html.raw("<p>").text(hidden).raw(" older ").raw(of);
        html.raw(" are not shown</p>\n");
    }
}

/// An instant as people read it.
pub(super) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
