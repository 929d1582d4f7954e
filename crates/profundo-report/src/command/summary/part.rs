//! Parts of the summary that can be asked for alone. A page paints the first of them before the
//! slowest is known; each has the members that it has in the whole.

/// A part of the summary's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPart {
    /// The sentences of the verdict, which look at all of the tables.
    Verdict,
    /// The hottest lines, with what is left out and what has no line.
    Lines,
    /// The hottest functions.
    Functions,
    /// What threads waited for.
    Waits,
    /// Bytes read and written.
    Io,
    /// Memory of processes over time.
    Memory,
    /// What was allocated.
    Allocations,
    /// Processes, commands and threads.
    Totals,
}

impl SummaryPart {
    const NAMES: [(&'static str, Self); 8] = [
        ("verdict", Self::Verdict),
        ("lines", Self::Lines),
        ("functions", Self::Functions),
        ("waits", Self::Waits),
        ("io", Self::Io),
        ("memory", Self::Memory),
        ("allocations", Self::Allocations),
        ("totals", Self::Totals),
    ];

    /// The parts of a list with commas; `head` is none of them, but what all documents begin with.
    pub fn all_of(list: &str) -> Result<Vec<Self>, String> {
        let names = list.split(',').filter(|name| *name != "head");
        let part = |name| {
            let found = Self::NAMES.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, part)| *part)
                .ok_or_else(|| format!("the summary has no part “{name}”"))
        };
        names.map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_known_parts_alone() {
        let parts = SummaryPart::all_of("lines,totals").unwrap();
        assert_eq!(parts, [SummaryPart::Lines, SummaryPart::Totals]);
        assert_eq!(SummaryPart::all_of("head"), Ok(Vec::new()));
        assert!(SummaryPart::all_of("lines,x").is_err());
        assert!(SummaryPart::all_of("").is_err());
    }
}
