//! A program may run for a week, and a file has an end. For an hour each look is told; then the largest and
//! the smallest of four, of eight, and so on, so that no peak is lost and twice the time takes as many rows
//! more as half an hour did.

use profundo_wire::recording::Gauge;

/// So many are told as they are.
const AT_FIRST: u32 = 36_000;

/// What is told of one program's looks.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// How many looks are made one; 1 while each is told.
    stretch: u32,
    /// How many may be told before stretches become longer.
    left: u32,
    /// How many there were in the stretch at hand.
    looks: u32,
    smallest: Option<Gauge>,
    largest: Option<Gauge>,
    /// The last one, if it was not told.
    last: Option<Gauge>,
}

impl Default for Series {
    fn default() -> Self {
        Self::of(AT_FIRST)
    }
}

impl Series {
    fn of(at_first: u32) -> Self {
        Self {
            stretch: 1,
            left: at_first,
            looks: 0,
            smallest: None,
            largest: None,
            last: None,
        }
    }

    /// A look more. What is to be told goes to `tell`.
    pub(super) fn pass(&mut self, gauge: Gauge, mut tell: impl FnMut(Gauge)) {
        if self.stretch == 1 {
            tell(gauge);
            self.count(1, AT_FIRST / 2);
            return;
        }
        self.last = Some(gauge);
        if self.smallest.is_none_or(|it| gauge.resident < it.resident) {
            self.smallest = Some(gauge);
        }
        if self.largest.is_none_or(|it| gauge.resident > it.resident) {
            self.largest = Some(gauge);
        }
        // What is looked at seldom is not to be lost with those that are not told.
        for kept in [&mut self.smallest, &mut self.largest]
            .into_iter()
            .flatten()
        {
            kept.proportional = kept.proportional.or(gauge.proportional);
            kept.elsewhere = kept.elsewhere.or(gauge.elsewhere);
        }
        self.looks += 1;
        if self.looks >= self.stretch {
            let told = self.tell_extremes(&mut tell);
            self.count(told, AT_FIRST / 2);
        }
    }

    /// What was not told yet: it is over.
    pub(super) fn end(&mut self, mut tell: impl FnMut(Gauge)) {
        let last = self.last.take();
        let extremes = [self.smallest, self.largest];
        self.tell_extremes(&mut tell);
        let is_told = |gauge: &Gauge| extremes.iter().flatten().any(|it| it.clock == gauge.clock);
        if let Some(last) = last.filter(|last| !is_told(last)) {
            tell(last);
        }
    }

    fn tell_extremes(&mut self, tell: &mut impl FnMut(Gauge)) -> u32 {
        self.looks = 0;
        let (smallest, largest) = (self.smallest.take(), self.largest.take());
        let mut both: Vec<Gauge> = smallest.into_iter().chain(largest).collect();
        both.sort_by_key(|gauge| gauge.clock);
        both.dedup_by_key(|gauge| gauge.clock);
        for &gauge in &both {
            tell(gauge);
        }
        both.len() as u32
    }

    fn count(&mut self, told: u32, next: u32) {
        self.left = self.left.saturating_sub(told);
        if self.left == 0 {
            // Two are told of each stretch.
            self.stretch = (self.stretch * 2).max(4);
            self.left = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(clock: u64, resident: u64) -> Gauge {
        Gauge {
            clock,
            resident,
            ..Gauge::default()
        }
    }

    fn pass_all(series: &mut Series, gauges: impl Iterator<Item = Gauge>) -> Vec<Gauge> {
        let mut told = Vec::new();
        gauges.for_each(|gauge| series.pass(gauge, |gauge| told.push(gauge)));
        told
    }

    #[test]
    fn for_an_hour_each_look_is_told() {
        let mut series = Series::default();
        let hour = (0..36_000).map(|clock| gauge(clock, clock % 7));
        assert_eq!(
            pass_all(&mut series, hour.clone()),
            hour.collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_week_is_some_rows_more_and_no_peak_is_lost() {
        let mut series = Series::default();
        let week = 7 * 24 * 36_000_u64;
        let peak = week / 3 * 2 + 1;
        let looks = (0..week).map(|clock| match clock == peak {
            true => gauge(clock, 1_000_000),
            false => gauge(clock, 1000 + clock % 100),
        });
        let told = pass_all(&mut series, looks);
        assert!(told.len() < 200_000, "{}", told.len());
        assert!(told.contains(&gauge(peak, 1_000_000)));
        assert!(told.is_sorted_by_key(|gauge| gauge.clock));
    }

    #[test]
    fn what_was_held_back_is_told_at_the_end() {
        let mut series = Series::of(1);
        let sizes = [5, 9, 3, 7, 2, 8, 6];
        let looks = sizes
            .iter()
            .zip(0..)
            .map(|(&size, clock)| gauge(clock, size));
        let told = pass_all(&mut series, looks);
        // The first as it is, then the extremes of four.
        assert_eq!(told, [gauge(0, 5), gauge(1, 9), gauge(4, 2)]);
        let mut rest = Vec::new();
        series.end(|gauge| rest.push(gauge));
        assert_eq!(rest, [gauge(5, 8), gauge(6, 6)]);
        series.end(|gauge| panic!("{gauge:?} is told twice"));
    }

    #[test]
    fn what_is_looked_at_seldom_is_kept() {
        let mut series = Series::of(1);
        let shared = |clock, resident| Gauge {
            proportional: Some(77),
            ..gauge(clock, resident)
        };
        let looks = [
            gauge(0, 1),
            gauge(1, 9),
            shared(2, 5),
            gauge(3, 6),
            gauge(4, 6),
        ];
        let told = pass_all(&mut series, looks.into_iter());
        let shares: Vec<_> = told.iter().map(|gauge| gauge.proportional).collect();
        assert_eq!(shares, [None, Some(77), Some(77)]);
    }
}
