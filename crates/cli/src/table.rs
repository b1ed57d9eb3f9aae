//! Tables for people: a header, columns as wide as their contents, and lines no longer than the terminal.

use crate::output::{Look, Printable};
use drive_core::time::Timestamp;

/// The minimum width of the last column before other columns are left out.
const LEAST_REST: usize = 12;
/// The gap between two columns.
const GAP: &str = "  ";

/// One column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// The column's header.
    pub(crate) head: &'static str,
    /// Whether it is right-aligned, as numbers are.
    pub(crate) right: bool,
    /// If lines are too long, columns with larger numbers are left out first; 0 always stays.
    pub(crate) drop: u8,
}

impl Column {
    pub(crate) const fn left(head: &'static str, drop: u8) -> Self {
        Self {
            head,
            right: false,
            drop,
        }
    }

    pub(crate) const fn right(head: &'static str, drop: u8) -> Self {
        Self {
            head,
            right: true,
            drop,
        }
    }
}

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Waiting,
    Working,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Good => Some("\x1b[32m"),
            Tone::Bad => Some("\x1b[31m"),
            Tone::Waiting => Some("\x1b[33m"),
            Tone::Working => Some("\x1b[36m"),
        }
    }
}

/// The contents of one column in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self::toned(text, Tone::Plain)
    }

    pub(crate) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        let words: Vec<&str> = text.as_ref().split_whitespace().collect();
        // Leading spaces show the depth in a tree.
        let depth = text.as_ref().len() - text.as_ref().trim_start_matches(' ').len();
        let text = Printable(&words.join(" ")).to_string();
        Self {
            text: format!("{}{text}", " ".repeat(depth)),
            tone,
        }
    }

    /// Its text on one line, without terminal control characters.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The table; empty without rows. The last column takes the rest of the line.
pub(crate) fn render<const N: usize>(
    columns: [Column; N],
    rows: &[[Cell; N]],
    look: Look,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| width(&row[column].text));
        let most = cells.max().unwrap_or_default();
        // A column without contents has no header.
        if most == 0 {
            0
        } else {
            most.max(width(columns[column].head))
        }
    };
    let mut widths: Vec<usize> = (0..N).map(widest).collect();
    let last = N - 1;
    if let Some(most) = look.width {
        fit(&columns, &mut widths, most);
    }
    let mut text = String::new();
    let heads = columns.map(|column| Cell::new(column.head));
    for row in std::iter::once(&heads).chain(rows) {
        let mut line = String::new();
        for column in (0..N).filter(|column| widths[*column] > 0) {
            let cell = &row[column];
            let shown = cut(&cell.text, widths[column]);
            let pad = " ".repeat(widths[column] - width(&shown));
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let painted = match cell
                .tone
                .code()
                .filter(|_| look.colour && !shown.is_empty())
            {
                Some(code) => format!("{code}{shown}\x1b[0m"),
                None => shown,
            };
            if columns[column].right {
                line.push_str(&pad);
                line.push_str(&painted);
            } else {
                line.push_str(&painted);
                if column != last {
                    line.push_str(&pad);
                }
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Makes lines no wider than `most`: leaves columns out, then shortens the last one.
fn fit(columns: &[Column], widths: &mut [usize], most: usize) {
    let last = widths.len() - 1;
    loop {
        let shown = widths[..last].iter().filter(|width| **width > 0);
        let others: usize = shown.map(|width| width + GAP.len()).sum();
        let rest = most.saturating_sub(others);
        if rest >= LEAST_REST.min(widths[last]) {
            widths[last] = widths[last].min(rest);
            return;
        }
        let candidates = (0..last).filter(|at| widths[*at] > 0 && columns[*at].drop > 0);
        match candidates.max_by_key(|at| columns[*at].drop) {
            Some(at) => widths[at] = 0,
            None => {
                widths[last] = widths[last].min(rest.max(1));
                return;
            }
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += columns_of(character);
        if used > most {
            break;
        }
        kept.push(character);
    }
    format!("{}…", kept.trim_end())
}

/// The width of a text in terminal columns.
fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The width of a character: East Asian letters and emoji take two columns, combining marks none.
fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The time since then, in one unit.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A duration, in at most two units.
pub(crate) fn length(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 7] = [
        Column::left("ID", 0),
        Column::left("STATE", 0),
        Column::right("AGE", 1),
        Column::right("DURATION", 4),
        Column::right("COST", 3),
        Column::right("PR", 2),
        Column::left("TASK", 0),
    ];

    fn rows() -> Vec<[Cell; 7]> {
        let row = |id: &str, state: Cell, rest: [&str; 4], task: &str| {
            let [age, duration, cost, pr] = rest.map(Cell::new);
            [
                Cell::new(id),
                state,
                age,
                duration,
                cost,
                pr,
                Cell::new(task),
            ]
        };
        vec![
            row(
                "r20261118-2034-k3f9a",
                Cell::toned("running", Tone::Working),
                ["3m", "3m12s", "$0.41", "#12"],
                "Fix the login for names with a dot, and say so in the documentation of the form",
            ),
            row(
                "  r20261118-2034-k3f9a+a",
                Cell::toned("failed", Tone::Bad),
                ["2h", "1h04m", "", ""],
                "名前に点がある利用者のログインを直す\x1b[31m",
            ),
        ]
    }

    #[test]
    fn a_table_fits_terminals_of_40_80_and_200_columns() {
        let mut shown = String::new();
        for width in [40, 80, 200] {
            let look = Look {
                width: Some(width),
                colour: false,
            };
            let table = render(COLUMNS, &rows(), look);
            assert!(table.lines().all(|line| super::width(line) <= width));
            shown += &format!("{width}:\n{table}\n");
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn colour_stands_around_the_state_only() {
        let look = Look {
            width: None,
            colour: true,
        };
        let table = render(COLUMNS, &rows(), look);
        assert_eq!(table.matches('\x1b').count(), 4, "{table:?}");
        assert!(table.contains("\x1b[31mfailed\x1b[0m "), "{table:?}");
        assert!(table.contains("\\u{1b}[31m"), "{table:?}");
    }

    #[test]
    fn times_are_short() {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let ago = |text: &str| age(text.parse().unwrap(), now);
        assert_eq!(ago("2026-11-18T11:59:58Z"), "2s");
        assert_eq!(ago("2026-11-18T11:02:00Z"), "58m");
        assert_eq!(ago("2026-11-17T13:00:00Z"), "23h");
        assert_eq!(ago("2026-11-01T12:00:00Z"), "17d");
        assert_eq!(ago("2026-11-18T12:00:09Z"), "0s");
        assert_eq!(
            [length(9), length(192), length(3840)],
            ["9s", "3m12s", "1h04m"]
        );
    }
}
