//! A minimal DNS: one question per message; the answer is an address, nothing, or "no such name".

use std::net::Ipv4Addr;

const HEADER: usize = 12;
const ADDRESS: u16 = 1;
const INTERNET: u16 = 1;
/// A response, recursion available.
const RESPONSE: u16 = 0x8080;
const RECURSION_DESIRED: u16 = 0x0100;
const NO_SUCH_NAME: u16 = 3;
/// How long a program may cache an answer, in seconds.
const REMEMBER: u32 = 60;

/// A DNS question.
pub(super) struct Query<'a> {
    id: [u8; 2],
    flags: u16,
    question: &'a [u8],
    /// The name in lower case.
    pub(super) name: String,
    kind: u16,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Address(Ipv4Addr),
    /// The name exists, but has no record of this kind.
    Nothing,
    NoSuchName,
}

impl<'a> Query<'a> {
    /// Parses a message with exactly one question; `None` for anything else.
    pub(super) fn read(message: &'a [u8]) -> Option<Self> {
        let two = |at: usize| {
            Some(u16::from_be_bytes([
                *message.get(at)?,
                *message.get(at + 1)?,
            ]))
        };
        let flags = two(2)?;
        let (is_response, opcode) = (flags & 0x8000 != 0, (flags >> 11) & 0xf);
        if is_response || opcode != 0 || two(4)? != 1 {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*message.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // A question must not contain a compressed name.
            if length > 63 || name.len() + length > 253 {
                return None;
            }
            let label = message.get(at..at + length)?;
            at += length;
            if !name.is_empty() {
                name.push('.');
            }
            name.extend(label.iter().map(|byte| byte.to_ascii_lowercase() as char));
        }
        let kind = two(at)?;
        (two(at + 2)? == INTERNET).then_some(Self {
            id: [message[0], message[1]],
            flags,
            question: &message[HEADER..at + 4],
            name,
            kind,
        })
    }

    pub(super) fn asks_for_address(&self) -> bool {
        self.kind == ADDRESS
    }

    /// Whether it is a host name: DNS labels may contain any byte.
    pub(super) fn is_plain(&self) -> bool {
        let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_letter);
        self.name.split('.').all(is_label)
    }

    pub(super) fn answered(&self, answer: &Answer) -> Vec<u8> {
        let (code, count) = match answer {
            Answer::Address(_) => (0, 1),
            Answer::Nothing => (0, 0),
            Answer::NoSuchName => (NO_SUCH_NAME, 0),
        };
        let flags = RESPONSE | self.flags & RECURSION_DESIRED | code;
        let mut message = self.id.to_vec();
        for number in [flags, 1, count, 0, 0] {
            message.extend(number.to_be_bytes());
        }
        message.extend(self.question);
        if let Answer::Address(address) = answer {
            // A pointer to the name in the question.
            message.extend((0xc000 | HEADER as u16).to_be_bytes());
            message.extend(ADDRESS.to_be_bytes());
            message.extend(INTERNET.to_be_bytes());
            message.extend(REMEMBER.to_be_bytes());
            message.extend(4_u16.to_be_bytes());
            message.extend(address.octets());
        }
        message
    }

    #[cfg(test)]
    pub(super) fn about(name: &str) -> Self {
        Self {
            id: [0, 0],
            flags: 0,
            question: &[],
            name: name.to_owned(),
            kind: ADDRESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(labels: &[&[u8]], kind: u16) -> Vec<u8> {
        let mut message = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in labels {
            message.push(label.len() as u8);
            message.extend(*label);
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message
    }

    #[test]
    fn a_question_is_read_and_answered_with_its_own_words() {
        let asked = question(&[b"API", b"example"], ADDRESS);
        let query = Query::read(&asked).unwrap();
        assert_eq!(query.name, "api.example");
        assert!(query.asks_for_address() && query.is_plain());
        let answer = query.answered(&Answer::Address(Ipv4Addr::new(127, 1, 0, 9)));
        assert_eq!(answer[..12], [7, 9, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..]);
        assert!(answer.ends_with(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 1, 0, 9]));
        assert_eq!(query.answered(&Answer::NoSuchName)[3], 0x83);
        assert_eq!(query.answered(&Answer::Nothing)[3], 0x80);
        assert!(
            !Query::read(&question(&[b"a"], 28))
                .unwrap()
                .asks_for_address()
        );
    }

    #[test]
    fn a_message_cut_anywhere_or_of_another_kind_is_no_question() {
        let asked = question(&[b"api", b"example"], ADDRESS);
        for end in 0..asked.len() {
            assert!(Query::read(&asked[..end]).is_none(), "{end}");
        }
        for (at, byte) in [
            (2, 0x81),
            (2, 0x29),
            (5, 2),
            (12, 0xc0),
            (asked.len() - 1, 3),
        ] {
            let mut other = asked.clone();
            other[at] = byte;
            assert!(Query::read(&other).is_none(), "{at}");
        }
        assert!(Query::read(&question(&[&[b'a'; 63][..]; 5], ADDRESS)).is_none());
        assert!(
            !Query::read(&question(&[b"a\x1b[31m"], ADDRESS))
                .unwrap()
                .is_plain()
        );
    }
}
