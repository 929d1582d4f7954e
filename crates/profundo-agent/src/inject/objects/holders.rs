//! The objects that an object holds, and by which names.
//!
//! The type's own traverse function, which the collector uses, visits them without names. So the
//! fields at known places are read first, and give the visited objects their names. The items of
//! common containers are read directly.

use core::ffi::{c_int, c_void};

use profundo_cpython::objects::{
    FunctionObject, cell, list, object, text, type_flag, weak_reference,
};
use profundo_cpython::{Attributes, ManagedAttributes, keys_table, managed_attributes, value_at};
use profundo_probe::shared::request_flag;
use profundo_wire::graph::EdgeKind;

use super::Failure;
use super::frames;
use super::names::Text;
use super::pages::Pages;
use super::rows::Row;
use super::search::Search;
use super::types::{HELD_BY_CLASS, Kind, is_text};
use crate::inject::api::Object;
use crate::inject::{There, field, word};

/// A held object whose name is known before it is reported.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub object: u64,
    pub kind: EdgeKind,
    pub name: Text,
}

/// The objects that the traverse function visits.
struct VisitedObjects {
    objects: Pages<u64>,
    failure: Option<Failure>,
}

unsafe extern "C" fn visit(object: Object, visited: *mut c_void) -> c_int {
    // SAFETY: it comes from `write_traversed`.
    let visited = unsafe { &mut *visited.cast::<VisitedObjects>() };
    if !object.is_null()
        && let Err(failure) = visited.objects.push(object as u64)
    {
        visited.failure = Some(failure);
        return 1;
    }
    0
}

impl Search<'_, '_> {
    /// Reports the objects that an object holds.
    pub fn write_held(&mut self, row: Row, object: Object, kind: &Kind) -> Result<(), Failure> {
        let is_container = self.write_items(row, object, kind)?;
        self.known.clear();
        self.know_members(object, kind)?;
        let is_gc = kind.is_gc(object);
        if !is_gc {
            if kind.flags & type_flag::CLASS != 0 {
                self.know_class(object as u64)?;
            }
            return self.write_known(row);
        }
        self.know_attributes(object, kind)?;
        self.know_specials(object, kind)?;
        self.write_traversed(row, object, kind, is_container)
    }

    /// Reports the items of a list, a tuple or a dictionary. Returns whether it is one.
    fn write_items(&mut self, row: Row, object: Object, kind: &Kind) -> Result<bool, Failure> {
        let address = object as u64;
        let items_of_tuple = u64::from(self.api.layout.objects.tuple_items);
        let (count, items) = match kind.flags {
            flags if flags & type_flag::DICT != 0 => {
                self.write_pairs(row, object)?;
                return Ok(true);
            }
            // SAFETY: lists and tuples have their count and their items there.
            flags if flags & type_flag::LIST != 0 => unsafe {
                (field(address, object::SIZE), field(address, list::ITEMS))
            },
            // SAFETY: as above.
            flags if flags & type_flag::TUPLE != 0 => unsafe {
                (field(address, object::SIZE), address + items_of_tuple)
            },
            _ => return Ok(false),
        };
        for index in 0..count {
            // SAFETY: there are so many.
            let item = unsafe { word(items + index * 8) };
            if item != 0 {
                self.write_edge(row, item, EdgeKind::Element, index as u32)?;
            }
        }
        Ok(true)
    }

    /// Reports the keys and values of a dictionary.
    fn write_pairs(&mut self, row: Row, dict: Object) -> Result<(), Failure> {
        let (mut place, mut key, mut value) = (0, core::ptr::null_mut(), core::ptr::null_mut());
        let key_name = self.texts.of_ours(self.out, c"key")?;
        let mut index = 0;
        // SAFETY: the dictionary does not change; the references are borrowed.
        while unsafe { (self.api.dict_next)(dict, &mut place, &mut key, &mut value) } != 0 {
            match self.shown_name(key, value)? {
                Some(name) => self.write_edge(row, value as u64, EdgeKind::Named, name)?,
                None => {
                    let number = self.shown_number(key).unwrap_or(index);
                    self.write_edge(row, value as u64, EdgeKind::Element, number)?;
                }
            }
            self.write_edge(row, key as u64, EdgeKind::Internal, key_name)?;
            index += 1;
        }
        Ok(())
    }

