//! Parses runners that report failed tests in blocks of lines.

/// The line of the test below `1 failing` (mocha 11):
///
/// ```text
///   2) calc
///        adds:
/// ```
pub(super) fn mocha(lines: &[&str]) -> Vec<String> {
    let is_failing = |line: &&str| {
        let number = line.trim_start().strip_suffix(" failing");
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    let Some(start) = lines.iter().position(is_failing) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut rest = lines[start + 1..].iter().peekable();
    while let Some(line) = rest.next() {
        let numbered = line
            .strip_prefix("  ")
            .and_then(|line| line.split_once(") "));
        let Some((number, title)) = numbered else {
            continue;
        };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let mut titles = vec![title];
        loop {
            // Each suite is indented by two more than the one around it; an error is indented by
            // less than any suite.
            let indent = " ".repeat(5 + 2 * titles.len());
            let inner = |line: &&&str| {
                let rest = line.strip_prefix(indent.as_str());
                rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(' '))
            };
            match rest.next_if(inner) {
                Some(line) => titles.push(line.trim_start()),
                None => break,
            }
        }
        let name = titles.join(" > ");
        // A title without a colon was cut, or is not a title.
        names.extend(name.strip_suffix(':').map(str::to_owned));
    }
    names
}

/// Parses `✘ [fail]: adds`, with the first line of the error after it, and only the title further
/// down (ava 7).
pub(super) fn ava(lines: &[&str]) -> Vec<String> {
    let alone = |line: &&str| {
        let title = line.strip_prefix("  ")?;
        (!title.starts_with(' ') && !title.is_empty()).then(|| title.to_owned())
    };
    let failed = lines
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix("✘ [fail]: "));
    let titles: Vec<String> = lines.iter().filter_map(alone).collect();
    let name = |failed: &str| {
        let is_its = |title: &&String| {
            let rest = failed.strip_prefix(title.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let longest = titles.iter().filter(is_its).max_by_key(|title| title.len());
        longest.map_or_else(|| failed.to_owned(), String::clone)
    };
    failed.map(name).collect()
}

/// Parses `  ● math › adds` below `FAIL src/a.test.js` (jest 30). Two files may contain tests of
/// the same name.
pub(super) fn jest(lines: &[&str]) -> Vec<String> {
    const OTHERS: [&str; 2] = ["Console", "process.exit called with"];
    let mut file: Option<&str> = None;
    let mut names = Vec::new();
    for line in lines {
        if let Some(rest) = line.strip_prefix("FAIL ") {
            let path = rest.split_once(" (").map_or(rest, |(path, _)| path);
            file = Some(path).filter(|path| !path.contains(" > "));
        } else if line.starts_with("PASS ") || line.starts_with("Test Suites: ") {
            file = None;
        } else if let (Some(file), Some(title)) = (file, line.strip_prefix("  ● ")) {
            if title == "Test suite failed to run" {
                names.push(file.to_owned());
            } else if !OTHERS.iter().any(|other| title.starts_with(other)) {
                names.push(format!("{file} › {title}"));
            }
        }
    }
    names
}

/// Parses `FAIL: test_adds (test_a.T.test_adds)` and `ERROR: setUpClass (test_a.B)` below a line of
/// `=` (unittest of Python 3.11; in earlier versions, the parentheses lack the name of the method).
pub(super) fn unittest(lines: &[&str]) -> Vec<String> {
    let pairs = lines.iter().zip(lines.iter().skip(1));
    let below = pairs.filter(|(rule, _)| rule.len() == 70 && rule.bytes().all(|b| b == b'='));
    below
        .filter_map(|(_, line)| {
            line.strip_prefix("FAIL: ")
                .or_else(|| line.strip_prefix("ERROR: "))
        })
        .map(str::to_owned)
        .collect()
}

/// Parses `1 - adds (Failed)` below `The following tests FAILED:` (CTest 3.25; later versions add labels).
pub(super) fn ctest(lines: &[&str]) -> Vec<String> {
    let start = lines
        .iter()
        .rposition(|line| *line == "The following tests FAILED:");
    let Some(start) = start else {
        return Vec::new();
    };
    let name = |line: &&str| {
        let (number, rest) = line.trim_start().split_once(" - ")?;
        number.parse::<u64>().ok()?;
        rest.rsplit_once(" (").map(|(name, _)| name.to_owned())
    };
    lines[start + 1..].iter().map_while(name).collect()
}

/// Parses `--- FAIL: TestName/case (0.00s)`, and after all tests of a package `FAIL` with its path.
/// Two packages may contain tests of the same name.
pub(super) fn go(lines: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let mut pending = Vec::new();
    for line in lines {
        if let Some(failed) = line.trim_start().strip_prefix("--- FAIL: ") {
            pending.extend(failed.split(" (").next());
            continue;
        }
        let mut fields = line.split('\t');
        let verdict = fields.next().unwrap_or_default().trim_end();
        let package = fields.next().filter(|_| ["FAIL", "ok"].contains(&verdict));
        let Some(package) = package else {
            continue;
        };
        if package.ends_with(" failed]") {
            // The package could not be built.
            names.push(package.to_owned());
        }
        let own = pending.drain(..);
        names.extend(own.map(|test| format!("{package} {test}")));
    }
    names.extend(pending.into_iter().map(str::to_owned));
    names
}

/// Parses `(fail) math > subs [0.06ms]` below `a.test.ts:` (bun 1.4.4).
pub(super) fn bun(lines: &[&str]) -> Vec<String> {
    let mut file = None;
    let mut names = Vec::new();
    for line in lines {
        let is_path = |path: &&str| path.contains('.') && !path.contains(' ');
        if let Some(path) = line.strip_suffix(':').filter(is_path) {
            file = Some(path);
        } else if let (Some(file), Some(test)) = (file, line.strip_prefix("(fail) ")) {
            let test = test.rsplit_once(" [").map_or(test, |(test, _)| test);
            names.push(format!("{file} > {test}"));
        }
    }
    names
}

/// Parses `math ... subs => ./a.test.ts:2:36` below `FAILURES` (deno 2). The line number changes
/// with every edit above it.
pub(super) fn deno(lines: &[&str]) -> Vec<String> {
    let start = lines.iter().rposition(|line| line.trim() == "FAILURES");
    let Some(start) = start else {
        return Vec::new();
    };
    let below = lines[start + 1..].iter();
    let listed = below.skip_while(|line| line.is_empty());
    listed
        .map_while(|line| {
            let (test, place) = line.split_once(" => ")?;
            let file = place.rsplitn(3, ':').last()?;
            Some(format!("{test} => {file}"))
        })
        .collect()
}
