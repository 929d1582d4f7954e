//! The facts of a type: how its objects are traversed, how large they are, and its name.

use core::ffi::{c_char, c_int};

use profundo_cpython::Attributes;
use profundo_cpython::objects::{member, object, type_flag, type_object};
use profundo_wire::graph::{MOST_TYPES, NodeKind, type_words};

use super::Failure;
use super::names::{self, Text, Texts};
use super::outlet::Out;
use super::pages::{Map, Pages};
use crate::inject::api::{Api, Object, Visit};
use crate::inject::{field, field_at, word};

/// The fields of a class. Only a class from a `class` statement may be traversed by the
/// interpreter's own function.
pub const HELD_BY_CLASS: [(u64, &core::ffi::CStr); 4] = [
    (type_object::BASE, c"__base__"),
    (type_object::DICT, c"__dict__"),
    (type_object::BASES, c"__bases__"),
    (type_object::MRO, c"__mro__"),
];

/// An attribute at a fixed place in each object of a type.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub offset: u64,
    pub name: Text,
}

pub type Traverse = unsafe extern "C" fn(Object, Visit, *mut core::ffi::c_void) -> c_int;

/// A type.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub address: u64,
    pub number: u32,
    pub flags: u64,
    pub basic_size: u64,
    item_size: u64,
    dict_offset: i64,
    pub traverse: Option<Traverse>,
    is_gc: Option<unsafe extern "C" fn(Object) -> c_int>,
    /// The range of its members in the list of all.
    members: (u32, u32),
    /// True if the interpreter may be asked for the size of its objects.
    may_ask: bool,
}

impl Kind {
    /// True if the collector tracks this object of the type, so that it can be traversed.
    pub fn is_gc(&self, object: Object) -> bool {
        // SAFETY: the type's own function, with an object of it.
        self.flags & type_flag::GC != 0 && self.is_gc.is_none_or(|f| unsafe { f(object) } != 0)
    }

    /// The place at which an object refers to its dictionary: an offset from its start, or behind
    /// its items.
    pub fn dict_place(&self, object: Object) -> Option<u64> {
        let address = object as u64;
        match self.dict_offset {
            0 => None,
            offset if offset > 0 => Some(address + offset as u64),
            offset => {
                // SAFETY: an object of a type with items says how many.
                let count = unsafe { field(address, object::SIZE) as i64 }.unsigned_abs();
                let bytes = self.basic_size + count.saturating_mul(self.item_size);
                Some((address + bytes.next_multiple_of(8)).wrapping_add_signed(offset))
            }
        }
    }

    /// The size of an object in bytes, as `sys.getsizeof` returns it.
    pub fn size(&self, api: &Api, object: Object) -> u64 {
        if self.may_ask {
            // SAFETY: the type's own function is one of C's.
            let size = unsafe { (api.size_of)(object) };
            if size != usize::MAX {
                return size as u64;
            }
            // SAFETY: the lock is held.
            unsafe { (api.clear_error)() };
        }
        let items = match self.item_size {
            0 => 0,
            // SAFETY: an object of a type whose objects have items says how many.
            size => unsafe { field(object as u64, object::SIZE) as i64 }.unsigned_abs() * size,
        };
        let head = match self.is_gc(object) && !api.layout.is_free_threaded() {
            true => object::GC_HEAD,
            false => 0,
        };
        let has_more = api.layout.objects.attributes != Attributes::Dictionary;
        let before = match has_more && self.flags & type_flag::MANAGED_DICT != 0 {
            true => object::MANAGED_BYTES,
            false => 0,
        };
        self.basic_size
            .saturating_add(items)
            .saturating_add(head + before)
    }
}

/// All types that were met.
pub struct Types {
    kinds: Pages<Kind>,
    members: Pages<Member>,
    by_address: Map,
    count: u32,
    /// The name of the method that returns an object's size; null: sizes are not asked for.
    size_name: Object,
    module_name: Object,
}