    /// The name of an item, by its key. Where texts are not to be recorded, only those from the
    /// program's own source are (the interpreter keeps these in its table of interned strings), and
    /// the names of modules.
    fn shown_name(&mut self, key: Object, value: Object) -> Result<Option<Text>, Failure> {
        let module = self.api.module_type as u64;
        // SAFETY: keys and values are objects, and a text has that field.
        let may_show = unsafe {
            is_text(key)
                && (self.flags & request_flag::REDACT == 0
                    || field(key as u64, text::STATE) & text::INTERNED != 0
                    || field(value as u64, object::TYPE) == module)
        };
        if !may_show {
            return Ok(None);
        }
        self.texts.of_object(self.out, self.api, key)
    }

    /// A key that is a small whole number, where keys are to be recorded.
    fn shown_number(&self, key: Object) -> Option<u32> {
        // SAFETY: a key is an object.
        let kind = unsafe { field(key as u64, object::TYPE) };
        if self.flags & request_flag::REDACT != 0 || kind != self.api.number_type as u64 {
            return None;
        }
        let mut overflow = 0;
        // SAFETY: it is such a number; an overflow is reported in `overflow`, and raises no error.
        let number = unsafe { (self.api.number)(key, &mut overflow) };
        u32::try_from(number).ok().filter(|_| overflow == 0)
    }

    fn know_members(&mut self, object: Object, kind: &Kind) -> Result<(), Failure> {
        for &member in self.types.members(kind) {
            // SAFETY: the type says that an object of it has one there.
            let held = unsafe { word(object as u64 + member.offset) };
            if held != 0 {
                self.known.push(Known {
                    object: held,
                    kind: EdgeKind::Named,
                    name: member.name,
                })?;
            }
        }
        Ok(())
    }

    /// Notes the attributes of an instance: its dictionary, or the inline values.
    fn know_attributes(&mut self, object: Object, kind: &Kind) -> Result<(), Failure> {
        let address = object as u64;
        let attributes = self.api.layout.objects.attributes;
        if attributes == Attributes::Dictionary || kind.flags & type_flag::MANAGED_DICT == 0 {
            if let Some(place) = kind.dict_place(object) {
                // SAFETY: the type says that an object of it has its dictionary there.
                let dict = unsafe { word(place) };
                self.know(dict, EdgeKind::Named, c"__dict__")?;
            }
            return Ok(());
        }
        let layout = &self.api.layout;
        let found = managed_attributes(layout, &mut There, address, kind.address);
        let ManagedAttributes { values, dictionary } = found.unwrap_or_default();
        self.know(dictionary, EdgeKind::Named, c"__dict__")?;
        if values == 0 {
            return Ok(());
        }
        // SAFETY: a class whose objects have values has their names; there are as many values.
        let keys = unsafe { word(kind.address + u64::from(layout.objects.shared_keys)) };
        let names = match keys {
            0 => None,
            keys => keys_table(layout, &mut There, keys),
        };
        let Some(names) = names else { return Ok(()) };
        for index in 0..names.count {
            // SAFETY: as above.
            let (key, value) = unsafe {
                let value = word(value_at(layout, values, index));
                (word(names.key(index)) as Object, value)
            };
            if value != 0
                && !key.is_null()
                && let Some(name) = self.texts.of_object(self.out, self.api, key)?
            {
                self.known.push(Known {
                    object: value,
                    kind: EdgeKind::Named,
                    name,
                })?;
            }
        }
        Ok(())
    }

    /// Notes the fields of types that do not describe them.
    fn know_specials(&mut self, object: Object, kind: &Kind) -> Result<(), Failure> {
        let address = object as u64;
        if kind.address == self.api.cell_type as u64 {
            // SAFETY: a cell has its contents there.
            let contents = unsafe { field(address, cell::CONTENTS) };
            self.know(contents, EdgeKind::Named, c"cell_contents")?;
        } else if kind.address == self.api.frame_type as u64 && self.api.layout.has_frame_objects()
        {
            frames::know_locals(self, address)?;
        } else if self.has_inner_frame(kind) {
            frames::know_inner_locals(self, address)?;
        } else if kind.address == self.api.function_type as u64 {
            for (offset, name) in function_fields(self.api.layout.objects.function) {
                // SAFETY: a function has these fields.
                let held = unsafe { word(address + offset) };
                self.know(held, EdgeKind::Named, name)?;
            }
        } else if kind.flags & type_flag::CLASS != 0 {
            self.know_class(address)?;
        }
        // Its class, where the object counts as holding it.
        self.know(kind.address, EdgeKind::Internal, c"class")
    }

    /// True if variables lie in objects of a type, or are held by them.
    fn has_inner_frame(&self, kind: &Kind) -> bool {
        let api = self.api;
        let types = [
            api.frame_type,
            api.generator_type,
            api.coroutine_type,
            api.async_generator_type,
        ];
        !api.layout.has_frame_objects() && types.contains(&(kind.address as Object))
    }

