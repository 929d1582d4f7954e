//! A benchmark's closing line, and whether its figure meets the target.

/// The outcome for a figure with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Met,
    Missed,
    /// There is no target, or none that can be compared.
    None,
}

/// A closing line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    pub value: String,
    pub target: String,
    pub verdict: Verdict,
}

impl Line {
    /// Reads `name: value (target …)`; `None` for any other line.
    pub fn read(line: &str) -> Option<Self> {
        let (rest, target) = line.strip_suffix(')')?.rsplit_once(" (target ")?;
        let (name, value) = rest.split_once(": ")?;
        let verdict = judge(value, target);
        Some(Self {
            name: name.to_owned(),
            value: value.to_owned(),
            target: target.to_owned(),
            verdict,
        })
    }
}

/// Compares the numbers of a value with a target. Of a value with an interval the first number
/// counts; with `each` all of them count.
fn judge(value: &str, target: &str) -> Verdict {
    let limits = numbers(target);
    let found = numbers(value);
    let considered = match target.contains("each") || value.contains(" and ") {
        true => &found[..],
        false => found.get(..1).unwrap_or_default(),
    };
    let is_met: Box<dyn Fn(f64) -> bool> = match (target, &limits[..]) {
        _ if target.starts_with("none:") || target == "none" && !value.contains(" of ") => {
            return Verdict::None;
        }
        ("none", _) => Box::new(|figure| figure == 0.0),
        (_, &[middle, off, ..]) if target.contains('±') => {
            Box::new(move |figure| (figure - middle).abs() <= off)
        }
        (_, &[low, high, ..]) if target.contains(" to ") => {
            Box::new(move |figure| (low..=high).contains(&figure))
        }
        (_, &[most, ..]) if target.contains('≤') || target.contains("at most") => {
            Box::new(move |figure| figure <= most)
        }
        (_, &[least, ..]) if target.contains('≥') || target.contains("at least") => {
            Box::new(move |figure| figure >= least)
        }
        _ => return Verdict::None,
    };
    match (
        considered.is_empty(),
        considered.iter().all(|&figure| is_met(figure)),
    ) {
        (true, _) => Verdict::None,
        (_, true) => Verdict::Met,
        (_, false) => Verdict::Missed,
    }
}

/// The numbers in a text, in order.
fn numbers(text: &str) -> Vec<f64> {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+');
    let words = text.split(|letter: char| !is_part(letter));
    words
        .filter_map(|word| word.trim_end_matches('.').parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, Verdict};

    #[track_caller]
    fn check(line: &str, verdict: Verdict) {
        assert_eq!(Line::read(line).unwrap().verdict, verdict, "{line}");
    }

    #[test]
    fn a_limit_is_met_or_missed() {
        check(
            "a, b: 1.02 (1.00 to 1.05) (target at most 1.03)",
            Verdict::Met,
        );
        check(
            "a: 1.04 (1.00 to 1.05) (target at most 1.03)",
            Verdict::Missed,
        );
        check("a: +3.1 ns a pair (target ≤ 3 ns)", Verdict::Missed);
        check("a: 99.95 % and 99.2 % (target ≥ 99.9 %)", Verdict::Missed);
        check("a: 99.95 % (target ≥ 99.9 %)", Verdict::Met);
        check("a: 97.5 % (target 100 % ± 3 %)", Verdict::Met);
        check("a: 96.5 % (target 100 % ± 3 %)", Verdict::Missed);
        check("a: 0.79 (target 0.80 to 1.20)", Verdict::Missed);
        check(
            "a: 90 96 100 87 (target 88 to 100 of 100 each)",
            Verdict::Missed,
        );
        check(
            "a: 90 96 100 88 (target 88 to 100 of 100 each)",
            Verdict::Met,
        );
        check("a: 0 of 300 (target none)", Verdict::Met);
        check("a: 2 of 300 (target none)", Verdict::Missed);
    }

    #[test]
    fn some_have_no_target() {
        check("a: 12 ns (target none)", Verdict::None);
        check("a: 1.5 % (target none: the kernel decides)", Verdict::None);
        check("a: not measured (target at most 3)", Verdict::None);
        assert_eq!(Line::read("  a: 12 ns"), None);
        assert_eq!(Line::read("load 1.0 (2 CPUs)"), None);
    }
}
