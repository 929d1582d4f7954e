//! Bounds the readings of a program that may run for a week. For an hour each reading is emitted;
//! then the largest and the smallest of four, of eight, and so on, so that no peak is lost, and
//! twice the time adds as many rows as half an hour did.

use profundo_wire::recording::Gauge;

/// The number of readings that are emitted as they are.
const AT_FIRST: u32 = 36_000;

/// The emitted readings of one program.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The number of readings in a stretch; 1 while each is emitted.
    stretch: u32,
    /// The number that may be emitted before stretches become longer.
    left: u32,
    /// The number of readings in the present stretch.
    readings: u32,
    smallest: Option<Gauge>,
    largest: Option<Gauge>,
    /// The last reading, if it was not emitted.
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
            readings: 0,
            smallest: None,
            largest: None,
            last: None,
        }
    }

    /// Takes a reading. Those to be emitted go to `emit`.
    pub(super) fn pass(&mut self, gauge: Gauge, mut emit: impl FnMut(Gauge)) {
        if self.stretch == 1 {
            emit(gauge);
            self.count(1, AT_FIRST / 2);
            return;
        }
        self.last = Some(gauge);
        if self
            .smallest
            .is_none_or(|smallest| gauge.resident < smallest.resident)
        {
            self.smallest = Some(gauge);
        }
        if self
            .largest
            .is_none_or(|largest| gauge.resident > largest.resident)
        {
            self.largest = Some(gauge);
        }
        // Rarely read figures must not be lost with the readings that are not emitted.
        for kept in [&mut self.smallest, &mut self.largest]
            .into_iter()
            .flatten()
        {
            kept.proportional = kept.proportional.or(gauge.proportional);
            kept.elsewhere = kept.elsewhere.or(gauge.elsewhere);
        }
        self.readings += 1;
        if self.readings >= self.stretch {
            let emitted = self.emit_extremes(&mut emit);
            self.count(emitted, AT_FIRST / 2);
        }
    }

    /// Emits what was held back, at the end.
    pub(super) fn end(&mut self, mut emit: impl FnMut(Gauge)) {
        let last = self.last.take();
        let extremes = [self.smallest, self.largest];
        self.emit_extremes(&mut emit);
        let is_emitted = |gauge: &Gauge| {
            extremes
                .iter()
                .flatten()
                .any(|extreme| extreme.clock == gauge.clock)
        };
        if let Some(last) = last.filter(|last| !is_emitted(last)) {
            emit(last);
        }
    }

    fn emit_extremes(&mut self, emit: &mut impl FnMut(Gauge)) -> u32 {
        self.readings = 0;
        let (smallest, largest) = (self.smallest.take(), self.largest.take());
        let mut both: Vec<Gauge> = smallest.into_iter().chain(largest).collect();
        both.sort_by_key(|gauge| gauge.clock);
        both.dedup_by_key(|gauge| gauge.clock);
        for &gauge in &both {
            emit(gauge);
        }
        both.len() as u32
    }

    fn count(&mut self, emitted: u32, next: u32) {
        self.left = self.left.saturating_sub(emitted);
        if self.left == 0 {
            // Two readings of each stretch are emitted.
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
        let mut emitted = Vec::new();
        gauges.for_each(|gauge| series.pass(gauge, |gauge| emitted.push(gauge)));
        emitted
    }

    #[test]
    fn in_the_first_hour_each_reading_is_emitted() {
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
        let readings = (0..week).map(|clock| match clock == peak {
            true => gauge(clock, 1_000_000),
            false => gauge(clock, 1000 + clock % 100),
        });
        let emitted = pass_all(&mut series, readings);
        assert!(emitted.len() < 200_000, "{}", emitted.len());
        assert!(emitted.contains(&gauge(peak, 1_000_000)));
        assert!(emitted.is_sorted_by_key(|gauge| gauge.clock));
    }

    #[test]
    fn what_was_held_back_is_emitted_at_the_end() {
        let mut series = Series::of(1);
        let sizes = [5, 9, 3, 7, 2, 8, 6];
        let readings = sizes
            .iter()
            .zip(0..)
            .map(|(&size, clock)| gauge(clock, size));
        let emitted = pass_all(&mut series, readings);
        // The first as it is, then the extremes of four.
        assert_eq!(emitted, [gauge(0, 5), gauge(1, 9), gauge(4, 2)]);
        let mut rest = Vec::new();
        series.end(|gauge| rest.push(gauge));
        assert_eq!(rest, [gauge(5, 8), gauge(6, 6)]);
        series.end(|gauge| panic!("{gauge:?} is emitted twice"));
    }

    #[test]
    fn rarely_read_figures_are_kept() {
        let mut series = Series::of(1);
        let shared = |clock, resident| Gauge {
            proportional: Some(77),
            ..gauge(clock, resident)
        };
        let readings = [
            gauge(0, 1),
            gauge(1, 9),
            shared(2, 5),
            gauge(3, 6),
            gauge(4, 6),
        ];
        let emitted = pass_all(&mut series, readings.into_iter());
        let shares: Vec<_> = emitted.iter().map(|gauge| gauge.proportional).collect();
        assert_eq!(shares, [None, Some(77), Some(77)]);
    }
}
