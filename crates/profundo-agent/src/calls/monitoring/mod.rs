//! From 3.12 on: the callbacks that `sys.monitoring` calls for each event.
//!
//! The interpreter takes any object that can be called. Ours are of a type that is called without a
//! detour: what the interpreter finds in the object is the function itself.

mod calls;
mod end;
mod exceptions;
mod lines;

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

use profundo_cpython::objects::int;
use profundo_probe::shared::refusal;

use super::api::{Calls, Object, attribute};
use super::state::{State, Wanted, state};
use crate::inject::{exclusive, field_at, table};
use calls::{METHOD_WITH_CLASS, MISSING};
pub use end::end;

table! {
    /// The functions that make the type.
    Types {
        from_spec: c"PyType_FromSpec" as unsafe extern "C" fn(*mut Spec) -> Object,
        new: c"_PyObject_New" as unsafe extern "C" fn(Object) -> Object,
        call: c"PyVectorcall_Call" as unsafe extern "C" fn(Object, Object, Object) -> Object,
        code_of: c"PyFrame_GetCode" as unsafe extern "C" fn(u64) -> u64,
        caller_of: c"PyFrame_GetBack" as unsafe extern "C" fn(u64) -> u64,
        method_with_class: c"PyCMethod_Type" as Object,
    }
}

/// `PyType_Spec`, `PyType_Slot` and `PyMemberDef`.
#[repr(C)]
pub struct Spec {
    name: *const c_char,
    size: c_int,
    item_size: c_int,
    flags: c_uint,
    slots: *mut Slot,
}

#[repr(C)]
struct Slot {
    which: c_int,
    what: *mut c_void,
}

#[repr(C)]
struct Member {
    name: *const c_char,
    kind: c_int,
    offset: isize,
    flags: c_int,
    doc: *const c_char,
}

type Call = unsafe extern "C" fn(Object, *const u64, usize, Object) -> Object;

/// The place in a callback object of ours of the function, behind the head of each object.
const PLACE_OF_CALL: u64 = 16;

/// `Py_tp_call`.
const CALL: c_int = 50;
/// `Py_tp_members`, and the flags of a type that may be called so.
const MEMBERS: c_int = 72;
const FLAGS: c_uint = 1 << 18 | 1 << 11 | 1 << 7;
/// `T_PYSSIZET`, and that it may only be read.
const SIZE: c_int = 19;
const READ_ONLY: c_int = 1;

/// An event, its name, and its callback.
struct Event {
    name: &'static CStr,
    call: Call,
    /// True if the event is enabled everywhere. Otherwise it comes with another event, or is
    /// enabled function by function.
    is_everywhere: bool,
}

const fn everywhere(name: &'static CStr, call: Call) -> Event {
    Event {
        name,
        call,
        is_everywhere: true,
    }
}

const fn elsewhere(name: &'static CStr, call: Call) -> Event {
    Event {
        name,
        call,
        is_everywhere: false,
    }
}

/// Tool numbers that other tools are unlikely to take, in our order of preference.
const TOOLS: [i64; 3] = [5, 4, 3];

/// Registers all callbacks.
///
/// # Safety
/// The lock is held.
pub unsafe fn begin(calls: &'static Calls, wanted: Wanted) -> Result<(), c_int> {
    // SAFETY: these are the types of the interpreter's functions of these names.
    let types = unsafe { Types::find() }.ok_or(refusal::NO_INTERPRETER)?;
    METHOD_WITH_CLASS.store(types.method_with_class, Ordering::Relaxed);
    // SAFETY: the lock is held; what is made is released, or kept for ever.
    unsafe {
        let module = (calls.system)(c"monitoring".as_ptr());
        if module.is_null() {
            return Err(refusal::NO_INTERPRETER);
        }
        let made = set(calls, &types, module, wanted);
        if made.is_none() {
            calls.drop_error();
        }
        made.ok_or(refusal::HAS_PROFILER)
    }
}

