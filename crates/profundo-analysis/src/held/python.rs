//! The purpose of CPython's allocations, by its own functions: `list_resize` is only called for
//! lists. No object is read: while it is being made, it is empty. The class of an instance is not
//! visible in functions: that is an `object`.

use profundo_model::c_name;

use super::Held;
use super::frame::FrameText;

/// Functions that allocate for any type: their callers decide which.
const ENTRIES: [&str; 26] = [
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Realloc",
    "PyMem_Malloc",
    "PyMem_Calloc",
    "PyMem_Realloc",
    "PyMem_RawMalloc",
    "PyMem_RawCalloc",
    "PyMem_RawRealloc",
    "_PyMem_RawMalloc",
    "_PyMem_RawRealloc",
    "malloc",
    "calloc",
    "realloc",
    "_PyObject_GC_Alloc",
    "_PyObject_GC_Malloc",
    "gc_alloc",
    "_PyObject_GC_New",
    "_PyObject_GC_NewVar",
    "_PyObject_GC_Resize",
    "_PyObject_New",
    "_PyObject_NewVar",
    "PyType_GenericAlloc",
    "_PyType_AllocNoTrack",
];

/// Functions that allocate for one type only, or make it larger.
const MAKERS: [(&str, &[&str]); 24] = [
    (
        "list",
        &[
            "PyList_New",
            "PyList_Append",
            "app1",
            "ins1",
            "list_append",
            "list_ass_slice",
            "list_concat",
            "list_extend",
            "list_insert",
            "list_new_prealloc",
            "list_repeat",
            "list_slice",
            "_PyList_FromArraySteal",
        ],
    ),
    (
        "dict",
        &[
            "PyDict_New",
            "PyDict_Copy",
            "PyDict_SetDefault",
            "PyDict_SetItem",
            "_PyDict_NewPresized",
            "_PyObject_InitializeDict",
            "clone_combined_dict",
            "clone_combined_dict_keys",
            "dict_new",
            "dict_new_presized",
            "init_inline_values",
            "insert_to_emptydict",
            "new_dict",
            "new_dict_with_shared_keys",
            "new_values",
        ],
    ),
    (
        "set",
        &[
            "PyFrozenSet_New",
            "PySet_New",
            "frozenset_new",
            "make_new_frozenset",
            "make_new_set",
            "set_new",
        ],
    ),
    (
        "str",
        &[
            "PyUnicode_New",
            "PyUnicode_FromWideChar",
            "PyUnicode_AsUTF8AndSize",
            "PyUnicode_Resize",
            "_PyUnicode_New",
            "_PyUnicode_JoinArray",
            "_PyUnicodeWriter_PrepareInternal",
            "unicode_decode_utf8",
            "unicode_fill_utf8",
        ],
    ),
    (
        "bytes",
        &[
            "PyBytes_FromString",
            "PyBytes_FromStringAndSize",
            "PyBytes_Concat",
            "_PyBytes_FromSize",
            "_PyBytes_Resize",
            "bytes_concat",
            "bytes_new",
            "bytes_new_impl",
            "bytes_repeat",
        ],
    ),
    (
        "bytearray",
        &["PyByteArray_FromStringAndSize", "bytearray_repeat"],
    ),
    (
        "tuple",
        &[
            "PyList_AsTuple",
            "PyTuple_New",
            "PyTuple_Pack",
            "_PyTuple_FromArray",
            "_PyTuple_FromArraySteal",
            "_PyTuple_Resize",
            "tuple_alloc",
            "tupleconcat",
            "tuplerepeat",
            "tupleslice",
        ],
    ),
    (
        "int",
        &[
            "PyLong_FromDouble",
            "PyLong_FromLong",
            "PyLong_FromLongLong",
            "PyLong_FromSize_t",
            "PyLong_FromSsize_t",
            "PyLong_FromUnsignedLong",
            "PyLong_FromUnsignedLongLong",
            "_PyLong_Add",
            "_PyLong_FromLarge",
            "_PyLong_FromMedium",
            "_PyLong_FromSTwoDigits",
            "_PyLong_Multiply",
            "_PyLong_New",
            "_PyLong_Subtract",
            "long_add",
            "long_mul",
            "long_sub",
            "x_add",
            "x_sub",
        ],
    ),
    (
        "float",
        &[
            "PyFloat_FromDouble",
            "float_add",
            "float_div",
            "float_mul",
            "float_sub",
        ],
    ),
    ("complex", &["PyComplex_FromCComplex"]),
    (
        "function",
        &[
            "PyFunction_New",
            "PyFunction_NewWithQualName",
            "_PyFunction_FromConstructor",
        ],
    ),
    (
        "builtin_function_or_method",
        &["PyCFunction_NewEx", "PyCMethod_New"],
    ),
    ("method", &["PyMethod_New"]),
    ("cell", &["PyCell_New"]),
    (
        "code",
        &[
            "PyCode_New",
            "PyCode_NewWithPosOnlyArgs",
            "_PyCode_New",
            "_PyCode_Validate",
        ],
    ),
    (
        "frame",
        &[
            "PyFrame_New",
            "_PyFrame_New_NoTrack",
            "_PyThreadState_PushFrame",
            "frame_alloc",
            "push_chunk",
        ],
    ),
    (
        "generator",
        &[
            "PyGen_New",
            "PyGen_NewWithQualName",
            "_Py_MakeCoro",
            "gen_new_with_qualname",
            "make_gen",
        ],
    ),
    (
        "type",
        &["type_new", "type_new_alloc", "PyType_FromMetaclass"],
    ),
    (
        "module",
        &["PyModule_New", "PyModule_NewObject", "new_module_notrack"],
    ),
    ("slice", &["PySlice_New", "_PyBuildSlice_ConsumeRefs"]),
    ("range", &["compute_range_length", "make_range_object"]),
    ("collections.deque", &["deque_new", "newblock"]),
    ("array.array", &["newarrayobject"]),
    (
        "numpy.ndarray",
        &[
            "PyArray_NewFromDescr_int",
            "PyDataMem_NEW",
            "PyDataMem_UserNEW",
            "PyDataMem_UserNEW_ZEROED",
            "_npy_alloc_cache",
            "npy_alloc_cache",
            "npy_alloc_cache_zero",
        ],
    ),
];

