//! Versioned JSON of events and states.

use super::event::Event;
use super::run::Run;

/// The version of a written event.
pub const EVENT_FORMAT: u32 = 1;
/// The version of a written state.
pub const STATE_FORMAT: u32 = 1;

/// Something written by another version, or damaged.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFormat {
    /// Written by a newer drive.
    #[error("it has format {found}; this drive supports up to {known}")]
    Newer {
        /// The format version of the journal.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// Not what its version says.
    #[error("it is not valid format {format}")]
    Damaged {
        /// The version it claims.
        format: u32,
        /// The parser's error.
        #[source]
        source: serde_json::Error,
    },
}

/// An event as text. Fails only on a path that is not UTF-8.
pub fn write_event(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(event)
}

/// An event from text.
pub fn read_event(format: u32, text: &str) -> Result<Event, UnreadableFormat> {
    read(format, EVENT_FORMAT, text)
}

/// A state as text. Fails only on a path that is not UTF-8.
pub fn write_run(run: &Run) -> Result<String, serde_json::Error> {
    serde_json::to_string(run)
}

/// A state from text.
pub fn read_run(format: u32, text: &str) -> Result<Run, UnreadableFormat> {
    read(format, STATE_FORMAT, text)
}

fn read<T: serde::de::DeserializeOwned>(
    format: u32,
    known: u32,
    text: &str,
) -> Result<T, UnreadableFormat> {
    if format > known {
        return Err(UnreadableFormat::Newer {
            found: format,
            known,
        });
    }
    serde_json::from_str(text).map_err(|source| UnreadableFormat::Damaged { format, source })
}
