//! The report `gprof-cc`: for each function its callers above it and its callees below it.
//!
//! ```text
//! Index  % CPU Time:Total  CPU Time:Self  CPU Time:Children  Name        Index
//! -----  ----------------  -------------  -----------------  ----------  -----
//!                          0.0            31.29                main      [1]
//! [0]    100.0             0.5            30.79              draw        [0]
//!                          0.2            30.59                trace     [2]
//! ```

use std::borrow::Cow;

use profundo_model::{LocationId, Nanos, SampleKind, State};
use rustc_hash::FxHashMap;

use super::columns::number;
use super::table::Table;
use crate::quantities::sums;
use crate::stacks::call_graph::{Costs, Pairs};
use crate::{Builder, Error, Named, Unit};

/// Whether these are the titles of a call graph.
pub(super) fn is_report(titles: &[String]) -> bool {
    let has = |title: &str| titles.iter().any(|other| other == title);
    titles.first().is_some_and(|title| title == "Index")
        && has("Name")
        && has("CPU Time:Self")
        && has("CPU Time:Children")
}

/// The functions so far.
#[derive(Default)]
struct Functions {
    graph: Pairs,
    /// By their numbers, or by their names where there are none.
    ids: FxHashMap<Vec<u8>, u32>,
}

impl Functions {
    /// The function of a row; `None` stands for what calls the outermost ones.
    fn id(&mut self, builder: &mut Builder, name: &[u8], index: &[u8]) -> Option<u32> {
        // Functions in cycles are marked: `trace <cycle 2>`.
        let name = match memchr::memmem::find(name, b" <cycle ") {
            Some(at) => &name[..at],
            None => name,
        };
        // What the outermost ones are called by, and sums over the functions of a cycle.
        if name == b"<spontaneous>" || name.starts_with(b"<cycle ") || name.is_empty() {
            return None;
        }
        let key = if index.is_empty() { name } else { index };
        if let Some(&id) = self.ids.get(key) {
            return Some(id);
        }
        let id = self.graph.function(location(builder, name), State::Running);
        self.ids.insert(key.to_vec(), id);
        Some(id)
    }
}

fn location(builder: &mut Builder, name: &[u8]) -> LocationId {
    builder.location(Named {
        function: &String::from_utf8_lossy(name),
        ..Named::default()
    })
}

pub(super) fn fill<'a>(table: &mut Table<'a>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Cpu, "");
    let position = |title: &str| table.titles.iter().position(|other| other == title);
    let at =
        ["CPU Time:Self", "CPU Time:Children", "Name"].map(|title| position(title).unwrap_or(0));
    let last = table.titles.len() - 1;
    let mut functions = Functions::default();
    let mut callers: Vec<(Option<u32>, u64)> = Vec::new();
    let mut current = None;
    let mut decimals = 0;
    let mut cells: Vec<Cow<'a, [u8]>> = Vec::new();
    while table.next(&mut cells) {
        let cell = |at: usize| cells.get(at).map_or(&[][..], |cell| cell.trim_ascii());
        if cell(at[2]).is_empty() {
            callers.clear();
            current = None;
            continue;
        }
        let mut time = |at| {
            decimals = decimals.max(decimals_of(cell(at)));
            // A cast saturates.
            number(cell(at), Unit::Time(1e9)).map_or(0, |time| time.round() as u64)
        };
        let (own, children) = (time(at[0]), time(at[1]));
        let id = functions.id(builder, cell(at[2]), cell(last));
        let weight = own.saturating_add(children);
        match (cell(0).is_empty(), current) {
            // Above the function.
            (true, None) => callers.push((id, weight)),
            // Each pair is seen twice: from the caller's side, and from the callee's.
            (true, Some(caller)) => {
                if let (Some(caller), Some(callee)) = (caller, id) {
                    functions.graph.set_arc(caller, callee, weight);
                }
            }
            (false, _) => {
                current = Some(id);
                let Some(id) = id else {
                    continue;
                };
                functions.graph.set_own(id, own);
                for (caller, weight) in callers.drain(..) {
                    if let Some(caller) = caller {
                        functions.graph.set_arc(caller, id, weight);
                    }
                }
            }
        }
    }
    let thread = builder.only_thread();
    let least = functions.graph.least();
    // Times are rounded to their last digit.
    let graph = functions.graph.finish(1e9 / 10_f64.powi(decimals));
    graph.fill(builder, thread, Costs::Sampled(least));
    builder.profile.meta.period = Nanos(least);
    builder.note(sums::NOTE);
    Ok(())
}

/// The number of digits behind the point: `16.945`.
fn decimals_of(cell: &[u8]) -> i32 {
    let point = cell.iter().position(|&byte| byte == b'.');
    let rest = point.and_then(|point| cell.get(point + 1..));
    let digits = rest.unwrap_or_default().iter();
    digits
        .take(9)
        .take_while(|byte| byte.is_ascii_digit())
        .count() as i32
}
