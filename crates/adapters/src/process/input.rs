//! Standard input of a child: empty, a sealed copy of bytes, or a pipe that is written while it
//! runs.

use drive_engine::StdinSource;
use drive_engine::ports::Stdin;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Stdio;
use std::thread::JoinHandle;

/// The child's end of its input, and the source that feeds it.
pub(super) struct Input {
    pub(super) stdio: Stdio,
    pub(super) feeder: Option<(StdinSource, PipeWriter)>,
}

impl Input {
    /// Opens the input. Bytes are passed as a file in memory: they need no thread, outlive drive,
    /// and cost nothing if the child never reads them.
    pub(super) fn open(stdin: &Stdin) -> io::Result<Self> {
        match stdin {
            Stdin::Null => Ok(Self {
                stdio: Stdio::null(),
                feeder: None,
            }),
            Stdin::Bytes(bytes) => Ok(Self {
                stdio: Stdio::from(readable(bytes)?),
                feeder: None,
            }),
            Stdin::Channel(source) => {
                let (reader, writer) = io::pipe()?;
                Ok(Self {
                    stdio: Stdio::from(reader),
                    feeder: Some((source.clone(), writer)),
                })
            }
        }
    }
}

/// Opens the memory file again, read-only, so that the child cannot write into its own input.
fn readable(bytes: &[u8]) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Feeds the child until its input ends or no process reads it.
pub(super) struct Feeder {
    source: StdinSource,
    thread: Option<JoinHandle<()>>,
}

impl Feeder {
    /// Starts feeding. The pipe breaks when the last process that could read it ends, so the thread
    /// always ends with the tree.
    pub(super) fn start(source: StdinSource, mut writer: PipeWriter) -> Self {
        let from = source.clone();
        let thread = std::thread::spawn(move || {
            while let Some(frame) = from.next() {
                if writer.write_all(&frame).is_err() {
                    from.close();
                }
            }
        });
        Self {
            source,
            thread: Some(thread),
        }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.source.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