/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn set(calls: &'static Calls, types: &Types, module: Object, wanted: Wanted) -> Option<()> {
    // SAFETY: as the caller says.
    unsafe {
        let missing = attribute(calls, module, c"MISSING");
        if missing.is_null() {
            return None;
        }
        MISSING.store(missing, Ordering::Relaxed);
        let of_type = callbacks(types)?;
        let register = |several: &[&[Event]]| {
            let tool = take_tool(calls, module)?;
            let all = register(calls, types, of_type, module, tool, several)?;
            Some((tool, all))
        };
        let enable = |(tool, all): (Object, c_long)| {
            let all = (calls.new_number)(all);
            call(calls, module, c"set_events", &[tool, all])?;
            (calls.release)(all);
            Some(())
        };
        end::will_end(calls, module);
        if wanted.has_lines {
            let of_generators: &[Event] = match wanted.is_late {
                true => &lines::OF_RUNNING_GENERATORS,
                false => &[],
            };
            let registered = register(&[&lines::EVENTS, of_generators])?;
            end::note_disabling();
            lines::begin(calls, module, registered.0, wanted)?;
            enable(registered)?;
        } else if wanted.has_calls() {
            let builtins: &[Event] = match wanted.has_builtins {
                true => &calls::OF_BUILTINS,
                false => &[],
            };
            enable(register(&[&calls::EVENTS, builtins])?)?;
        }
        // By a number of their own, since some of the events are the same.
        if wanted.has_exceptions {
            let registered = register(&[&exceptions::EVENTS])?;
            end::note_disabling();
            exceptions::begin(calls, module, registered.0)?;
            enable(registered)?;
        }
    }
    Some(())
}

/// Takes a tool number: one that no place is disabled for, if there is one.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn take_tool(calls: &Calls, module: Object) -> Option<Object> {
    let has_disabled = |tool: &i64| end::has_disabled(*tool);
    // SAFETY: the caller vouches.
    let take = |tool| unsafe { take_number(calls, module, tool) };
    let mut fresh = TOOLS.into_iter().filter(|tool| !has_disabled(tool));
    let mut used = TOOLS.into_iter().filter(has_disabled);
    fresh.find_map(take).or_else(|| {
        let taken = used.find_map(take)?;
        // SAFETY: the caller vouches.
        unsafe { end::restart(calls, module) };
        Some(taken)
    })
}

/// Takes this tool number. `None`: another tool has it.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn take_number(calls: &Calls, module: Object, tool: i64) -> Option<Object> {
    // SAFETY: the caller vouches.
    unsafe {
        let number = (calls.new_number)(tool);
        let name = (calls.new_text)(c"profundo".as_ptr());
        let taken = call(calls, module, c"use_tool_id", &[number, name]);
        (calls.release)(name);
        match taken {
            Some(()) => end::note_tool(tool),
            None => (calls.release)(number),
        }
        taken.map(|()| number)
    }
}

/// Registers callbacks for a tool number. Returns the events that are enabled everywhere, as one
/// number.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn register(
    calls: &Calls,
    types: &Types,
    of_type: Object,
    module: Object,
    tool: Object,
    several: &[&[Event]],
) -> Option<c_long> {
    // SAFETY: the caller vouches.
    unsafe {
        let events = attribute(calls, module, c"events");
        if events.is_null() {
            return None;
        }
        let mut all = 0;
        for event in several.iter().copied().flatten() {
            let number = attribute(calls, events, event.name);
            if number.is_null() {
                return None;
            }
            if event.is_everywhere {
                all |= (calls.number)(number);
            }
            let ours = (types.new)(of_type);
            if ours.is_null() {
                return None;
            }
            (field_at(ours as u64, PLACE_OF_CALL) as *mut Call).write(event.call);
            call(calls, module, c"register_callback", &[tool, number, ours])?;
            // Where threads run at the same time, one may be about to call it when it goes.
            if !exclusive::is_needed() {
                (calls.release)(ours);
            }
            (calls.release)(number);
        }
        (calls.release)(events);
        Some(all)
    }
}

