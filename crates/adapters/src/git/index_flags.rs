//! Finds index flags that hide changes from git: assume-unchanged and skip-worktree.

/// Whether an index may hold an entry with such a flag. `true` also for every format that is not
/// parsed here (version 4 with compressed paths, split and sparse indexes): the caller then asks git.
///
/// `hash` is the length of an object id in bytes.
pub(crate) fn may_hide(index: &[u8], hash: usize) -> bool {
    entries_are_plain(index, hash) != Some(true)
}

const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
/// Times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;
/// Extensions that put entries elsewhere: a split index and a sparse one.
const ELSEWHERE: [&[u8]; 2] = [b"link", b"sdir"];

/// `None` if the bytes are not understood.
fn entries_are_plain(index: &[u8], hash: usize) -> Option<bool> {
    let body = index.get(..index.len().checked_sub(hash)?)?;
    if body.get(..4)? != b"DIRC" || number(body, 4)? != 2 {
        return None;
    }
    let mut at = 12;
    for _ in 0..number(body, 8)? {
        let flags_at = at + STAT_BYTES + hash;
        let flags = u16::from_be_bytes([*body.get(flags_at)?, *body.get(flags_at + 1)?]);
        if flags & (ASSUME_VALID | EXTENDED) != 0 {
            return Some(false);
        }
        let name = body.get(flags_at + 2..)?;
        let length = name.iter().position(|byte| *byte == 0)?;
        // At least one NUL, and as many as make the entry's length a multiple of eight.
        let whole = STAT_BYTES + hash + 2 + length;
        at += (whole / 8 + 1) * 8;
    }
    while at < body.len() {
        if ELSEWHERE.contains(&body.get(at..at + 4)?) {
            return None;
        }
        at = at.checked_add(8)?.checked_add(number(body, at + 4)?)?;
    }
    Some(at == body.len())
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at + 4)?;
    let four: [u8; 4] = four.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: usize = 20;

    /// An index of version 2 with these names and flags, an extension and its checksum.
    fn index(entries: &[(&str, u16)], extension: &[u8; 4]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend((entries.len() as u32).to_be_bytes());
        for (name, flags) in entries {
            let start = bytes.len();
            bytes.extend([7; STAT_BYTES + SHA]);
            bytes.extend((flags | name.len() as u16).to_be_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
            while !(bytes.len() - start).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        bytes.extend(extension);
        bytes.extend([0, 0, 0, 3, 1, 2, 3]);
        bytes.extend([9; SHA]);
        bytes
    }

    #[test]
    fn plain_entries_hide_nothing_whatever_the_length_of_their_names() {
        for length in 1..20 {
            let name = "x".repeat(length);
            let plain = index(&[(&name, 0), ("a/b", 0)], b"TREE");
            assert!(!may_hide(&plain, SHA), "{length}");
        }
        assert!(!may_hide(&index(&[], b"TREE"), SHA));
    }

    #[test]
    fn a_flag_an_odd_format_or_a_cut_off_end_may_hide_something() {
        assert!(may_hide(
            &index(&[("a", 0), ("b", ASSUME_VALID)], b"TREE"),
            SHA
        ));
        assert!(may_hide(&index(&[("a", EXTENDED)], b"TREE"), SHA));
        assert!(may_hide(&index(&[("a", 0)], b"link"), SHA));
        assert!(may_hide(&index(&[("a", 0)], b"sdir"), SHA));
        let plain = index(&[("a", 0)], b"TREE");
        assert!(may_hide(&plain, 32), "names of another length");
        // Without its extension it would be whole.
        let whole = plain.len() - 11;
        for end in (0..plain.len()).filter(|end| *end != whole) {
            assert!(may_hide(&plain[..end], SHA), "{end}");
        }
        let mut fourth = plain;
        fourth[7] = 4;
        assert!(may_hide(&fourth, SHA));
    }
}
