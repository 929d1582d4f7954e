//! A part of a list that is too long for one run: every Nth entry, from the Kth on. The N parts
//! have each entry once. Neighbours in the list are alike, so each part has some of every kind.

use std::str::FromStr;

use anyhow::{Context, Error, ensure};

/// The part `K/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 1.
    number: usize,
    /// The number of parts.
    count: usize,
}

/// The whole list.
impl Default for Part {
    fn default() -> Self {
        Self {
            number: 1,
            count: 1,
        }
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            let (number, count) = (number.parse().ok()?, count.parse().ok()?);
            Some(Self { number, count })
        });
        let part = numbers.with_context(|| format!("{text} is no part: 1/8 is one"))?;
        let is_there = (1..=part.count).contains(&part.number);
        ensure!(
            is_there,
            "of {} parts, there is none {}",
            part.count,
            part.number
        );
        Ok(part)
    }
}

impl Part {
    /// The entries of this part, in their order.
    pub fn of<T>(self, list: Vec<T>) -> Vec<T> {
        let from = list.into_iter().skip(self.number - 1);
        from.step_by(self.count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_have_each_entry_once() {
        for count in [1, 3, 8, 20] {
            let parts = (1..=count).map(|number| format!("{number}/{count}").parse().unwrap());
            let mut all: Vec<u32> = parts
                .flat_map(|part: Part| part.of((0..10).collect()))
                .collect();
            all.sort_unstable();
            assert_eq!(all, Vec::from_iter(0..10));
        }
        assert_eq!(Part::default().of(vec![1, 2]), [1, 2]);
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for wrong in ["", "3", "0/4", "5/4", "1/0", "a/b", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
