//! The variables of a frame: their names, and where their values are.
//!
//! The variables of a function have places in its frame, in the order of the names in its code
//! object. A variable that an inner function uses too is in a cell, to which the place points. The
//! body of a class has its variables in a dictionary, and a module has none but global ones.

use core::ops::ControlFlow;

use crate::class::{Class, Kind, pointer};
use crate::contents::{Characters, Pairs, characters};
use crate::layout::objects::{TAGS, bytes, cell, object};
use crate::layout::{Layout, VariableNames};
use crate::memory::{Memory, at, byte, half};
use crate::walk::Frame;

/// The most variables of a frame that are looked at.
const MOST: u64 = 1 << 10;

/// The origin of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An argument of the function.
    Argument,
    /// The function's own, or the class's.
    Local,
    /// A variable of an outer function.
    Outer,
}

/// A variable that has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Characters,
    /// Its origin.
    pub origin: Origin,
    /// The place of the pointer to its value.
    pub place: u64,
    /// The address of its value.
    pub value: u64,
}

/// Bits of a code object's flags.
const OPTIMIZED: u32 = 1;
const HAS_MORE_ARGUMENTS: u32 = 4;
const HAS_MORE_NAMED_ARGUMENTS: u32 = 8;

/// Bits of a variable's kind, from 3.11 on.
const HIDDEN: u8 = 0x10;
const CELL: u8 = 0x40;
const FREE: u8 = 0x80;

/// Calls `visit` with each variable of a frame that has a value. `None` if they cannot be read.
pub fn variables<M: Memory>(
    layout: &Layout,
    memory: &mut M,
    frame: &Frame,
    mut visit: impl FnMut(&mut M, Variable) -> ControlFlow<()>,
) -> Option<()> {
    let is_function = frame.flags & OPTIMIZED != 0;
    if !is_function {
        let namespace = memory.word(at(frame.address, layout.frame.namespace))?;
        let globals = memory.word(at(frame.address, layout.frame.globals))?;
        if namespace != globals && in_namespace(layout, memory, namespace, &mut visit)?.is_break() {
            return Some(());
        }
    }
    let reader = Places {
        layout,
        frame,
        is_function,
        arguments: arguments(layout, memory, frame)?,
    };
    match layout.code.variable_names {
        VariableNames::One {
            count,
            names,
            kinds,
        } => reader.by_kinds(memory, [count, names, kinds], &mut visit),
        VariableNames::Several(tuples) => reader.by_tuples(memory, tuples, &mut visit),
    }
}

/// The number of a function's arguments.
fn arguments(layout: &Layout, memory: &mut impl Memory, frame: &Frame) -> Option<u64> {
    /// From the number of arguments to that of those that are given by name alone.
    const BY_NAME: u64 = 8;
    let place = at(frame.code, layout.code.arguments);
    let plain = half(memory, place)?;
    let by_name = half(memory, place.wrapping_add(BY_NAME))?;
    let more = [HAS_MORE_ARGUMENTS, HAS_MORE_NAMED_ARGUMENTS].map(|flag| frame.flags & flag != 0);
    let more = more.into_iter().filter(|&has| has).count() as u64;
    Some(u64::from(plain) + u64::from(by_name) + more)
}

/// Variables that have places in a frame.
struct Places<'a> {
    layout: &'a Layout,
    frame: &'a Frame,
    is_function: bool,
    arguments: u64,
}

