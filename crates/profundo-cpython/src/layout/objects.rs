//! The fields at the same place in the objects of every version: those of types, containers, texts
//! and C functions, by their names in CPython's headers. In a build that can run without the lock
//! they lie behind a longer head: [`Layout::field`](super::Layout::field).

/// Bits that 3.14 keeps in a pointer to an object.
pub(crate) const TAGS: u64 = 7;

/// The object that a word of a frame refers to; 0 if it is none. From 3.14 on the word may be a
/// small integer by itself.
pub const fn of_frame_word(word: u64) -> u64 {
    const INTEGER: u64 = 3;
    match word & INTEGER {
        INTEGER => 0,
        _ => word & !TAGS,
    }
}

/// `PyObject` and `PyVarObject`.
pub mod object {
    /// `ob_refcnt`.
    pub const REFERENCES: u64 = 0;
    /// `ob_gc_bits`, a byte, in a build that can run without the lock.
    pub const COLLECTOR_BITS: u64 = 11;
    /// There: references from frames are not counted (`_PyGC_BITS_DEFERRED`).
    pub const DEFERRED: u8 = 1 << 6;
    /// `ob_ref_local`, in a build that can run without the lock.
    pub const OWN_REFERENCES: u64 = 12;
    /// `ob_ref_shared`, there.
    pub const OTHERS_REFERENCES: u64 = 16;
    /// `ob_type`.
    pub const TYPE: u64 = 8;
    /// `ob_size`: the number of items.
    pub const SIZE: u64 = 16;
    /// The size of `PyGC_Head`, which lies right before an object.
    pub const GC_HEAD: u64 = 16;
    /// The distance from an object back to the pointer to its values, in 3.11.
    pub const VALUES_BEFORE: u64 = 32;
    /// The size of these pointers.
    pub const MANAGED_BYTES: u64 = 16;
}

/// `PyTypeObject`.
pub mod type_object {
    /// `tp_name`.
    pub const NAME: u64 = 24;
    /// `tp_basicsize`.
    pub const BASIC_SIZE: u64 = 32;
    /// `tp_itemsize`.
    pub const ITEM_SIZE: u64 = 40;
    /// `tp_flags`.
    pub const FLAGS: u64 = 168;
    /// `tp_traverse`.
    pub const TRAVERSE: u64 = 184;
    /// `tp_members`.
    pub const MEMBERS: u64 = 240;
    /// `tp_base`: the class that it inherits its layout from.
    pub const BASE: u64 = 256;
    /// `tp_dict`.
    pub const DICT: u64 = 264;
    /// `tp_dictoffset`.
    pub const DICT_OFFSET: u64 = 288;
    /// `tp_is_gc`.
    pub const IS_GC: u64 = 328;
    /// `tp_bases`.
    pub const BASES: u64 = 336;
    /// `tp_mro`.
    pub const MRO: u64 = 344;
}

/// Bits of `tp_flags`.
pub mod type_flag {
    /// The type's objects have their attributes as values at their end.
    pub const INLINE_VALUES: u64 = 1 << 2;
    /// The type's objects have a pointer to their attributes before them.
    pub const MANAGED_DICT: u64 = 1 << 4;
    /// `Py_TPFLAGS_HEAPTYPE`.
    pub const HEAP: u64 = 1 << 9;
    /// `Py_TPFLAGS_READY`.
    pub const READY: u64 = 1 << 12;
    /// `Py_TPFLAGS_HAVE_GC`.
    pub const GC: u64 = 1 << 14;
    /// `int` and its subclasses.
    pub const INT: u64 = 1 << 24;
    /// `list` and its subclasses.
    pub const LIST: u64 = 1 << 25;
    /// `tuple` and its subclasses.
    pub const TUPLE: u64 = 1 << 26;
    /// `bytes` and its subclasses.
    pub const BYTES: u64 = 1 << 27;
    /// `str` and its subclasses.
    pub const TEXT: u64 = 1 << 28;
    /// `dict` and its subclasses.
    pub const DICT: u64 = 1 << 29;
    /// `BaseException` and its subclasses.
    pub const EXCEPTION: u64 = 1 << 30;
    /// `type` and its subclasses.
    pub const CLASS: u64 = 1 << 31;
}

/// `PyMemberDef`: an attribute that has a fixed place in each object of a type.
pub mod member {
    /// `name`; null ends a list of members.
    pub const NAME: u64 = 0;
    /// `type`.
    pub const KIND: u64 = 8;
    /// `offset`.
    pub const OFFSET: u64 = 16;
    /// The size of a member.
    pub const BYTES: u64 = 40;
    /// The kinds of members that are objects, and may be missing: `T_OBJECT` and `T_OBJECT_EX`.
    pub const OBJECTS: [u32; 2] = [6, 16];
}