impl Types {
    pub fn new(api: &Api, asks: bool) -> Result<Self, Failure> {
        // SAFETY: the lock is held; texts so short are not taken from the C library.
        let text = |name: &core::ffi::CStr| unsafe { (api.new_text)(name.as_ptr()) };
        Ok(Self {
            kinds: Pages::new(),
            members: Pages::new(),
            by_address: Map::new()?,
            count: 0,
            size_name: match asks {
                true => text(c"__sizeof__"),
                false => core::ptr::null_mut(),
            },
            module_name: text(c"__module__"),
        })
    }

    /// The members of a type.
    pub fn members(&self, kind: &Kind) -> &[Member] {
        let (from, to) = kind.members;
        let all = self.members.as_slice();
        all.get(from as usize..to as usize).unwrap_or_default()
    }

    /// A type for places that are no objects.
    pub fn synthetic(
        &mut self,
        out: &mut Out<'_>,
        texts: &mut Texts,
        name: &'static core::ffi::CStr,
    ) -> Result<u32, Failure> {
        let name = texts.of_ours(out, name)?;
        self.write(out, NodeKind::Synthetic, name)
    }

    fn write(&mut self, out: &mut Out<'_>, kind: NodeKind, name: Text) -> Result<u32, Failure> {
        if self.count == MOST_TYPES {
            return Err(libc::EOVERFLOW);
        }
        out.put(type_words(kind, name).as_slice());
        self.count += 1;
        Ok(self.count - 1)
    }

    /// The facts of a type.
    pub fn of(
        &mut self,
        api: &Api,
        out: &mut Out<'_>,
        texts: &mut Texts,
        address: u64,
    ) -> Result<Kind, Failure> {
        if let Some(index) = self.by_address.get(address) {
            return self.kinds.get(index as usize).ok_or(libc::EFAULT);
        }
        let name = self.name(api, out, texts, address)?;
        let number = self.write(out, node_kind(api, address), name)?;
        let from = self.members.len() as u32;
        self.find_members(out, texts, address)?;
        // SAFETY: the type of an object is a type.
        let kind = unsafe {
            Kind {
                address,
                number,
                flags: field(address, type_object::FLAGS),
                basic_size: field(address, type_object::BASIC_SIZE),
                item_size: field(address, type_object::ITEM_SIZE),
                dict_offset: field(address, type_object::DICT_OFFSET) as i64,
                traverse: core::mem::transmute::<u64, Option<Traverse>>(field(
                    address,
                    type_object::TRAVERSE,
                )),
                is_gc: core::mem::transmute::<u64, Option<unsafe extern "C" fn(Object) -> c_int>>(
                    field(address, type_object::IS_GC),
                ),
                members: (from, self.members.len() as u32),
                may_ask: self.may_ask(api, address),
            }
        };
        let index = self.kinds.len() as u32;
        self.kinds.push(kind)?;
        self.by_address.insert(address, index)?;
        Ok(kind)
    }

    /// True if the method that returns the size is a C function: one in Python might do anything.
    fn may_ask(&self, api: &Api, address: u64) -> bool {
        if self.size_name.is_null() {
            return false;
        }
        // SAFETY: a type, and a text; references are borrowed.
        unsafe {
            let found = (api.find_in_type)(address as Object, self.size_name);
            if found.is_null() {
                (api.clear_error)();
                return false;
            }
            field(found as u64, object::TYPE) == api.method_type as u64
        }
    }

    /// The name of a class.
    pub fn class_name(
        &self,
        api: &Api,
        out: &mut Out<'_>,
        texts: &mut Texts,
        class: Object,
    ) -> Result<Text, Failure> {
        self.name(api, out, texts, class as u64)
    }