impl Places<'_> {
    /// From 3.11 on.
    fn by_kinds<M: Memory>(
        &self,
        memory: &mut M,
        [count, names, kinds]: [u16; 3],
        visit: &mut impl FnMut(&mut M, Variable) -> ControlFlow<()>,
    ) -> Option<()> {
        let code = self.frame.code;
        let count = u64::from(half(memory, at(code, count))?).min(MOST);
        let names = pointer(memory, at(code, names))?;
        let kinds = pointer(memory, at(code, kinds))?;
        let has_all = |memory: &mut M, object: u64| {
            Some(memory.word(self.layout.field(object, object::SIZE))? >= count)
        };
        (has_all(memory, names)? && has_all(memory, kinds)?).then_some(())?;
        for index in 0..count {
            let kind = byte(memory, self.layout.field(kinds, bytes::FIRST + index))?;
            // Comprehensions in a class or a module have variables of their own.
            if !self.is_function && kind & (HIDDEN | FREE) == 0 {
                continue;
            }
            let name = self.name(memory, names, index)?;
            let origin = match (kind & FREE != 0, index < self.arguments) {
                (true, _) => Origin::Outer,
                (_, true) => Origin::Argument,
                _ => Origin::Local,
            };
            let is_cell = kind & (CELL | FREE) != 0;
            if self
                .show(memory, index, name, origin, is_cell, visit)?
                .is_break()
            {
                break;
            }
        }
        Some(())
    }

    /// Up to 3.10.
    fn by_tuples<M: Memory>(
        &self,
        memory: &mut M,
        tuples: [u16; 3],
        visit: &mut impl FnMut(&mut M, Variable) -> ControlFlow<()>,
    ) -> Option<()> {
        let [own, cells, outer] = tuples.map(|offset| at(self.frame.code, offset));
        let own = pointer(memory, own)?;
        let (cells, outer) = (pointer(memory, cells)?, pointer(memory, outer)?);
        let mut first = 0;
        for (names, is_outer) in [(own, false), (cells, false), (outer, true)] {
            let is_cell = names != own || first > 0;
            let count = memory
                .word(self.layout.field(names, object::SIZE))?
                .min(MOST);
            // The body of a class has its own ones in a dictionary.
            let shown = if self.is_function || is_outer {
                count
            } else {
                0
            };
            for index in 0..shown {
                let name = self.name(memory, names, index)?;
                // An argument in a cell is not where other arguments are.
                let is_argument = match is_cell {
                    true => self.is_argument(memory, own, name)?,
                    false => index < self.arguments,
                };
                let origin = match (is_outer, is_argument) {
                    (true, _) => Origin::Outer,
                    (_, true) => Origin::Argument,
                    _ => Origin::Local,
                };
                let place = first + index;
                if self
                    .show(memory, place, name, origin, is_cell, visit)?
                    .is_break()
                {
                    return Some(());
                }
            }
            first += count;
        }
        Some(())
    }

    /// The address of a name.
    fn name(&self, memory: &mut impl Memory, names: u64, index: u64) -> Option<u64> {
        let place = at(names, self.layout.objects.tuple_items);
        pointer(memory, place.wrapping_add(index * 8))
    }

    /// Whether a name is that of an argument: equal names are one object.
    fn is_argument(&self, memory: &mut impl Memory, own: u64, name: u64) -> Option<bool> {
        let count = memory.word(self.layout.field(own, object::SIZE))?;
        for index in 0..self.arguments.min(count).min(MOST) {
            if self.name(memory, own, index)? == name {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Shows the variable at a place, if it has a value.
    fn show<M: Memory>(
        &self,
        memory: &mut M,
        place: u64,
        name: u64,
        origin: Origin,
        is_cell: bool,
        visit: &mut impl FnMut(&mut M, Variable) -> ControlFlow<()>,
    ) -> Option<ControlFlow<()>> {
        let locals = at(self.frame.address, self.layout.frame.locals);
        let mut place = locals.wrapping_add(place * 8);
        let mut value = memory.word(place)? & !TAGS;
        if is_cell && value != 0 {
            // An argument is put into its cell by the first instructions.
            let class = Class::of(self.layout, memory, value);
            if class.is_some_and(|class| class.kind(self.layout, memory) == Kind::Cell) {
                place = self.layout.field(value, cell::CONTENTS);
                value = memory.word(place)? & !TAGS;
            }
        }
        let name = characters(self.layout, memory, name)?;
        let is_own = is_of_interpreter(memory, &name);
        if value == 0 || is_own {
            return Some(ControlFlow::Continue(()));
        }
        let variable = Variable {
            name,
            origin,
            place,
            value,
        };
        Some(visit(memory, variable))
    }
}

/// Whether a name is no word of the program's: `.0`, the iterator of a comprehension.
fn is_of_interpreter(memory: &mut impl Memory, name: &Characters) -> bool {
    byte(memory, name.address) == Some(b'.')
}

/// Shows the variables of a class's body. A module's are global, and so many that they are left
/// out.
fn in_namespace<M: Memory>(
    layout: &Layout,
    memory: &mut M,
    namespace: u64,
    visit: &mut impl FnMut(&mut M, Variable) -> ControlFlow<()>,
) -> Option<ControlFlow<()>> {
    let Some(class) = Class::of(layout, memory, namespace) else {
        return Some(ControlFlow::Continue(()));
    };
    // A metaclass may have given it anything.
    if class.kind(layout, memory) != Kind::Dict {
        return Some(ControlFlow::Continue(()));
    }
    let mut end = ControlFlow::Continue(());
    Pairs::of(layout, memory, namespace)?.each(layout, memory, |memory, places| {
        let [key, value] = places.map(|place| memory.word(place).unwrap_or(0));
        let is_text = Class::of(layout, memory, key)
            .is_some_and(|class| class.kind(layout, memory) == Kind::Text);
        let name = is_text.then(|| characters(layout, memory, key)).flatten();
        let Some(name) = name.filter(|name| !is_special(memory, name)) else {
            return ControlFlow::Continue(());
        };
        let variable = Variable {
            name,
            origin: Origin::Local,
            place: places[1],
            value,
        };
        end = visit(memory, variable);
        end
    })?;
    Some(end)
}

/// Whether a name begins with two underscores, as those that each class has: `__module__`.
fn is_special(memory: &mut impl Memory, name: &Characters) -> bool {
    let mut is_underscore = |index: u64| {
        let place = name.address.wrapping_add(index * u64::from(name.width));
        byte(memory, place) == Some(b'_')
    };
    is_underscore(0) && is_underscore(1)
}
