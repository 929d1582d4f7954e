//! Decides whether the profiler causes a difference. Many of these tests are flaky, more so on a
//! busy machine: a difference counts if a test had a different outcome with the profiler at least
//! twice, and without it the same outcome every time, twice or more.

use std::collections::BTreeSet;
use std::fmt;

use super::excused::reason;
use crate::sides::mode::Mode;
use crate::sides::outcomes::{Outcomes, THE_WHOLE};

/// The evidence of some tries of a module.
#[derive(Debug)]
pub struct Judgement {
    tries: Vec<(Outcomes, Outcomes)>,
    /// The tests that differed at the first try.
    suspects: BTreeSet<String>,
}

/// The tests to retry.
#[derive(Debug, PartialEq, Eq)]
pub struct Retry {
    names: Vec<String>,
    /// Patterns of these tests with those of their classes, since a test may depend on its
    /// neighbours. None: the module as before.
    pub patterns: Vec<String>,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.names.join(", "))
    }
}

/// A test whose outcome differs with the profiler.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    pub name: String,
    without: String,
    with: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            without,
            with,
        } = self;
        write!(
            f,
            "{name}: {without} without, {} with the profiler",
            with.join(", ")
        )
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Stand {
    /// Caused by the profiler.
    Ours,
    /// Not steady without the profiler.
    NotOurs,
    /// Differed only once.
    Open,
}

impl Judgement {
    /// From the first try: outcomes without and with the profiler.
    pub fn new(without: Outcomes, with: Outcomes) -> Self {
        let suspects = without.differences(&with).into_keys().collect();
        Self {
            tries: vec![(without, with)],
            suspects,
        }
    }

    /// Leaves out the tests that may differ in a mode. Returns them with the reasons.
    pub fn excuse(&mut self, mode: Mode) -> Vec<(String, &'static str)> {
        let suspects = self.suspects.iter();
        let excused = suspects.filter_map(|name| Some((name.clone(), reason(name, mode)?)));
        let excused: Vec<_> = excused.collect();
        (self.suspects).retain(|name| excused.iter().all(|(known, _)| known != name));
        excused
    }

    /// Adds one more try.
    pub fn add(&mut self, outcomes: (Outcomes, Outcomes)) {
        self.tries.push(outcomes);
    }

    /// The reason why the first try is no evidence: its runner timed out even without the profiler.
    pub fn no_answer(&self) -> Option<&'static str> {
        let (without, with) = &self.tries[0];
        let is_cut = |outcomes: &Outcomes| !outcomes.is_whole() && outcomes.is_out_of_time();
        (is_cut(without) && is_cut(with)).then_some("it takes too long, with and without")
    }

    fn stand(&self, name: &str) -> (Stand, Difference) {
        let ran = |(without, with): &(Outcomes, Outcomes)| {
            // A runner that dies or hangs without the profiler leaves nothing to compare.
            if !without.is_whole() && with.is_whole() {
                return None;
            }
            let (without, with) = (without.of(name), with.of(name));
            (without.is_some() || with.is_some()).then(|| {
                let said = |outcome: Option<String>| outcome.unwrap_or("did not run".to_owned());
                (said(without), said(with))
            })
        };
        let ends: Vec<(String, String)> = self.tries.iter().filter_map(ran).collect();
        let usual = ends.first().map_or("did not run", |(without, _)| without);
        let with: Vec<String> = ends.iter().map(|(_, with)| with.clone()).collect();
        let others = with.iter().filter(|with| *with != usual).count();
        let stand = if ends.iter().any(|(without, _)| without != usual) {
            Stand::NotOurs
        } else if others >= 2 {
            Stand::Ours
        } else {
            Stand::Open
        };
        let difference = Difference {
            name: name.to_owned(),
            without: usual.to_owned(),
            with,
        };
        (stand, difference)
    }

    /// The tests that one more try could decide.
    pub fn open(&self) -> Option<Retry> {
        let mut names = Vec::new();
        for name in &self.suspects {
            if self.stand(name).0 == Stand::Open {
                names.push(name.clone());
            }
        }
        if names.is_empty() {
            return None;
        }
        // A test without a class has no pattern, and a pattern may miss its test.
        let ran = |name: &String| {
            self.tries
                .iter()
                .all(|(without, _)| without.of(name).is_some())
        };
        let are_classes = names
            .iter()
            .all(|name| class_of(name).is_some() && ran(name));
        let classes: BTreeSet<String> = names.iter().filter_map(|name| class_of(name)).collect();
        Some(Retry {
            patterns: match are_classes {
                true => classes.into_iter().collect(),
                false => Vec::new(),
            },
            names,
        })
    }

    /// The differences caused by the profiler.
    pub fn ours(&self) -> Vec<Difference> {
        let stands = self.suspects.iter().map(|name| self.stand(name));
        stands
            .filter(|(stand, _)| *stand == Stand::Ours)
            .map(|(_, difference)| difference)
            .collect()
    }

    /// The tests that differed at first, but not because of the profiler.
    pub fn flaky(&self) -> Vec<&str> {
        let names = self.suspects.iter().map(String::as_str);
        names
            .filter(|name| self.stand(name).0 != Stand::Ours)
            .collect()
    }
}