    /// `module.Name`, or `Name` of a built-in type.
    fn name(
        &self,
        api: &Api,
        out: &mut Out<'_>,
        texts: &mut Texts,
        address: u64,
    ) -> Result<Text, Failure> {
        // SAFETY: a type has a name that ends in a NUL.
        let (flags, name) = unsafe {
            let name = field(address, type_object::NAME) as *const c_char;
            (field(address, type_object::FLAGS), name)
        };
        if flags & type_flag::HEAP == 0 {
            return texts.of_c(out, name);
        }
        let mut whole = [0_u8; names::LONGEST];
        let mut used = 0;
        let mut add = |bytes: &[u8]| {
            let room = whole.get_mut(used..).unwrap_or_default();
            let count = bytes.len().min(room.len());
            for (place, &byte) in room.iter_mut().zip(bytes) {
                *place = byte;
            }
            used += count;
        };
        // SAFETY: a class has a dictionary, in which its module's name may be, and a name of its
        // own.
        unsafe {
            let dict = field(address, type_object::DICT) as Object;
            let module = match dict.is_null() {
                true => core::ptr::null_mut(),
                false => (api.dict_get)(dict, self.module_name),
            };
            if !module.is_null()
                && is_text(module)
                && let Some(bytes) = names::bytes_of(api, module)
                && bytes != b"builtins"
            {
                add(bytes);
                add(b".");
            }
            let qualified = word(address + u64::from(api.layout.objects.class_name)) as Object;
            match names::bytes_of(api, qualified) {
                Some(bytes) => add(bytes),
                None => add(core::ffi::CStr::from_ptr(name).to_bytes()),
            }
        }
        Ok(texts.write(out, whole.get(..used).unwrap_or(&whole)))
    }

    /// Finds the attributes at fixed places in the objects of a type and of its bases.
    fn find_members(
        &mut self,
        out: &mut Out<'_>,
        texts: &mut Texts,
        address: u64,
    ) -> Result<(), Failure> {
        const MOST: u64 = 4096;
        let mut class = address;
        while class != 0 {
            // SAFETY: a type's list of members ends in one without a name.
            unsafe {
                let list = field(class, type_object::MEMBERS);
                for index in 0..MOST {
                    let member = list + index * member::BYTES;
                    let name = match list {
                        0 => 0,
                        _ => word(member + member::NAME),
                    };
                    if name == 0 {
                        break;
                    }
                    let offset = word(member + member::OFFSET);
                    let kind = word(member + member::KIND) as u32;
                    if member::OBJECTS.contains(&kind) && offset > field_at(0, object::TYPE) {
                        let name = texts.of_c(out, name as *const c_char)?;
                        self.members.push(Member { offset, name })?;
                    }
                }
                class = field(class, type_object::BASE);
            }
        }
        Ok(())
    }
}

/// True if an object is a text.
///
/// # Safety
/// `object` is an object of the interpreter's.
pub unsafe fn is_text(object: Object) -> bool {
    // SAFETY: the caller vouches.
    unsafe { field(field(object as u64, object::TYPE), type_object::FLAGS) & type_flag::TEXT != 0 }
}

fn node_kind(api: &Api, address: u64) -> NodeKind {
    // SAFETY: a type.
    let flags = unsafe { field(address, type_object::FLAGS) };
    match address {
        _ if flags & type_flag::TEXT != 0 => NodeKind::Text,
        _ if flags & type_flag::CLASS != 0 => NodeKind::Class,
        class if class == api.function_type as u64 => NodeKind::Function,
        class if class == api.code_type as u64 => NodeKind::Code,
        class if class == api.module_type as u64 => NodeKind::Module,
        _ => NodeKind::Object,
    }
}

/// The name of a function, a code object or a module, if it has one.
pub fn own_name(api: &Api, object: Object, kind: &Kind) -> Option<Object> {
    let at = |offset: u64| {
        // SAFETY: an object of that type has a name there.
        let found = unsafe { word(object as u64 + offset) } as Object;
        // SAFETY: what stands there is an object.
        (!found.is_null() && unsafe { is_text(found) }).then_some(found)
    };
    if kind.address == api.function_type as u64 {
        return at(u64::from(api.layout.objects.function.qualified_name));
    }
    if kind.address == api.code_type as u64 {
        return at(u64::from(api.layout.code.name));
    }
    if kind.address == api.module_type as u64 {
        return at(u64::from(api.layout.objects.module_name));
    }
    None
}
