//! Protocol between drive and its helper: a request, single control bytes, and framed events.

use drive_core::network::Reach;
use drive_core::process::{LayerName, LeakPolicy, Limits};
use drive_engine::ports::{LayeredFolder, NetworkAccess, OrphanPolicy, Writes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The maximum size of a message that is not output, e.g. a request with a huge environment.
const MOST_BYTES: u32 = 64 << 20;

/// Everything that the helper needs to work without drive.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    #[serde(with = "drive_core::serde_path")]
    pub(super) executable: PathBuf,
    #[serde(with = "words::one")]
    pub(super) arg0: OsString,
    #[serde(with = "words::list")]
    pub(super) args: Vec<OsString>,
    #[serde(with = "drive_core::serde_path")]
    pub(super) cwd: PathBuf,
    #[serde(with = "words::pairs")]
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) limits: Limits,
    pub(super) writes: Writes,
    pub(super) tmp: Option<PathBuf>,
    #[serde(with = "words::list")]
    pub(super) protected: Vec<OsString>,
    #[serde(with = "words::list")]
    pub(super) hidden: Vec<OsString>,
    #[serde(with = "words::list")]
    pub(super) shown: Vec<OsString>,
    pub(super) layered: Vec<LayeredFolder>,
    pub(super) network: NetworkAccess,
    pub(super) reach: Reach,
    pub(super) reports_names: bool,
    /// Hosts with fixed addresses, which are not looked up.
    pub(super) pins: Vec<(String, SocketAddr)>,
    pub(super) required: bool,
    pub(super) log_dir: Option<PathBuf>,
    pub(super) leaks: LeakPolicy,
    pub(super) orphans: OrphanPolicy,
    pub(super) forward: bool,
    pub(super) without: Vec<LayerName>,
}

impl Request {
    /// Whether the request names the writable paths. Otherwise the child has all access of its user.
    pub(super) fn is_confined(&self) -> bool {
        self.writes != Writes::Anywhere
    }

    /// Whether the tree's name queries are answered.
    pub(super) fn answers_names(&self) -> bool {
        self.reports_names || !self.reach.is_nothing()
    }
}

