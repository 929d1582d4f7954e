//! What is known of a type: how its objects are gone through, how large they are, and what it is called.

use core::ffi::{c_char, c_int};

use profundo_cpython::{Attributes, Layout};
use profundo_wire::graph::{MOST_TYPES, NodeKind, type_words};

use super::Failure;
use super::names::{self, Text, Texts};
use super::outlet::Out;
use super::pages::{Map, Pages};
use crate::inject::api::{Api, Object, Visit};

/// A word of the interpreter's.
///
/// # Safety
/// It is mapped.
#[inline]
pub unsafe fn word(address: u64) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { (address as *const u64).read_unaligned() }
}

/// Of an object: its count of references, its type, and how many items it has.
pub const TYPE: u64 = 8;
pub const COUNT: u64 = 16;

/// Of a type; the same in every version.
mod field {
    pub const NAME: u64 = 24;
    pub const BASIC_SIZE: u64 = 32;
    pub const ITEM_SIZE: u64 = 40;
    pub const FLAGS: u64 = 168;
    pub const TRAVERSE: u64 = 184;
    pub const MEMBERS: u64 = 240;
    pub const BASE: u64 = 256;
    pub const DICT: u64 = 264;
    pub const DICT_OFFSET: u64 = 288;
    pub const IS_GC: u64 = 328;
    pub const BASES: u64 = 336;
    pub const MRO: u64 = 344;
}

/// What a class holds. One that is not made by a `class` statement must not be asked by the interpreter's own function.
pub const HELD_BY_CLASS: [(u64, &core::ffi::CStr); 4] = [
    (field::BASE, c"__base__"),
    (field::DICT, c"__dict__"),
    (field::BASES, c"__bases__"),
    (field::MRO, c"__mro__"),
];

/// Of a type's flags.
pub mod flag {
    pub const INLINE_VALUES: u64 = 1 << 2;
    pub const MANAGED_DICT: u64 = 1 << 4;
    pub const HEAP: u64 = 1 << 9;
    pub const GC: u64 = 1 << 14;
    pub const LIST: u64 = 1 << 25;
    pub const TUPLE: u64 = 1 << 26;
    pub const TEXT: u64 = 1 << 28;
    pub const DICT: u64 = 1 << 29;
    pub const CLASS: u64 = 1 << 31;
}

/// An attribute that has a fixed place in each object of a type.
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
    /// From where to where its members stand in the list of all.
    members: (u32, u32),
    /// Whether the interpreter may be asked how large its objects are.
    may_ask: bool,
}

impl Kind {
    /// Whether the collector knows this object of the type, so that it can be gone through.
    pub fn is_gc(&self, object: Object) -> bool {
        // SAFETY: the type's own function, with an object of it.
        self.flags & flag::GC != 0 && self.is_gc.is_none_or(|f| unsafe { f(object) } != 0)
    }

    /// Where an object of it says where its dictionary is: from its first byte on, or behind its items.
    pub fn dict_place(&self, object: Object) -> Option<u64> {
        let address = object as u64;
        match self.dict_offset {
            0 => None,
            offset if offset > 0 => Some(address + offset as u64),
            offset => {
                // SAFETY: an object of a type with items says how many.
                let count = unsafe { word(address + COUNT) as i64 }.unsigned_abs();
                let bytes = self.basic_size + count.saturating_mul(self.item_size);
                Some((address + bytes.next_multiple_of(8)).wrapping_add_signed(offset))
            }
        }
    }

