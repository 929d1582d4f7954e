//! The slots of CPython's types that have a name in Python: `nb_add` is `__add__`.
//!
//! A static type has its slots at fixed places after `tp_name`, the same ones from 3.8 to 3.15. A
//! type that is made from a `PyType_Spec` lists them by numbers, which are CPython's stable ABI
//! (`typeslots.h`).

/// The place of a slot in a static type, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After `tp_name`.
    Type(u64),
    /// In the table that `tp_as_number` points to.
    Number(u64),
    /// In the table that `tp_as_sequence` points to.
    Sequence(u64),
    /// In the table that `tp_as_mapping` points to.
    Mapping(u64),
    /// In the table that `tp_as_async` points to.
    Async(u64),
}

/// A slot.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Its number in `typeslots.h`; 0 where it has none.
    pub number: u64,
    /// Its place in a static type.
    pub place: Place,
    /// The method that calls it. Empty: calling the type calls it.
    pub method: &'static str,
}

const fn slot(number: u64, place: Place, method: &'static str) -> Slot {
    Slot {
        number,
        place,
        method,
    }
}

/// From `tp_name` to `tp_basicsize`.
pub const BASIC_SIZE: u64 = 8;
/// From `tp_name` to `tp_itemsize`.
pub const ITEM_SIZE: u64 = 16;
/// From `tp_name` to `tp_dealloc`.
pub const DEALLOC: u64 = 24;
/// From `tp_name` to `tp_vectorcall_offset`.
pub const VECTORCALL_OFFSET: u64 = 32;
/// From `tp_name` to `tp_getattr`.
pub const GETATTR: u64 = 40;
/// From `tp_name` to `tp_setattr`.
pub const SETATTR: u64 = 48;
/// From `tp_name` to `tp_as_async`.
pub const AS_ASYNC: u64 = 56;
/// From `tp_name` to `tp_repr`.
pub const REPR: u64 = 64;
/// From `tp_name` to `tp_as_number`.
pub const AS_NUMBER: u64 = 72;
/// From `tp_name` to `tp_as_sequence`.
pub const AS_SEQUENCE: u64 = 80;
/// From `tp_name` to `tp_as_mapping`.
pub const AS_MAPPING: u64 = 88;
/// From `tp_name` to `tp_hash`.
pub const HASH: u64 = 96;
/// From `tp_name` to `tp_call`.
pub const CALL: u64 = 104;
/// From `tp_name` to `tp_str`.
pub const STR: u64 = 112;
/// From `tp_name` to `tp_getattro`.
pub const GETATTRO: u64 = 120;
/// From `tp_name` to `tp_setattro`.
pub const SETATTRO: u64 = 128;
/// From `tp_name` to `tp_traverse`.
pub const TRAVERSE: u64 = 160;
/// From `tp_name` to `tp_clear`.
pub const CLEAR: u64 = 168;
/// From `tp_name` to `tp_richcompare`.
pub const RICH_COMPARE: u64 = 176;
/// From `tp_name` to `tp_iter`.
pub const ITER: u64 = 192;
/// From `tp_name` to `tp_iternext`.
pub const ITER_NEXT: u64 = 200;
/// From `tp_name` to `tp_methods`.
pub const METHODS: u64 = 208;
/// From `tp_name` to `tp_descr_get`.
pub const DESCR_GET: u64 = 248;
/// From `tp_name` to `tp_descr_set`.
pub const DESCR_SET: u64 = 256;
/// From `tp_name` to `tp_init`.
pub const INIT: u64 = 272;
/// From `tp_name` to `tp_new`.
pub const NEW: u64 = 288;
/// From `tp_name` to `tp_free`.
pub const FREE: u64 = 296;
/// From `tp_name` to `tp_vectorcall`.
pub const VECTORCALL: u64 = 376;

/// The size of a `PyMethodDef`.
pub const METHOD_BYTES: u64 = 32;
/// From the pointer to its methods in a `PyModuleDef` back to its name.
pub const MODULE_NAME: u64 = 24;
/// From there back to its documentation.
pub const MODULE_DOC: u64 = 16;
/// From there back to its size.
pub const MODULE_SIZE: u64 = 8;

