//! The way by which the package `profundo` gets the functions for spans.
//!
//! This library is an extension module, too: [`PyInit__profundo_spans_1`]. The package finds the
//! library among the files that are mapped, and has the interpreter load it as a module. It is
//! loaded already, so nothing happens but the call of that function. Then the package calls
//! `connect`, which looks at how this interpreter keeps its contexts, and tries it. Only the main
//! interpreter is connected.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use profundo_probe::python::{Places, SPANS, context_object};
use profundo_probe::sys;

use super::api::{
    LONG_HEAD, Method, ModuleDefinition, Object, SHORT_HEAD, Spans, find, head, how, is_main,
    type_of,
};
use super::{functions, make, object};
use crate::inject::{There, table};

static METHODS: [Method; 8] = [
    Method::new(c"connect", connect as *const c_void, how::ARRAY),
    Method::new(c"new", functions::new as *const c_void, how::ARRAY),
    Method::new(c"again", functions::again as *const c_void, how::ONE),
    Method::new(c"pause", functions::pause as *const c_void, how::ONE),
    Method::new(c"resume", functions::resume as *const c_void, how::ONE),
    Method::new(c"mark", functions::mark_now as *const c_void, how::ONE),
    Method::new(c"flush", functions::flush_now as *const c_void, how::NONE),
    Method::END,
];

/// The definition, which the interpreter writes to.
struct Definition<const HEAD: usize>(UnsafeCell<ModuleDefinition<HEAD>>);

// SAFETY: the interpreter writes to it while it holds its lock, or one of its own; we do not.
unsafe impl<const HEAD: usize> Sync for Definition<HEAD> {}

impl<const HEAD: usize> Definition<HEAD> {
    const fn new(head: [usize; HEAD]) -> Self {
        Self(UnsafeCell::new(ModuleDefinition {
            head,
            base: [0; 3],
            name: c"_profundo_spans_1".as_ptr(),
            doc: null(),
            // No state of its own.
            size: -1,
            methods: (&raw const METHODS).cast(),
            hooks: [0; 4],
        }))
    }
}

static SHORT: Definition<{ SHORT_HEAD / 8 }> = Definition::new([1, 0]);
/// The second word has 32 bits of references: all of them are set in what is never freed.
static LONG: Definition<{ LONG_HEAD / 8 }> = Definition::new([0, 0xFFFF_FFFF << 32, 0, 0]);

/// `PYTHON_API_VERSION`.
const API_VERSION: c_int = 1013;

/// Makes the module.
///
/// # Safety
/// Called by the interpreter, whose lock is held.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn PyInit__profundo_spans_1() -> Object {
    // An interpreter without these functions finds no error either, and says so.
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the caller vouches.
    unsafe {
        if !api.measure_head() {
            return null_mut();
        }
        let definition = match head() {
            SHORT_HEAD => SHORT.0.get().cast(),
            _ => LONG.0.get().cast(),
        };
        let module = (api.new_module)(definition, API_VERSION);
        if !module.is_null() {
            api.do_without_lock(module);
        }
        module
    }
}

table! {
    /// The functions by which the package is found.
    Package {
        item: c"PyDict_GetItemString" as unsafe extern "C-unwind" fn(Object, *const c_char) -> Object,
        attribute: c"PyObject_GetAttrString" as unsafe extern "C-unwind" fn(Object, *const c_char) -> Object,
    }
}

/// Offers the module to the package, in a program that has imported it: there its function `adopt`
/// takes it, and connects.
///
/// # Safety
/// The interpreter's lock is held.
pub unsafe fn offer() {
    let Some(api) = find() else { return };
    // SAFETY: these are the types of the interpreter's functions of these names.
    let Some(package) = (unsafe { Package::find() }) else {
        return;
    };
    // SAFETY: the lock is held. What the dictionary has is borrowed, and all else is released.
    unsafe {
        let spans = (package.item)((api.modules)(), c"profundo._live.spans".as_ptr());
        if spans.is_null() {
            return;
        }
        (api.retain)(spans);
        let adopt = (package.attribute)(spans, c"adopt".as_ptr());
        let module = match adopt.is_null() {
            true => null_mut(),
            false => PyInit__profundo_spans_1(),
        };
        let answer = match module.is_null() {
            true => null_mut(),
            false => (api.call)(adopt, module, null_mut::<c_void>()),
        };
        if answer.is_null() {
            // A package of another version, or an interpreter that ends.
            api.drop_error();
        }
        for object in [answer, module, adopt, spans] {
            if !object.is_null() {
                (api.release)(object);
            }
        }
    }
}

