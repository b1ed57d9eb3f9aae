/// Splits a byte stream into lines, whatever its chunks, with limited memory.
#[derive(Debug)]
pub(super) struct Lines {
    partial: Vec<u8>,
    limit: usize,
    skipping: bool,
}

/// One line of the stream, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A whole line.
    Whole(&'a [u8]),
    /// A line longer than the limit; its bytes were dropped.
    TooLong,
}

impl Lines {
    /// A splitter that stores at most `limit` bytes of an unfinished line.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            partial: Vec::new(),
            limit,
            skipping: false,
        }
    }

    /// Calls `each` for every line that `bytes` completes.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            self.complete(&rest[..end], &mut each);
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    /// The beginning of the unfinished line.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.partial
    }

    /// Calls `each` for the last line, if the stream did not end it.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if self.skipping || !self.partial.is_empty() {
            self.complete(&[], &mut each);
        }
    }

    fn complete(&mut self, end: &[u8], each: &mut impl FnMut(Line<'_>)) {
        if self.skipping || self.partial.len() + end.len() > self.limit {
            each(Line::TooLong);
        } else if self.partial.is_empty() {
            each(Line::Whole(without_return(end)));
        } else {
            self.partial.extend_from_slice(end);
            each(Line::Whole(without_return(&self.partial)));
        }
        self.skipping = false;
        self.partial.clear();
    }

    fn keep(&mut self, start: &[u8]) {
        if self.skipping || self.partial.len() + start.len() > self.limit {
            self.skipping = true;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(start);
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]], limit: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        let mut each = |line: Line<'_>| {
            out.push(match line {
                Line::Whole(bytes) => Some(bytes.to_vec()),
                Line::TooLong => None,
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        out
    }

    #[test]
    fn a_line_over_the_limit_is_one_marker_and_the_next_line_is_whole() {
        assert_eq!(
            split(&[b"abc\nabcdefgh", b"ijkl\r\nxy"], 5),
            [Some(b"abc".to_vec()), None, Some(b"xy".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(b'\r')], 0..80),
            cuts in proptest::collection::vec(0usize..80, 0..6),
            limit in 1usize..12,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(split(&chunks, limit), split(&[&bytes], limit));
        }
    }
}
