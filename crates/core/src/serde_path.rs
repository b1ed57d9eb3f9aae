//! Serde for stored paths: a string if the path is UTF-8, else its bytes, so that every path can be stored.

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

/// The same functions for a list of paths.
pub mod list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::PathBuf;

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "super")] PathBuf);

    /// For `#[serde(with = "…")]`.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| One(path.clone())))
    }

    /// For `#[serde(with = "…")]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let all = Vec::<One>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|One(path)| path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        path: PathBuf,
        #[serde(with = "super::list")]
        more: Vec<PathBuf>,
    }

    proptest! {
        #[test]
        fn any_path_survives_a_round_trip(bytes: Vec<u8>) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            let holder = Holder { path: path.clone(), more: vec![path.clone()] };
            let json = serde_json::to_string(&holder).unwrap();
            let back: Holder = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back.more, vec![path.clone()]);
            prop_assert_eq!(back.path, path);
        }
    }
}
