use drive_core::process::Resources;

/// Resources that ended processes used, as counted by the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) user_micros: u64,
    pub(super) system_micros: u64,
    pub(super) max_rss_bytes: u64,
}

impl Usage {
    /// Adds another ended process: times are added; for memory, the larger value counts.
    pub(super) fn add(&mut self, other: Usage) {
        self.user_micros += other.user_micros;
        self.system_micros += other.system_micros;
        self.max_rss_bytes = self.max_rss_bytes.max(other.max_rss_bytes);
    }

    /// The usage for a report, with the peak that was sampled over the whole tree.
    pub(super) fn resources(self, sampled: u64, cgroup_peak_bytes: Option<u64>) -> Resources {
        Resources {
            max_rss_bytes: Some(self.max_rss_bytes.max(sampled)),
            cgroup_peak_bytes,
            cpu_user_micros: self.user_micros,
            cpu_system_micros: self.system_micros,
        }
    }
}