/// The modules of the interpreter that is connected.
static CONNECTED: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// `connect(idle, decorate)`: whether spans can be recorded in this interpreter, as a number.
unsafe extern "C-unwind" fn connect(_: Object, arguments: *const Object, count: isize) -> Object {
    let Some(api) = find() else { return null_mut() };
    // Where threads run at the same time, the package lets one in here. An older one may not.
    let is_first = !IS_CONNECTING.swap(true, Ordering::Acquire);
    // SAFETY: the interpreter's arguments, of which there are `count`; the lock is held.
    unsafe {
        let can_be =
            is_first && count == 2 && connect_with(api, arguments.read(), arguments.add(1).read());
        if is_first {
            IS_CONNECTING.store(false, Ordering::Release);
        }
        (api.new_number)(can_be.into())
    }
}

/// Set while a thread connects the package.
static IS_CONNECTING: AtomicBool = AtomicBool::new(false);

unsafe fn connect_with(api: &Spans, idle: Object, decorate: Object) -> bool {
    // SAFETY: the lock is held, and both are objects.
    unsafe {
        let modules = (api.modules)();
        let connected = CONNECTED.load(Ordering::Relaxed);
        // Objects of one interpreter are not for another one.
        if connected != modules && (!connected.is_null() || !is_main() || !set_up(api)) {
            return false;
        }
        CONNECTED.store(modules, Ordering::Relaxed);
        // Those of an earlier import of the package stay: something may be in them.
        (api.retain)(idle);
        (api.retain)(decorate);
        object::IDLE.store(idle, Ordering::Relaxed);
        object::DECORATE.store(decorate, Ordering::Relaxed);
    }
    true
}

/// Makes the type and the variable, and shows handlers where its value is.
unsafe fn set_up(api: &Spans) -> bool {
    // SAFETY: the lock is held. Both objects stay as long as the interpreter.
    unsafe {
        if (api.at_exit)(forget) != 0 {
            return false;
        }
        let variable = (api.new_variable)(c"profundo.span".as_ptr(), null_mut());
        let kind = object::make_type(api);
        if variable.is_null() || kind.is_null() || !make() {
            api.drop_error();
            return false;
        }
        let Some(places) = look(api, variable) else {
            api.drop_error();
            return false;
        };
        object::TYPE.store(kind, Ordering::Relaxed);
        object::VARIABLE.store(variable, Ordering::Relaxed);
        SPANS.publish(&places);
    }
    true
}

/// The interpreter has ended, and its objects are gone. A program may begin another one.
unsafe extern "C" fn forget() {
    SPANS.withdraw();
    CONNECTED.store(null_mut(), Ordering::Relaxed);
}

/// The most variables that are set for a trial.
const MOST: usize = 512;

/// The place of the variable. `None`: contexts are not as we know them.
unsafe fn look(api: &Spans, variable: Object) -> Option<Places> {
    // SAFETY: the lock is held.
    unsafe {
        let (first, second) = ((api.new_context)(), (api.new_context)());
        if first.is_null() || second.is_null() {
            return None;
        }
        let found = look_with(api, variable, first, second);
        (api.release)(first);
        (api.release)(second);
        found
    }
}