    /// How many bytes an object has, as `sys.getsizeof` says.
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
            size => unsafe { word(object as u64 + COUNT) as i64 }.unsigned_abs() * size,
        };
        let head = if self.is_gc(object) { 16 } else { 0 };
        let has_more = api.layout.attributes != Attributes::Dictionary;
        let before = match has_more && self.flags & flag::MANAGED_DICT != 0 {
            true => 16,
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
    told: u32,
    /// What the method is called that says how large an object is; null: nobody is to be asked.
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
            told: 0,
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

    /// A type for what is no object.
    pub fn synthetic(
        &mut self,
        out: &mut Out<'_>,
        texts: &mut Texts,
        name: &'static core::ffi::CStr,
    ) -> Result<u32, Failure> {
        let name = texts.of_ours(out, name)?;
        self.tell(out, NodeKind::Synthetic, name)
    }

    fn tell(&mut self, out: &mut Out<'_>, kind: NodeKind, name: Text) -> Result<u32, Failure> {
        if self.told == MOST_TYPES {
            return Err(libc::EOVERFLOW);
        }
        out.put(type_words(kind, name).as_slice());
        self.told += 1;
        Ok(self.told - 1)
    }

    /// What is known of a type.
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
        let number = self.tell(out, node_kind(api, address), name)?;
        let from = self.members.len() as u32;
        self.find_members(out, texts, address)?;
        // SAFETY: the type of an object is a type.
        let kind = unsafe {
            Kind {
                address,
                number,
                flags: word(address + field::FLAGS),
                basic_size: word(address + field::BASIC_SIZE),
                item_size: word(address + field::ITEM_SIZE),
                dict_offset: word(address + field::DICT_OFFSET) as i64,
                traverse: core::mem::transmute::<u64, Option<Traverse>>(word(
                    address + field::TRAVERSE,
                )),
                is_gc: core::mem::transmute::<u64, Option<unsafe extern "C" fn(Object) -> c_int>>(
                    word(address + field::IS_GC),
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

    /// Whether the method that says how large an object is comes from C: one in Python might do anything.
    fn may_ask(&self, api: &Api, address: u64) -> bool {
        if self.size_name.is_null() {
            return false;
        }
        // SAFETY: a type, and a text; what is found is borrowed.
        unsafe {
            let found = (api.find_in_type)(address as Object, self.size_name);
            if found.is_null() {
                (api.clear_error)();
                return false;
            }
            word(found as u64 + TYPE) == api.method_type as u64
        }
    }

    /// What a class is called.
    pub fn class_name(
        &self,
        api: &Api,
        out: &mut Out<'_>,
        texts: &mut Texts,
        class: Object,
    ) -> Result<Text, Failure> {
        self.name(api, out, texts, class as u64)
    }

    /// `module.Name`, or `Name` of a type that everybody knows.
    fn name(
        &self,
        api: &Api,
        out: &mut Out<'_>,
        texts: &mut Texts,
        address: u64,
    ) -> Result<Text, Failure> {
        // SAFETY: a type has a name that ends in a NUL.
        let (flags, name) = unsafe {
            let name = word(address + field::NAME) as *const c_char;
            (word(address + field::FLAGS), name)
        };
        if flags & flag::HEAP == 0 {
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
        // SAFETY: a class has a dictionary, in which its module's name may be, and a name of its own.
        unsafe {
            let dict = word(address + field::DICT) as Object;
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
            let qualified = word(address + qualified_name(&api.layout)) as Object;
            match names::bytes_of(api, qualified) {
                Some(bytes) => add(bytes),
                None => add(core::ffi::CStr::from_ptr(name).to_bytes()),
            }
        }
        Ok(texts.tell(out, whole.get(..used).unwrap_or(&whole)))
    }

    /// The attributes that have a place of their own in the objects of a type and of those that it is built on.
    fn find_members(
        &mut self,
        out: &mut Out<'_>,
        texts: &mut Texts,
        address: u64,
    ) -> Result<(), Failure> {
        /// Of the interpreter's structure.
        const KIND: u64 = 8;
        const OFFSET: u64 = 16;
        const BYTES: u64 = 40;
        /// An object, which may not be there.
        const OBJECTS: [u32; 2] = [6, 16];
        const MOST: u64 = 4096;
        let mut class = address;
        while class != 0 {
            // SAFETY: a type's list of members ends in one without a name.
            unsafe {
                let list = word(class + field::MEMBERS);
                for index in 0..MOST {
                    let member = list + index * BYTES;
                    if list == 0 || word(member) == 0 {
                        break;
                    }
                    let offset = word(member + OFFSET);
                    if OBJECTS.contains(&(word(member + KIND) as u32)) && offset > TYPE {
                        let name = texts.of_c(out, word(member) as *const c_char)?;
                        self.members.push(Member { offset, name })?;
                    }
                }
                class = word(class + field::BASE);
            }
        }
        Ok(())
    }
}

/// Whether an object is a text.
///
/// # Safety
/// It is an object.
pub unsafe fn is_text(object: Object) -> bool {
    // SAFETY: the caller vouches.
    unsafe { word(word(object as u64 + TYPE) + field::FLAGS) & flag::TEXT != 0 }
}

fn node_kind(api: &Api, address: u64) -> NodeKind {
    // SAFETY: a type.
    let flags = unsafe { word(address + field::FLAGS) };
    match address {
        _ if flags & flag::TEXT != 0 => NodeKind::Text,
        _ if flags & flag::CLASS != 0 => NodeKind::Class,
        it if it == api.function_type as u64 => NodeKind::Function,
        it if it == api.code_type as u64 => NodeKind::Code,
        it if it == api.module_type as u64 => NodeKind::Module,
        _ => NodeKind::Object,
    }
}

/// Of a class's qualified name, in the class.
fn qualified_name(layout: &Layout) -> u64 {
    match layout.minor {
        8 | 10 => 864,
        9 => 856,
        // Right before the names of its objects' attributes.
        _ => u64::from(layout.shared_keys) - 8,
    }
}

/// The name of a function, a code object or a module, if it says one.
pub fn own_name(api: &Api, object: Object, kind: &Kind) -> Option<Object> {
    let at = |offset: u64| {
        // SAFETY: an object of that type has a name there.
        let found = unsafe { word(object as u64 + offset) } as Object;
        // SAFETY: what stands there is an object.
        (!found.is_null() && unsafe { is_text(found) }).then_some(found)
    };
    let minor = api.layout.minor;
    if kind.address == api.function_type as u64 {
        return at(if minor < 10 { 104 } else { 40 });
    }
    if kind.address == api.code_type as u64 {
        return at(u64::from(api.layout.name));
    }
    if kind.address == api.module_type as u64 {
        return at(48);
    }
    None
}