/// Functions that make room for more elements.
const GROWERS: [(&str, &[&str]); 5] = [
    (
        "list",
        &[
            "list_resize",
            "list_preallocate_exact",
            "_PyList_AppendTakeRefListResize",
        ],
    ),
    (
        "dict",
        &[
            "dictresize",
            "insertdict",
            "insertion_resize",
            "new_keys_object",
        ],
    ),
    (
        "set",
        &[
            "set_table_resize",
            "set_add_entry",
            "set_add_entry_takeref",
            "set_add_key",
        ],
    ),
    (
        "bytearray",
        &[
            "PyByteArray_Resize",
            "bytearray_iconcat",
            // From 3.14 on, where threads run at the same time.
            "bytearray_resize_lock_held",
            "bytearray_iconcat_lock_held",
        ],
    ),
    ("array.array", &["array_resize"]),
];

/// The contents of a block, by the frames from the inside out.
pub(super) fn of_frames<'a>(frames: impl Iterator<Item = FrameText<'a>>) -> Option<Held> {
    let mut is_object = false;
    for frame in frames {
        // `list_resize.part.0`: a compiler's part of a function belongs to it.
        let name = c_name(frame.function).split('.').next().unwrap_or_default();
        if ENTRIES.contains(&name) {
            is_object |= makes_objects(name);
            continue;
        }
        let of = |table: &[(&'static str, &[&str])]| {
            let row = table.iter().find(|(_, names)| names.contains(&name));
            row.map(|(type_name, _)| *type_name)
        };
        let (found, is_buffer) = match of(&GROWERS) {
            Some(found) => (Some(found), true),
            None => (of(&MAKERS), false),
        };
        let type_name = found.or(is_object.then_some("object"))?;
        return Some(Held {
            type_name: type_name.to_owned(),
            is_buffer,
        });
    }
    None
}

fn makes_objects(entry: &str) -> bool {
    entry.contains("_GC_New")
        || entry.starts_with("_PyObject_New")
        || entry.starts_with("PyType_")
        || entry.starts_with("_PyType_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(functions: &[&str]) -> Option<(String, bool)> {
        let held = of_frames(functions.iter().map(|function| FrameText {
            function,
            ..FrameText::default()
        }));
        held.map(|held| (held.type_name, held.is_buffer))
    }

    fn is(type_name: &str, is_buffer: bool) -> Option<(String, bool)> {
        Some((type_name.to_owned(), is_buffer))
    }

    #[test]
    fn the_interpreters_functions_say_what_they_make() {
        assert_eq!(of(&["list_resize.part.0", "<module>"]), is("list", true));
        assert_eq!(
            of(&["new_keys_object.isra.0", "dictresize"]),
            is("dict", true)
        );
        assert_eq!(
            of(&["_PyObject_GC_NewVar", "_PyTuple_FromArraySteal"]),
            is("tuple", false)
        );
        assert_eq!(of(&["PyUnicode_New", "unicode_repeat"]), is("str", false));
        assert_eq!(
            of(&["PyMem_Malloc", "list.extend (list_extend)"]),
            is("list", false)
        );
        assert_eq!(
            of(&["malloc", "_PyObject_Malloc", "PyFloat_FromDouble"]),
            is("float", false)
        );
    }

    #[test]
    fn no_function_names_the_class_of_an_instance() {
        assert_eq!(
            of(&["PyType_GenericAlloc", "type_call"]),
            is("object", false)
        );
    }

    #[test]
    fn what_is_not_the_interpreters_is_not_known() {
        assert_eq!(of(&["malloc", "main", "PyList_New"]), None);
        assert_eq!(of(&["PyMem_Malloc", "parse"]), None);
        assert_eq!(of(&["[unknown function]", "PyDict_New"]), None);
        assert_eq!(of(&["malloc"]), None);
    }
}
