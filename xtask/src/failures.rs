//! Which tests failed and why, read from what the test programs print, so that the end of a run tells it: a long log is
//! often read from its end alone.
//!
//! Understood are nextest, cargo test, vitest and our own browser runner. Of anything else that failed (a check, a build,
//! a program that crashed) the lines from the first error on are kept.

use crate::counts::without_colour;

/// Lines kept of one failure.
const LINES: usize = 25;

/// Characters kept of one line.
const WIDTH: usize = 180;

/// Failures that are told with their lines; of more than these only the names are told.
const TOLD: usize = 12;

/// One failed test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its name, as its runner tells it.
    pub name: String,
    /// What tells most of why.
    pub lines: Vec<String>,
}

/// The failures of a step that did not hold; never none.
pub fn of(lines: &[String]) -> Vec<Failure> {
    let lines: Vec<String> = lines.iter().map(|line| without_colour(line)).collect();
    let mut found: Vec<Failure> = Vec::new();
    // A test of which nothing is known but its name, as runners list them once more at their end, is not told twice.
    let mut keep = |failure: Failure| match found.iter_mut().find(|known| known.name == failure.name) {
        Some(known) if known.lines.is_empty() => known.lines = failure.lines,
        Some(_) => {}
        None => found.push(failure),
    };
    let mut rest = lines.as_slice();
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        let Some((name, ends)) = begins(line) else { continue };
        let length = after.iter().position(|line| ends(line) || begins(line).is_some()).unwrap_or(after.len());
        let (own, after) = after.split_at(length);
        rest = after;
        keep(Failure { name, lines: telling(own) });
    }
    let ended = lines.iter().find(|line| line.starts_with("ended after ")).map(|line| vec![line.clone()]);
    if found.is_empty() || ended.is_some() {
        found.push(Failure { name: String::new(), lines: ended.unwrap_or_else(|| around_the_error(&lines)) });
    }
    found
}

/// What the end of a run tells: each failure with its lines, and then all their names. `failures` are pairs of a step and
/// what failed in it.
pub fn told(failures: &[(String, Failure)]) -> Vec<String> {
    let mut told = Vec::new();
    for (step, failure) in failures.iter().filter(|(_, failure)| !failure.lines.is_empty()).take(TOLD) {
        told.push(format!("---- {}", named(step, failure)));
        told.extend(failure.lines.iter().map(|line| format!("     {line}")));
    }
    told.extend(failures.iter().map(|(step, failure)| format!("failed: {}", named(step, failure))));
    told
}

fn named(step: &str, failure: &Failure) -> String {
    if failure.name.is_empty() { step.to_owned() } else { format!("{step}: {}", failure.name) }
}

/// Whether a line ends the lines of a failure.
type Ends = fn(&str) -> bool;

/// The name of the test whose failure begins with this line.
fn begins(line: &str) -> Option<(String, Ends)> {
    if let Some((status, name)) = nextest(line) {
        return (!is_well(status)).then(|| (name.to_owned(), ends_nextest as Ends));
    }
    if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
        return Some((name.to_owned(), |line| line == "failures:"));
    }
    if let Some(name) = line.strip_prefix("FAIL  ") {
        return Some((name.to_owned(), |line| line.starts_with("ok    ") || line.ends_with(" skipped")));
    }
    let name = line.strip_prefix(" FAIL  ")?;
    Some((name.to_owned(), |line| line.starts_with("⎯⎯⎯")))
}

/// `        FAIL [  20.202s] ( 940/1051) tests::integration rows::queue::name`: how it ended, and its name.
fn nextest(line: &str) -> Option<(&str, &str)> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let (time, name) = rest.split_once("] ")?;
    let known = status.split_whitespace().all(|word| {
        word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'+' || byte == b'-' || byte.is_ascii_digit())
    });
    if !known || status.is_empty() || !time.trim_start_matches(['>', ' ']).ends_with('s') {
        return None;
    }
    let name = name.trim_start();
    // Its number among all, where that is told.
    let name = name.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(name, |(_, name)| name);
    Some((status, name))
}

/// These tell of no end, or of a good one. What is being ended is told once more when it has ended.
fn is_well(status: &str) -> bool {
    matches!(status, "PASS" | "SLOW" | "LEAK" | "SKIP" | "TERMINATING" | "START" | "KILLING")
        || status.starts_with("FLAKY")
}

fn ends_nextest(line: &str) -> bool {
    let bare = line.trim_start();
    nextest(line).is_some()
        || bare.starts_with("────")
        || bare.starts_with("Summary [")
        || bare.starts_with("Cancelling")
}

