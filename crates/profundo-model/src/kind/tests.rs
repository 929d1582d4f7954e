//! Stacks made by hand, and their kinds.

use crate::{
    Avma, CodeAddress, FrameId, FrameKey, Kind, Kinds, Language, LocationId, LocationKind, Module,
    Profile, Reason, Role, Sample, StackId, State, ThreadId,
};

const LIBPYTHON: &str = "/usr/lib/libpython3.12.so.1.0";

/// Adds a level to a stack: `py:name` a Python line, `call:name` one that calls, `reported:name` a
/// C function reported by the interpreter, `unreadable:` Python frames that could not be read, and
/// otherwise `module:name` a native function.
fn level(profile: &mut Profile, level: &str) -> LocationId {
    let (place, name) = level.split_once(':').unwrap();
    if place == "unreadable" {
        let kind = LocationKind::Reason(Reason::PythonUnreadable);
        return profile.locations.intern(kind, None);
    }
    let language = match place {
        "py" | "call" => Language::Python,
        _ => Language::Native,
    };
    let frame = profile.frame(FrameKey {
        function: name,
        language,
        ..FrameKey::default()
    });
    let (kind, module) = if language == Language::Python || place == "reported" {
        let is_call = place == "call";
        let kind = LocationKind::Python {
            frame,
            column: 0,
            is_call,
        };
        (kind, None)
    } else {
        let path = match place {
            "interp" => LIBPYTHON,
            "libc" => "/lib/libc.so.6",
            place => place,
        };
        let path = profile.strings.intern(path);
        let known = profile.modules.iter().find(|(_, row)| row.path == path);
        let id = known.map(|(id, _)| id).unwrap_or_else(|| {
            profile.modules.push(Module {
                path,
                role: Role::of_path(profile.strings.get(path)),
                ..Module::default()
            })
        });
        let address = Avma(profile.locations.len() as u64);
        let kind = LocationKind::Code(CodeAddress::Return(address));
        (kind, Some(id))
    };
    let location = profile.locations.intern(kind, module);
    profile.locations.set_frames(location, &[frame]);
    location
}

fn stack(profile: &mut Profile, levels: &str) -> StackId {
    let mut stack = None;
    for name in levels.split(' ') {
        let location = level(profile, name);
        stack = Some(profile.stacks.intern(stack, location));
    }
    stack.unwrap()
}

fn sample(stack: StackId, state: State) -> Sample {
    Sample {
        stack,
        state,
        thread: ThreadId(0),
        ..Sample::default()
    }
}

#[track_caller]
fn check(levels: &str, kind: Kind, library: Option<&str>) {
    let mut profile = Profile::default();
    let stack = stack(&mut profile, levels);
    let kinds = Kinds::of(&profile);
    let sample = sample(stack, State::Running);
    assert_eq!(kinds.kind(&sample), kind, "{levels}");
    let module = kinds.library(&sample).map(|id| profile.modules.get(id));
    let path = module.map(|module| profile.strings.get(module.path));
    assert_eq!(path, library, "{levels}");
    let system = Sample {
        state: State::System,
        ..sample
    };
    assert_eq!(kinds.kind(&system), Kind::System);
    assert_eq!(kinds.library(&system), None);
}

#[test]
fn a_line_of_its_own_is_python() {
    check("interp:main py:<module> call:f py:g", Kind::Python, None);
}

#[test]
fn what_the_interpreter_does_for_a_line_is_python() {
    check(
        "py:f interp:PyNumber_Add interp:long_add",
        Kind::Python,
        None,
    );
    check(
        "py:f interp:PyObject_Malloc libc:malloc",
        Kind::Python,
        None,
    );
    check("call:f interp:_PyFunction_Vectorcall", Kind::Python, None);
    check("call:f interp:frame_dealloc libc:free", Kind::Python, None);
    check("call:f libc:__memcpy_avx", Kind::Python, None);
    check(
        "call:f interp:type_call interp:object_new interp:_PyObject_GC_New",
        Kind::Python,
        None,
    );
}

#[test]
fn what_a_line_calls_is_native() {
    check(
        "call:f interp:builtin_sorted interp:list_sort_impl",
        Kind::Native,
        Some(LIBPYTHON),
    );
    check(
        "call:f interp:cfunction_vectorcall_O interp:math_sqrt libc:memcpy",
        Kind::Native,
        Some(LIBPYTHON),
    );
}

