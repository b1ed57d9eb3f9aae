//! Reads git's index file directly to prove that a worktree is unchanged, which is faster than a git
//! call. Anything it does not understand is no proof: the caller then asks git.

use rustix::fs::FileType;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of an entry before its path: ten 32-bit fields, the object id, the flags.
const FIXED: usize = 62;
const SHA: usize = 20;
const EXTENDED: u16 = 0x4000;
const ASSUME_VALID: u16 = 0x8000;
const STAGE: u16 = 0x3000;
const NAME_LENGTH: u16 = 0x0fff;

/// An index whose entries are all plain: tracked, merged and checked out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// All files, by path.
    pub(crate) files: Vec<(Vec<u8>, Stamp)>,
    /// Object id of the tree of all files, if the index caches it.
    pub(crate) tree: Option<String>,
    /// When it was written. A file changed in the same instant may look unchanged ("racily clean").
    written: (u32, u32),
}

/// Stat data of a file. Every write changes `changed` (ctime), which no program can set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    changed: (u32, u32),
    modified: (u32, u32),
    inode: u32,
    mode: u32,
    owner: (u32, u32),
    bytes: u32,
}

impl Stamp {
    /// The stamp of a file on disk; `None` for a kind of file that an index cannot hold.
    pub(crate) fn of(meta: &rustix::fs::Stat) -> Option<Self> {
        let kind = FileType::from_raw_mode(meta.st_mode);
        let mode = if kind == FileType::Symlink {
            0o120_000
        } else if kind != FileType::RegularFile {
            return None;
        } else if meta.st_mode & 0o100 != 0 {
            0o100_755
        } else {
            0o100_644
        };
        // Git keeps the lower half of every number.
        Some(Self {
            changed: (meta.st_ctime as u32, meta.st_ctime_nsec as u32),
            modified: (meta.st_mtime as u32, meta.st_mtime_nsec as u32),
            inode: meta.st_ino as u32,
            mode,
            owner: (meta.st_uid, meta.st_gid),
            bytes: meta.st_size as u32,
        })
    }
}

impl Index {
    /// Reads an index file. `None` where it holds something that needs git to be understood: an
    /// unfinished merge, files that are hidden from git or not checked out, submodules, another format.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        // The time before the content: a newer content with an older time only proves less.
        let meta = fs::metadata(path)?;
        let written = (meta.mtime() as u32, meta.mtime_nsec() as u32);
        Ok(parse(&fs::read(path)?, written))
    }

    /// Whether a file could have been changed in the moment the index was written.
    pub(crate) fn is_racy(&self, stamp: &Stamp) -> bool {
        stamp.modified >= self.written
    }
}

fn parse(bytes: &[u8], written: (u32, u32)) -> Option<Index> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !matches!(version, 2 | 3) {
        return None;
    }
    let count = number(bytes, 8)? as usize;
    let mut at = 12;
    let mut files = Vec::with_capacity(count.min(bytes.len() / FIXED));
    for _ in 0..count {
        let (entry, next) = entry(bytes, at)?;
        files.push(entry);
        at = next;
    }
    let end = bytes.len().checked_sub(SHA)?;
    let tree = extensions(bytes.get(at..end)?)?;
    Some(Index {
        files,
        tree,
        written,
    })
}

fn entry(bytes: &[u8], at: usize) -> Option<((Vec<u8>, Stamp), usize)> {
    let fixed = bytes.get(at..at.checked_add(FIXED)?)?;
    let word = |index: usize| number(fixed, index * 4);
    let flags = u16::from_be_bytes([fixed[FIXED - 2], fixed[FIXED - 1]]);
    if flags & (EXTENDED | ASSUME_VALID | STAGE) != 0 {
        return None;
    }
    let rest = &bytes[at + FIXED..];
    let length = match flags & NAME_LENGTH {
        NAME_LENGTH => rest.iter().position(|byte| *byte == 0)?,
        length => usize::from(length),
    };
    let stamp = Stamp {
        changed: (word(0)?, word(1)?),
        modified: (word(2)?, word(3)?),
        inode: word(5)?,
        mode: word(6)?,
        owner: (word(7)?, word(8)?),
        bytes: word(9)?,
    };
    let is_file = matches!(stamp.mode, 0o100_644 | 0o100_755 | 0o120_000);
    let name = rest.get(..length).filter(|_| is_file)?.to_vec();
    // Names end with one to eight zero bytes, up to the next multiple of eight.
    let next = at + (FIXED + length + 8) / 8 * 8;
    Some(((name, stamp), next))
}

