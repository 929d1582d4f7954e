//! Whom an object holds, and by which name.
//!
//! The type's own function, which the collector uses, tells whom; it does not tell the names. So what stands where we know
//! it to stand is looked up first, and what the function tells is named after that. Of the containers that everybody
//! uses, the items are read where they lie.

use core::ffi::{c_int, c_void};

use profundo_cpython::Attributes;
use profundo_probe::shared::request_flag;
use profundo_wire::graph::EdgeKind;

use super::Failure;
use super::frames;
use super::names::Text;
use super::pages::Pages;
use super::rows::Row;
use super::search::Search;
use super::types::{COUNT, HELD_BY_CLASS, Kind, TYPE, flag, is_text, word};
use crate::inject::api::Object;

/// One whose name is known before it is told of.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub object: u64,
    pub kind: EdgeKind,
    pub name: Text,
}

/// What the interpreter's function tells.
struct VisitedObjects {
    objects: Pages<u64>,
    failure: Option<Failure>,
}

unsafe extern "C" fn visit(object: Object, told: *mut c_void) -> c_int {
    // SAFETY: it is handed on by `tell`.
    let told = unsafe { &mut *told.cast::<VisitedObjects>() };
    if !object.is_null()
        && let Err(failure) = told.objects.push(object as u64)
    {
        told.failure = Some(failure);
        return 1;
    }
    0
}

impl Search<'_, '_> {
    /// Tells whom an object holds.
    pub fn tell_held(&mut self, row: Row, object: Object, kind: &Kind) -> Result<(), Failure> {
        let is_container = self.tell_items(row, object, kind)?;
        self.known.clear();
        self.know_members(object, kind)?;
        let is_gc = kind.is_gc(object);
        if !is_gc {
            if kind.flags & flag::CLASS != 0 {
                self.know_class(object as u64)?;
            }
            return self.tell_known(row);
        }
        self.know_attributes(object, kind)?;
        self.know_specials(object, kind)?;
        self.tell_traversed(row, object, kind, is_container)
    }

    /// The items of a list, a tuple or a dictionary. Returns whether it is one.
    fn tell_items(&mut self, row: Row, object: Object, kind: &Kind) -> Result<bool, Failure> {
        /// Of a tuple's first item, and of a list's pointer to it.
        const ITEMS: u64 = 24;
        let address = object as u64;
        let (count, items) = match kind.flags {
            flags if flags & flag::DICT != 0 => {
                self.tell_pairs(row, object)?;
                return Ok(true);
            }
            // SAFETY: lists and tuples have their count and their items there.
            flags if flags & flag::LIST != 0 => unsafe {
                (word(address + COUNT), word(address + ITEMS))
            },
            // SAFETY: as above.
            flags if flags & flag::TUPLE != 0 => unsafe {
                (word(address + COUNT), address + ITEMS)
            },
            _ => return Ok(false),
        };
        for index in 0..count {
            // SAFETY: there are so many.
            let item = unsafe { word(items + index * 8) };
            if item != 0 {
                self.tell_edge(row, item, EdgeKind::Element, index as u32)?;
            }
        }
        Ok(true)
    }

    /// The keys and values of a dictionary.
    fn tell_pairs(&mut self, row: Row, dict: Object) -> Result<(), Failure> {
        let (mut place, mut key, mut value) = (0, core::ptr::null_mut(), core::ptr::null_mut());
        let key_name = self.texts.of_ours(self.out, c"key")?;
        let mut index = 0;
        // SAFETY: the dictionary does not change; what is handed out is borrowed.
        while unsafe { (self.api.dict_next)(dict, &mut place, &mut key, &mut value) } != 0 {
            match self.shown_name(key, value)? {
                Some(name) => self.tell_edge(row, value as u64, EdgeKind::Named, name)?,
                None => {
                    let number = self.shown_number(key).unwrap_or(index);
                    self.tell_edge(row, value as u64, EdgeKind::Element, number)?;
                }
            }
            self.tell_edge(row, key as u64, EdgeKind::Internal, key_name)?;
            index += 1;
        }
        Ok(())
    }

    /// What an item is called by this key. Where texts are not to be told, only those that come from the program's own
    /// source are (the interpreter keeps these in a table of its own), and the names of modules.
    fn shown_name(&mut self, key: Object, value: Object) -> Result<Option<Text>, Failure> {
        /// Where a text says whether it is in that table: in the low bits.
        const STATE: u64 = 32;
        const INTERNED: u64 = 3;
        let module = self.api.module_type as u64;
        // SAFETY: keys and values are objects, and a text has that field.
        let may_show = unsafe {
            is_text(key)
                && (self.flags & request_flag::REDACT == 0
                    || word(key as u64 + STATE) & INTERNED != 0
                    || word(value as u64 + TYPE) == module)
        };
        if !may_show {
            return Ok(None);
        }
        self.texts.of_object(self.out, self.api, key)
    }

