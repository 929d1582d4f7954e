//! Rust programs: inlined frames, both manglings, with and without debug information.

use profundo_model::Language;
use profundo_symbols::{NamedFrame, Problem, Symbolizer};

use crate::build::{RUST, Scratch, function, functions};
use crate::oracle::{compare, compare_places};

/// The frames of an address in the loop of `outer`, where both small functions are inlined.
fn inlined_frames(program: &std::path::Path) -> Vec<NamedFrame> {
    let range = function(program, "outer");
    let addresses: Vec<u64> = range.collect();
    let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
    let wanted = |frames: &&std::sync::Arc<[NamedFrame]>| {
        frames.iter().any(|frame| frame.function.contains("leaf"))
    };
    found
        .iter()
        .find(wanted)
        .expect("an address with the inlined leaf")
        .to_vec()
}

#[test]
fn inlined_functions_come_before_the_real_one() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.rs", RUST, &["-g", "-O"]) else {
        return;
    };
    let frames = inlined_frames(&program);
    let named: Vec<(&str, u32, bool)> = frames
        .iter()
        .filter(|frame| frame.function.starts_with("app::"))
        .map(|frame| (&*frame.function, frame.line, frame.inlined))
        .collect();
    assert_eq!(
        named,
        [
            ("app::leaf", 6, true),
            ("app::middle", 11, true),
            ("app::deep::outer", 19, false)
        ]
    );
    assert!(frames.iter().all(|frame| frame.language == Language::Rust));
    assert!(&*frames.last().unwrap().file == scratch.path().join("app.rs").to_str().unwrap());
    // Legacy mangling has no generics, the debug information has.
    let middle = frames
        .iter()
        .find(|frame| &*frame.function == "app::middle")
        .unwrap();
    assert_eq!(&*middle.signature, "app::middle<u32>");
    compare(&scratch, &program, &Symbolizer::new(), "3app");
}

/// Release builds often keep line tables only: there are no linkage names in them.
#[test]
fn line_tables_alone_are_completed_from_the_symbols() {
    for mangling in ["legacy", "v0"] {
        let scratch = Scratch::new();
        let mut options = vec!["-Cdebuginfo=line-tables-only", "-O"];
        // Legacy is the stable compilers' default, and cannot be requested.
        if mangling == "v0" {
            options.push("-Csymbol-mangling-version=v0");
        }
        let Some(program) = scratch.compile("app.rs", RUST, &options) else {
            return;
        };
        let frames = inlined_frames(&program);
        let named: Vec<(&str, &str, u32)> = frames
            .iter()
            .filter(|frame| frame.file.ends_with("app.rs") && frame.line > 0)
            .map(|frame| (&*frame.function, &*frame.signature, frame.line))
            .collect();
        assert_eq!(
            named,
            [
                ("leaf", "", 6),
                ("middle", "middle<u32>", 11),
                ("app::deep::outer", "", 19)
            ]
        );
        assert!(frames.iter().all(|frame| frame.language == Language::Rust));
        let start = function(&program, "7generic").start;
        let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &[start]);
        let frame = found[0].last().unwrap();
        let text = format!("{} {}", frame.function, frame.signature);
        assert!(text.starts_with("app::generic"), "{text}");
        assert!(text.trim_end().ends_with('>'), "{text}");
        compare_places(&scratch, &program, "3app");
    }
}

/// Code of one codegen unit that is inlined into another has its description in a third.
#[test]
fn generics_are_found_across_compilation_units() {
    const SOURCE: &str = r#"
mod a {
    #[inline]
    pub fn wrap<T: Clone>(x: &T) -> Vec<T> {
        let mut all = Vec::with_capacity(std::hint::black_box(4));
        all.push(x.clone());
        all.extend(Some(x.clone()));
        all
    }
    #[inline(never)]
    pub fn one(x: &String) -> usize {
        wrap(x).len()
    }
}
mod b {
    #[inline(never)]
    pub fn two(x: &String) -> usize {
        super::a::wrap(x).len() + super::a::wrap(&7u16).len()
    }
}
fn main() {
    for x in std::env::args() {
        println!("{}", a::one(&x) + b::two(&x));
    }
}
"#;
    let scratch = Scratch::new();
    let options = ["-g", "-O", "-Ccodegen-units=8"];
    let Some(program) = scratch.compile("app.rs", SOURCE, &options) else {
        return;
    };
    let addresses: Vec<u64> = functions(&program, "3app")
        .into_iter()
        .flat_map(|(_, range)| range)
        .collect();
    let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
    let inside_vec: Vec<&NamedFrame> = found
        .iter()
        .flat_map(|frames| frames.iter())
        .filter(|frame| {
            frame
                .function
                .starts_with("alloc::raw_vec::RawVecInner<A>::")
        })
        .collect();
    assert!(!inside_vec.is_empty());
    for frame in inside_vec {
        assert!(
            frame.signature.contains("<alloc::alloc::Global"),
            "{frame:?}"
        );
    }
    compare(&scratch, &program, &Symbolizer::new(), "3app");
}

#[test]
fn version_0_mangling_has_the_generics() {
    let scratch = Scratch::new();
    let options = ["-g", "-O", "-Csymbol-mangling-version=v0"];
    let Some(program) = scratch.compile("app.rs", RUST, &options) else {
        return;
    };
    let frames = inlined_frames(&program);
    let functions: Vec<&str> = frames.iter().map(|frame| &*frame.function).collect();
    assert!(functions.contains(&"app::middle::<u32>"), "{functions:?}");
    assert_eq!(functions.last(), Some(&"app::deep::outer"));
    assert!(frames.iter().all(|frame| frame.language == Language::Rust));
    compare(&scratch, &program, &Symbolizer::new(), "3app");
}

#[test]
fn a_debug_build_agrees_with_binutils_in_the_standard_library_too() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.rs", RUST, &["-g"]) else {
        return;
    };
    compare(&scratch, &program, &Symbolizer::new(), "3app");
    compare(&scratch, &program, &Symbolizer::new(), "3fmt");
}

#[test]
fn without_debug_information_functions_have_names_but_no_lines() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.rs", RUST, &["-O", "-Cstrip=debuginfo"]) else {
        return;
    };
    let range = function(&program, "outer");
    let path = program.to_str().unwrap();
    let found = Symbolizer::new().resolve(path, &[], &[range.start, range.end - 1, 1]);
    for frames in &found[..2] {
        let frame = &frames[0];
        assert_eq!((&*frame.function, frame.line), ("app::deep::outer", 0));
        assert_eq!((&*frame.file, frame.language), (path, Language::Rust));
    }
    assert_eq!((&*found[2][0].function, &*found[2][0].file), ("", path));
}

#[test]
fn a_stripped_program_says_what_is_missing() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.rs", RUST, &["-g", "-O"]) else {
        return;
    };
    let inside = function(&program, "outer").start;
    if scratch.run("strip", &["program"]).is_none() {
        return;
    }
    let mut profile = crate::own_process::profile_of(program.to_str().unwrap(), &[], &[inside]);
    let summary = Symbolizer::new().name_profile(&mut profile);
    assert_eq!(summary.unnamed(), 1);
    assert!(summary.modules[0].problems.contains(&Problem::NoDebugInfo));
    assert!(summary.to_string().contains("no debug info"), "{summary}");
}
