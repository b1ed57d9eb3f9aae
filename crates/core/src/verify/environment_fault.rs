//! Recognises failures of the machine by the output of tools.

use super::envelope::Stage;

/// A fault of the machine, with advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnvironmentFault {
    pub(super) reason: &'static str,
    pub(super) hint: &'static str,
    /// Whether the machine is blamed even if a named test failed with it.
    spares_no_test: bool,
}

/// Texts in lowercase that indicate a fault; the first match counts.
const SIGNS: &[(&[&str], EnvironmentFault)] = &[
    (
        &[
            "no space left on device",
            "disk quota exceeded",
            "enospc",
            "edquot",
        ],
        EnvironmentFault {
            reason: "the disk is full",
            hint: "free disk space, then run `drive verify` again",
            spares_no_test: true,
        },
    ),
    (
        &["read-only file system"],
        EnvironmentFault {
            reason: "it wrote to a folder that is read-only here",
            hint: "let it write below its workspace or `$TMPDIR`, or set `copy` or `seed` in `[sandbox]`",
            spares_no_test: false,
        },
    ),
    (
        &[
            "address already in use",
            "eaddrinuse",
            "only one usage of each socket address",
        ],
        EnvironmentFault {
            reason: "a port that it needs is taken",
            hint: "stop the process on that port, or use a free port, then run `drive verify` again",
            spares_no_test: false,
        },
    ),
    (
        &[
            "certificate verify failed",
            "certificate_verify_failed",
            "unable to get local issuer certificate",
            "unable_to_get_issuer_cert",
            "self_signed_cert",
            "self-signed certificate",
            "x509: certificate signed by unknown authority",
            "pkix path building failed",
            "ssl certificate problem",
            // Output of rustls, which uv and newer versions of cargo use.
            "invalid peer certificate",
        ],
        EnvironmentFault {
            reason: "a certificate is not trusted here",
            hint: "set `SSL_CERT_FILE` or `NODE_EXTRA_CA_CERTS` to the certificates of your network, then run `drive verify` again",
            spares_no_test: false,
        },
    ),
    (
        &[
            "proxy authentication required",
            "could not resolve proxy",
            "proxyconnect tcp",
            "407 proxy",
        ],
        EnvironmentFault {
            reason: "the proxy refused or did not answer",
            hint: "check `HTTPS_PROXY` and `NO_PROXY`, then run `drive verify` again",
            spares_no_test: false,
        },
    ),
    (
        &[
            "could not resolve host",
            "temporary failure in name resolution",
            "name or service not known",
            "getaddrinfo enotfound",
            "getaddrinfo eai_again",
            "network is unreachable",
            "network is down",
            "enetunreach",
            "enetdown",
            // Poetry 2 reports no cause.
            "all attempts to connect to",
        ],
        EnvironmentFault {
            reason: "it could not reach the network",
            hint: "set `network = \"registries\"` or `\"open\"` in its route or `[verify]`, or check your \
                   connection",
            spares_no_test: true,
        },
    ),
    (
        &[
            "or newer, while the currently active rustc",
            "requires rustc ",
            "is not installed for the toolchain",
            "ebadengine",
            "unsupported engine",
            "the engine \"node\" is incompatible",
            "requires a different python",
            "unsupported class file major version",
            "invalid target release",
            "invalid source release",
            "go.mod requires go >=",
            "your ruby version is",
            "your php version (",
            "a compatible .net sdk was not found",
        ],
        EnvironmentFault {
            reason: "a tool has the wrong version",
            hint: "install the version that the output names, then run `drive verify` again",
            spares_no_test: false,
        },
    ),
    (
        &[
            "cannot allocate memory",
            "out of memory (os error 12)",
            "[errno 12]",
            "enomem",
        ],
        EnvironmentFault {
            reason: "the machine has no memory left",
            hint: "stop other programs, or raise `verify.limits.memory`, then run `drive verify` again",
            spares_no_test: true,
        },
    ),
];

/// How runners report that a signal which cannot be caught ended one of their processes.
const KILLED: &[&str] = &[
    // libtest and cargo
    "signal: 9, sigkill",
    // nextest
    "sigkill [",
    // jest
    "signal=sigkill",
    // node
    "signal: 'sigkill'",
];

/// Messages of tools about a missing program, with any exit code.
const MISSING: &[&str] = &[
    "] error 127",
    ": command not found",
    "executable file not found in $path",
    "linker `cc` not found",
    "failed to execute command: no such file or directory",
];

/// A shell's exit code for a command that does not exist.
const NOT_FOUND: i32 = 127;

/// The machine's fault that the end and the output of a stage show. If a named test failed, the
/// output may belong to that test, so only signs that no test can cause count.
pub(super) fn environment_fault(stage: &Stage) -> Option<EnvironmentFault> {
    let names_tests = !stage.failed_tests.is_empty();
    let output = [&stage.stderr_tail, &stage.stdout_tail].map(|tail| tail.to_lowercase());
    let has = |sign: &str| output.iter().any(|tail| tail.contains(sign));
    let found = SIGNS
        .iter()
        .filter(|(_, fault)| fault.spares_no_test || !names_tests)
        .find(|(signs, _)| signs.iter().any(|sign| has(sign)))
        .map(|(_, fault)| *fault);
    // A command that is itself killed, or exits as if it were, may have done that: only a runner that
    // outlived its process tells of another's kill.
    let is_killed = KILLED.iter().any(|sign| has(sign));
    let is_missing = !names_tests
        && (stage.exit_code == Some(NOT_FOUND)
            && (has("not found") || has("no such file or directory"))
            || MISSING.iter().any(|sign| has(sign)));
    found
        .or_else(|| {
            is_killed.then_some(EnvironmentFault {
                reason: "the system killed one of its processes, possibly for lack of memory",
                hint: "free memory, or lower `verify.max_parallel`, then run `drive verify` again",
                spares_no_test: true,
            })
        })
        .or_else(|| {
            is_missing.then_some(EnvironmentFault {
                reason: "a program it needs is not installed",
                hint: "install the program that the output names, then run `drive verify` again",
                spares_no_test: false,
            })
        })
}
