//! Versioned JSON of events and states.

use super::event::Event;
use super::run::Run;

/// The version of a written event.
pub const EVENT_FORMAT: u32 = 1;
/// The version of a written state.
pub const STATE_FORMAT: u32 = 1;

/// Stored text of a newer version, or damaged text.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFormat {
    /// A newer drive wrote it.
    #[error("it has format {found}; this drive supports up to {known}")]
    Newer {
        /// The format version of the journal.
        found: u32,
        /// The newest version that this drive knows.
        known: u32,
    },
    /// The text does not match the format of its version.
    #[error("it is not valid format {format}")]
    Damaged {
        /// The version it claims.
        format: u32,
        /// The parser's error.
        #[source]
        source: serde_json::Error,
    },
}

/// Writes an event as text. Fails only on a path that is not UTF-8.
pub fn write_event(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(event)
}

/// Reads an event from text.
pub fn read_event(format: u32, text: &str) -> Result<Event, UnreadableFormat> {
    read(format, EVENT_FORMAT, text)
}

/// Writes a state as text. Fails only on a path that is not UTF-8.
pub fn write_run(run: &Run) -> Result<String, serde_json::Error> {
    serde_json::to_string(run)
}

/// Reads a state from text.
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
