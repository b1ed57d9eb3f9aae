//! Faults that a test injects into the simulated GitHub.

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// 502, and the request was not applied.
    BadGateway,
    /// 502, although the request was applied.
    BadGatewayAfterApplying,
    /// The request was applied, and no answer ever comes.
    HangAfterApplying,
    /// Half of the answer, with a header that matches the half.
    Truncated,
    /// Half of the answer, then the connection breaks.
    CutShort,
    /// 403 with `retry-after`, in seconds; the request was not applied.
    SecondaryLimit(u64),
    /// 403 with an exhausted limit until the hour ends; the request was not applied.
    PrimaryLimit,
    /// 503, and the request was not applied.
    Unavailable,
    /// An answer that is larger than a client should read.
    Oversized,
    /// 304 for every request with an entity tag, whatever changed.
    FalselyUnchanged,
}

impl FaultKind {
    /// All kinds that can hit any request.
    pub const ALL: [FaultKind; 9] = [
        FaultKind::BadGateway,
        FaultKind::BadGatewayAfterApplying,
        FaultKind::HangAfterApplying,
        FaultKind::Truncated,
        FaultKind::CutShort,
        FaultKind::SecondaryLimit(7),
        FaultKind::PrimaryLimit,
        FaultKind::Unavailable,
        FaultKind::Oversized,
    ];

    /// Whether the request is applied before the failure.
    pub(crate) fn applies(self) -> bool {
        match self {
            FaultKind::BadGatewayAfterApplying
            | FaultKind::HangAfterApplying
            | FaultKind::Truncated
            | FaultKind::CutShort
            | FaultKind::FalselyUnchanged
            | FaultKind::Oversized => true,
            FaultKind::BadGateway
            | FaultKind::SecondaryLimit(_)
            | FaultKind::PrimaryLimit
            | FaultKind::Unavailable => false,
        }
    }
}

/// A failure that waits for matching requests.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The method; empty for all.
    pub method: &'static str,
    /// A part of the path; empty for all.
    pub path: String,
    /// How many matching requests pass before the first failure.
    pub skip: usize,
    /// How many requests fail.
    pub times: usize,
    /// How they fail.
    pub kind: FaultKind,
}

impl Fault {
    /// Lets the next matching request fail.
    pub fn next(method: &'static str, path: &str, kind: FaultKind) -> Self {
        Self {
            method,
            path: path.to_owned(),
            skip: 0,
            times: 1,
            kind,
        }
    }
}

/// Returns the fault that hits this request, and counts it.
pub(crate) fn take(faults: &mut Vec<Fault>, method: &str, path: &str) -> Option<FaultKind> {
    let matches = |fault: &Fault| {
        (fault.method.is_empty() || fault.method == method) && path.contains(&fault.path)
    };
    let fault = faults.iter_mut().find(|fault| matches(fault))?;
    if fault.skip > 0 {
        fault.skip -= 1;
        return None;
    }
    fault.times -= 1;
    let kind = fault.kind;
    faults.retain(|fault| fault.times > 0);
    Some(kind)
}
