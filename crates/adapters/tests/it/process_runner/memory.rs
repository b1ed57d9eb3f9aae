//! Tests what counts towards a memory limit. Each case runs with the kernel's own limit and with polling.

use crate::process_runner::escape::lacking;
use crate::process_runner::support::{Scene, is_active};
use drive_core::process::{End, LayerName, LayerState, ProcessReport};
use drive_engine::ports::CommandSpec;

const CAP: u64 = 256 << 20;
const HOG: &str = "my $x = 'x' x (600 << 20); sleep 30;";
const MEMFD: &str = "my $number = `uname -m` =~ /x86_64/ ? 319 : 279;
    my $name = 'hog'; my $fd = syscall($number, $name, 0); open(my $f, '>&=', $fd) or die;
    binmode $f; for (1..400) { print $f 'x' x (1 << 20) or die } exit 0;";

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Cgroup,
    Poll,
}

/// Runs it under the limit; `None` if this user has no control group.
fn capped(way: Way, command: impl Fn(&Scene) -> CommandSpec) -> Option<ProcessReport> {
    let scene = match way {
        Way::Cgroup => Scene::new(),
        Way::Poll => Scene::without(&[LayerName::CgroupMemory]),
    };
    let mut spec = command(&scene);
    spec.limits.memory_bytes = Some(CAP);
    let report = scene.run(&spec);
    if way == Way::Cgroup && !is_active(&report, LayerName::CgroupMemory) {
        lacking(
            LayerName::CgroupMemory,
            "this user has no writable memory cgroup",
        );
        return None;
    }
    Some(report)
}

fn caught_both_ways(command: impl Fn(&Scene) -> CommandSpec) {
    for way in [Way::Cgroup, Way::Poll] {
        if let Some(report) = capped(way, &command) {
            assert_eq!(
                report.end,
                End::MemoryLimit,
                "{}",
                report.stderr.tail_text()
            );
        }
    }
}

everyone! {
    fn one_hog_is_caught() {
        caught_both_ways(|scene| scene.perl(HOG));
    }

    fn a_hog_that_lets_nobody_look_is_caught() {
        let hidden = "my $number = `uname -m` =~ /x86_64/ ? 157 : 167; syscall($number, 4, 0, 0, 0, 0) == 0 or die;";
        let scene = Scene::without(&[LayerName::CgroupMemory, LayerName::PidNamespace]);
        let mut spec = scene.perl(&format!("{hidden} {HOG}"));
        spec.limits.memory_bytes = Some(CAP);
        let report = scene.run(&spec);
        assert_eq!(report.end, End::MemoryLimit, "{}", report.stderr.tail_text());
    }

    fn many_small_hogs_are_caught() {
        let script = "for (1..8) { next if fork; my $x = 'x' x (60 << 20); sleep 30; exit 0 }
            1 while wait > 0; exit 0";
        caught_both_ways(|scene| scene.perl(script));
    }

    fn a_child_killed_for_memory_under_a_leader_that_exits_0_is_caught() {
        let script = format!("perl -e '{}' & wait; exit 0", HOG.replace('\'', "\""));
        caught_both_ways(|scene| scene.shell(&script));
    }

    fn a_memfd_hog_is_caught_by_the_cgroup() {
        if let Some(report) = capped(Way::Cgroup, |scene| scene.perl(MEMFD)) {
            assert_eq!(report.end, End::MemoryLimit);
        }
    }

    fn a_memfd_hog_is_missed_by_the_poll_and_the_report_says_so() {
        let report = capped(Way::Poll, |scene| scene.perl(MEMFD)).unwrap();
        assert_eq!(report.end, End::Exited { code: 0 }, "{}", report.stderr.tail_text());
        let layer = report.layers.iter().find(|l| l.name == LayerName::CgroupMemory).unwrap();
        assert_eq!(
            layer.state,
            LayerState::Missing(
                "no writable cgroup; memory: RSS poll, memfd and tmpfs not counted".into()
            )
        );
    }

    fn memory_shared_by_forks_is_counted_once() {
        let script = "my $x = 'x' x (60 << 20);
            for (1..20) { next if fork; select(undef, undef, undef, 0.5); exit 0 }
            1 while wait > 0; exit 0";
        for way in [Way::Cgroup, Way::Poll] {
            if let Some(report) = capped(way, |scene| scene.perl(script)) {
                assert_eq!(report.end, End::Exited { code: 0 });
            }
        }
    }

    fn the_peak_of_a_tree_is_measured_and_not_less_than_its_largest_process() {
        let report = capped(Way::Poll, |scene| {
            scene.perl("my $x = 'x' x (50 << 20); select(undef, undef, undef, 0.3)")
        });
        let peak = report.unwrap().resources.max_rss_bytes.unwrap();
        assert!((50 << 20..CAP).contains(&peak), "{peak}");
    }
}