/// `PyListObject`, whose length is `object::SIZE`.
pub mod list {
    /// `ob_item`: the pointer to the first item.
    pub const ITEMS: u64 = 24;
}

/// `PyDictObject`.
pub mod dict {
    /// `ma_used`: the number of items.
    pub const USED: u64 = 16;
    /// `ma_keys`.
    pub const KEYS: u64 = 32;
    /// `ma_values`.
    pub const VALUES: u64 = 40;
}

/// `PyUnicodeObject`.
pub mod text {
    /// `length`.
    pub const LENGTH: u64 = 16;
    /// `state`.
    pub const STATE: u64 = 32;
    /// In the state: whether the text is interned, as texts from source are.
    pub const INTERNED: u64 = 3;
}

/// `PyFloatObject`, and both parts of a `PyComplexObject`.
pub(crate) mod float {
    /// `ob_fval`, `cval.real`.
    pub const VALUE: u64 = 16;
    /// `cval.imag`.
    pub const IMAGINARY: u64 = 24;
}

/// `PySetObject`.
pub(crate) mod set {
    /// `used`: the number of items.
    pub const USED: u64 = 24;
    /// `mask`: the number of slots, less one.
    pub const MASK: u64 = 32;
    /// `table`.
    pub const TABLE: u64 = 40;
    /// The size of a slot: a key, and its hash.
    pub const SLOT: u64 = 16;
    /// The hash of a slot whose key was removed. No key has it.
    pub const REMOVED: u64 = u64::MAX;
}

/// `dequeobject`: its length is `object::SIZE`.
pub(crate) mod deque {
    /// `leftblock`.
    pub const BLOCK: u64 = 24;
    /// `leftindex`.
    pub const INDEX: u64 = 40;
    /// In a block, `data`.
    pub const ITEMS: u64 = 8;
    /// The number of items in a block. Behind them is the pointer to the next one.
    pub const LENGTH: u64 = 64;
}

/// `rangeobject`: three integers.
pub(crate) mod range {
    /// `start`, `stop`, `step`.
    pub const PARTS: [u64; 3] = [16, 24, 32];
}

/// `PyByteArrayObject`, whose length is `object::SIZE`.
pub(crate) mod byte_array {
    /// `ob_start`.
    pub const FIRST: u64 = 40;
}

/// `PyMethodObject`: a Python function, bound to an object.
pub(crate) mod method {
    /// `im_func`.
    pub const FUNCTION: u64 = 16;
}

/// `PyBytesObject`, whose length is `object::SIZE`.
pub mod bytes {
    /// `ob_sval`.
    pub const FIRST: u64 = 32;
}

/// `PyLongObject`.
pub mod int {
    /// `lv_tag`, from 3.12 on: the number of digits, above the sign and more.
    pub const TAG: u64 = 16;
    /// `ob_digit`.
    pub const DIGITS: u64 = 24;
    /// The bits of a digit, which takes four bytes.
    pub const DIGIT_BITS: u32 = 30;
}

/// `PyModuleObject`.
pub mod module {
    /// `md_dict`.
    pub const DICT: u64 = 16;
}

/// `PyCFunctionObject`: a C function, or a method of one object.
pub mod c_function {
    /// `m_ml`, a `PyMethodDef`, which begins with its name.
    pub const METHOD: u64 = 16;
    /// `m_self`.
    pub const SELF: u64 = 24;
    /// `m_module`.
    pub const MODULE: u64 = 32;
}

/// `PyMethodDescrObject`: a C method in its type.
pub mod method_descriptor {
    /// `d_type`.
    pub const TYPE: u64 = 16;
    /// `d_method`, a `PyMethodDef`, which begins with its name.
    pub const METHOD: u64 = 40;
}

/// `PyCellObject`.
pub mod cell {
    /// `ob_ref`.
    pub const CONTENTS: u64 = 16;
}

/// `PyBaseExceptionObject`.
pub mod exception {
    /// `args`.
    pub const ARGUMENTS: u64 = 24;
    /// `traceback`, from 3.11 on.
    pub const TRACEBACK: u64 = 40;
}

/// `PyTracebackObject`.
pub mod traceback {
    /// `tb_next`: the frame that was called.
    pub const NEXT: u64 = 16;
    /// `tb_frame`.
    pub const FRAME: u64 = 24;
}

/// `PyWeakReference`.
pub mod weak_reference {
    /// `wr_object`.
    pub const REFERENT: u64 = 16;
}

/// The objects of a Python function that its traverse function visits without names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionObject {
    /// `func_code`.
    pub code: u16,
    /// `func_name`.
    pub name: u16,
    /// `func_qualname`.
    pub qualified_name: u16,
}
