//! Serde for stored paths: a string if the path is UTF-8, else its bytes, so that any path
//! survives.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Saved {
    Text(String),
    Bytes { bytes: Vec<u8> },
}

/// For `#[serde(with = "…")]`.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let saved = match path.to_str() {
        Some(text) => Saved::Text(text.to_owned()),
        None => Saved::Bytes {
            bytes: path.as_os_str().as_bytes().to_vec(),
        },
    };
    saved.serialize(serializer)
}

/// For `#[serde(with = "…")]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Saved::deserialize(deserializer)? {
        Saved::Text(text) => PathBuf::from(text),
        Saved::Bytes { bytes } => PathBuf::from(OsString::from_vec(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        path: PathBuf,
    }

    proptest! {
        #[test]
        fn any_path_survives_a_round_trip(bytes: Vec<u8>) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            let json = serde_json::to_string(&Holder { path: path.clone() }).unwrap();
            let back: Holder = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back.path, path);
        }
    }
}
