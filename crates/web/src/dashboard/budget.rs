//! The request budget of the forge's token.

use super::ShownForge;
use super::page::{Refresh, page, part, tell};
use drive_core::Problem;
use drive_core::time::Timestamp;

/// The page of the request budget.
pub(super) fn budget_page(
    shown: Result<&ShownForge, &Problem>,
    now: Timestamp,
) -> Result<String, Problem> {
    let forge = match shown {
        Ok(forge) => forge,
        Err(problem) => {
            return Ok(page("request budget", Refresh::Still, |html| {
                tell(html, problem);
            }));
        }
    };
    let words = match forge.forge.budget()? {
        Some(budget) => budget.standing(now).words,
        None => "no requests with this token yet, or none are counted".to_owned(),
    };
    Ok(page("request budget", Refresh::Stream, |html| {
        part(html, "budget", |html| {
            html.raw("<dl>\n");
            html.fact("forge", Some(&forge.name));
            html.fact("budget", Some(words));
            html.raw("</dl>\n");
        });
        html.raw("<p>All processes on this machine that use the token share it.</p>\n");
    }))
}
