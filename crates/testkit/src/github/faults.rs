//! Faults that a test injects into the simulated GitHub.

/// One kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// 502, and nothing happened.
    BadGateway,
    /// 502, although it happened.
    BadGatewayAfterApplying,
    /// It happened, and no answer ever comes.
    HangAfterApplying,
    /// Half of the answer, with a header that fits the half.
    Truncated,
    /// Half of the answer, then the connection is gone.
    CutShort,
    /// 403 with `retry-after`, in seconds, and nothing happened.
    SecondaryLimit(u64),
    /// 403 with nothing left until the hour is over, and nothing happened.
    PrimaryLimit,
    /// 503, and nothing happened.
    Unavailable,
    /// An answer larger than anybody should read.
    Oversized,
    /// 304 for whoever names a tag, whatever changed.
    FalselyUnchanged,
}

impl FaultKind {
    /// All kinds that every request may meet.
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

    /// Whether the request is carried out before things go wrong.
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

/// A failure that waits for its requests.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The method, or every one when empty.
    pub method: &'static str,
    /// A part of the path, or every one when empty.
    pub path: String,
    /// How many matching requests pass before it begins.
    pub skip: usize,
    /// How many requests it hits.
    pub times: usize,
    /// What happens to them.
    pub kind: FaultKind,
}

impl Fault {
    /// The next matching request fails.
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

/// Takes the fault that hits this request, and uses it up.
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
