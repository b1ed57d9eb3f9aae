//! Tests the input and output of a child while it runs.

use crate::process_runner::support::Scene;
use drive_core::process::{End, ProcessReport};
use drive_engine::ports::{Collect, OutputSink, Stdin, Stream};
use drive_engine::{CancelToken, StdinClosed, StdinWriter, stdin_channel};
use std::time::Duration;

/// Answers every line, and closes the input after the third.
struct Conversation {
    writer: Option<StdinWriter>,
    heard: Vec<u8>,
}

impl OutputSink for Conversation {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        assert_eq!(stream, Stream::Stdout);
        self.heard.extend_from_slice(bytes);
        let lines = self.heard.iter().filter(|byte| **byte == b'\n').count();
        if lines >= 3 {
            self.writer = None;
        } else if let Some(writer) = &self.writer {
            writer.send(format!("question {lines}\n")).unwrap();
        }
    }
}

/// Reads its input slowly.
struct Slow(u64);

impl OutputSink for Slow {
    fn chunk(&mut self, _: Stream, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
        std::thread::sleep(Duration::from_millis(20));
    }
}

everyone! {
    fn a_child_that_waits_on_stdin_finds_its_end() {
        let scene = Scene::new();
        let report = scene.run(&scene.command("cat"));
        assert_eq!((report.end, report.stdout.total_bytes), (End::Exited { code: 0 }, 0));
    }

    fn bytes_arrive_whole_however_many() {
        let scene = Scene::new();
        let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
        let mut spec = scene.command("cat");
        spec.stdin = Stdin::Bytes(bytes.clone());
        let mut sink = Collect::new(bytes.len() + 1);
        let report = scene.run_into(&spec, &CancelToken::new(), &mut sink).unwrap();
        assert_eq!(report.end, End::Exited { code: 0 });
        assert!(sink.stdout == bytes, "{} of {}", sink.stdout.len(), bytes.len());
    }

    fn a_child_that_never_reads_its_bytes_is_no_problem() {
        let scene = Scene::new();
        let mut spec = scene.command("true");
        spec.stdin = Stdin::Bytes(vec![b'x'; 4 << 20]);
        assert_eq!(scene.run(&spec).end, End::Exited { code: 0 });
    }

    fn a_conversation_goes_back_and_forth_until_one_side_hangs_up() {
        let scene = Scene::new();
        let (writer, source) = stdin_channel();
        let mut spec = scene.shell("echo ready; while read line; do echo \"to $line\"; done; echo >/dev/null");
        spec.stdin = Stdin::Channel(source);
        let mut sink = Conversation { writer: Some(writer), heard: Vec::new() };
        let report = scene.run_into(&spec, &CancelToken::new(), &mut sink).unwrap();
        assert_eq!(report.end, End::Exited { code: 0 });
        assert_eq!(report.stdout.tail_text(), "ready\nto question 1\nto question 2\n");
    }

    fn a_writer_learns_that_the_child_is_gone() {
        let scene = Scene::new();
        let (writer, source) = stdin_channel();
        let mut spec = scene.command("true");
        spec.stdin = Stdin::Channel(source);
        let talker = std::thread::spawn(move || loop {
            if let Err(StdinClosed) = writer.send(vec![b'x'; 64 << 10]) {
                return;
            }
        });
        assert_eq!(scene.run(&spec).end, End::Exited { code: 0 });
        talker.join().unwrap();
    }

    fn a_slow_sink_slows_the_child_and_loses_nothing() {
        let scene = Scene::new();
        let mut spec = scene.shell("head -c 8000000 /dev/zero");
        spec.limits.idle = Some(Duration::from_secs(10));
        let mut sink = Slow(0);
        let report = scene.run_into(&spec, &CancelToken::new(), &mut sink).unwrap();
        assert_eq!(report.end, End::Exited { code: 0 });
        assert_eq!((sink.0, report.stdout.total_bytes), (8_000_000, 8_000_000));
    }

    fn a_slow_sink_hears_the_last_words_of_a_child_that_is_gone() {
        let scene = Scene::new();
        let mut spec = scene.shell("head -c 1000000 /dev/zero");
        spec.limits.drain = Duration::from_millis(100);
        let mut sink = Slow(0);
        let report = scene.run_into(&spec, &CancelToken::new(), &mut sink).unwrap();
        assert_eq!((report.end, sink.0), (End::Exited { code: 0 }, 1_000_000));
    }

    fn bytes_that_are_no_text_come_through_unchanged() {
        let scene = Scene::new();
        let report = scene.run(&scene.shell("printf '\\377\\000\\033[2J\\376'"));
        assert_eq!(report.stdout.tail, b"\xff\0\x1b[2J\xfe");
    }

    fn logs_hold_the_start_tails_the_end_and_the_report_is_on_disk() {
        let scene = Scene::new();
        let mut spec = scene.shell("seq 1 2000; echo problem >&2; exit 4");
        spec.log_dir = Some(scene.path().join("logs/deep"));
        spec.limits.log_bytes = 10;
        spec.limits.tail_bytes = 10;
        let report = scene.run(&spec);
        assert_eq!(report.stdout.tail, b"1999\n2000\n");
        let log = |stream: &drive_core::process::StreamReport| {
            std::fs::read_to_string(stream.log.as_ref().unwrap()).unwrap()
        };
        assert_eq!(log(&report.stdout), "1\n2\n3\n4\n5\n");
        assert_eq!(log(&report.stderr), "problem\n");
        let stored = std::fs::read(scene.path().join("logs/deep/report.json")).unwrap();
        let stored: ProcessReport = serde_json::from_slice(&stored).unwrap();
        assert_eq!(stored, report);
    }
}

#[test]
fn a_full_disk_stops_the_log_and_not_the_child() {
    let scene = Scene::new();
    let folder = scene.path().join("logs");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.join("stdout.log")).unwrap();
    let mut spec = scene.shell("echo said");
    spec.log_dir = Some(folder);
    let report = scene.run(&spec);
    assert_eq!(report.end, End::Exited { code: 0 });
    assert_eq!(report.stdout.tail, b"said\n");
    assert!(report.stdout.log_error.unwrap().contains("No space left"));
}
