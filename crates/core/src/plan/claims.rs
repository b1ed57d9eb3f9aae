//! Finds tasks whose paths may name the same files. In doubt, they do.

use super::error::quote;
use super::hot::{Hot, Reach, kind_of};
use super::model::PlanTask;
use super::task_set::TaskSet;
use crate::ids::TaskId;
use std::collections::BTreeMap;

/// How many pairs of patterns are compared. Beyond that, all tasks count as colliding.
const MOST_COMPARED: usize = 250_000;

/// The collisions between tasks.
pub(super) struct Claims {
    tasks: Vec<Vec<Claim>>,
    patterns: Vec<Pattern>,
    /// For each pattern, the tasks that collide with a task that has it.
    collisions: Vec<TaskSet>,
    all: TaskSet,
    /// The tasks that name no files.
    unknown: TaskSet,
    is_complete: bool,
}

/// One path of one task.
struct Claim {
    pattern: usize,
    written: String,
    hot: Option<&'static Hot>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    /// Names of the path. Everything below the last one belongs to the pattern too.
    segments: Vec<Segment>,
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Changes,
    /// The file checks the task, so no other task may change it meanwhile.
    Checks,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    /// A name in lowercase, because some file systems ignore case.
    Name(String),
    /// A name with wildcards between this start and end.
    Like { start: String, end: String },
    /// All shared files of one kind. A written path cannot name it.
    Kind(&'static str),
}

impl Claims {
    /// The claims of tasks in a given order; sets of tasks use that order.
    pub(super) fn of<'p>(tasks: impl Iterator<Item = &'p PlanTask>) -> Self {
        let mut numbers: BTreeMap<Pattern, usize> = BTreeMap::new();
        let mut claims = Self {
            tasks: Vec::new(),
            patterns: Vec::new(),
            collisions: Vec::new(),
            all: TaskSet::default(),
            unknown: TaskSet::default(),
            is_complete: true,
        };
        let mut owners: Vec<TaskSet> = Vec::new();
        for (place, task) in tasks.enumerate() {
            claims.all.add(place);
            let mut list = Vec::new();
            let mut is_known = false;
            for (pattern, written, hot) in claimed(task) {
                is_known |= pattern.access == Access::Changes;
                let number = *numbers.entry(pattern).or_insert_with_key(|pattern| {
                    claims.patterns.push(pattern.clone());
                    owners.push(TaskSet::default());
                    owners.len() - 1
                });
                owners[number].add(place);
                list.push(Claim {
                    pattern: number,
                    written,
                    hot,
                });
            }
            claims.tasks.push(list);
            if !is_known {
                claims.unknown.add(place);
            }
        }
        claims.compare(&owners);
        claims
    }

    /// Compares the patterns. Two patterns can only overlap if the plain names at the start of one
    /// are the beginning of the other's. In sorted order, the stack holds all such patterns.
    fn compare(&mut self, owners: &[TaskSet]) {
        self.collisions = vec![TaskSet::default(); owners.len()];
        let mut order: Vec<usize> = (0..owners.len()).collect();
        order.sort_by(|a, b| self.patterns[*a].names().cmp(self.patterns[*b].names()));
        let mut stack: Vec<usize> = Vec::new();
        let mut compared = 0;
        for &number in &order {
            let pattern = &self.patterns[number];
            let names = pattern.names();
            while let Some(&top) = stack.last() {
                if names.starts_with(self.patterns[top].names()) {
                    break;
                }
                stack.pop();
            }
            stack.push(number);
            for &other in &stack {
                compared += 1;
                if pattern.collides(&self.patterns[other]) {
                    self.collisions[number].add_all(&owners[other]);
                    self.collisions[other].add_all(&owners[number]);
                }
            }
            if compared > MOST_COMPARED {
                self.is_complete = false;
                return;
            }
        }
    }

    /// Whether a task names its files.
    pub(super) fn is_known(&self, task: usize) -> bool {
        !self.unknown.has(task)
    }

    /// The tasks that cannot run at the same time as a task; the task itself may be among them.
    pub(super) fn collisions(&self, task: usize) -> TaskSet {
        if !self.is_complete || !self.is_known(task) {
            return self.all.clone();
        }
        let mut set = self.unknown.clone();
        for claim in &self.tasks[task] {
            set.add_all(&self.collisions[claim.pattern]);
        }
        set
    }

    /// Why two tasks collide, in one line in which the plan's text is code.
    pub(super) fn reason(
        &self,
        (earlier, one): (usize, &TaskId),
        (later, two): (usize, &TaskId),
    ) -> String {
        for (task, id) in [(later, two), (earlier, one)] {
            if !self.is_known(task) {
                return format!("{} names no `paths`, so it runs alone", quote(id.as_str()));
            }
        }
        let pair = self.tasks[later].iter().find_map(|claim| {
            let known = self.collisions.get(claim.pattern)?.has(earlier);
            let pattern = &self.patterns[claim.pattern];
            let collides = |other: &&Claim| pattern.collides(&self.patterns[other.pattern]);
            let other = known.then(|| self.tasks[earlier].iter().find(collides));
            other.flatten().map(|other| (other, claim))
        });
        let Some((first, second)) = pair else {
            return "the plan names too many patterns to compare".to_owned();
        };
        let (a, b) = (quote(&first.written), quote(&second.written));
        let access_of = |claim: &Claim| self.patterns[claim.pattern].access;
        match (access_of(first), access_of(second)) {
            (Access::Changes, Access::Changes) => changed_by_both(first, second),
            (Access::Checks, _) => {
                format!(
                    "{} changes {b}, which checks {}",
                    quote(two.as_str()),
                    quote(one.as_str())
                )
            }
            (_, Access::Checks) => {
                format!(
                    "{} changes {a}, which checks {}",
                    quote(one.as_str()),
                    quote(two.as_str())
                )
            }
        }
    }
}

