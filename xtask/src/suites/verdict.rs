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
    /// Differed among the others, and in no further try.
    Once,
    /// Caused by the profiler.
    Ours,
}

impl Verdict {
    pub const ALL: [Self; 5] = [
        Self::Same,
        Self::Excused,
        Self::Unsteady,
        Self::Once,
        Self::Ours,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Excused => "excused",
            Self::Unsteady => "unsteady",
            Self::Once => "once",
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

/// A test's outcomes without and with the profiler, from one try.
pub type Pair = (String, String);

/// The verdict on a test that differed among the others, by its outcomes alone. Nothing if it has
/// to be tried among the others once more: alone, it did not differ.
pub fn alone(tries: &[Pair]) -> Option<Verdict> {
    let usual = tries.first().map(|(without, _)| without);
    if tries.iter().any(|(without, _)| Some(without) != usual) {
        return Some(Verdict::Unsteady);
    }
    let differs = tries.iter().any(|(without, with)| without != with);
    differs.then_some(Verdict::Ours)
}

/// The verdict on a test that differed among the others only, by that try and the next such one.
pub fn among_others(first: &Pair, again: &Pair) -> Verdict {
    if first.0 != again.0 {
        Verdict::Unsteady
    } else if again.0 != again.1 {
        Verdict::Ours
    } else {
        Verdict::Once
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

    #[test]
    fn a_test_that_differs_alone_is_ours() {
        assert_eq!(alone(&pairs("+- +- +-")), Some(Verdict::Ours));
        assert_eq!(alone(&pairs("++ ++ +-")), Some(Verdict::Ours));
        assert_eq!(alone(&pairs("-+ -+ -+")), Some(Verdict::Ours));
    }

    #[test]
    fn a_test_that_is_unsteady_without_us_is_not_ours() {
        assert_eq!(alone(&pairs("+- -- +-")), Some(Verdict::Unsteady));
        assert_eq!(alone(&pairs("++ ++ -+")), Some(Verdict::Unsteady));
    }

    #[test]
    fn a_test_that_agrees_alone_is_tried_among_the_others() {
        assert_eq!(alone(&pairs("++ ++ ++")), None);
        let pair = |text: &str| pairs(text).remove(0);
        assert_eq!(among_others(&pair("+-"), &pair("++")), Verdict::Once);
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