/// `a.B.*` for `a.B.test_it`.
fn class_of(name: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    if name == THE_WHOLE || !name.chars().all(is_plain) {
        return None;
    }
    let (class, _) = name.rsplit_once('.')?;
    Some(format!("{class}.*"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// Outcomes by letters: `a+ b-` for tests that pass and fail.
    fn outcomes(text: &str) -> Outcomes {
        let cases = text.split_whitespace().map(|word| {
            let (name, sign) = word.split_at(word.len() - 1);
            let body = match sign {
                "+" => "",
                _ => "<failure>no</failure>",
            };
            format!("<testcase name=\"{name}\" time=\"0.1\">{body}</testcase>")
        });
        let cases: String = cases.collect();
        let end = i32::from(text.contains('-')) << 8;
        Outcomes::new(&cases, ExitStatus::from_raw(end))
    }

    fn judged(tries: &[(&str, &str)]) -> Judgement {
        let mut tries = tries.iter();
        let (without, with) = tries.next().unwrap();
        let mut judgement = Judgement::new(outcomes(without), outcomes(with));
        for (without, with) in tries {
            judgement.add((outcomes(without), outcomes(with)));
        }
        judgement
    }

    #[track_caller]
    fn check(tries: &[(&str, &str)], open: &[&str], ours: &[&str]) {
        let judgement = judged(tries);
        let names = judgement.ours().into_iter().map(|found| found.name);
        assert_eq!(names.collect::<Vec<_>>(), ours);
        let found = judgement.open().map(|retry| retry.patterns);
        assert_eq!(found.unwrap_or_default(), open);
    }

    #[test]
    fn what_is_the_same_needs_no_second_try() {
        check(&[("m.A.a+ m.A.b-", "m.A.a+ m.A.b-")], &[], &[]);
    }

    #[test]
    fn twice_with_and_never_without_is_ours() {
        let bad = ("m.A.a+ m.A.b+", "m.A.a+ m.A.b-");
        check(&[bad], &["m.A.*"], &[]);
        check(&[bad, bad], &[], &["m.A.b"]);
        let good = ("m.A.b+", "m.A.b+");
        check(&[bad, good], &["m.A.*"], &[]);
        check(&[bad, good, bad], &[], &["m.A.b"]);
        check(&[bad, good, good], &["m.A.*"], &[]);
    }

    #[test]
    fn what_fails_without_too_is_not_ours() {
        let bad = ("m.A.a+", "m.A.a-");
        check(&[bad, ("m.A.a-", "m.A.a-")], &[], &[]);
        check(&[bad, ("m.A.a-", "m.A.a+"), bad], &[], &[]);
        assert_eq!(judged(&[bad, ("m.A.a-", "m.A.a-")]).flaky(), ["m.A.a"]);
    }

    #[test]
    fn to_pass_only_with_the_profiler_is_a_difference_too() {
        let odd = ("m.A.a-", "m.A.a+");
        check(&[odd, odd], &[], &["m.A.a"]);
    }

    #[test]
    fn what_no_pattern_names_is_tried_with_all_the_module() {
        let bad = ("m.A.a+ m.A.b+", "m.A.a+ m.A.b-");
        let judgement = judged(&[("a(b)+", "a(b)-")]);
        assert_eq!(judgement.open().unwrap().patterns, [""; 0]);
        // The pattern missed the test.
        let judgement = judged(&[bad, ("m.A.a+", "m.A.a+")]);
        let retry = judgement.open().unwrap();
        assert_eq!(
            (retry.patterns, retry.names),
            (vec![], vec!["m.A.b".to_owned()])
        );
    }

    #[test]
    fn a_runner_that_dies_is_ours_when_it_dies_twice() {
        let died = || Outcomes::new("", ExitStatus::from_raw(11));
        let mut judgement = Judgement::new(outcomes("m.A.a+"), died());
        assert_eq!(judgement.no_answer(), None);
        judgement.open().expect("one more try decides");
        judgement.add((outcomes("m.A.a+"), died()));
        let ours = judgement.ours();
        let said: Vec<String> = ours.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["m.A.a: passed without, did not run, did not run with the profiler"]
        );
    }

    #[test]
    fn a_runner_that_dies_without_the_profiler_is_not_ours() {
        let died = || Outcomes::new("", ExitStatus::from_raw(1 << 8));
        let mut judgement = Judgement::new(died(), outcomes("m.A.a+"));
        judgement.open().expect("one more try decides");
        judgement.add((died(), outcomes("m.A.a+")));
        judgement.add((outcomes("m.A.a+"), outcomes("m.A.a+")));
        assert_eq!(judgement.ours(), []);
        assert_eq!(judgement.flaky(), ["m.A.a"]);
        // It may still fail with the profiler.
        judgement.add((outcomes("m.A.a+"), outcomes("m.A.a-")));
        judgement.add((outcomes("m.A.a+"), outcomes("m.A.a-")));
        assert_eq!(judgement.ours().len(), 1);
    }

    #[test]
    fn only_what_takes_too_long_both_ways_gives_no_answer() {
        let late = || Outcomes::new("", ExitStatus::from_raw(124 << 8));
        let both = Judgement::new(late(), late());
        let why = both.no_answer().expect("there is no evidence");
        assert_eq!(why, "it takes too long, with and without");
        let judgement = Judgement::new(outcomes("m.A.a+"), late());
        assert_eq!(judgement.no_answer(), None);
        judgement.open().expect("one more try decides");
    }
}
