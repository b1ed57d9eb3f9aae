//! A plan of twelve tasks whose agents sleep, built one, two and four at a time, against the best
//! schedule of the same sleeps: what is above it is what drive itself takes to review, verify and land.

use crate::place::{Place, succeed};
use crate::startup::built_drive;
use crate::table::Row;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// How long the agent of a task works.
const SLEEP: Duration = Duration::from_secs(10);
const SIDE_BY_SIDE: [usize; 3] = [1, 2, 4];
/// Tasks in a layer; each waits for two of the layer before.
const WIDTH: usize = 4;
const LAYERS: usize = 3;

/// Sleeps, and writes the file that its task names.
const AGENT: &str = r#"cat > /dev/null
case "$DRIVE_ROLE" in
coder)
  sleep @SLEEP@
  set -- $(sed -n 's/^ *"task": "\([^\\]*\)\\n.*/\1/p' "$DRIVE_INPUT")
  echo done > "$2"; echo "Wrote $2." ;;
*) echo '{"verdict": "approved"}' ;;
esac"#;

const SETTINGS: &str = "[review]\ndomains = [\"Correctness\"]\nrefute = false\n\
    [cruise]\npoll_initial = \"100ms\"\npoll_max = \"1s\"\n";

/// The base defines the verification.
const RULES: &str = "[verify]\nbaseline = \"off\"\n[[verify.routes]]\npaths = [\"**\"]\n\
    targeted_tests = [\"/bin/true\"]\n";

/// One row for each number of parallel tasks.
pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let waits = waits();
    let row = |side_by_side: usize| {
        let ideal = SLEEP * turns(&waits, side_by_side);
        let took = fly(&Place::new(drive.clone(), 10), &waits, side_by_side);
        let above = took.saturating_sub(ideal) / u32::try_from(waits.len()).unwrap_or(1);
        Row {
            what: format!(
                "a plan of {} tasks whose agents sleep {} s, {side_by_side} side by side, against \
                 the best schedule",
                waits.len(),
                SLEEP.as_secs()
            ),
            plain: format!("{:.1} s", ideal.as_secs_f64()),
            ours: format!("{:.1} s", took.as_secs_f64()),
            result: format!(
                "{:.2}, {} ms above it for each task",
                took.as_secs_f64() / ideal.as_secs_f64(),
                above.as_millis()
            ),
            bound: "≤ 1.15".to_owned(),
        }
    };
    SIDE_BY_SIDE.into_iter().map(row).collect()
}

/// For each task those that it waits for.
fn waits() -> Vec<Vec<usize>> {
    let before = |task: usize| match task.checked_sub(WIDTH) {
        None => Vec::new(),
        Some(above) => vec![above, above / WIDTH * WIDTH + (above + 1) % WIDTH],
    };
    (0..WIDTH * LAYERS).map(before).collect()
}

/// The minimum number of sleeps until all tasks have ended. If all sleep equally long, and the
/// tasks of a layer are interchangeable, it is optimal to start the first one that can start.
fn turns(waits: &[Vec<usize>], side_by_side: usize) -> u32 {
    let mut ended = vec![false; waits.len()];
    let mut turns = 0;
    while ended.contains(&false) {
        let can_start = |task: &usize| !ended[*task] && waits[*task].iter().all(|one| ended[*one]);
        let now: Vec<usize> = (0..waits.len()).filter(can_start).collect();
        for task in now.into_iter().take(side_by_side) {
            ended[task] = true;
        }
        turns += 1;
    }
    turns
}

fn fly(place: &Place, waits: &[Vec<usize>], side_by_side: usize) -> Duration {
    let sleep = SLEEP.as_secs().to_string();
    place.script("agent", &AGENT.replace("@SLEEP@", &sleep));
    let forge = "kind = \"local\"\n";
    place.settings(&format!(
        "{SETTINGS}{}",
        crate::fleet::settings(place, forge)
    ));
    let repo = place.path("repo");
    fs::write(repo.join("drive.toml"), RULES).expect("rules");
    place.git(&repo, &["add", "drive.toml"]);
    place.git(&repo, &["commit", "-qm", "rules"]);
    let plan = place.path("plan.md");
    fs::write(&plan, plan_of(waits)).expect("a plan");
    let (plan, side_by_side) = (plan.to_string_lossy(), side_by_side.to_string());
    let start = Instant::now();
    succeed(&mut place.drive(&[
        "cruise",
        "run",
        "Build it",
        "-q",
        "--build-only",
        "--plan-file",
        &plan,
        "--merge",
        "auto",
        "--max-parallel",
        &side_by_side,
    ]));
    start.elapsed()
}

fn plan_of(waits: &[Vec<usize>]) -> String {
    let task = |(number, waits): (usize, &Vec<usize>)| {
        let file = format!("t{number}.txt");
        let waits: Vec<String> = waits.iter().map(|one| format!("t{one}")).collect();
        json!({
            "id": format!("t{number}"), "title": format!("Write {file}"), "description": "d",
            "depends_on": waits, "paths": [file],
            "acceptance": [{"id": "there", "kind": "command", "text": "it is there",
                            "command": ["test", "-s", file]}],
        })
    };
    let tasks: Vec<Value> = waits.iter().enumerate().map(task).collect();
    let list = serde_json::to_string_pretty(&tasks).expect("plain data");
    format!("```json tasks\n{list}\n```\n")
}