unsafe fn look_with(
    api: &Spans,
    variable: Object,
    first: Object,
    second: Object,
) -> Option<Places> {
    // SAFETY: the lock is held; what is entered is left.
    unsafe {
        let state = (api.thread)();
        let offset = within(api, first, || offset_of(state, first, 0))??;
        let few = within(api, first, || {
            set(api, variable)?;
            root_type(state, offset)
        })??;
        within(api, second, || {
            // Another offset had the same word by chance.
            (offset_of(state, second, offset) == Some(offset)).then_some(())?;
            set(api, variable)?;
            try_many(api, variable, state, offset, few)
        })?
    }
}

/// Sets more and more variables, until the tree has both kinds of nodes, and looks each up. The
/// root need not be of the second kind: where variables lie at regular distances, so do their
/// hashes, and a node below it has many children first.
unsafe fn try_many(
    api: &Spans,
    variable: Object,
    state: u64,
    offset: u32,
    few: u64,
) -> Option<Places> {
    let mut others = [null_mut(); MOST];
    let mut places = None;
    // SAFETY: the lock is held; the values are all `None`.
    unsafe {
        let at = |variable, many| {
            Some(Places {
                variable: variable as u64,
                hash: hash(api, variable)?,
                context: offset,
                head: head() as u32,
                few,
                many,
            })
        };
        let is_found = |places: Places| {
            let value = places.value(&mut There, state);
            value == Some(api.none as u64)
        };
        for number in 0..MOST {
            let other = (api.new_variable)(c"profundo.trial".as_ptr(), null_mut());
            if other.is_null() {
                break;
            }
            if let Some(place) = others.get_mut(number) {
                *place = other;
            }
            if set(api, other).is_none() {
                break;
            }
            let many = at(other, few).and_then(|places| places.other_type(&mut There, state));
            let many = many.unwrap_or(few);
            if !at(variable, many).is_some_and(is_found) || !at(other, many).is_some_and(is_found) {
                break;
            }
            if many != few {
                let before = others.iter().take_while(|other| !other.is_null());
                let are_all = before
                    .chain([&variable])
                    .all(|&other| at(other, many).is_some_and(is_found));
                places = at(variable, many).filter(|_| are_all);
                break;
            }
        }
        for other in others.into_iter().take_while(|other| !other.is_null()) {
            (api.release)(other);
        }
    }
    places
}

/// Calls `f` in a context. `None`: it cannot be entered.
unsafe fn within<T>(api: &Spans, context: Object, f: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: the lock is held.
    unsafe {
        ((api.enter)(context) == 0).then_some(())?;
        let result = f();
        ((api.exit)(context) == 0).then_some(result)
    }
}

unsafe fn set(api: &Spans, variable: Object) -> Option<()> {
    // SAFETY: the lock is held.
    unsafe {
        let token = (api.set)(variable, api.none);
        (!token.is_null()).then(|| (api.release)(token))
    }
}

/// The hash of a variable, folded as the tree does.
unsafe fn hash(api: &Spans, variable: Object) -> Option<u32> {
    // SAFETY: the lock is held.
    let hash = unsafe { (api.hash)(variable) };
    let folded = hash as u32 ^ (hash as u64 >> 32) as u32;
    (hash != -1).then_some(if folded == u32::MAX {
        folded - 1
    } else {
        folded
    })
}

/// The first offset in a thread's state, from this one on, at which the context is.
fn offset_of(state: u64, context: Object, from: u32) -> Option<u32> {
    const BYTES: u32 = 2048;
    let mut offsets = (from..BYTES).step_by(8);
    offsets.find(|&offset| sys::read_word(state + u64::from(offset)) == Some(context as u64))
}

/// The type of the root of the present context's tree.
unsafe fn root_type(state: u64, offset: u32) -> Option<u64> {
    let head = head() as u64;
    let context = sys::read_word(state + u64::from(offset))?;
    let variables = sys::read_word(context + head + context_object::VARIABLES)?;
    let root = sys::read_word(variables + head + context_object::ROOT)?;
    // SAFETY: an object, if this is a root; the word was found to be readable.
    sys::read_word(root + head - context_object::TYPE_BEFORE)
        .map(|_| unsafe { type_of(root as Object) as u64 })
}
