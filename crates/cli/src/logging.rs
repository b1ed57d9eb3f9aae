//! The log on standard error, which `-v` and `DRIVE_LOG` enable.
//!
//! `-v` shows every step of a run. `DRIVE_LOG` takes a level (`debug`) or targets with levels
//! (`drive::process=debug,drive::http=debug`), and is followed with `-q` as well.

use crate::output::Output;
use drive_adapters::Environment;
use drive_adapters::environment::DRIVE_LOG;
use std::io::{self, Write};
use std::sync::Arc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;

/// Starts the log, if it is enabled. An invalid filter only gives a warning: no run should fail
/// because of its log.
pub(crate) fn start(output: &Arc<Output>, environment: &Environment, is_verbose: bool) {
    let of_steps = Targets::new().with_target("drive", LevelFilter::INFO);
    let asked = environment.get(DRIVE_LOG);
    let filter = match asked.map(|text| text.to_string_lossy().parse::<Targets>()) {
        Some(Ok(filter)) => filter,
        Some(Err(error)) => {
            output.warn(format_args!(
                "`{DRIVE_LOG}` is ignored: {error}; write a level such as `debug`, or \
                 `drive::process=debug`"
            ));
            of_steps
        }
        None if is_verbose => of_steps,
        None => return,
    };
    let lines = Lines(Arc::clone(output));
    let layer = fmt::layer()
        .with_ansi(false)
        .with_timer(fmt::time::uptime())
        .with_writer(move || lines.clone());
    let subscriber = tracing_subscriber::registry().with(filter).with(layer);
    // A second context in the same process, as in the demonstration, keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Sends every line of the log to the output, which owns standard error and its live line.
#[derive(Clone)]
struct Lines(Arc<Output>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.log(String::from_utf8_lossy(bytes).trim_end());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
