//! From nested places to lines, with the counts of LLVM's own report.
//!
//! The text is cut into segments, each of which begins where a place begins or ends and has the
//! count of the innermost one there. The count of a line is that of the segment that continues into
//! it, or the largest of those that begin in it.

use super::mapping::{Counted, Kind, Place};

/// From a place to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: Place,
    /// `None` where there is no code.
    count: Option<u64>,
    /// Whether a place begins here.
    is_entry: bool,
    is_gap: bool,
}

/// The counts of lines, of the instances of a function together.
pub(super) fn lines(instances: Vec<Counted>) -> Vec<(u32, u64)> {
    let mut cut = Cut::default();
    cut.all(&combined(instances));
    hits(&cut.segments)
}

/// Places in the order of their beginnings, larger ones first; equal ones are added up.
fn combined(mut regions: Vec<Counted>) -> Vec<Counted> {
    regions.sort_by(|a, b| {
        let ends = b.end.cmp(&a.end);
        a.start.cmp(&b.start).then(ends).then(a.kind.cmp(&b.kind))
    });
    let mut combined: Vec<Counted> = Vec::with_capacity(regions.len());
    for region in regions {
        match combined.last_mut() {
            Some(last) if (last.start, last.end) == (region.start, region.end) => {
                // Of equal places of other kinds, only the first kind counts.
                if last.kind == region.kind {
                    last.count = last.count.saturating_add(region.count);
                }
            }
            _ => combined.push(region),
        }
    }
    combined
}

#[derive(Debug, Default)]
struct Cut {
    segments: Vec<Segment>,
    /// Open places, from the outermost on.
    open: Vec<Counted>,
}

impl Cut {
    fn all(&mut self, regions: &[Counted]) {
        for (at, region) in regions.iter().enumerate() {
            let start = region.start;
            self.end_before(Some(start));
            let next = regions.get(at + 1);
            let is_gap = region.kind == Kind::Gap;
            if start == region.end {
                // An empty one does not count itself.
                let is_skipped = next.is_none() || region.kind == Kind::Skipped;
                let outer = self.open.last().copied();
                self.begin(&outer.unwrap_or(*region), start, !is_gap, is_skipped);
                if let Some(outer) = outer.filter(|_| is_skipped) {
                    self.begin(&outer, start, false, false);
                }
                continue;
            }
            if next.is_none_or(|next| next.start != start) {
                self.begin(region, start, !is_gap, false);
            }
            self.open.push(*region);
        }
        self.end_before(None);
    }

    fn begin(&mut self, region: &Counted, start: Place, is_entry: bool, is_skipped: bool) {
        let has_count = !is_skipped && region.kind != Kind::Skipped;
        let count = has_count.then_some(region.count);
        if !is_entry
            && !is_skipped
            && let Some(last) = self.segments.last()
            && last.count == count
            && !last.is_entry
        {
            return;
        }
        self.segments.push(Segment {
            start,
            count,
            is_entry,
            is_gap: has_count && region.kind == Kind::Gap,
        });
    }

    /// Closes the places that end before another begins; `None`: all.
    fn end_before(&mut self, place: Option<Place>) {
        let is_over = |counted: &Counted| place.is_none_or(|place| counted.end <= place);
        let (mut ended, open): (Vec<Counted>, Vec<Counted>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(is_over);
        ended.sort_by_key(|counted| counted.end);
        self.open = open;
        let Some(last) = ended.last().copied() else {
            return;
        };
        for (at, pair) in ended.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            if Some(before.end) == place {
                break;
            }
            if before.end == after.end {
                continue;
            }
            // Of those that end at one place, the last counts.
            let same = ended
                .iter()
                .skip(at + 1)
                .take_while(|counted| counted.end == after.end);
            let whose = same.last().copied().unwrap_or(*after);
            self.begin(&whose, before.end, false, false);
        }
        if Some(last.end) == place {
            return;
        }
        match self.open.last().copied() {
            Some(outer) => self.begin(&outer, last.end, false, false),
            None => self.begin(&last, last.end, false, true),
        }
    }
}

/// Lines that have code, with their counts.
fn hits(segments: &[Segment]) -> Vec<(u32, u64)> {
    /// No function is longer; a damaged one may claim to be.
    const LONGEST: u32 = 1 << 20;
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
        return Vec::new();
    };
    let mut hits = Vec::new();
    let mut before: Option<Segment> = None;
    let mut rest = segments;
    let end = last.start.0.min(first.start.0.saturating_add(LONGEST));
    for line in first.start.0..=end {
        let count = rest
            .iter()
            .take_while(|segment| segment.start.0 <= line)
            .count();
        let (here, later) = rest.split_at(count);
        rest = later;
        let begins =
            |segment: &&Segment| !segment.is_gap && segment.count.is_some() && segment.is_entry;
        let is_skipped = here
            .first()
            .is_some_and(|segment| segment.count.is_none() && segment.is_entry);
        let outer = before.and_then(|segment| segment.count);
        let any = here.iter().any(|segment| begins(&segment));
        let any_entry = here
            .iter()
            .any(|segment| segment.is_entry && segment.count.is_some());
        if (!is_skipped && (outer.is_some() || any)) || any_entry {
            let inner = here
                .iter()
                .filter(begins)
                .filter_map(|segment| segment.count);
            hits.push((line, inner.chain(outer).max().unwrap_or(0)));
        }
        before = here.last().copied().or(before);
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(kind: Kind, start: Place, end: Place, count: u64) -> Counted {
        Counted {
            kind,
            start,
            end,
            count,
        }
    }

    #[test]
    fn a_line_is_run_as_often_as_what_begins_in_it_or_goes_on() {
        use Kind::{Code, Gap};
        // 10 fn f() {
        // 11     for x in y {
        // 12         g(x);
        // 13     }
        // 14     if a { b } else { c }
        // 15 }
        let found = lines(vec![
            region(Code, (10, 1), (15, 2), 3),
            region(Code, (11, 14), (11, 15), 33),
            region(Code, (11, 16), (13, 6), 30),
            region(Gap, (14, 10), (14, 11), 1),
            region(Code, (14, 11), (14, 16), 1),
            region(Code, (14, 22), (14, 27), 2),
        ]);
        let expected = [(10, 3), (11, 33), (12, 30), (13, 30), (14, 3), (15, 3)];
        assert_eq!(found, expected);
    }

    #[test]
    fn instances_are_added_up() {
        let one = region(Kind::Code, (1, 1), (3, 2), 4);
        let found = lines(vec![one, Counted { count: 5, ..one }]);
        assert_eq!(found, [(1, 9), (2, 9), (3, 9)]);
    }
}
