//! The bounded runner against a bare spawn, and captured output against `cat` to a file.

use crate::table::{Row, median};
use drive_adapters::process::BoundedRunner;
use drive_core::process::{Limits, ProcessMark};
use drive_engine::CancelToken;
use drive_engine::ports::{
    CommandSpec, Containment, Discard, Isolation, NetworkAccess, OutputSink, ProcessRunner, Stream,
    Writes,
};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const OUTPUT_BYTES: u64 = 1 << 30;

/// Measures the cost of a start.
pub(crate) fn start() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    starts(folder.path())
}

/// Measures the cost of capturing output.
pub(crate) fn output() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    captures(folder.path())
}

fn starts(folder: &Path) -> Vec<Row> {
    let bare = median(50, || {
        let output = Command::new("/bin/true").env_clear().output();
        assert!(output.is_ok_and(|output| output.status.success()));
    });
    let mut rows = Vec::new();
    for (what, bound, spec) in [
        (
            "`/bin/true` under all layers",
            "≤ 15 ms more",
            contained(folder),
        ),
        ("`/bin/true`, light", "nearly bare", light(folder)),
    ] {
        let ours = median(50, || succeed(&spec, &mut Discard));
        rows.push(Row {
            what: what.to_owned(),
            plain: millis(bare),
            ours: millis(ours),
            result: format!("+{}", millis(ours.saturating_sub(bare))),
            bound: bound.to_owned(),
        });
    }
    rows
}

/// Every layer there is.
fn contained(folder: &Path) -> CommandSpec {
    let mut spec = CommandSpec::new("/bin/true", folder);
    spec.limits.memory_bytes = Some(1 << 30);
    spec.limits.processes = Some(64);
    spec.log_dir = Some(folder.join("logs"));
    spec.isolation = Isolation {
        writes: Writes::Only(vec![folder.to_path_buf()]),
        tmp: Some(folder.join("tmp")),
        hidden: vec!["/mnt".into()],
        network: NetworkAccess::Off,
        ..Isolation::default()
    };
    spec
}

fn light(folder: &Path) -> CommandSpec {
    let mut spec = CommandSpec::new("/bin/true", folder);
    spec.containment = Containment::Light;
    spec
}

fn succeed(spec: &CommandSpec, sink: &mut dyn OutputSink) {
    let report = BoundedRunner::new().run(spec, &CancelToken::new(), &mut |_| Ok(()), sink);
    let report = report.expect("the command runs");
    assert!(report.end.is_success(), "{:?}", report.end);
}

/// Takes everything and keeps nothing.
struct Count(u64);

impl OutputSink for Count {
    fn chunk(&mut self, _: Stream, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

fn captures(folder: &Path) -> Vec<Row> {
    let producer = format!("head -c {OUTPUT_BYTES} /dev/zero");
    let file = folder.join("plain");
    let script = format!("{producer} | cat > '{}'", file.display());
    let plain = median(3, || {
        let status = Command::new("/bin/sh").args(["-c", &script]).status();
        assert!(status.is_ok_and(|status| status.success()));
    });
    std::fs::remove_file(&file).expect("the plain copy was written");
    let mut spec = CommandSpec::new("/bin/sh", folder)
        .args(["-c", &producer])
        .env("PATH", "/usr/bin:/bin");
    spec.log_dir = Some(folder.join("logs"));
    spec.limits = Limits {
        output_bytes: OUTPUT_BYTES * 2,
        log_bytes: OUTPUT_BYTES * 2,
        ..Limits::default()
    };
    let mut rows = Vec::new();
    let logged = median(3, || succeed(&spec, &mut Discard));
    rows.push(throughput("1 GiB of output to the log", plain, logged));
    let forwarded = median(3, || succeed(&spec, &mut Count(0)));
    rows.push(throughput(
        "1 GiB of output to the log and to a sink",
        plain,
        forwarded,
    ));
    rows.push(memory(&spec));
    rows
}

fn throughput(what: &str, plain: Duration, ours: Duration) -> Row {
    let rate = |time: Duration| {
        format!(
            "{:.0} MiB/s",
            OUTPUT_BYTES as f64 / 1048576.0 / time.as_secs_f64()
        )
    };
    Row {
        what: what.to_owned(),
        plain: rate(plain),
        ours: rate(ours),
        result: format!(
            "{:.2} of the speed",
            plain.as_secs_f64() / ours.as_secs_f64()
        ),
        bound: "≥ 0.50".to_owned(),
    }
}

/// The peak memory of drive and of its helper while 1 GiB goes through both.
fn memory(spec: &CommandSpec) -> Row {
    let before = peak_kib("self");
    let helper_peak = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let mut watcher = None;
    let report = BoundedRunner::new().run(
        spec,
        &CancelToken::new(),
        &mut |identity| {
            let helper = identity
                .supervisor
                .expect("a full containment has a helper");
            watcher = Some(watch(helper, helper_peak.clone(), done.clone()));
            Ok(())
        },
        &mut Count(0),
    );
    done.store(true, Ordering::Relaxed);
    if let Some(watcher) = watcher {
        let _ = watcher.join();
    }
    assert!(report.is_ok_and(|report| report.end.is_success()));
    let grown = peak_kib("self").saturating_sub(before);
    let helper = helper_peak.load(Ordering::Relaxed);
    Row {
        what: "peak memory while 1 GiB of output passes".to_owned(),
        plain: "–".to_owned(),
        ours: format!("drive +{grown} KiB, helper {helper} KiB"),
        result: format!("{:.1} MiB", (grown + helper) as f64 / 1024.0),
        bound: "flat".to_owned(),
    }
}

fn watch(
    helper: ProcessMark,
    peak: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let started = Instant::now();
        while !done.load(Ordering::Relaxed) && started.elapsed() < Duration::from_secs(600) {
            peak.fetch_max(peak_kib(&helper.pid.to_string()), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

fn peak_kib(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
