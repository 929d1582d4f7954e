//! Warnings on doubtful figures: runs that lie far outside, and commands that are over before a
//! clock is worth reading.

use profundo_analysis::bench::{Candidate, Spread, Subject};

use super::{Benchmark, shown};

/// A command that takes less is mostly its own start.
const SHORT_COMMAND: f64 = 0.005;

/// A run that is this many times slower than the best makes timeit call the measurement unreliable.
const UNRELIABLE: f64 = 4.0;

impl Benchmark<'_> {
    pub(super) fn warnings(&self) -> Vec<String> {
        let several = self.bench.candidates.len() > 1;
        let mut warnings = Vec::new();
        for candidate in &self.bench.candidates {
            let of = match several {
                true => format!("{}: ", shown(candidate)),
                false => String::new(),
            };
            let found = self.of_candidate(candidate);
            warnings.extend(found.into_iter().map(|warning| format!("{of}{warning}")));
        }
        warnings.extend(self.against_warnings());
        warnings.extend(self.notes.iter().cloned());
        warnings
    }

    fn of_candidate(&self, candidate: &Candidate) -> Vec<String> {
        let spread = candidate.spread();
        let mut warnings = Vec::new();
        // The best time of something shorter than the clock's resolution is 0.
        if spread.best > 0.0 && spread.worst > UNRELIABLE * spread.best {
            warnings.push(format!(
                "The test results are likely unreliable. The worst time ({}) was more than four times slower than the \
                 best time ({}).",
                self.figures.time(spread.worst),
                self.figures.time(spread.best)
            ));
        }
        warnings.extend(outliers(&spread, self.bench.subject));
        if self.bench.subject == Subject::Command
            && spread.count > 0
            && spread.median < SHORT_COMMAND
        {
            warnings.push(
                "it takes less than 5 ms, most of which is the start of a process: what it does itself is hardly \
                 in these figures."
                    .into(),
            );
        }
        warnings
    }
}

fn outliers(spread: &Spread, subject: Subject) -> Option<String> {
    let outliers = spread.outliers;
    let count = outliers.count();
    // A few mild outliers are normal.
    if outliers.severe == 0 && count * 10 <= spread.count {
        return None;
    }
    let severity = match (outliers.mild, outliers.severe) {
        (_, 0) => "mild",
        (0, _) => "severe",
        (mild, severe) => &format!("{mild} mild, {severe} severe"),
    };
    let are = if count == 1 {
        "is an outlier"
    } else {
        "are outliers"
    };
    let side = match outliers.fast {
        0 => "slower",
        fast if fast == count => "faster",
        _ => "slower or faster",
    };
    let advice = match (count, outliers.is_first, subject) {
        (1, true, Subject::Command) => {
            "It was the first one: caches were cold. `--warmup 3` leaves that out, and `--prepare CMD` makes it so \
             each time"
        }
        (1, true, _) => "It was the first one",
        _ => "Something else ran, or the machine's speed changed",
    };
    Some(format!(
        "{count} of {} runs {are} ({severity}), {side} than the others. {advice}.",
        spread.count
    ))
}
