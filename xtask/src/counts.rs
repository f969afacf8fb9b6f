//! How many tests passed, failed and were skipped, read from what the test programs print.
//!
//! Understood are nextest's summary, cargo test's result lines, vitest's `Tests` line, and our own
//! `N passed, N failed, N skipped`. A summary that is not understood counts nothing, and [`Counts::of_tests`] turns
//! "nothing counted" into a failure: a run that tested nothing is not green.

use std::fmt;
use std::ops::AddAssign;

/// A tally of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that ran and held.
    pub passed: u64,
    /// Tests that ran and did not hold, or could not run.
    pub failed: u64,
    /// Tests left out.
    pub skipped: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(out, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl Counts {
    /// A check that is not a test run (a formatter, a lint, a build): it counts as one test.
    pub const fn of_check(held: bool) -> Self {
        if held { Self { passed: 1, failed: 0, skipped: 0 } } else { Self { passed: 0, failed: 1, skipped: 0 } }
    }

    /// One test left out.
    pub const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// A test program that ended: what it printed, joined with how it ended. One that failed without a failed test
    /// (it did not compile, it crashed) counts as one failure, and so does one that tested nothing.
    pub fn of_tests(lines: &[String], ended_well: bool) -> Self {
        let mut counts = read(lines);
        let tested_nothing = counts.passed + counts.failed == 0;
        if counts.failed == 0 && (!ended_well || tested_nothing) {
            counts.failed = 1;
        }
        counts
    }

    /// Did everything that ran hold?
    pub const fn all_held(self) -> bool {
        self.failed == 0
    }
}

fn read(lines: &[String]) -> Counts {
    let mut total = Counts::default();
    let mut own = Counts::default();
    for line in lines {
        let line = without_colour(line);
        let line = line.trim();
        if let Some(counts) = nextest(line).or_else(|| cargo_test(line)).or_else(|| vitest(line)) {
            total += counts;
        } else if let Some(counts) = own_line(line) {
            // A program that prints a running tally means its last one.
            own = counts;
        }
    }
    total += own;
    total
}

/// `Summary [   0.085s] 5 tests run: 2 passed (1 slow), 1 failed, 2 timed out, 1 skipped`
fn nextest(line: &str) -> Option<Counts> {
    let (_, tally) = line.strip_prefix("Summary [")?.split_once("run:")?;
    Some(tallied(&without_brackets(tally), ','))
}

/// `test result: ok. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.07s`
fn cargo_test(line: &str) -> Option<Counts> {
    let (_, tally) = line.strip_prefix("test result:")?.split_once('.')?;
    Some(tallied(tally, ';'))
}

/// `Tests  1 failed | 11 passed | 2 skipped | 1 todo (15)`
fn vitest(line: &str) -> Option<Counts> {
    let tally = line.strip_prefix("Tests ")?;
    let counts = tallied(&without_brackets(tally), '|');
    (counts != Counts::default()).then_some(counts)
}

/// `3 passed, 0 failed, 0 skipped`
fn own_line(line: &str) -> Option<Counts> {
    let counts = tallied(line, ',');
    (line == counts.to_string()).then_some(counts)
}

fn tallied(tally: &str, separator: char) -> Counts {
    let mut counts = Counts::default();
    for part in tally.split(separator) {
        let Some((number, word)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match word.trim() {
            "passed" => counts.passed += number,
            "failed" | "timed out" | "exec failed" => counts.failed += number,
            "skipped" | "ignored" | "todo" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            other if depth == 0 => kept.push(other),
            _ => {}
        }
    }
    kept
}

/// The text without the escape sequences that colour it.
pub fn without_colour(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            kept.push(letter);
            continue;
        }
        if letters.next() == Some('[') {
            let _ends_the_sequence = letters.find(|letter| letter.is_ascii_alphabetic());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(passed: u64, failed: u64, skipped: u64) -> Counts {
        Counts { passed, failed, skipped }
    }

    fn read_text(text: &str) -> Counts {
        read(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn nextest_summary_with_every_kind_of_end() {
        assert_eq!(
            read_text(
                "     Summary [   0.085s] 12 tests run: 7 passed (1 slow, 2 leaky), 2 failed (1 due to being leaky), 2 timed out, 1 exec failed, 4 skipped"
            ),
            of(7, 5, 4)
        );
    }

    #[test]
    fn nextest_test_lines_are_not_counted_twice() {
        assert_eq!(
            read_text(
                "        PASS [   0.004s] (1/2) sse frame::one_passed\n     Summary [   0.085s] 2 tests run: 2 passed, 0 skipped"
            ),
            of(2, 0, 0)
        );
    }

    #[test]
    fn cargo_test_results_are_summed() {
        assert_eq!(
            read_text(
                "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s\n\
                 test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.07s"
            ),
            of(6, 2, 1)
        );
    }

    #[test]
    fn vitest_counts_tests_not_files() {
        assert_eq!(
            read_text(
                " Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 11 passed | 2 skipped | 1 todo (15)"
            ),
            of(11, 1, 3)
        );
    }

    #[test]
    fn colour_does_not_hide_a_summary() {
        assert_eq!(
            read_text(
                "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m12 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (12)\u{1b}[39m"
            ),
            of(12, 0, 0)
        );
    }

    #[test]
    fn the_last_of_our_own_lines_is_the_tally() {
        assert_eq!(read_text("2 passed, 0 failed, 0 skipped\n9 passed, 1 failed, 0 skipped"), of(9, 1, 0));
    }

    #[test]
    fn prose_about_tests_is_not_a_tally() {
        assert_eq!(read_text("we saw 3 passed, 0 failed, 0 skipped today\nTests are nice"), of(0, 0, 0));
    }

    #[test]
    fn a_program_that_fails_without_a_failed_test_counts_as_one() {
        assert_eq!(Counts::of_tests(&[], false), of(0, 1, 0));
        let lines = ["      Tests  11 passed (11)".to_owned()];
        assert_eq!(Counts::of_tests(&lines, false), of(11, 1, 0));
    }

    #[test]
    fn a_run_that_tested_nothing_is_not_green() {
        assert_eq!(Counts::of_tests(&[], true), of(0, 1, 0));
        let lines = ["     Summary [   0.0s] 0 tests run: 0 passed, 3 skipped".to_owned()];
        assert_eq!(Counts::of_tests(&lines, true), of(0, 1, 3));
    }

    #[test]
    fn failed_tests_are_counted_once() {
        let lines = ["     Summary [   0.0s] 3 tests run: 2 passed, 1 failed, 0 skipped".to_owned()];
        assert_eq!(Counts::of_tests(&lines, false), of(2, 1, 0));
    }
}
