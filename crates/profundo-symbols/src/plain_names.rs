//! Plain names of Rust functions, from `DW_AT_name`.
//!
//! Legacy mangling, which compilers still use by default, drops the types that a generic function
//! was made for: `alloc::vec::Vec<T,A>::push`. The plain name keeps them, `push<u8, Global>`, but
//! the lookup prefers the linkage name and leaves it behind, so it is read here from the
//! function's entry.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use gimli::{AttributeValue, DebugInfoOffset, UnitHeader, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use crate::image::Reader;

/// An entry refers to another one, that one perhaps to a third. Damaged references could go
/// round in circles.
const MAX_STEPS: usize = 8;

/// A unit, by its place in the main file or the number of its split file, and an offset in it.
type Place = (u64, usize);

/// The plain names read so far, and their units.
#[derive(Debug, Default)]
pub(crate) struct PlainNames<'a> {
    names: RefCell<FxHashMap<Place, Option<&'a [u8]>>>,
    /// The units of the main file, in order.
    headers: OnceCell<Vec<(usize, UnitHeader<Reader<'a>>)>>,
    units: RefCell<FxHashMap<usize, Rc<gimli::Unit<Reader<'a>>>>>,
}

impl<'a> PlainNames<'a> {
    /// The plain name of the function at `offset` in `unit`.
    pub(crate) fn get(
        &self,
        unit: &UnitRef<'_, Reader<'a>>,
        offset: UnitOffset,
    ) -> Option<&'a [u8]> {
        let start = unit.header.debug_info_offset();
        let start = start.map_or(u64::MAX, |start| start.0 as u64);
        let key = (unit.dwo_id.map_or(start, |id| id.0), offset.0);
        if let Some(known) = self.names.borrow().get(&key) {
            return *known;
        }
        let name = self.follow(unit, offset, MAX_STEPS);
        self.names.borrow_mut().insert(key, name);
        name
    }

    /// An inlined or out-of-line copy refers to the abstract function, and that one to its
    /// declaration; where code was inlined across compilation units, in another unit.
    fn follow(
        &self,
        unit: &UnitRef<'_, Reader<'a>>,
        offset: UnitOffset,
        steps: usize,
    ) -> Option<&'a [u8]> {
        let entry = unit.entry(offset).ok()?;
        if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
            return Some(unit.attr_string(name).ok()?.slice());
        }
        let steps = steps.checked_sub(1)?;
        let origin = entry
            .attr_value(gimli::DW_AT_abstract_origin)
            .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
        match origin {
            AttributeValue::UnitRef(next) => self.follow(unit, next, steps),
            // Within a split file such a reference is into that file, which has one unit.
            AttributeValue::DebugInfoRef(at) if unit.dwo_id.is_none() => {
                let other = self.unit_at(unit.dwarf, at)?;
                let next = at.to_unit_offset(&other.header)?;
                self.follow(&UnitRef::new(unit.dwarf, &other), next, steps)
            }
            _ => None,
        }
    }

    /// The unit of the main file that `at` lies in.
    fn unit_at(
        &self,
        dwarf: &gimli::Dwarf<Reader<'a>>,
        at: DebugInfoOffset,
    ) -> Option<Rc<gimli::Unit<Reader<'a>>>> {
        let headers = self.headers.get_or_init(|| {
            let mut headers = Vec::new();
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                if let Some(start) = header.debug_info_offset() {
                    headers.push((start.0, header));
                }
            }
            headers
        });
        let index = headers
            .partition_point(|(start, _)| *start <= at.0)
            .checked_sub(1)?;
        let (start, header) = &headers[index];
        if let Some(unit) = self.units.borrow().get(start) {
            return Some(Rc::clone(unit));
        }
        let unit = Rc::new(dwarf.unit(*header).ok()?);
        self.units.borrow_mut().insert(*start, Rc::clone(&unit));
        Some(unit)
    }
}
