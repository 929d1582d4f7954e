//! The settings of a recording: the time between two samples, and the event of async-profiler's.

/// The settings that say what a sample stands for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    /// The distance of samples by the id of their event, where the JDK took them.
    pub(super) periods: Vec<(u64, u64)>,
    /// async-profiler's event: `cpu`, `wall`, `cache-misses`.
    pub(super) event: String,
    /// The distance of its samples: nanoseconds, or a number of events.
    pub(super) interval: u64,
    /// The nanoseconds between its looks at all threads.
    pub(super) wall: u64,
}

/// async-profiler's interval where none is given.
pub(super) const USUAL_INTERVAL: u64 = 10_000_000;
/// The same for its looks at all threads.
pub(super) const USUAL_WALL: u64 = 50_000_000;

impl Settings {
    /// Takes in a setting of the events with this id.
    pub(super) fn add(&mut self, id: u64, name: &str, value: &str) {
        match name {
            "period" => {
                if let Some(period) = time(value) {
                    self.periods.push((id, period));
                }
            }
            "event" => value.clone_into(&mut self.event),
            "interval" => self.interval = value.parse().unwrap_or(0),
            "wall" => self.wall = value.parse().unwrap_or(0),
            _ => {}
        }
    }

    /// The last period of the events with this id.
    pub(super) fn period(&self, id: u64) -> Option<u64> {
        let mut periods = self.periods.iter().rev();
        periods.find(|period| period.0 == id).map(|period| period.1)
    }

    /// Whether async-profiler's event is a clock, or is not named.
    pub(super) fn is_clock(&self) -> bool {
        matches!(
            &self.event[..],
            "" | "cpu" | "itimer" | "ctimer" | "cpu-clock" | "task-clock"
        )
    }
}

/// The nanoseconds of a time such as `20 ms`.
fn time(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let scale = match unit.trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(scale).filter(|&time| time > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_units() {
        assert_eq!(time("20 ms"), Some(20_000_000));
        assert_eq!(time("1 s"), Some(1_000_000_000));
        assert_eq!(time("everyChunk"), None);
        assert_eq!(time("99999999999999999 s"), None);
    }
}