    /// A key that is a whole number, and no large one, where keys are to be told.
    fn shown_number(&self, key: Object) -> Option<u32> {
        // SAFETY: a key is an object.
        let kind = unsafe { word(key as u64 + TYPE) };
        if self.flags & request_flag::REDACT != 0 || kind != self.api.number_type as u64 {
            return None;
        }
        let mut overflow = 0;
        // SAFETY: it is such a number; what is too large is told, and is no error of the program's.
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

    /// The attributes of an instance: its dictionary, or the values that stand for one.
    fn know_attributes(&mut self, object: Object, kind: &Kind) -> Result<(), Failure> {
        /// Before an object.
        const DICT_BEFORE: u64 = 24;
        const VALUES_BEFORE: u64 = 32;
        let address = object as u64;
        let attributes = self.api.layout.attributes;
        if attributes == Attributes::Dictionary || kind.flags & flag::MANAGED_DICT == 0 {
            if let Some(place) = kind.dict_place(object) {
                // SAFETY: the type says that an object of it has its dictionary there.
                let dict = unsafe { word(place) };
                self.know(dict, EdgeKind::Named, c"__dict__")?;
            }
            return Ok(());
        }
        // SAFETY: an object of such a type has these words before it.
        let (values, dict) = unsafe {
            let pointer = word(address - DICT_BEFORE);
            match attributes {
                Attributes::Dictionary => (0, 0),
                Attributes::Values => (word(address - VALUES_BEFORE), pointer),
                Attributes::Tagged if pointer & 1 == 1 => (pointer + 1, 0),
                Attributes::Tagged => (0, pointer),
                Attributes::Inline => {
                    /// Of the byte that says whether they are still the object's.
                    const IS_VALID: u64 = 3;
                    let values = address + kind.basic_size;
                    let has_values = kind.flags & flag::INLINE_VALUES != 0
                        && ((values + IS_VALID) as *const u8).read() == 1;
                    (if has_values { values } else { 0 }, pointer)
                }
            }
        };
        self.know(dict, EdgeKind::Named, c"__dict__")?;
        if values == 0 {
            return Ok(());
        }
        /// Of the names of attributes: how many bytes their hash table has, how many names there are, and where
        /// the table begins, which stand behind it, each with a word of no use here.
        const LOG_BYTES: u64 = 9;
        const NAMES: u64 = 24;
        const TABLE: u64 = 32;
        const ENTRY: u64 = 16;
        let first = if self.api.layout.minor >= 13 { 8 } else { 0 };
        // SAFETY: a class whose objects have values has their names; there are as many values.
        unsafe {
            let keys = word(kind.address + u64::from(self.api.layout.shared_keys));
            if keys == 0 {
                return Ok(());
            }
            let table = 1_u64 << ((keys + LOG_BYTES) as *const u8).read();
            for index in 0..word(keys + NAMES) {
                let key = word(keys + TABLE + table + index * ENTRY) as Object;
                let value = word(values + first + index * 8);
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
        }
        Ok(())
    }

    /// What some types hold that say nothing of it.
    fn know_specials(&mut self, object: Object, kind: &Kind) -> Result<(), Failure> {
        /// The first field of a cell and of a weak reference.
        const FIRST: u64 = 16;
        let address = object as u64;
        if kind.address == self.api.cell_type as u64 {
            // SAFETY: a cell has its contents there.
            let contents = unsafe { word(address + FIRST) };
            self.know(contents, EdgeKind::Named, c"cell_contents")?;
        } else if kind.address == self.api.frame_type as u64 && self.api.layout.minor < 11 {
            frames::know_locals(self, address)?;
        } else if self.has_inner_frame(kind) {
            frames::know_inner_locals(self, address, kind.basic_size)?;
        } else if kind.address == self.api.function_type as u64 {
            for (offset, name) in function_fields(self.api.layout.minor) {
                // SAFETY: a function has these fields.
                let held = unsafe { word(address + offset) };
                self.know(held, EdgeKind::Named, name)?;
            }
        } else if kind.flags & flag::CLASS != 0 {
            self.know_class(address)?;
        }
        // Its class, where the object counts as one that holds it.
        self.know(kind.address, EdgeKind::Internal, c"class")
    }

    /// Whether variables lie in objects of a type, or are held by them.
    fn has_inner_frame(&self, kind: &Kind) -> bool {
        let api = self.api;
        let types = [
            api.frame_type,
            api.generator_type,
            api.coroutine_type,
            api.async_generator_type,
        ];
        api.layout.minor >= 11 && types.contains(&(kind.address as Object))
    }

    /// What a class holds that is none of its attributes.
    fn know_class(&mut self, class: u64) -> Result<(), Failure> {
        for (offset, name) in HELD_BY_CLASS {
            // SAFETY: a class has these fields.
            let held = unsafe { word(class + offset) };
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

    fn tell_known(&mut self, row: Row) -> Result<(), Failure> {
        for index in 0..self.known.len() {
            if let Some(known) = self.known.get(index) {
                self.tell_edge(row, known.object, known.kind, known.name)?;
            }
        }
        Ok(())
    }

    /// What the type's own function tells, by the names that are known. Of a container, whose items were told, the rest.
    fn tell_traversed(
        &mut self,
        row: Row,
        object: Object,
        kind: &Kind,
        is_container: bool,
    ) -> Result<(), Failure> {
        // Of these nothing is left to be told.
        let api = self.api;
        let plain = [api.list_type, api.tuple_type, api.dict_type];
        if is_container && plain.contains(&(kind.address as Object)) {
            return Ok(());
        }
        let mut told = VisitedObjects {
            objects: core::mem::replace(&mut self.told, Pages::new()),
            failure: None,
        };
        told.objects.clear();
        if let Some(traverse) = kind.traverse {
            // SAFETY: the type's function, with an object of it that the collector knows.
            unsafe { traverse(object, visit, (&raw mut told).cast()) };
        }
        if let Some(failure) = told.failure {
            return Err(failure);
        }
        let unnamed = self.texts.of_ours(self.out, c"reference")?;
        let is_set =
            [self.api.set_type, self.api.frozenset_type].contains(&(kind.address as Object));
        for (index, &held) in told.objects.as_slice().iter().enumerate() {
            let known = self.known.as_mut_slice().iter_mut();
            let known = known.into_iter().find(|known| known.object == held);
            match known {
                Some(known) => {
                    let (kind, name) = (known.kind, known.name);
                    // Each of them once.
                    known.object = 0;
                    self.tell_edge(row, held, kind, name)?;
                }
                None if is_container => {}
                None if is_set => self.tell_edge(row, held, EdgeKind::Element, index as u32)?,
                None => self.tell_edge(row, held, EdgeKind::Internal, unnamed)?,
            }
        }
        self.told = told.objects;
        self.tell_unvisited_dict(row, kind)?;
        self.tell_weak(row, object, kind)
    }

    /// From 3.13 on: an object whose attributes lie in itself holds its `__dict__` too, once somebody has asked for that.
    /// The collector's function visits only the attributes then.
    fn tell_unvisited_dict(&mut self, row: Row, kind: &Kind) -> Result<(), Failure> {
        let is_inline = self.api.layout.attributes == Attributes::Inline;
        if !is_inline || kind.flags & flag::INLINE_VALUES == 0 {
            return Ok(());
        }
        let name = self.texts.of_ours(self.out, c"__dict__")?;
        for index in 0..self.known.len() {
            if let Some(known) = self.known.get(index)
                && known.object != 0
                && known.name == name
            {
                self.tell_edge(row, known.object, known.kind, name)?;
            }
        }
        Ok(())
    }

    /// Whom a weak reference knows without holding it.
    fn tell_weak(&mut self, row: Row, object: Object, kind: &Kind) -> Result<(), Failure> {
        const REFERENT: u64 = 16;
        if kind.address != self.api.weakref_type as u64 {
            return Ok(());
        }
        // SAFETY: a weak reference has it there; `None` once it is gone, which is an object too.
        let referent = unsafe { word(object as u64 + REFERENT) };
        // SAFETY: an object.
        if referent == 0 || unsafe { word(referent + TYPE) } == 0 {
            return Ok(());
        }
        let name = self.texts.of_ours(self.out, c"referent")?;
        self.tell_edge(row, referent, EdgeKind::Weak, name)
    }
}

/// Where a function keeps what it does not tell the names of.
fn function_fields(minor: u8) -> [(u64, &'static core::ffi::CStr); 3] {
    let [code, name, qualified] = match minor {
        ..10 => [16, 64, 104],
        _ => [48, 32, 40],
    };
    [
        (code, c"__code__"),
        (name, c"__name__"),
        (qualified, c"__qualname__"),
    ]
}