/// The tree of the whole index, where one extension knows it. `None` where another one changes what
/// the entries mean: those have names in lower case.
fn extensions(mut bytes: &[u8]) -> Option<Option<String>> {
    let mut tree = None;
    while !bytes.is_empty() {
        let name = bytes.get(..4)?;
        let size = number(bytes, 4)? as usize;
        let payload = bytes.get(8..8usize.checked_add(size)?)?;
        if !name[0].is_ascii_uppercase() {
            return None;
        }
        if name == b"TREE" {
            tree = root_tree(payload);
        }
        bytes = &bytes[8 + size..];
    }
    Some(tree)
}

/// The first record is the root's: an empty name, the number of its entries or -1 where it is out of
/// date, the number of its folders, the tree.
fn root_tree(payload: &[u8]) -> Option<String> {
    let rest = payload.strip_prefix(b"\0")?;
    let line = rest.iter().position(|byte| *byte == b'\n')?;
    if rest.starts_with(b"-") {
        return None;
    }
    let sha = rest.get(line + 1..line + 1 + SHA)?;
    Some(sha.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of two files and the tree they are.
    fn sample(flags: u16, mode: u32, extension: &[u8; 4]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x02".to_vec();
        for name in ["a.txt", "src/b.txt"] {
            let start = bytes.len();
            for word in [1, 2, 3, 4, 5, 6, mode, 8, 9, 10] {
                bytes.extend_from_slice(&u32::to_be_bytes(word));
            }
            bytes.extend_from_slice(&[7; SHA]);
            bytes.extend_from_slice(&(flags | name.len() as u16).to_be_bytes());
            bytes.extend_from_slice(name.as_bytes());
            bytes.resize(start + (FIXED + name.len() + 8) / 8 * 8, 0);
        }
        bytes.extend_from_slice(extension);
        bytes.extend_from_slice(&u32::to_be_bytes(5 + SHA as u32));
        bytes.extend_from_slice(b"\x002 1\n");
        bytes.extend_from_slice(&[0xab; SHA]);
        bytes.extend_from_slice(&[0; SHA]);
        bytes
    }

    #[test]
    fn files_and_their_tree_are_read() {
        let stamp = Stamp {
            changed: (1, 2),
            modified: (3, 4),
            inode: 6,
            mode: 0o100_644,
            owner: (8, 9),
            bytes: 10,
        };
        let index = parse(&sample(0, 0o100_644, b"TREE"), (3, 4)).unwrap();
        assert_eq!(
            index,
            Index {
                files: vec![(b"a.txt".to_vec(), stamp), (b"src/b.txt".to_vec(), stamp)],
                tree: Some("ab".repeat(SHA)),
                written: (3, 4),
            }
        );
        assert!(index.is_racy(&stamp), "written in the same moment");
        let later = parse(&sample(0, 0o100_644, b"TREE"), (3, 5)).unwrap();
        assert!(!later.is_racy(&stamp));
    }

    #[test]
    fn what_needs_git_to_be_understood_is_no_proof() {
        let no = |bytes: &[u8]| assert_eq!(parse(bytes, (0, 0)), None);
        no(&sample(ASSUME_VALID, 0o100_644, b"TREE"));
        no(&sample(EXTENDED, 0o100_644, b"TREE"));
        no(&sample(0x1000, 0o100_644, b"TREE"));
        no(&sample(0, 0o160_000, b"TREE"));
        no(&sample(0, 0o100_644, b"link"));
        no(&sample(0, 0o100_644, b"TREE")[1..]);
        no(b"DIRC\0\0\0\x04\0\0\0\0");
        no(b"");
    }

    #[test]
    fn a_cut_index_is_no_proof_wherever_it_is_cut() {
        let whole = sample(0, 0o100_644, b"TREE");
        for length in 0..whole.len() {
            let cut = parse(&whole[..length], (0, 0)).and_then(|index| index.tree);
            assert_eq!(cut, None, "{length}");
        }
    }
}