/// The lines that say why: without what every failed test prints, without a backtrace, and not too many.
fn telling(lines: &[String]) -> Vec<String> {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_backtrace = false;
    for line in lines {
        let bare = line.trim();
        if is_section(bare) {
            in_backtrace = false;
            continue;
        }
        in_backtrace |= bare.eq_ignore_ascii_case("stack backtrace:");
        if !in_backtrace && !bare.is_empty() && !is_said_by_all(bare) {
            kept.push(line);
        }
    }
    let indent = kept.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    shortened(kept.iter().map(|line| line.get(indent..).unwrap_or(line)))
}

/// `stdout ───`, `stderr ───`, `output ───`.
fn is_section(bare: &str) -> bool {
    ["stdout", "stderr", "output"]
        .iter()
        .any(|word| bare.strip_prefix(word).is_some_and(|rest| rest.starts_with(" ───")))
}

fn is_said_by_all(bare: &str) -> bool {
    bare == "failures:"
        || bare.starts_with("running 1 test")
        || bare.starts_with("test result: ")
        || bare.starts_with("(test failed with exit code")
        || bare == "error: test run failed"
        || bare.starts_with("note: run with `RUST_BACKTRACE")
        || bare.starts_with("test ") && bare.contains(" ... ")
        // The list of the failed: a path of modules alone.
        || bare.contains("::") && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}

/// The beginning and the end of many lines, each cut to a width that logs keep.
fn shortened<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(cut).collect();
    if lines.len() > LINES {
        let left_out = lines.len() - (LINES - 1);
        let middle = LINES / 2;
        lines.splice(middle..middle + left_out, [format!("… {left_out} lines left out")]);
    }
    lines
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

/// Of a step that names no test: from the first error on, or the last lines.
fn around_the_error(lines: &[String]) -> Vec<String> {
    let lines: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.trim().is_empty() && !is_progress(line)).collect();
    let error = lines.iter().position(|line| {
        let bare = line.trim_start();
        bare.starts_with("error") || bare.starts_with("Error") || bare.contains(" error ")
    });
    let from = error.unwrap_or_else(|| lines.len().saturating_sub(LINES));
    shortened(lines.get(from..).unwrap_or_default().iter().copied().take(LINES))
}

