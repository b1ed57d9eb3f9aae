use super::words::{counts, duration, public};
use crate::verify::envelope::Verification;
use crate::verify::text;

/// The longest description of a commit status that GitHub accepts, in characters.
pub const STATUS_CHARS: usize = 140;

/// The verification as the description of a commit status.
pub fn status_text(report: &Verification) -> String {
    let said = match &report.failure {
        Some(failure) => format!("{}: {}", failure.category.as_str(), failure.reason),
        None => format!(
            "{} in {}",
            counts(&report.stages),
            duration(report.timing.duration_ms)
        ),
    };
    let base = report.candidate.base_sha.as_ref();
    let said = base.map_or(said.clone(), |base| {
        format!("{said} (base {})", base.short())
    });
    // The text is published, so it must not contain private paths.
    let line = text::one_line(&public(&said, report));
    if line.chars().count() <= STATUS_CHARS {
        return line;
    }
    let cut: String = line.chars().take(STATUS_CHARS - 1).collect();
    cut + "…"
}
