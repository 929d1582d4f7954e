//! Python names, compared with those that each interpreter here reports for its own functions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use object::{Object, ObjectSegment};
use profundo_model::python_name;
use profundo_symbols::Symbolizer;
use profundo_testing::{pythons, skip};

/// Prints a line for each reachable C function: file, place in it, owner, name.
const ORACLE: &str = r#"
import ctypes, sys, types, importlib
base = object.__basicsize__
for name in ("math zlib _json _struct array _datetime itertools _collections _pickle _bisect _heapq _random "
             "_socket select _csv _sre unicodedata _decimal").split():
    try: importlib.import_module(name)
    except ImportError: pass
try: import numpy
except ImportError: pass
maps = []
for line in open("/proc/self/maps"):
    parts = line.split(None, 5)
    start, end = (int(it, 16) for it in parts[0].split("-"))
    if len(parts) > 5 and parts[5].startswith("/"):
        maps.append((start, end, int(parts[2], 16), parts[5].strip()))
def word(at): return ctypes.c_void_p.from_address(at).value
def show(definition, owner):
    name = ctypes.string_at(word(definition)).decode()
    function = word(definition + 8)
    for start, end, offset, path in maps:
        if start <= function < end:
            print(path, function - start + offset, owner, name, sep="\t")
def methods(owner, space):
    for value in list(space.values()):
        if isinstance(value, types.BuiltinFunctionType) and type(value).__name__ == "builtin_function_or_method":
            if not isinstance(value.__self__, (type(None), types.ModuleType)): continue
            show(word(id(value) + base), owner)
        elif type(value).__name__ in ("method_descriptor", "classmethod_descriptor"):
            show(word(id(value) + base + 24), owner)
for module in list(sys.modules.values()):
    if not isinstance(module, types.ModuleType): continue
    own = {key: value for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    methods(module.__name__, own)
    for value in own.values():
        if isinstance(value, type):
            methods("%s.%s" % (value.__module__, value.__name__), vars(value))
"#;

/// The last part of a name.
fn method(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[test]
fn functions_have_the_names_that_the_interpreter_gives_them() {
    if pythons().is_empty() {
        skip("there is no Python");
    }
    for python in pythons() {
        let output = Command::new(&python.path)
            .args(["-c", ORACLE])
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let mut files: BTreeMap<&str, BTreeMap<u64, BTreeSet<String>>> = BTreeMap::new();
        for line in output.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let [path, offset, owner, name] = parts[..] else {
                panic!("{line}");
            };
            let functions = files.entry(path).or_default();
            let names = functions.entry(offset.parse().unwrap()).or_default();
            let qualified = format!("{owner}.{name}");
            let known = qualified.strip_prefix("builtins.").unwrap_or(&qualified);
            names.insert(known.to_owned());
        }
        let (mut all, mut whole) = (0, 0);
        let (mut wrong, mut missing) = (Vec::new(), Vec::new());
        for (path, functions) in &files {
            let bytes = std::fs::read(path).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let is_stripped = file.symbols().next().is_none();
            let address = |offset: &u64| address(&file, *offset);
            let addresses: Vec<u64> = functions.keys().map(address).collect();
            let found = Symbolizer::new()
                .with_symbols_only([(*path).to_owned()])
                .resolve(path, &[], &addresses);
            for (names, frames) in functions.values().zip(found) {
                let function = &*frames.last().unwrap().function;
                let is_start = profundo_model::is_start(function);
                let found = python_name(function);
                let found = found.or((is_stripped && !is_start).then_some(function));
                all += 1;
                whole += usize::from(found.is_some_and(|name| names.contains(name)));
                match found {
                    None => missing.push(format!("{names:?}: {function}")),
                    Some(found) if names.iter().any(|name| method(name) == method(found)) => {}
                    Some(_) => wrong.push(format!("{names:?}: {function}")),
                }
            }
        }
        let python = python.path.display();
        let sums = format!("{python}: {all} functions, {whole} with their owner, {missing:#?}");
        assert_eq!(wrong, [""; 0], "{python}");
        assert!(all > 900, "{sums}");
        assert!(missing.len() * 50 < all, "{sums}");
        assert!(whole * 5 > all * 4, "{sums}");
    }
}

/// The address of code by its place in the file.
fn address(file: &object::File<'_>, offset: u64) -> u64 {
    let mut segments = file.segments();
    let found = segments.find_map(|segment| {
        let (start, length) = segment.file_range();
        let within = offset
            .checked_sub(start)
            .filter(|within| *within < length)?;
        Some(segment.address() + within)
    });
    found.unwrap()
}