    /// Notes the fields of a class that are not attributes.
    fn know_class(&mut self, class: u64) -> Result<(), Failure> {
        for (offset, name) in HELD_BY_CLASS {
            // SAFETY: a class has these fields.
            let held = unsafe { field(class, offset) };
            self.know(held, EdgeKind::Named, name)?;
        }
        Ok(())
    }

    pub fn know(
        &mut self,
        object: u64,
        kind: EdgeKind,
        name: &'static core::ffi::CStr,
    ) -> Result<(), Failure> {
        if object == 0 {
            return Ok(());
        }
        let name = self.texts.of_ours(self.out, name)?;
        self.known.push(Known { object, kind, name })
    }

    fn write_known(&mut self, row: Row) -> Result<(), Failure> {
        for index in 0..self.known.len() {
            if let Some(known) = self.known.get(index) {
                self.write_edge(row, known.object, known.kind, known.name)?;
            }
        }
        Ok(())
    }

    /// Reports what the type's traverse function visits, by the known names. Of a container, whose
    /// items were reported, the rest.
    fn write_traversed(
        &mut self,
        row: Row,
        object: Object,
        kind: &Kind,
        is_container: bool,
    ) -> Result<(), Failure> {
        // Of these nothing is left to report.
        let api = self.api;
        let plain = [api.list_type, api.tuple_type, api.dict_type];
        if is_container && plain.contains(&(kind.address as Object)) {
            return Ok(());
        }
        let mut visited = VisitedObjects {
            objects: core::mem::replace(&mut self.visited, Pages::new()),
            failure: None,
        };
        visited.objects.clear();
        if let Some(traverse) = kind.traverse {
            // SAFETY: the type's function, with an object of it that the collector knows.
            unsafe { traverse(object, visit, (&raw mut visited).cast()) };
        }
        if let Some(failure) = visited.failure {
            return Err(failure);
        }
        let unnamed = self.texts.of_ours(self.out, c"reference")?;
        let is_set =
            [self.api.set_type, self.api.frozenset_type].contains(&(kind.address as Object));
        for (index, &held) in visited.objects.as_slice().iter().enumerate() {
            let known = self.known.as_mut_slice().iter_mut();
            let known = known.into_iter().find(|known| known.object == held);
            match known {
                Some(known) => {
                    let (kind, name) = (known.kind, known.name);
                    // Each object once.
                    known.object = 0;
                    self.write_edge(row, held, kind, name)?;
                }
                None if is_container => {}
                None if is_set => self.write_edge(row, held, EdgeKind::Element, index as u32)?,
                None => self.write_edge(row, held, EdgeKind::Internal, unnamed)?,
            }
        }
        self.visited = visited.objects;
        self.write_unvisited_dict(row, kind)?;
        self.write_weak(row, object, kind)
    }

    /// From 3.13 on: an object with inline attributes holds its `__dict__` too, once the program
    /// has asked for that. The collector's function visits only the attributes then.
    fn write_unvisited_dict(&mut self, row: Row, kind: &Kind) -> Result<(), Failure> {
        let is_inline = self.api.layout.objects.attributes == Attributes::Inline;
        if !is_inline || kind.flags & type_flag::INLINE_VALUES == 0 {
            return Ok(());
        }
        let name = self.texts.of_ours(self.out, c"__dict__")?;
        for index in 0..self.known.len() {
            if let Some(known) = self.known.get(index)
                && known.object != 0
                && known.name == name
            {
                self.write_edge(row, known.object, known.kind, name)?;
            }
        }
        Ok(())
    }

    /// Reports the referent of a weak reference, which does not hold it.
    fn write_weak(&mut self, row: Row, object: Object, kind: &Kind) -> Result<(), Failure> {
        if kind.address != self.api.weakref_type as u64 {
            return Ok(());
        }
        // SAFETY: a weak reference has it there; `None` once it is gone, which is an object too.
        let referent = unsafe { field(object as u64, weak_reference::REFERENT) };
        // SAFETY: an object.
        if referent == 0 || unsafe { field(referent, object::TYPE) } == 0 {
            return Ok(());
        }
        let name = self.texts.of_ours(self.out, c"referent")?;
        self.write_edge(row, referent, EdgeKind::Weak, name)
    }
}

/// The fields in which a function keeps objects without names.
fn function_fields(function: FunctionObject) -> [(u64, &'static core::ffi::CStr); 3] {
    [
        (u64::from(function.code), c"__code__"),
        (u64::from(function.name), c"__name__"),
        (u64::from(function.qualified_name), c"__qualname__"),
    ]
}