fn is_progress(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    matches!(
        word,
        "Compiling" | "Checking" | "Downloading" | "Downloaded" | "Blocking" | "Fresh" | "Locking" | "Updating"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Failure> {
        of(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    fn failure(name: &str, lines: &[&str]) -> Failure {
        Failure { name: name.to_owned(), lines: lines.iter().map(|line| (*line).to_owned()).collect() }
    }

    const NEXTEST: &str = "\
        PASS [   7.380s] ( 936/1051) tests::integration rows::content::one
        FAIL [  20.202s] ( 940/1051) tests::integration rows::asked::two
  stdout ───

    running 1 test
    test rows::asked::two ... FAILED

    failures:

    failures:
        rows::asked::two

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 241 filtered out; finished in 20.18s

  stderr ───
    Error: waited in vain for: their run
    User Done: Hello

    Stack backtrace:
       0: anyhow::error::<impl anyhow::Error>::msg
                 at ./support/view.rs:93:23

        SLOW [> 60.000s] tests::integration rows::slow
        PASS [   0.055s] ( 941/1051) tests::integration rows::content::three
     TIMEOUT [ 300.001s] ( 942/1051) tests::integration rows::four
  stdout ───

    running 1 test

     SIGABRT [   0.200s] ( 943/1051) store record::five
  stderr ───

    thread 'record::five' (77) panicked at crates/store/src/record.rs:7:5:
    assertion failed: left == right
    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

────────────
     Summary [  98.860s] 1051 tests run: 1048 passed, 2 failed, 1 timed out, 0 skipped
        FAIL [  20.202s] ( 940/1051) tests::integration rows::asked::two
     TIMEOUT [ 300.001s] ( 942/1051) tests::integration rows::four
error: test run failed
";

    #[test]
    fn each_failed_test_of_nextest_is_told_once_with_its_own_words() {
        assert_eq!(
            read(NEXTEST),
            [
                failure(
                    "tests::integration rows::asked::two",
                    &["Error: waited in vain for: their run", "User Done: Hello"]
                ),
                failure("tests::integration rows::four", &[]),
                failure(
                    "store record::five",
                    &[
                        "thread 'record::five' (77) panicked at crates/store/src/record.rs:7:5:",
                        "assertion failed: left == right"
                    ]
                ),
            ]
        );
    }

    #[test]
    fn failures_of_cargo_test_are_told() {
        let text = "\
running 2 tests
test one ... ok
test two ... FAILED

failures:

---- two stdout ----

thread 'two' (5) panicked at src/lib.rs:3:9:
no
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    two

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        assert_eq!(read(text), [failure("two", &["thread 'two' (5) panicked at src/lib.rs:3:9:", "no"])]);
    }

    #[test]
    fn failures_of_the_page_are_told() {
        let text = "\
 ✓ src/lib/a.test.ts (3 tests) 12ms
 ❯ src/lib/b.test.ts (2 tests | 1 failed) 9ms
⎯⎯⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/lib/b.test.ts > a group > a rule
AssertionError: expected 1 to be 2 // Object.is equality
 ❯ src/lib/b.test.ts:7:15
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/2]⎯

 FAIL  src/lib/c.test.ts [ src/lib/c.test.ts ]
Error: Cannot find module './gone'
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[2/2]⎯

      Tests  1 failed | 4 passed (5)
";
        assert_eq!(
            read(text),
            [
                failure(
                    "src/lib/b.test.ts > a group > a rule",
                    &["AssertionError: expected 1 to be 2 // Object.is equality", " ❯ src/lib/b.test.ts:7:15"]
                ),
                failure("src/lib/c.test.ts [ src/lib/c.test.ts ]", &["Error: Cannot find module './gone'"]),
            ]
        );
    }

    #[test]
    fn failures_of_the_browser_are_told() {
        let text = "\
ok    p01 a rule (812 ms)
FAIL  p30 another rule
AssertionError [ERR_ASSERTION]: what is read does not move
    at file:///tests/browser/transcript.mjs:140:14
ok    p31 a third (90 ms)
FAIL  p32 the last
TimeoutError: locator.waitFor: Timeout 60000ms exceeded.
2 passed, 2 failed, 0 skipped
";
        assert_eq!(
            read(text),
            [
                failure(
                    "p30 another rule",
                    &[
                        "AssertionError [ERR_ASSERTION]: what is read does not move",
                        "    at file:///tests/browser/transcript.mjs:140:14"
                    ]
                ),
                failure("p32 the last", &["TimeoutError: locator.waitFor: Timeout 60000ms exceeded."]),
            ]
        );
    }

    #[test]
    fn colour_hides_no_failure() {
        assert_eq!(
            read("\u{1b}[31mFAIL  p01 a rule\u{1b}[39m\n\u{1b}[2mwhy\u{1b}[22m"),
            [failure("p01 a rule", &["why"])]
        );
    }

    #[test]
    fn a_step_that_names_no_test_tells_its_error() {
        let text = "   Compiling store v0.1.0\nerror[E0308]: mismatched types\n --> crates/store/src/lib.rs:1:1\n\n   Compiling sse v0.1.0\nerror: could not compile `store`";
        let lines =
            ["error[E0308]: mismatched types", " --> crates/store/src/lib.rs:1:1", "error: could not compile `store`"];
        assert_eq!(read(text), [failure("", &lines)]);
        let many = (0..60).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let told = &read(&many)[0].lines;
        assert_eq!((told.len(), told[0].as_str(), told[24].as_str()), (25, "line 35", "line 59"));
    }

    #[test]
    fn a_run_that_was_ended_says_so_beside_what_failed() {
        let ended = "ended after 1800 s without a result";
        assert_eq!(
            read(&format!("FAIL  p01 a rule\nwhy\nok    p02 another (3 ms)\n{ended}")),
            [failure("p01 a rule", &["why"]), failure("", &[ended])]
        );
    }

    #[test]
    fn of_many_and_long_lines_the_beginning_and_the_end_are_told() {
        let mut text = String::from("FAIL  long\n");
        for number in 0..100 {
            text.push_str(&format!("{number} {}\n", "x".repeat(500)));
        }
        let told = &read(&text)[0].lines;
        assert_eq!(told.len(), LINES);
        assert!(told.iter().all(|line| line.chars().count() <= WIDTH + 1));
        assert!(told[0].starts_with("0 x") && told[24].starts_with("99 x"));
        assert_eq!(told[12], "… 76 lines left out");
    }

    #[test]
    fn the_end_of_a_run_names_every_failure_and_its_step() {
        let failures = [
            ("Rust tests".to_owned(), failure("rows::one", &["Error: no"])),
            ("clippy".to_owned(), failure("", &["error: no"])),
            ("peers".to_owned(), failure("rows::two", &[])),
        ];
        assert_eq!(
            told(&failures),
            [
                "---- Rust tests: rows::one",
                "     Error: no",
                "---- clippy",
                "     error: no",
                "failed: Rust tests: rows::one",
                "failed: clippy",
                "failed: peers: rows::two",
            ]
        );
        let many: Vec<_> = (0..40).map(|n| ("tests".to_owned(), failure(&n.to_string(), &["why"]))).collect();
        let told = told(&many);
        assert_eq!(told.iter().filter(|line| line.starts_with("failed: ")).count(), 40);
        assert_eq!(told.iter().filter(|line| line.starts_with("---- ")).count(), TOLD);
    }
}
