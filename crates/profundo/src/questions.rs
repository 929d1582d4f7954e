//! Questions on data and names that are not reports: `callers` and `flatten`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use profundo_analysis::Place;
use profundo_model::Language;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::frames::StackFrame;
use crate::names::{Names, retrieve};
use crate::words::{of_locations, push_end};

/// A query for callers; see [`callers`].
#[derive(Debug, Clone)]
#[must_use = "a question does nothing until it is asked"]
pub struct Callers {
    function: String,
    file: Option<String>,
    lines: Option<RangeInclusive<u32>>,
}

/// The direct callers of a function with their numbers of samples, the most frequent first.
///
/// A name is a whole path or its last segments: `descend` finds `my_crate::walk::descend`.
///
/// ```no_run
/// # fn main() -> profundo::Result<()> {
/// for (count, frame) in profundo::callers("descend").ask()? {
///     println!("{count:6} {frame}");
/// }
/// # Ok(())
/// # }
/// ```
pub fn callers(function: impl Into<String>) -> Callers {
    Callers {
        function: function.into(),
        file: None,
        lines: None,
    }
}

impl Callers {
    /// Considers only the function of this name in this file.
    pub fn filename(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Considers only these lines of the function; needs a file.
    pub fn linerange(mut self, lines: RangeInclusive<u32>) -> Self {
        self.lines = Some(lines);
        self
    }

    /// Queries the samples in the buffer.
    pub fn ask(self) -> Result<Vec<(u64, StackFrame)>> {
        // A wrong query is an error, whether or not there is data.
        self.ask_of_nothing()?;
        let (data, names) = retrieve()?;
        self.ask_of(&data, &names)
    }

    fn ask_of_nothing(&self) -> Result<()> {
        match (&self.lines, &self.file) {
            (Some(lines), None) => Err(profundo_analysis::CallersError::LinesWithoutFile(
                *lines.start(),
                *lines.end(),
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Queries these samples.
    pub fn ask_of(self, data: &Data, names: &Names) -> Result<Vec<(u64, StackFrame)>> {
        let profile = names.apply(data);
        let found =
            profundo_analysis::callers(&profile, &self.function, self.file.as_deref(), self.lines)?;
        Ok(found
            .into_iter()
            .map(|caller| {
                let frame = match caller.place {
                    Place::Frame(id) => StackFrame::of(&profile, id, 0),
                    Place::Reason(reason) => StackFrame {
                        func: reason.name().into(),
                        language: Language::Synthetic,
                        ..StackFrame::default()
                    },
                    Place::Unknown => StackFrame::default(),
                };
                (caller.count, frame)
            })
            .collect())
    }
}

/// Words and names with one frame per address: where functions were inlined, an address becomes
/// several invented ones, counted down from 2^64 − 2, innermost first.
pub fn flatten(data: &Data, names: &Names) -> Result<(Vec<u64>, BTreeMap<u64, StackFrame>)> {
    let mut flat = BTreeMap::new();
    let mut expanded: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut next = u64::MAX - 1;
    for (ip, frames) in names.iter() {
        if let [] | [_] = frames {
            // With one frame or none, the address stays as it is.
            flat.extend(frames.first().map(|frame| (ip, frame.clone())));
            continue;
        }
        let mut invented = Vec::new();
        for frame in frames {
            while names.get(next).is_some() {
                next = next.checked_sub(1).ok_or(Error::AddressesExhausted)?;
            }
            flat.insert(next, frame.clone());
            invented.push(next);
            next = next.checked_sub(1).ok_or(Error::AddressesExhausted)?;
        }
        expanded.insert(ip, invented);
    }
    let profile = data.profile();
    let word_of = of_locations(profile);
    let mut words = Vec::new();
    for sample in &profile.samples {
        for location in profile.stacks.locations(sample.stack) {
            let ip = word_of[location.index()];
            match expanded.get(&ip) {
                Some(invented) => words.extend_from_slice(invented),
                None => words.push(ip),
            }
        }
        push_end(&mut words, data.profile(), data.has_meta(), sample);
    }
    Ok((words, flat))
}
