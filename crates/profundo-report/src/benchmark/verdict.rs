//! The sentences on the fastest candidate, only where the interval allows them.

use profundo_analysis::bench::{Candidate, Machine, Ratio};

use super::{Against, Benchmark, shown as in_one_line};
use crate::page::units::counted;

/// Differences below this part may come from anything.
const SMALL: f64 = 0.01;

/// A ratio with its interval, in as many digits as its ends need to differ, and to differ from 1
/// where the ratio does.
pub(super) fn shown(ratio: &Ratio) -> String {
    let width = (ratio.high - ratio.low) / ratio.value;
    let is_near_one = (0.9..1.1).contains(&ratio.value);
    let digits = match width {
        narrow if narrow < 0.01 || (is_near_one && narrow < 0.05) => 4,
        _ => 3,
    };
    let magnitude = ratio.value.log10().floor() as i32;
    let decimals = (digits - 1 - magnitude).clamp(0, 6) as usize;
    let looks_like_one = |end: f64, decimals: usize| format!("{end:.decimals$}").parse() == Ok(1.0);
    let is_hidden = |decimals| {
        ratio.differs()
            && (looks_like_one(ratio.low, decimals) || looks_like_one(ratio.high, decimals))
    };
    let decimals = (decimals..=6)
        .find(|decimals| !is_hidden(*decimals))
        .unwrap_or(6);
    let number = |number: f64| format!("{number:.decimals$}");
    let (value, low, high) = (number(ratio.value), number(ratio.low), number(ratio.high));
    format!("{value} ({low} to {high})")
}

/// A candidate's name in a sentence.
fn name(candidate: &Candidate) -> String {
    format!("`{}`", in_one_line(candidate))
}

impl Benchmark<'_> {
    /// The sentences that compare the candidates.
    pub(super) fn verdicts(&self) -> Vec<String> {
        let candidates = &self.bench.candidates;
        let mut sentences = Vec::new();
        let Some((first, others)) = candidates.split_first() else {
            return sentences;
        };
        if !others.is_empty() {
            sentences.extend(
                others
                    .iter()
                    .enumerate()
                    .map(|(index, other)| self.of_pair(first, other, index + 1)),
            );
            sentences.dedup();
        }
        if others.len() > 1
            && let Some((fastest, next, ratio)) = self.bench.fastest()
        {
            sentences.push(format!(
                "{} is the fastest: {} times faster than {}, which comes next.",
                name(&candidates[fastest]),
                shown(&ratio),
                name(&candidates[next]),
            ));
        }
        match self.agreed {
            Some(true) => sentences.push("All of them give the same.".into()),
            Some(false) => sentences.push("They do not give the same.".into()),
            None => {}
        }
        sentences
    }

    /// The sentence for a candidate without a ratio, of whose time nothing may be left.
    fn hidden(&self, candidate: &Candidate) -> String {
        let name = name(candidate);
        match self.bench.start {
            Some(_) => format!(
                "{name} takes hardly more than the shell's own start: there is no ratio to it (`-N` runs commands \
                 without a shell)."
            ),
            None => format!("{name} takes less than the clock can tell: there is no ratio to it."),
        }
    }

    fn of_pair(&self, first: &Candidate, other: &Candidate, index: usize) -> String {
        let Some(ratio) = self.bench.ratio(index, 0) else {
            if self.bench.is_hidden(0) {
                return self.hidden(first);
            }
            if self.bench.is_hidden(index) {
                return self.hidden(other);
            }
            let pairs = first.runs.len().min(other.runs.len());
            return format!(
                "{} cannot tell which is faster: it takes {} at least.",
                counted(pairs as u64, "run"),
                self.bench.fewest_pairs(),
            );
        };
        let (one, two) = (name(first), name(other));
        let mut sentence = if ratio.low > 1.0 {
            format!("{one} is {} times faster than {two}.", shown(&ratio))
        } else if ratio.high < 1.0 {
            let ratio = shown(&ratio.inverse());
            format!("{two} is {ratio} times faster than {one}.")
        } else {
            let ratio = shown(&ratio);
            return format!(
                "No difference that can be told: {two} takes {ratio} times as long as {one}."
            );
        };
        if (ratio.value - 1.0).abs() < SMALL {
            sentence += " So little may come from where code and data lie in memory.";
        }
        sentence
    }

    /// The sentences on each change since the earlier measurement.
    pub(super) fn against_sentences(&self) -> Vec<String> {
        let Some(against) = &self.against else {
            return Vec::new();
        };
        let candidates = self.bench.candidates.iter().enumerate();
        let mut sentences: Vec<String> = candidates
            .map(
                |(index, now)| match self.bench.earlier(index, against.bench) {
                    None => format!("{} is not in {}.", name(now), against.name),
                    Some(_) if self.bench.is_hidden_against(index, against.bench) => format!(
                        "{} cannot be compared with {}: there are runs that take hardly more than what is taken off \
                         them.",
                        name(now),
                        against.name
                    ),
                    Some(_) => against.of(now, self.bench.ratio_to(index, against.bench)),
                },
            )
            .collect();
        sentences.push(format!(
            "The two were not measured in turn: the interval is wider than that of candidates of one measurement, and \
             what has changed on the machine since then is in it. {}",
            against.limit(),
        ));
        sentences
    }

    /// The reasons to doubt a comparison with the earlier measurement.
    pub(super) fn against_warnings(&self) -> Vec<String> {
        let Some(against) = &self.against else {
            return Vec::new();
        };
        let (now, then) = (&self.bench.machine, &against.bench.machine);
        let mut warnings = different(now, then);
        for (index, candidate) in self.bench.candidates.iter().enumerate() {
            let Some(earlier) = self.bench.earlier(index, against.bench) else {
                continue;
            };
            if let (Some(now), Some(then)) = (&candidate.by, &earlier.by)
                && now != then
            {
                warnings.push(format!(
                    "{} was run by {then} then, and by {now} now.",
                    name(candidate)
                ));
            }
            if earlier.text != candidate.text {
                warnings.push(format!("{} is another text than then.", name(candidate)));
            }
        }
        if self.bench.cpu_clock != against.bench.cpu_clock {
            let clock = |cpu| if cpu { "CPU time" } else { "elapsed time" };
            warnings.push(format!(
                "{} measured {}, and this is {}.",
                against.name,
                clock(against.bench.cpu_clock),
                clock(self.bench.cpu_clock),
            ));
        }
        warnings
    }
}