#[test]
fn a_library_is_native_wherever_it_is_called_from() {
    check(
        "py:f interp:PyNumber_Add numpy.so:add",
        Kind::Native,
        Some("numpy.so"),
    );
    check(
        "call:f interp:cfunction_call zlib.so:compress libz.so.1:deflate libc:memcpy",
        Kind::Native,
        Some("libz.so.1"),
    );
}

#[test]
fn python_that_a_library_calls_is_python_again() {
    check(
        "call:f numpy.so:apply interp:PyObject_Call py:g",
        Kind::Python,
        None,
    );
}

#[test]
fn without_python_all_is_native() {
    check("app:main app:work", Kind::Native, Some("app"));
    check(
        "libc:start_thread libc:malloc",
        Kind::Native,
        Some("/lib/libc.so.6"),
    );
}

#[test]
fn nobody_knows_whose_time_it_is_where_python_could_not_be_read() {
    let sorted = "interp:main interp:builtin_sorted unreadable:";
    check(sorted, Kind::Unreadable, None);
    check("unreadable:", Kind::Unreadable, None);
}

#[test]
fn one_function_without_a_name_may_be_plumbing_and_two_are_not() {
    check("call:f interp:", Kind::Python, None);
    check("call:f interp: interp:", Kind::Native, Some(LIBPYTHON));
    check("py:f interp: interp:", Kind::Python, None);
}

fn languages(profile: &mut Profile, stack: StackId) -> String {
    profile.mark_runtime();
    let mut shown: Vec<String> = profile
        .stacks
        .locations(stack)
        .map(|location| profile.locations.get(location).frames[0])
        .filter(|&frame| profile.frames.get(frame).language != Language::Runtime)
        .map(|frame| profile.function_name(frame).to_owned())
        .collect();
    shown.reverse();
    shown.join(" ")
}

#[test]
fn plumbing_is_marked_and_what_was_called_is_not() {
    let mut profile = Profile::default();
    let whole = "interp:_start libc:__libc_start_main_impl interp:main interp:Py_RunMain \
                 py:<module> call:f interp:cfunction_vectorcall_FASTCALL interp:builtin_sorted \
                 interp:list_sort_impl py:key";
    let whole = stack(&mut profile, &whole.replace("  ", " "));
    let other = stack(
        &mut profile,
        "py:h interp:PyNumber_Add numpy.so:add libc:memcpy",
    );
    assert_eq!(
        languages(&mut profile, whole),
        "<module> f builtin_sorted key"
    );
    assert_eq!(languages(&mut profile, other), "h add memcpy");
}

#[test]
fn code_that_the_loop_calls_directly_is_the_interpreters_jit() {
    let jit = "interp:PyEval_EvalCode py:<module> call:f [JIT]:";
    let mut profile = Profile::default();
    let own = stack(&mut profile, jit);
    let calls = stack(&mut profile, &format!("{jit} interp:PyObject_Str"));
    let entered = stack(&mut profile, "call:e interp:_PyJIT_Entry [JIT]:");
    let of_a_library = "call:g numba.so:call [JIT]:";
    let other = stack(&mut profile, of_a_library);
    let named = stack(&mut profile, "py:h [JIT]:made");
    profile.mark_runtime();
    let kinds = Kinds::of(&profile);
    let mut check = |stack, kind, shown| {
        assert_eq!(kinds.of_stack(stack), kind);
        assert_eq!(languages(&mut profile, stack), shown);
    };
    check(own, Kind::Python, "<module> f");
    check(calls, Kind::Native, "<module> f PyObject_Str");
    check(entered, Kind::Python, "e");
    check(other, Kind::Native, "g call ");
    check(named, Kind::Native, "h made");
}

#[test]
fn the_c_library_is_plumbing_where_only_the_interpreter_calls_it() {
    let mut profile = Profile::default();
    let own = stack(
        &mut profile,
        "py:f interp:PyObject_Malloc libc:malloc libc:sysmalloc",
    );
    let called = stack(&mut profile, "call:f interp:builtin_sorted libc:memcpy");
    let other = stack(&mut profile, "call:f zlib.so:compress libc:memset");
    let thread = stack(&mut profile, "libc:start_thread app:work libc:memmove");
    assert_eq!(languages(&mut profile, own), "f");
    assert_eq!(languages(&mut profile, called), "f builtin_sorted");
    assert_eq!(languages(&mut profile, other), "f compress memset");
    assert_eq!(languages(&mut profile, thread), "work memmove");
}

