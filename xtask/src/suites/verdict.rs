//! Decides what a test's difference is. Many tests of strangers are unsteady, more so on a busy
//! machine. So a test that differs is tried alone, and what it does there decides.

use std::fmt;

/// What a test's outcomes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Same,
    /// Differs, for a reason that the list of exceptions has.
    Excused,
    /// Has several outcomes without the profiler, too.
    Unsteady,
    /// Differed among the others, and at most once in further tries: as a test does that waits for
    /// a time on a busy machine.
    Rare,
    /// Caused by the profiler.
    Ours,
}

impl Verdict {
    pub const ALL: [Self; 5] = [
        Self::Same,
        Self::Excused,
        Self::Unsteady,
        Self::Rare,
        Self::Ours,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Excused => "excused",
            Self::Unsteady => "unsteady",
            Self::Rare => "rare",
            Self::Ours => "DIFFERS",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The number of tries of a test alone.
pub const TRIES: usize = 3;

/// A test's outcomes without and with the profiler, from one try.
pub type Pair = (String, String);

/// What tries of a test alone say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    Decided(Verdict),
    /// Differed once: as many tries again decide.
    Open,
    /// Did not differ: it has to be tried among the others once more.
    Agrees,
}

/// Looks at a test's tries alone, the first [`TRIES`] or twice as many.
pub fn alone(tries: &[Pair]) -> Alone {
    let usual = tries.first().map(|(without, _)| without);
    if tries.iter().any(|(without, _)| Some(without) != usual) {
        return Alone::Decided(Verdict::Unsteady);
    }
    match tries
        .iter()
        .filter(|(without, with)| without != with)
        .count()
    {
        0 => Alone::Agrees,
        1 if tries.len() <= TRIES => Alone::Open,
        1 => Alone::Decided(Verdict::Rare),
        _ => Alone::Decided(Verdict::Ours),
    }
}

/// The verdict on a test that differed among the others only, by that try and the next such one.
pub fn among_others(first: &Pair, again: &Pair) -> Verdict {
    if first.0 != again.0 {
        Verdict::Unsteady
    } else if again.0 != again.1 {
        Verdict::Ours
    } else {
        Verdict::Rare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<Pair> {
        let words = text.split_whitespace();
        words
            .map(|word| (word[..1].to_owned(), word[1..].to_owned()))
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Alone) {
        assert_eq!(alone(&pairs(text)), expected);
    }

    #[test]
    fn a_test_that_differs_alone_is_ours() {
        check("+- +- +-", Alone::Decided(Verdict::Ours));
        check("-+ -- -+", Alone::Decided(Verdict::Ours));
        check("++ ++ +- ++ +- ++", Alone::Decided(Verdict::Ours));
    }

    #[test]
    fn a_test_that_differs_once_is_tried_more_often() {
        check("++ ++ +-", Alone::Open);
        check("++ ++ +- ++ ++ ++", Alone::Decided(Verdict::Rare));
    }

    #[test]
    fn a_test_that_is_unsteady_without_us_is_not_ours() {
        check("+- -- +-", Alone::Decided(Verdict::Unsteady));
        check("++ ++ -+", Alone::Decided(Verdict::Unsteady));
    }

    #[test]
    fn a_test_that_agrees_alone_is_tried_among_the_others() {
        check("++ ++ ++", Alone::Agrees);
        let pair = |text: &str| pairs(text).remove(0);
        assert_eq!(among_others(&pair("+-"), &pair("++")), Verdict::Rare);
        assert_eq!(among_others(&pair("+-"), &pair("+-")), Verdict::Ours);
        assert_eq!(among_others(&pair("+-"), &pair("--")), Verdict::Unsteady);
    }

    #[test]
    fn words_are_read_again() {
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::of_word(verdict.word()), Some(verdict));
        }
    }
}