impl Against<'_> {
    /// True if a candidate is certainly slower by more than the threshold.
    pub(super) fn is_past(&self, ratio: &Ratio) -> bool {
        ratio.low > 1.0 + self.threshold
    }

    fn limit(&self) -> String {
        let percent = format!("{:.1}", self.threshold * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        format!("Too slow is what is certain to be slower by more than {percent} %.")
    }

    fn of(&self, now: &Candidate, ratio: Option<Ratio>) -> String {
        let (name, then) = (name(now), &self.name);
        let Some(ratio) = ratio else {
            return format!("{name}: there are too few runs to compare it with {then}.");
        };
        if self.is_past(&ratio) {
            let ratio = shown(&ratio);
            format!("{name} takes {ratio} times as long as in {then}: too slow.")
        } else if ratio.low > 1.0 {
            let ratio = shown(&ratio);
            format!(
                "{name} takes {ratio} times as long as in {then}: slower, but within the limit."
            )
        } else if ratio.high < 1.0 {
            let ratio = shown(&ratio.inverse());
            format!("{name} is {ratio} times faster than in {then}.")
        } else {
            let ratio = shown(&ratio);
            format!(
                "{name} takes {ratio} times as long as in {then}: no difference that can be told."
            )
        }
    }
}

/// The differences between two machines, where both are known.
fn different(now: &Machine, then: &Machine) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, now: Option<&str>, then: Option<&str>| {
        if let (Some(now), Some(then)) = (now, then)
            && now != then
        {
            found.push(format!("{what} was {then} then, and is {now} now."));
        }
    };
    compare("The processor", now.cpu.as_deref(), then.cpu.as_deref());
    let (cpus, cpus_then) = (now.cpus.to_string(), then.cpus.to_string());
    compare("The number of processors", Some(&cpus), Some(&cpus_then));
    compare("The kernel", now.kernel.as_deref(), then.kernel.as_deref());
    let (governor, then) = (now.governor.as_deref(), then.governor.as_deref());
    compare("The frequency's governor", governor, then);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_digits_that_differ() {
        let text = |value, low, high| shown(&Ratio { value, low, high });
        assert_eq!(text(1.31, 1.2804, 1.349), "1.31 (1.28 to 1.35)");
        assert_eq!(text(8.444, 8.186, 8.587), "8.44 (8.19 to 8.59)");
        assert_eq!(text(1.002, 0.991, 1.013), "1.002 (0.991 to 1.013)");
        assert_eq!(text(1.02, 1.0004, 1.08), "1.0200 (1.0004 to 1.0800)");
        assert_eq!(
            text(0.0763, 0.07629, 0.07631),
            "0.07630 (0.07629 to 0.07631)"
        );
        assert_eq!(text(12_345.0, 11_000.0, 14_000.4), "12345 (11000 to 14000)");
    }
}
