//! The purpose of a function of the interpreter's own code, by its name.
//!
//! Between a Python line that calls something and what it calls lie functions that only pass the
//! call on, and beside them others that serve any line: they make frames, allocate, collect
//! garbage. The line asked for neither. The rest is the work: `builtin_sorted`.

use crate::c_name;

/// The purpose of a native function of the interpreter for the Python line below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Evaluates, or passes a call on.
    Plumbing,
    /// Serves the evaluation itself: frames, memory, errors, the lock.
    Service,
    /// Does the work of the call.
    Work,
}

/// The part of a function of the interpreter's module.
pub(crate) fn part_of(function: &str) -> Part {
    let name = plain(function);
    let is_in = |names: &[&str], prefixes: &[&str]| {
        names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    if is_in(PLUMBING, PLUMBING_PREFIXES) || PYTHON_PLUMBING.contains(&function) {
        Part::Plumbing
    } else if is_in(SERVICES, SERVICE_PREFIXES)
        || name.ends_with("dealloc")
        || function.ends_with("@plt")
    {
        Part::Service
    } else {
        Part::Work
    }
}

/// Whether a function only starts a program or a thread, or serves any code alike.
pub(crate) fn is_start_up(function: &str) -> bool {
    let name = plain(function);
    // The dynamic linker's part in each access to thread-local data is no call of the program
    // either.
    START_UP.contains(&name) || name.starts_with("__libc_start_main") || name == "__tls_get_addr"
}

/// Whether a name looks like the interpreter's: for one that is linked into a program.
pub(crate) fn is_interpreters(function: &str) -> bool {
    let name = plain(function);
    ["Py", "_Py"].iter().any(|prefix| name.starts_with(prefix)) || part_of(name) != Part::Work
}

/// The name without a compiler's (`.cold`, `.constprop.0`) or a linker's (`@GLIBC_2.34`) suffix.
fn plain(function: &str) -> &str {
    let function = c_name(function);
    let end = function.find(['.', '@']).filter(|&end| end > 0);
    &function[..end.unwrap_or(function.len())]
}

const START_UP: &[&str] = &[
    "_start",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__clone_internal",
    "_dl_start",
    "_dl_start_user",
    "_dl_init",
    "call_init",
    "thread_start",
];

const PLUMBING: &[&str] = &[
    "function_code_fastcall",
    "call_function",
    "call_method",
    "callmethod",
    "do_call_core",
    "fast_function",
    "initialize_locals",
    "method_call",
    "methoddescr_call",
    "object_vacall",
    "pymain_run_python",
    "pymain_run_file",
    "pymain_main",
    "run_eval_code_obj",
    "run_mod",
    "py_trampoline_evaluator",
    "slot_tp_call",
    "slot_tp_init",
    "slot_tp_new",
    "slot_tp_iternext",
    "thread_run",
    "t_bootstrap",
    "pythread_wrapper",
    "type_call",
    "vectorcall_maybe",
    "vectorcall_method",
    "vectorcall_unbound",
    "lookup_maybe_method",
    "lookup_method",
];

/// Plumbing in a file without symbols, where only Python names are known.
const PYTHON_PLUMBING: &[&str] = &[
    "__build_class__",
    "builtin_function_or_method.__call__",
    "classmethod_descriptor.__call__",
    "coroutine.send",
    "function.__call__",
    "generator.__next__",
    "generator.send",
    "method.__call__",
    "method_descriptor.__call__",
    "type.__call__",
    "wrapper_descriptor.__call__",
];

const PLUMBING_PREFIXES: &[&str] = &[
    "_PyEval_",
    "PyEval_",
    "_PyEvalFrame",
    "_PyJIT_",
    "_TAIL_CALL_",
    "_PyFunction_",
    "_PyObject_Call",
    "PyObject_Call",
    "_PyObject_FastCall",
    "_PyObject_MakeTpCall",
    "_PyObject_Vectorcall",
    "PyObject_Vectorcall",
    "PyVectorcall_",
    "_PyVectorcall_",
    "_PyMethodDef_",
    "_PyMethodDescr_",
    "PyCFunction_",
    "_PyCFunction",
    "cfunction_",
    "method_vectorcall",
    "classmethod_vectorcall",
    "builtin___build_class__",
    "_PyFrame_",
    "_PyStack_",
    "_PyGen_",
    "PyGen_",
    "PyIter_Send",
    "gen_send",
    "gen_iternext",
    "_Py_MakeCoro",
    "_Py_BuiltinCall",
    "_Py_CallBuiltinClass",
    "_Py_VectorCall",
    "_PyCallMethodDescriptor",
    "_PyThreadState_PushFrame",
    "_PyThreadState_PopFrame",
];

const SERVICES: &[&str] = &[
    "_Py_Dealloc",
    "PyTuple_New",
    "tuple_alloc",
    "PyDict_New",
    "new_dict",
    "PyMethod_New",
    "PyCell_New",
    "PyCoro_New",
    "PyTraceBack_Here",
    "PyType_IsSubtype",
    "insert_to_emptydict",
    "insertdict",
    "clear_thread_frame",
    "clear_gen_frame",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "PyObject_Free",
    "PyObject_GetAttr",
    "PyType_GenericAlloc",
    "PyType_GenericNew",
    "object_new",
    "object_init",
    "take_gil",
    "drop_gil",
    "eval_frame_handle_pending",
    "collect",
    "gc_alloc",
    "frame_alloc",
    "frame_clear",
    "frame_tp_clear",
    "deduce_unreachable",
    "make_pending_calls",
];

const SERVICE_PREFIXES: &[&str] = &[
    "_PyObject_GC_",
    "PyObject_GC_",
    "_PyObject_Malloc",
    "_PyObject_Free",
    "_PyObject_Realloc",
    "_PyObject_Calloc",
    "_PyObject_GenericGetAttr",
    "_PyObject_GetMethod",
    "_PyObject_Init",
    "_PyType_Lookup",
    "_PyType_AllocNoTrack",
    "_PyMem_",
    "PyMem_",
    "pymalloc_",
    "gc_collect",
    "_PyGC_",
    "PyGC_",
    "_Py_RunGC",
    "PyFrame_",
    "PyFunction_",
    "_PyTuple_From",
    "_PyDict_",
    "PyDict_GetItem",
    "PyDict_Next",
    "PyDict_SetItem",
    "_Py_dict_lookup",
    "lookdict",
    "_PyTrash_",
    "PyException_",
    "_PyException_",
    "_PyObjectDict_",
    "_dl_runtime_resolve",
    "PyThreadState_",
    "_PyThreadState_",
    "PyErr_",
    "_PyErr_",
    "_Py_Specialize_",
    "_PyCode_",
    "_Py_Handle",
    "_Py_EnterRecursiveCall",
    "_Py_CheckRecursiveCall",
    "_Py_CheckFunctionResult",
    // Counting references, inlined into the evaluation itself.
    "_Py_NewRef",
    "_Py_XNewRef",
    "_Py_INCREF",
    "_Py_DECREF",
    "Py_INCREF",
    "Py_DECREF",
    "Py_XINCREF",
    "Py_XDECREF",
    "_Py_IsImmortal",
];

/// Whether a name says only where in its file a function begins (`libpython3.11.so.1.0+0x1a40`),
/// because the file has no symbols.
pub fn is_start(name: &str) -> bool {
    name.rsplit_once("+0x")
        .is_some_and(|(file, address)| !file.is_empty() && u64::from_str_radix(address, 16).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_function_is_for() {
        assert_eq!(part_of("_PyEval_EvalFrameDefault.cold"), Part::Plumbing);
        assert_eq!(part_of("cfunction_vectorcall_FASTCALL"), Part::Plumbing);
        assert_eq!(part_of("_Py_BuiltinCallFast_StackRef"), Part::Plumbing);
        assert_eq!(part_of("frame_dealloc"), Part::Service);
        assert_eq!(part_of("memcpy@plt"), Part::Service);
        assert_eq!(part_of("gc_collect_main.constprop.0"), Part::Service);
        assert_eq!(part_of("_Py_NewRef"), Part::Service);
        assert_eq!(part_of("builtin_sorted"), Part::Work);
        assert_eq!(part_of("sorted (builtin_sorted)"), Part::Work);
        assert_eq!(part_of("type.__call__ (type_call)"), Part::Plumbing);
        assert_eq!(part_of("type.__call__"), Part::Plumbing);
        assert_eq!(part_of("object (object_new.part.0)"), Part::Service);
        assert_eq!(part_of("PyNumber_Add"), Part::Work);
    }

    #[test]
    fn a_program_starts_somewhere() {
        assert!(is_start_up("_start") && is_start_up("__libc_start_main@@GLIBC_2.34"));
        assert!(is_start_up("__libc_start_main_impl") && is_start_up("clone3"));
        assert!(!is_start_up("main") && !is_start_up(""));
    }

    #[test]
    fn a_place_in_a_file_is_no_name() {
        assert!(is_start("libpython3.11.so.1.0+0x1a40"));
        assert!(!is_start("main") && !is_start("+0x1a") && !is_start("a+0x") && !is_start(""));
        assert!(!is_start("operator+0xz"));
    }
}
