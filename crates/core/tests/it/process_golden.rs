//! Tests that every later version can read the report that a helper stores.

use drive_core::process::{
    End, Layer, LayerName, LayerState, LeaderEnd, ProcessReport, Resources, StreamReport,
};

const REPORT: &str = include_str!("../golden/process-report-1.json");

/// A report in which every field has a value.
fn full() -> ProcessReport {
    ProcessReport {
        end: End::LeakedProcesses { count: 3 },
        leader: Some(LeaderEnd::Exited(0)),
        duration_ms: 1234,
        stdout: StreamReport {
            tail: b"ok\n".to_vec(),
            total_bytes: 70_000,
            log: Some("/state/logs/x/stdout.log".into()),
            log_error: Some("No space left on device".to_owned()),
        },
        stderr: StreamReport::default(),
        resources: Resources {
            max_rss_bytes: Some(4096),
            cgroup_peak_bytes: Some(8192),
            cpu_user_micros: 20,
            cpu_system_micros: 10,
        },
        layers: vec![
            Layer {
                name: LayerName::Subreaper,
                state: LayerState::Active,
            },
            Layer {
                name: LayerName::PidNamespace,
                state: LayerState::Missing("not allowed".to_owned()),
            },
        ],
        leaked: 3,
    }
}

#[test]
fn a_report_is_written_and_read_as_the_golden_file_says() {
    assert_eq!(serde_json::to_string(&full()).unwrap(), REPORT.trim_end());
    assert_eq!(
        serde_json::from_str::<ProcessReport>(REPORT).unwrap(),
        full()
    );
}