/// The number of `Py_tp_methods` in `typeslots.h`.
pub const METHODS_NUMBER: u64 = 64;
/// No slot has a larger number up to 3.15.
pub const LARGEST_NUMBER: u64 = 110;
/// The slots that 3.15 gives other numbers, and the numbers before.
const RENUMBERED: [(u64, u64); 4] = [(88, 1), (89, 2), (90, 3), (91, 4)];

/// The slot that a `PyType_Spec` means by a number.
pub fn of_number(number: u64) -> Option<&'static Slot> {
    let renumbered = RENUMBERED.iter().find(|(new, _)| *new == number);
    let number = renumbered.map_or(number, |&(_, old)| old);
    SLOTS.iter().find(|slot| slot.number == number)
}

use Place::{Async, Mapping, Number, Sequence, Type};

/// All slots. `tp_richcompare` is not among them, because it is six methods.
pub const SLOTS: &[Slot] = &[
    slot(65, Type(NEW), ""),
    slot(82, Type(VECTORCALL), ""),
    slot(60, Type(INIT), "__init__"),
    slot(50, Type(CALL), "__call__"),
    slot(66, Type(REPR), "__repr__"),
    slot(70, Type(STR), "__str__"),
    slot(59, Type(HASH), "__hash__"),
    slot(58, Type(GETATTRO), "__getattribute__"),
    slot(69, Type(SETATTRO), "__setattr__"),
    slot(62, Type(ITER), "__iter__"),
    slot(63, Type(ITER_NEXT), "__next__"),
    slot(54, Type(DESCR_GET), "__get__"),
    slot(55, Type(DESCR_SET), "__set__"),
    slot(5, Mapping(8), "__getitem__"),
    slot(3, Mapping(16), "__setitem__"),
    slot(4, Mapping(0), "__len__"),
    slot(45, Sequence(0), "__len__"),
    slot(40, Sequence(8), "__add__"),
    slot(46, Sequence(16), "__mul__"),
    slot(44, Sequence(24), "__getitem__"),
    slot(39, Sequence(40), "__setitem__"),
    slot(41, Sequence(56), "__contains__"),
    slot(42, Sequence(64), "__iadd__"),
    slot(43, Sequence(72), "__imul__"),
    slot(7, Number(0), "__add__"),
    slot(36, Number(8), "__sub__"),
    slot(29, Number(16), "__mul__"),
    slot(34, Number(24), "__mod__"),
    slot(10, Number(32), "__divmod__"),
    slot(33, Number(40), "__pow__"),
    slot(30, Number(48), "__neg__"),
    slot(32, Number(56), "__pos__"),
    slot(6, Number(64), "__abs__"),
    slot(9, Number(72), "__bool__"),
    slot(27, Number(80), "__invert__"),
    slot(28, Number(88), "__lshift__"),
    slot(35, Number(96), "__rshift__"),
    slot(8, Number(104), "__and__"),
    slot(38, Number(112), "__xor__"),
    slot(31, Number(120), "__or__"),
    slot(26, Number(128), "__int__"),
    slot(11, Number(144), "__float__"),
    slot(14, Number(152), "__iadd__"),
    slot(23, Number(160), "__isub__"),
    slot(18, Number(168), "__imul__"),
    slot(21, Number(176), "__imod__"),
    slot(20, Number(184), "__ipow__"),
    slot(17, Number(192), "__ilshift__"),
    slot(22, Number(200), "__irshift__"),
    slot(15, Number(208), "__iand__"),
    slot(25, Number(216), "__ixor__"),
    slot(19, Number(224), "__ior__"),
    slot(12, Number(232), "__floordiv__"),
    slot(37, Number(240), "__truediv__"),
    slot(16, Number(248), "__ifloordiv__"),
    slot(24, Number(256), "__itruediv__"),
    slot(13, Number(264), "__index__"),
    slot(75, Number(272), "__matmul__"),
    slot(76, Number(280), "__imatmul__"),
    slot(77, Async(0), "__await__"),
    slot(78, Async(8), "__aiter__"),
    slot(79, Async(16), "__anext__"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_its_number_of_before_and_that_of_3_15() {
        let method = |number| of_number(number).map(|slot| slot.method);
        assert_eq!(method(3), Some("__setitem__"));
        assert_eq!(method(90), Some("__setitem__"));
        assert_eq!(method(91), Some("__len__"));
        assert_eq!(method(88), None, "no Python code calls it");
    }
}