/// The type of the callbacks, made once.
///
/// # Safety
/// The lock is held.
unsafe fn callbacks(types: &Types) -> Option<Object> {
    static TYPE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let known = TYPE.load(Ordering::Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    // SAFETY: the caller vouches.
    let made = unsafe { new_type(types) }?;
    TYPE.store(made, Ordering::Relaxed);
    Some(made)
}

/// Makes the type of the callbacks.
unsafe fn new_type(types: &Types) -> Option<Object> {
    let place = field_at(0, PLACE_OF_CALL) as usize;
    let end = Member {
        name: core::ptr::null(),
        kind: 0,
        offset: 0,
        flags: 0,
        doc: core::ptr::null(),
    };
    let mut members = [
        Member {
            name: c"__vectorcalloffset__".as_ptr(),
            kind: SIZE,
            offset: place as isize,
            flags: READ_ONLY,
            doc: core::ptr::null(),
        },
        end,
    ];
    let mut slots = [
        Slot {
            which: CALL,
            what: types.call as *mut c_void,
        },
        Slot {
            which: MEMBERS,
            what: members.as_mut_ptr().cast(),
        },
        Slot {
            which: 0,
            what: null_mut(),
        },
    ];
    let mut spec = Spec {
        name: c"profundo.callback".as_ptr(),
        size: (place + size_of::<Call>()) as c_int,
        item_size: 0,
        flags: FLAGS,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the lock is held; the interpreter copies what it needs.
    let made = unsafe { (types.from_spec)(&mut spec) };
    (!made.is_null()).then_some(made)
}

/// The number of an event, as an object: a new reference.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn number_of(calls: &Calls, module: Object, name: &CStr) -> Option<Object> {
    // SAFETY: the caller vouches.
    unsafe {
        let events = attribute(calls, module, c"events");
        if events.is_null() {
            return None;
        }
        let number = attribute(calls, events, name);
        (calls.release)(events);
        (!number.is_null()).then_some(number)
    }
}

/// Asks for the lines of a function that runs already, where they are asked for function by
/// function.
///
/// # Safety
/// The lock is held, and `code` is a code object.
pub unsafe fn ask_for_lines(state: &mut State, code: u64) {
    if state.layout.profiler.is_none() {
        // SAFETY: the caller vouches.
        unsafe { lines::ask_for(state, code) };
    }
}

/// Calls a method of an object by name, with up to three arguments.
///
/// # Safety
/// The lock is held.
unsafe fn call(calls: &Calls, object: Object, name: &CStr, arguments: &[Object]) -> Option<()> {
    let nothing: Object = null_mut();
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(nothing);
    // SAFETY: the caller vouches. The list ends at the first null pointer.
    unsafe {
        let function = attribute(calls, object, name);
        if function.is_null() {
            return None;
        }
        let answer = (calls.call)(function, argument(0), argument(1), argument(2), nothing);
        (calls.release)(function);
        if answer.is_null() {
            calls.drop_error();
            return None;
        }
        (calls.release)(answer);
    }
    Some(())
}

/// Notes the functions that run already: each has been called once.
///
/// # Safety
/// The lock is held.
pub unsafe fn note_running(calls: &Calls, wanted: Wanted) {
    // SAFETY: these are the types of the interpreter's functions of these names.
    let Some(types) = (unsafe { Types::find() }) else {
        return;
    };
    if !wanted.has_lines && !wanted.has_calls() {
        return;
    }
    /// Deeper than anything is when the interpreter begins.
    const DEEP: usize = 256;
    let mut codes = [0; DEEP];
    let mut count = 0;
    // SAFETY: the lock is held; the references that we are given are released, except for code
    // objects, which are kept.
    unsafe {
        let mut frame = (calls.frame)();
        let mut is_borrowed = true;
        while frame != 0
            && let Some(place) = codes.get_mut(count)
        {
            *place = (types.code_of)(frame);
            count += 1;
            let caller = (types.caller_of)(frame);
            if !is_borrowed {
                (calls.release)(frame as Object);
            }
            (frame, is_borrowed) = (caller, false);
        }
        if let Some(state) = state() {
            for &code in codes.get(..count).unwrap_or_default().iter().rev() {
                match wanted.has_lines {
                    true => lines::note_running(state, code),
                    false => state.enter_code(code, false),
                }
            }
        }
    }
}

/// Events that are asked for function by function.
struct Local {
    /// `sys.monitoring.set_local_events`, our tool number, and the events as one number.
    set: AtomicPtr<c_void>,
    tool: AtomicPtr<c_void>,
    events: AtomicI64,
    /// The answer that disables further events of a place.
    disable: AtomicPtr<c_void>,
}

impl Local {
    const fn new() -> Self {
        Self {
            set: AtomicPtr::new(null_mut()),
            tool: AtomicPtr::new(null_mut()),
            events: AtomicI64::new(0),
            disable: AtomicPtr::new(null_mut()),
        }
    }

    /// # Safety
    /// The lock is held, and `module` is `sys.monitoring`.
    unsafe fn begin(
        &self,
        calls: &Calls,
        module: Object,
        tool: Object,
        names: &[&CStr],
    ) -> Option<()> {
        // SAFETY: the caller vouches; what is kept stays.
        unsafe {
            let set = attribute(calls, module, c"set_local_events");
            let disable = attribute(calls, module, c"DISABLE");
            let events = attribute(calls, module, c"events");
            if set.is_null() || disable.is_null() || events.is_null() {
                return None;
            }
            let mut all = 0;
            for name in names {
                let number = attribute(calls, events, name);
                if number.is_null() {
                    return None;
                }
                all |= (calls.number)(number);
                (calls.release)(number);
            }
            (calls.release)(events);
            (calls.retain)(tool);
            self.events.store(all, Ordering::Relaxed);
            self.keep(calls, [set, tool, disable]);
        }
        Some(())
    }

    /// Enables the events for a function.
    ///
    /// # Safety
    /// The lock is held, and `code` is a code object.
    unsafe fn ask_for(&self, calls: &Calls, code: u64) {
        let nothing: Object = null_mut();
        let set = self.set.load(Ordering::Acquire);
        let tool = self.tool.load(Ordering::Relaxed);
        // SAFETY: the caller vouches. The list of arguments ends with a null pointer.
        unsafe {
            let events = (calls.new_number)(self.events.load(Ordering::Relaxed));
            let answer = (calls.call)(set, tool, code as Object, events, nothing);
            match answer.is_null() {
                true => calls.drop_error(),
                false => (calls.release)(answer),
            }
            (calls.release)(events);
        }
    }

    /// Disables the events for a function.
    ///
    /// # Safety
    /// As for [`ask_for`](Self::ask_for).
    unsafe fn end_for(&self, calls: &Calls, code: u64) {
        if !self.set.load(Ordering::Acquire).is_null() {
            let events = self.events.swap(0, Ordering::Relaxed);
            // SAFETY: the caller vouches.
            unsafe { self.ask_for(calls, code) };
            self.events.store(events, Ordering::Relaxed);
        }
    }

    /// Lets go of the interpreter's objects.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn forget(&self, calls: &Calls) {
        let nothing = null_mut();
        // SAFETY: the caller vouches; these were kept.
        unsafe { self.keep(calls, [nothing; 3]) };
    }

    /// Keeps objects, and lets go of the former ones.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn keep(&self, calls: &Calls, [set, tool, disable]: [Object; 3]) {
        let former = [
            self.tool.swap(tool, Ordering::Relaxed),
            self.disable.swap(disable, Ordering::Relaxed),
            self.set.swap(set, Ordering::AcqRel),
        ];
        for object in former.into_iter().filter(|object| !object.is_null()) {
            // SAFETY: the caller vouches.
            unsafe { (calls.release)(object) };
        }
    }

    /// The answer that disables further events of this place.
    fn no_more(&self) -> Object {
        let disable = self.disable.load(Ordering::Relaxed);
        match disable.is_null() {
            // The program calls a callback of an earlier session.
            true => super::api::find().map_or(disable, answer),
            false => disable,
        }
    }
}