#[test]
fn what_is_inlined_into_plumbing_is_plumbing() {
    let mut profile = Profile::default();
    let stack = stack(&mut profile, "call:f interp:function_code_fastcall");
    let inlined = profile.frame(FrameKey {
        function: "_Py_DECREF",
        language: Language::Native,
        inlined: true,
        ..FrameKey::default()
    });
    let leaf = profile.stacks.get(stack).location;
    let whole = profile.locations.get(leaf).frames[0];
    profile.locations.set_frames(leaf, &[inlined, whole]);
    assert_eq!(Kinds::of(&profile).of_stack(stack), Kind::Python);
    assert_eq!(languages(&mut profile, stack), "f");
}

#[test]
fn a_program_without_python_hides_only_its_start() {
    let mut profile = Profile::default();
    let stack = stack(
        &mut profile,
        "app:_start libc:__libc_start_call_main app:main libc:qsort",
    );
    assert_eq!(languages(&mut profile, stack), "main qsort");
}

#[test]
fn what_starts_a_program_of_rust_is_hidden_and_what_it_shares_is_not() {
    let mut profile = Profile::default();
    let main = stack(
        &mut profile,
        "app:main app:std::rt::lang_start app:std::panicking::try \
         app:std::sys::backtrace::__rust_begin_short_backtrace \
         app:core::ops::function::FnOnce::call_once app:app::main app:app::catch libc:memcpy",
    );
    let border = "app:std::sys::backtrace::__rust_begin_short_backtrace";
    let [root, boxed, border, worker, job] = [
        "app:thread_start",
        "app:boxed_call_once",
        border,
        "app:app::worker",
        "app:app::job",
    ]
    .map(|name| level(&mut profile, name));
    let thread = profile.hand_made_stack(&[root, boxed, border, worker, boxed, job]);
    // Frames that do not lead to the border are no start: here the time was spent.
    let before = stack(&mut profile, "app:main app:std::rt::init");
    assert_eq!(languages(&mut profile, main), "app::main app::catch memcpy");
    // A function that the program calls as well stays.
    assert_eq!(
        languages(&mut profile, thread),
        "boxed_call_once app::worker boxed_call_once app::job"
    );
    assert_eq!(languages(&mut profile, before), "main std::rt::init");
    // Functions inlined into the border are the program's own.
    let mut profile = Profile::default();
    let inlined = stack(
        &mut profile,
        "app:std::sys::backtrace::__rust_begin_short_backtrace",
    );
    let leaf = profile.stacks.get(inlined).location;
    let whole = profile.locations.get(leaf).frames[0];
    let mut frame = |function| {
        profile.frame(FrameKey {
            function,
            language: Language::Rust,
            inlined: true,
            ..FrameKey::default()
        })
    };
    let (own, once) = (
        frame("app::main"),
        frame("<F as core::ops::FnOnce<()>>::call_once"),
    );
    profile.locations.set_frames(leaf, &[own, once, whole]);
    profile.mark_runtime();
    let frames = &profile.locations.get(leaf).frames;
    let hidden = |&frame: &FrameId| profile.frames.get(frame).language == Language::Runtime;
    assert_eq!(
        frames.iter().map(hidden).collect::<Vec<_>>(),
        [false, true, true]
    );
}

#[test]
fn a_c_library_without_names_starts_programs_and_threads() {
    let mut profile = Profile::default();
    let main = stack(&mut profile, "app:_start libc: app:main libc:");
    let thread = stack(&mut profile, "libc: libc: app:work libc:free");
    let python = stack(&mut profile, "libc: interp:PyRun_File py:f");
    let alone = stack(&mut profile, "libc: libc:");
    let deep = stack(&mut profile, "libc: libc: libc: libc:read");
    assert_eq!(languages(&mut profile, main), "main ");
    assert_eq!(languages(&mut profile, thread), "work free");
    assert_eq!(languages(&mut profile, python), "f");
    assert_eq!(languages(&mut profile, alone), " ");
    assert_eq!(languages(&mut profile, deep), "   read");
}

#[test]
fn a_program_that_embeds_python_keeps_its_own_functions() {
    let mut profile = Profile::default();
    let stack = stack(&mut profile, "app:main app:serve app:PyRun_String py:f");
    let id = profile.modules.iter().next().unwrap().0;
    profile.modules.get_mut(id).role = Role::Interpreter;
    assert_eq!(languages(&mut profile, stack), "main serve f");
}

#[test]
fn a_reported_c_function_is_native() {
    check("py:f reported:len", Kind::Native, None);
    check("py:f reported:sorted py:key", Kind::Python, None);
}
