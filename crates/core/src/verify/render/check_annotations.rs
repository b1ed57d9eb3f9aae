use super::reasons::reasons;
use super::words::public;
use crate::forge::checks::Annotation;
use crate::verify::envelope::Verification;

/// The places in a verification's output, as annotations of a check run.
pub fn check_annotations(report: &Verification) -> Vec<Annotation> {
    let mut all = Vec::new();
    for reason in reasons(report) {
        for place in &reason.places {
            all.push(Annotation {
                path: place.path.clone(),
                line: place.line.map_or(1, u64::from),
                message: public(&reason.message, report),
            });
        }
    }
    all
}
