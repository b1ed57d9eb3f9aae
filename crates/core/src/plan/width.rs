//! Computes how many tasks of a plan can run at the same time.

use super::task_set::TaskSet;

/// The maximum number of tasks of which none is before another, given the tasks before each task.
///
/// By Dilworth's theorem this is the minimum number of chains that contain all tasks. Each task
/// that can follow an earlier one, which no other task follows, saves a chain.
pub(super) fn of(before: &[TaskSet]) -> usize {
    let mut chains = Chains {
        follower: vec![None; before.len()],
        follows: vec![None; before.len()],
    };
    let saved = (0..before.len()).filter(|task| chains.add(*task, before));
    let saved = saved.count();
    before.len() - saved
}

struct Chains {
    follower: Vec<Option<usize>>,
    follows: Vec<Option<usize>>,
}

impl Chains {
    /// Finds a task for `start` to follow, and moves other followers if that helps.
    fn add(&mut self, start: usize, before: &[TaskSet]) -> bool {
        let mut seen = TaskSet::default();
        let mut seeker_of: Vec<Option<usize>> = vec![None; before.len()];
        let mut seekers = vec![start];
        while let Some(seeker) = seekers.pop() {
            let mut open = before[seeker].clone();
            open.remove_all(&seen);
            seen.add_all(&open);
            while let Some(task) = open.pop_last() {
                seeker_of[task] = Some(seeker);
                let Some(follower) = self.follower[task] else {
                    self.pass_on(task, &seeker_of);
                    return true;
                };
                seekers.push(follower);
            }
        }
        false
    }

    /// Lets the seeker follow the free task, gives the task that it followed before to the next
    /// seeker, and so on.
    fn pass_on(&mut self, free: usize, seeker_of: &[Option<usize>]) {
        let mut given = Some(free);
        while let Some((task, seeker)) = given.and_then(|task| Some((task, seeker_of[task]?))) {
            self.follower[task] = Some(seeker);
            given = self.follows[seeker].replace(task);
        }
    }
}
