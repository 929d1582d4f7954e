//! C and C++, with the current versions of DWARF and of section compression.

use std::collections::BTreeSet;

use profundo_model::Language;
use profundo_symbols::Symbolizer;

use crate::build::{C, CPP, Scratch, function};
use crate::oracle::compare;

fn check_c(options: &[&str]) {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.c", C, options) else {
        return;
    };
    let range = function(&program, "outer");
    let addresses: Vec<u64> = range.collect();
    let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
    let frames = found
        .iter()
        .find(|frames| &*frames[0].function == "leaf")
        .expect("an address in the inlined leaf");
    let named: Vec<(&str, u32, bool)> = frames
        .iter()
        .map(|frame| (&*frame.function, frame.line, frame.inlined))
        .collect();
    assert_eq!(
        named,
        [("leaf", 5, true), ("middle", 8, true), ("outer", 13, false)]
    );
    assert!(
        frames
            .iter()
            .all(|frame| frame.language == Language::Native)
    );
    assert!(
        frames
            .iter()
            .all(|frame| &*frame.file == scratch.path().join("app.c").to_str().unwrap())
    );
    for part in ["outer", "helper", "main"] {
        compare(&scratch, &program, &Symbolizer::new(), part);
    }
}

#[test]
fn c_with_dwarf_4() {
    check_c(&["-O2", "-gdwarf-4"]);
}

#[test]
fn c_with_dwarf_5() {
    check_c(&["-O2", "-gdwarf-5"]);
}

#[test]
fn c_with_compressed_sections() {
    check_c(&["-O2", "-g", "-gz=zlib"]);
}

#[test]
fn c_with_zstd_sections() {
    let scratch = Scratch::new();
    if scratch
        .compile(
            "probe.c",
            "int main(void) { return 0; }",
            &["-g", "-gz=zstd"],
        )
        .is_some()
    {
        check_c(&["-O2", "-g", "-gz=zstd"]);
    }
}

#[test]
fn calls_into_libraries_go_through_named_stubs() {
    let scratch = Scratch::new();
    for options in [
        ["-O2", "-fcf-protection=full"],
        ["-O2", "-fcf-protection=none"],
    ] {
        let Some(program) = scratch.compile("app.c", C, &options) else {
            return;
        };
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        use object::{Object, ObjectSection};
        if file.architecture() != object::Architecture::X86_64 {
            profundo_testing::skip("stubs are decoded on x86-64 only");
            return;
        }
        let stubs: Vec<u64> = [".plt", ".plt.sec"]
            .iter()
            .filter_map(|name| file.section_by_name(name))
            .flat_map(|section| (section.address()..section.address() + section.size()).step_by(4))
            .collect();
        let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &stubs);
        assert!(
            found
                .iter()
                .any(|frames| &*frames[0].function == "printf@plt"),
            "{found:?}"
        );
    }
}

#[test]
fn cpp_names_have_their_parameters_in_the_signature() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.cpp", CPP, &["-O2", "-g"]) else {
        return;
    };
    let path = program.to_str().unwrap();
    let symbolizer = Symbolizer::new();
    let name = |part: &str| {
        let found = symbolizer.resolve(path, &[], &[function(&program, part).start]);
        let frame = found[0].last().unwrap();
        assert_eq!(frame.language, Language::Native);
        (frame.function.to_string(), frame.signature.to_string())
    };
    assert_eq!(
        name("area"),
        (
            "geo::Shape::area".into(),
            "geo::Shape::area(int) const".into()
        )
    );
    assert_eq!(
        name("twice"),
        ("geo::twice<int>".into(), "geo::twice<int>(int)".into())
    );
    let hidden = "(anonymous namespace)::hidden";
    assert_eq!(name("hidden"), (hidden.into(), format!("{hidden}(int)")));
    for part in ["area", "twice", "hidden", "main"] {
        compare(&scratch, &program, &symbolizer, part);
    }
}

/// Compilers give no linkage names to functions that no other unit can call.
#[test]
fn lambdas_are_named_by_the_function_they_are_in() {
    let scratch = Scratch::new();
    let source = r#"
        volatile int sink;
        namespace geo {
        template <typename F> __attribute__((noinline)) int each(F f) { return f(1) + f(2); }
        struct Shape {
            int side;
            int area(int scale) { return each([&](int x) { sink = x; return side * x * scale; }); }
        };
        }
        int main(int argc, char **) { return geo::Shape{argc}.area(2); }
    "#;
    let Some(program) = scratch.compile("app.cpp", source, &["-O0", "-g"]) else {
        return;
    };
    let name = |part: &str| {
        let start = function(&program, part).start;
        let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &[start]);
        let frame = found[0].last().unwrap();
        (frame.function.to_string(), frame.signature.to_string())
    };
    let lambda = "geo::Shape::area(int)::{lambda(int)#1}";
    assert_eq!(
        name("clEi"),
        (
            format!("{lambda}::operator()"),
            format!("{lambda}::operator()(int) const")
        )
    );
    let each = format!("geo::each<{lambda}>");
    assert_eq!(
        name("3geo4each"),
        (each.clone(), format!("{each}({lambda})"))
    );
}

/// Inlined code has no symbol, and gcc gives the entries of lambdas no linkage name.
#[test]
fn inlined_lambdas_are_named_by_the_function_they_are_in() {
    let scratch = Scratch::new();
    let source = r#"
        volatile int sink;
        #define INLINE __attribute__((always_inline))
        namespace geo {
        struct Shape {
            int side;
            __attribute__((noinline)) int area(int scale) {
                auto first = [&](int x) INLINE { sink = x; return side * x * scale; };
                auto second = [&](int x) INLINE { sink = x + 1; return side - x; };
                return first(scale) + second(scale);
            }
        };
        }
        int main(int argc, char **) {
            auto last = [](const long *y) INLINE {
                auto inner = [](unsigned long z) INLINE { sink = z; return 1; };
                return inner(*y);
            };
            long y = argc;
            return geo::Shape{argc}.area(2) + last(&y);
        }
    "#;
    let Some(program) = scratch.compile("app.cpp", source, &["-O2", "-g"]) else {
        return;
    };
    let names = |part: &str| {
        let addresses: Vec<u64> = function(&program, part).collect();
        let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
        let frames = found.iter().flat_map(|frames| frames.iter());
        let names = frames.map(|frame| frame.function.to_string());
        names
            .filter(|name| name.contains("operator()"))
            .collect::<BTreeSet<String>>()
    };
    let area = "geo::Shape::area(int)";
    assert_eq!(
        Vec::from_iter(names("4areaEi")),
        [1, 2].map(|number| format!("{area}::{{lambda(int)#{number}}}::operator()"))
    );
    let last = "main::{lambda(long const*)#1}::operator()";
    let inner = format!("{last}(long const*) const::{{lambda(unsigned long)#1}}::operator()");
    assert!(names("main").contains(&inner), "{:?}", names("main"));
}

#[test]
fn symbols_alone_give_functions_without_lines() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.c", C, &["-O2", "-g"]) else {
        return;
    };
    let path = program.to_str().unwrap();
    let addresses: Vec<u64> = function(&program, "outer").collect();
    let symbolizer = Symbolizer::new().with_symbols_only([path.to_owned()]);
    for frames in symbolizer.resolve(path, &[], &addresses) {
        let named: Vec<(&str, u32)> = frames
            .iter()
            .map(|frame| (&*frame.function, frame.line))
            .collect();
        assert_eq!(named, [("outer", 0)]);
    }
}
