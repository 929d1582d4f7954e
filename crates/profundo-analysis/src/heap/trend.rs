//! The size of a heap over time, in a given number of points.

use profundo_model::{Heap, Profile};

/// The amounts at points of equal distance, for each of some groups. The last point is the end.
#[derive(Debug)]
pub(super) struct Trends {
    points: usize,
    end: u64,
    /// By group and point: the change since the point before.
    changes: Vec<f64>,
}

impl Trends {
    pub fn new(points: usize, end: u64) -> Self {
        Self {
            points: points.max(1),
            end: end.max(1),
            changes: Vec::new(),
        }
    }

    /// Adds a change at an instant.
    pub fn add(&mut self, group: usize, time: u64, bytes: f64) {
        let first = group * self.points;
        if self.changes.len() < first + self.points {
            self.changes.resize(first + self.points, 0.0);
        }
        let at = u128::from(time) * self.points as u128 / u128::from(self.end);
        // In range: no more than the number of points.
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        self.changes[first + at.min(self.points - 1)] += bytes;
    }

    /// The amounts of a group at each point.
    pub fn of(&self, group: usize) -> Vec<u64> {
        let first = group * self.points;
        let changes = self.changes.get(first..first + self.points);
        let mut sum = 0.0;
        let sums = (changes.unwrap_or_default().iter()).map(|change| {
            sum += change;
            f64::max(sum, 0.0).round() as u64
        });
        sums.collect()
    }
}

/// Calls `visit` with each change of each site: the site, the time, and the change in bytes.
pub(super) fn each_change(heap: &Heap, mut visit: impl FnMut(usize, u64, f64)) {
    let mut last = vec![0_u64; heap.sites.len()];
    for moment in &heap.moments {
        let site = moment.site as usize;
        if let Some(last) = last.get_mut(site) {
            visit(site, moment.time.0, moment.live.bytes as f64 - *last as f64);
            *last = moment.live.bytes;
        }
    }
}

/// The growth in bytes a second in the second half of the recording, by these points.
pub(super) fn growth(points: &[u64], seconds: f64) -> f64 {
    let half = points.get(points.len() / 2..).unwrap_or_default();
    if half.len() < 2 || seconds <= 0.0 {
        return 0.0;
    }
    // The slope of the regression line.
    let middle = (half.len() - 1) as f64 / 2.0;
    let (mut product, mut square) = (0.0, 0.0);
    for (index, &bytes) in half.iter().enumerate() {
        let distance = index as f64 - middle;
        product += distance * bytes as f64;
        square += distance * distance;
    }
    product / square * points.len() as f64 / seconds
}

/// The seconds that a recording of a heap covers.
pub(super) fn seconds(profile: &Profile) -> f64 {
    super::entries::end(profile) as f64 / 1e9
}