fn changed_by_both(first: &Claim, second: &Claim) -> String {
    let (a, b) = (quote(&first.written), quote(&second.written));
    match first.hot.filter(|hot| second.hot == Some(hot)) {
        None if a == b => format!("both change {a}"),
        None => format!("{a} and {b} overlap"),
        Some(hot) if a == b => match hot.reach {
            Reach::File => format!("both change {a}, {}", hot.what),
            Reach::Repository | Reach::Folder | Reach::Siblings => format!("both change {a}"),
        },
        Some(hot) => format!("both change {}: {a} and {b}", hot.what),
    }
}

/// The paths that a task changes, and those that check it. A path that is also a check is not changed.
fn claimed(task: &PlanTask) -> Vec<(Pattern, String, Option<&'static Hot>)> {
    let uses = [
        (&task.paths, Access::Changes),
        (&task.checks, Access::Checks),
    ];
    let mut claims = Vec::new();
    let mut of_kinds = Vec::new();
    for (paths, access) in uses {
        for path in paths {
            // An excluded path may still belong to the pattern.
            let is_left_out = path.starts_with('!');
            let is_check = access == Access::Changes && task.checks.contains(path);
            if is_left_out || is_check {
                continue;
            }
            let mut segments = segments(path);
            let hot = widen(&mut segments);
            let claim = |segments| (Pattern { segments, access }, path.clone(), hot);
            if let Some(hot) = hot.filter(|_| access == Access::Changes) {
                of_kinds.extend(all_of(hot, &segments).map(claim));
            }
            claims.push(claim(segments));
        }
    }
    claims.extend(of_kinds);
    claims
}

/// The parts of a path up to the first that can match several directories, such as `**`.
fn segments(path: &str) -> Vec<Segment> {
    let path = path.to_lowercase();
    let parts = path
        .split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "."));
    parts
        .take_while(|part| !part.contains("**") && !part.contains(['{', '}']))
        .map(segment)
        .collect()
}

fn segment(part: &str) -> Segment {
    let wild = ['*', '?', '[', ']'];
    let (Some(first), Some(last)) = (part.find(wild), part.rfind(wild)) else {
        return Segment::Name(part.to_owned());
    };
    Segment::Like {
        start: part[..first].to_owned(),
        end: part[last + 1..].to_owned(),
    }
}

/// The kind of a shared file in the path. A path inside a directory that belongs together is
/// reduced to that directory.
fn widen(segments: &mut Vec<Segment>) -> Option<&'static Hot> {
    let kinds = segments.iter().map(|segment| match segment {
        Segment::Name(name) => kind_of(name),
        Segment::Like { end, .. } => kind_of(end).filter(|hot| hot.reach == Reach::Siblings),
        Segment::Kind(_) => None,
    });
    let kinds: Vec<_> = kinds.collect();
    let is_folder = |hot: &Option<&Hot>| hot.is_some_and(|hot| hot.reach == Reach::Folder);
    if let Some(at) = kinds.iter().position(is_folder) {
        segments.truncate(at + 1);
        return kinds[at];
    }
    kinds.last().copied().flatten()
}

/// A pattern that all shared files of a kind have in common, if there is one besides the path.
fn all_of(hot: &Hot, segments: &[Segment]) -> Option<Vec<Segment>> {
    let folder = match hot.reach {
        Reach::Repository => &[],
        Reach::Siblings => &segments[..segments.len().saturating_sub(1)],
        Reach::Folder | Reach::File => return None,
    };
    let mut all = folder.to_vec();
    all.push(Segment::Kind(hot.what));
    Some(all)
}

impl Pattern {
    /// The plain names at the start of the pattern.
    fn names(&self) -> &[Segment] {
        let is_like = |segment: &Segment| matches!(segment, Segment::Like { .. });
        let length = self.segments.iter().position(is_like);
        &self.segments[..length.unwrap_or(self.segments.len())]
    }

    fn collides(&self, other: &Self) -> bool {
        let mut pairs = self.segments.iter().zip(&other.segments);
        let is_changed = self.access == Access::Changes || other.access == Access::Changes;
        is_changed && pairs.all(|(one, other)| one.may_be(other))
    }
}

impl Segment {
    /// Whether the same name can match both.
    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(name), Self::Like { start, end })
            | (Self::Like { start, end }, Self::Name(name)) => {
                name.starts_with(start.as_str()) && name.ends_with(end.as_str())
            }
            (
                Self::Like { start, end },
                Self::Like {
                    start: start2,
                    end: end2,
                },
            ) => {
                (start.starts_with(start2.as_str()) || start2.starts_with(start.as_str()))
                    && (end.ends_with(end2.as_str()) || end2.ends_with(end.as_str()))
            }
            (Self::Name(_) | Self::Kind(_), Self::Name(_) | Self::Kind(_))
            | (Self::Kind(_), Self::Like { .. })
            | (Self::Like { .. }, Self::Kind(_)) => self == other,
        }
    }
}