/// A small number.
///
/// # Safety
/// `object` is a number of Python's from 0 to 2 to the 30, without the end.
#[inline]
unsafe fn number(object: u64) -> u32 {
    // SAFETY: the caller vouches: it has one digit.
    unsafe { (field_at(object, int::DIGITS) as *const u32).read() }
}

/// An argument of an event.
///
/// # Safety
/// There are so many arguments.
#[inline]
unsafe fn argument(arguments: *const u64, index: usize) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { arguments.add(index).read() }
}

/// The result of every callback. From 3.12 on, it is immortal.
#[inline]
fn answer(calls: &Calls) -> Object {
    calls.none
}

/// Runs one callback, if it has as many arguments as the interpreter passes: the program may call
/// it, too.
#[inline]
unsafe fn with(count: usize, least: usize, f: impl FnOnce(&mut State)) -> Object {
    /// A flag that a caller may set in the count.
    const OFFSET: usize = 1 << (usize::BITS - 1);
    let _alone = exclusive::COUNTS.enter();
    // SAFETY: the interpreter calls with its lock held, or the thread is alone.
    match unsafe { state() } {
        Some(state) if count & !OFFSET >= least => {
            f(state);
            answer(state.calls)
        }
        _ => super::api::find().map_or(null_mut(), answer),
    }
}
