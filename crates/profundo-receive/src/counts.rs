//! What came, for the line that a server writes each minute and for its page.

use std::collections::BTreeMap;

/// The largest number of names of values that are counted each by itself.
const MOST: usize = 64;

/// What came since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bodies that were taken.
    pub bodies: u64,
    /// Their bytes as they came.
    pub bytes: u64,
    /// Samples.
    pub samples: u64,
    /// Bodies that were refused for what they are.
    pub refused: u64,
    /// Bodies that were refused for want of room.
    pub busy: u64,
    /// Values that the store has no place for, by their names.
    pub left_out: BTreeMap<String, u64>,
    /// Segments that were written.
    pub segments: u64,
    /// Segments that the store has now.
    pub sent: u64,
}

impl Counts {
    pub(crate) fn leave_out(&mut self, left_out: &BTreeMap<String, u64>) {
        for (name, count) in left_out {
            let name = name.chars().filter(|one| !one.is_control());
            let mut name: String = name.take(64).collect();
            if !self.left_out.contains_key(&name) && self.left_out.len() >= MOST {
                "others".clone_into(&mut name);
            }
            *self.left_out.entry(name).or_default() += count;
        }
    }

    /// What came since `before`, in a sentence; `None` where nothing did.
    pub(crate) fn since(&self, before: &Self) -> Option<String> {
        let bodies = self.bodies - before.bodies;
        let (refused, busy) = (self.refused - before.refused, self.busy - before.busy);
        if bodies + refused + busy == 0 {
            return None;
        }
        let samples = self.samples - before.samples;
        let bytes = (self.bytes - before.bytes) as f64 / 1e6;
        let profiles = if bodies == 1 { "profile" } else { "profiles" };
        let mut text = format!("{bodies} {profiles} ({bytes:.1} MB) with {samples} samples");
        if refused > 0 {
            text += &format!(", {refused} refused as wrong");
        }
        if busy > 0 {
            text += &format!(", {busy} refused for want of room");
        }
        let left_out: Vec<String> = (self.left_out.iter())
            .map(|(name, count)| (name, count - before.left_out.get(name).unwrap_or(&0)))
            .filter(|&(_, count)| count > 0)
            .map(|(name, count)| format!("{name} ({count})"))
            .collect();
        if !left_out.is_empty() {
            text += &format!("; left out: {}", left_out.join(", "));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_a_sentence() {
        let before = Counts::default();
        assert_eq!(before.since(&before), None);
        let mut after = Counts {
            bodies: 3,
            bytes: 60_000,
            samples: 12,
            busy: 1,
            ..Counts::default()
        };
        after.leave_out(&BTreeMap::from([("inuse_space".to_owned(), 7)]));
        assert_eq!(
            after.since(&before).unwrap(),
            "3 profiles (0.1 MB) with 12 samples, 1 refused for want of room; \
             left out: inuse_space (7)"
        );
        for number in 0..1000 {
            after.leave_out(&BTreeMap::from([(format!("x{number}"), 1)]));
        }
        assert_eq!(after.left_out.len(), MOST + 1);
    }
}