/// Serde for OS strings, which may not be text: written as a string if possible, which is nearly
/// always. Serde itself writes every byte as a number.
mod words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::PathBuf;

    #[derive(Serialize, Deserialize)]
    struct Word(#[serde(with = "drive_core::serde_path")] PathBuf);

    impl Word {
        fn of(word: &OsString) -> Self {
            Self(word.into())
        }

        fn into_inner(self) -> OsString {
            self.0.into_os_string()
        }
    }

    pub(super) mod one {
        use super::*;

        pub(in super::super) fn serialize<S: Serializer>(
            word: &OsString,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            Word::of(word).serialize(serializer)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<OsString, D::Error> {
            Word::deserialize(deserializer).map(Word::into_inner)
        }
    }

    pub(super) mod list {
        use super::*;

        pub(in super::super) fn serialize<S: Serializer>(
            words: &[OsString],
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(words.iter().map(Word::of))
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Vec<OsString>, D::Error> {
            let words = Vec::<Word>::deserialize(deserializer)?;
            Ok(words.into_iter().map(Word::into_inner).collect())
        }
    }

    pub(super) mod pairs {
        use super::*;

        pub(in super::super) fn serialize<S: Serializer>(
            pairs: &[(OsString, OsString)],
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(pairs.iter().map(|(a, b)| (Word::of(a), Word::of(b))))
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Vec<(OsString, OsString)>, D::Error> {
            let pairs = Vec::<(Word, Word)>::deserialize(deserializer)?;
            let pairs = pairs.into_iter();
            Ok(pairs
                .map(|(a, b)| (a.into_inner(), b.into_inner()))
                .collect())
        }
    }
}

/// Control bytes from drive to the helper, and from the helper to the init of the tree.
pub(super) mod control {
    /// Set up the layers.
    pub(in super::super) const SET_UP: u8 = b's';
    /// The identity is journaled: execute the program.
    pub(in super::super) const GO: u8 = b'g';
    /// End the tree: TERM, then KILL after the grace period.
    pub(in super::super) const CANCEL: u8 = b'c';
    /// Kill the process tree.
    pub(in super::super) const KILL: u8 = b'k';
}

/// Kinds of events from the helper to drive.
pub(super) mod event {
    /// The identity of the child that waits at the gate.
    pub(in super::super) const IDENTITY: u8 = b'i';
    /// Standard output.
    pub(in super::super) const STDOUT: u8 = b'o';
    /// Standard error.
    pub(in super::super) const STDERR: u8 = b'e';
    /// The final report.
    pub(in super::super) const REPORT: u8 = b'r';
    /// A host that was refused.
    pub(in super::super) const REFUSED: u8 = b'n';
    /// The problem because of which the child never ran.
    pub(in super::super) const PROBLEM: u8 = b'p';
}

/// Bytes before the payload of an event.
const HEADER: usize = 5;

/// Appends one event.
pub(super) fn put_event(buffer: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    buffer.push(kind);
    buffer.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    buffer.extend_from_slice(payload);
}

/// Reads the next event, and its payload into `payload`; `None` at the end.
pub(super) fn read_event(from: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<u8>> {
    let mut header = [0; HEADER];
    if from.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut header[1..])?;
    let [kind, length @ ..] = header;
    read_sized(from, u32::from_le_bytes(length), payload)?;
    Ok(Some(kind))
}

/// Writes a JSON message with its length before it.
pub(super) fn write_json(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&json);
    to.write_all(&bytes)
}

/// Reads a JSON message; `None` at the end.
pub(super) fn read_json<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let mut bytes = Vec::new();
    read_sized(from, u32::from_le_bytes(length), &mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

fn read_sized(from: &mut impl Read, length: u32, into: &mut Vec<u8>) -> io::Result<()> {
    if length > MOST_BYTES {
        return Err(io::Error::other("message too large"));
    }
    into.resize(length as usize, 0);
    from.read_exact(into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn events_come_back_as_they_were_put_and_a_cut_one_is_an_error() {
        let mut bytes = Vec::new();
        put_event(&mut bytes, event::STDOUT, b"hello");
        put_event(&mut bytes, event::REPORT, b"");
        let mut from = &bytes[..];
        let mut payload = Vec::new();
        assert_eq!(
            read_event(&mut from, &mut payload).unwrap(),
            Some(event::STDOUT)
        );
        assert_eq!(payload, b"hello");
        assert_eq!(
            read_event(&mut from, &mut payload).unwrap(),
            Some(event::REPORT)
        );
        assert_eq!(read_event(&mut from, &mut payload).unwrap(), None);
        assert!(read_event(&mut &bytes[..3], &mut payload).is_err());
    }

    #[test]
    fn a_length_out_of_bounds_is_refused_before_memory_is_taken() {
        let bytes = [event::STDOUT, 255, 255, 255, 255];
        assert!(read_event(&mut &bytes[..], &mut Vec::new()).is_err());
    }

    #[derive(Serialize, Deserialize)]
    struct Said {
        #[serde(with = "words::one")]
        one: OsString,
        #[serde(with = "words::list")]
        list: Vec<OsString>,
        #[serde(with = "words::pairs")]
        pairs: Vec<(OsString, OsString)>,
    }

    proptest! {
        #[test]
        fn any_word_survives_the_way_to_the_helper(bytes: Vec<u8>) {
            let word = OsString::from_vec(bytes);
            let said = Said {
                one: word.clone(),
                list: vec![word.clone()],
                pairs: vec![(word.clone(), word.clone())],
            };
            let mut written = Vec::new();
            write_json(&mut written, &said).unwrap();
            let back: Said = read_json(&mut &written[..]).unwrap().unwrap();
            prop_assert_eq!(&back.one, &word);
            prop_assert_eq!(back.list, vec![word.clone()]);
            prop_assert_eq!(back.pairs, vec![(word.clone(), word)]);
        }
    }
}
