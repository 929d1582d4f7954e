//! Debug information in another file: by link, by build id, and never in the wrong one.

use std::path::{Path, PathBuf};

use object::Object;
use profundo_symbols::{Problem, Symbolizer};

use crate::build::{C, Scratch, function};
use crate::own_process::profile_of;

/// A stripped program, its debug file's path, and an address in `outer`.
fn stripped(scratch: &Scratch, debug: &str) -> Option<(PathBuf, u64)> {
    let options = ["-O2", "-g", "-Wl,--build-id=sha1"];
    let program = scratch.compile("app.c", C, &options)?;
    let inside = function(&program, "outer").start;
    let debug = scratch.path().join(debug);
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    scratch.run(
        "objcopy",
        &["--only-keep-debug", "program", debug.to_str().unwrap()],
    )?;
    scratch.run("strip", &["program"])?;
    Some((program, inside))
}

fn line(symbolizer: &Symbolizer, program: &Path, address: u64) -> (String, u32) {
    let found = symbolizer.resolve(program.to_str().unwrap(), &[], &[address]);
    let frame = found[0].last().unwrap();
    (frame.function.to_string(), frame.line)
}

fn build_id(program: &Path) -> Vec<u8> {
    let bytes = std::fs::read(program).unwrap();
    object::File::parse(&*bytes)
        .unwrap()
        .build_id()
        .unwrap()
        .unwrap()
        .to_vec()
}

#[test]
fn a_debug_link_is_followed() {
    for directory in ["", ".debug/"] {
        let scratch = Scratch::new();
        let debug = format!("{directory}program.debug");
        let Some((program, inside)) = stripped(&scratch, &debug) else {
            return;
        };
        // Without it the function is named after its address.
        let (place, line_there) = line(&Symbolizer::new(), &program, inside);
        let start = place.strip_prefix("program+0x").unwrap();
        let start = u64::from_str_radix(start, 16).unwrap();
        assert!(start <= inside && inside - start < 0x40, "{place}");
        assert_eq!(line_there, 0);
        let link = format!("--add-gnu-debuglink={debug}");
        if scratch
            .run("objcopy", &[link.as_str(), "program"])
            .is_none()
        {
            return;
        }
        assert_eq!(
            line(&Symbolizer::new(), &program, inside),
            ("outer".into(), 12)
        );
    }
}

#[test]
fn a_debug_link_below_a_root_is_followed() {
    let scratch = Scratch::new();
    let Some((program, inside)) = stripped(&scratch, "program.debug") else {
        return;
    };
    if scratch
        .run("objcopy", &["--add-gnu-debuglink=program.debug", "program"])
        .is_none()
    {
        return;
    }
    let root = scratch.path().join("root");
    let place = root.join(scratch.path().strip_prefix("/").unwrap());
    std::fs::create_dir_all(&place).unwrap();
    let from = scratch.path().join("program.debug");
    std::fs::rename(from, place.join("program.debug")).unwrap();
    let symbolizer = Symbolizer::new().with_debug_roots([root]);
    assert_eq!(line(&symbolizer, &program, inside), ("outer".into(), 12));
}

#[test]
fn a_debug_link_to_something_else_is_refused() {
    let scratch = Scratch::new();
    // Without a build id only the checksum can decide.
    let options = ["-O2", "-g", "-Wl,--build-id=none"];
    let Some(program) = scratch.compile("app.c", C, &options) else {
        return;
    };
    let inside = function(&program, "outer").start;
    let steps = [
        scratch.run(
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        ),
        scratch.run("strip", &["program"]),
        scratch.run("objcopy", &["--add-gnu-debuglink=program.debug", "program"]),
    ];
    if steps.iter().any(Option::is_none) {
        return;
    }
    assert_eq!(
        line(&Symbolizer::new(), &program, inside),
        ("outer".into(), 12)
    );
    let debug = scratch.path().join("program.debug");
    let mut bytes = std::fs::read(&debug).unwrap();
    bytes.push(0);
    std::fs::write(&debug, bytes).unwrap();
    let mut profile = profile_of(program.to_str().unwrap(), &[], &[inside]);
    let summary = Symbolizer::new().name_profile(&mut profile);
    let missing = Problem::DebugFileMissing {
        name: "program.debug".into(),
    };
    assert!(summary.modules[0].problems.contains(&missing), "{summary}");
    assert_eq!(summary.unnamed(), 1);
}

#[test]
fn a_copy_by_build_id_stands_in_for_a_file_that_is_gone_or_another_one() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.c", C, &["-O2", "-g", "-Wl,--build-id=sha1"]) else {
        return;
    };
    let inside = function(&program, "outer").start;
    let id = build_id(&program);
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = scratch.path().join("copies");
    let place = folder.join(format!(".build-id/{}/{}", &hex[..2], &hex[2..]));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::rename(&program, place.join("elf")).unwrap();
    let path = program.to_str().unwrap();
    let name = |symbolizer: &Symbolizer, id: &[u8]| {
        let found = symbolizer.resolve(path, id, &[inside]);
        found[0].last().map(|frame| frame.function.to_string())
    };
    let symbolizer = Symbolizer::new().with_copies([folder]);
    assert_eq!(name(&symbolizer, &id).as_deref(), Some("outer"));
    assert_ne!(name(&symbolizer, &[1; 20]).as_deref(), Some("outer"));
    std::fs::copy("/proc/self/exe", &program).unwrap();
    symbolizer.clear_cache();
    assert_eq!(name(&symbolizer, &id).as_deref(), Some("outer"));
}

#[test]
fn a_build_id_finds_its_file_even_when_the_program_is_gone() {
    let scratch = Scratch::new();
    let Some((program, inside)) = stripped(&scratch, "program.debug") else {
        return;
    };
    let id = build_id(&program);
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let root = scratch.path().join("root");
    let place = root.join(".build-id").join(&hex[..2]);
    std::fs::create_dir_all(&place).unwrap();
    let debug = place.join(format!("{}.debug", &hex[2..]));
    std::fs::rename(scratch.path().join("program.debug"), &debug).unwrap();

    let symbolizer = Symbolizer::new().with_debug_roots([root]);
    assert_eq!(line(&symbolizer, &program, inside), ("outer".into(), 12));

    std::fs::remove_file(&program).unwrap();
    let mut profile = profile_of(program.to_str().unwrap(), &id, &[inside]);
    let summary = symbolizer.name_profile(&mut profile);
    assert_eq!((summary.modules[0].with_line, summary.unnamed()), (1, 0));
    assert_eq!(summary.modules[0].debug_file.as_ref(), Some(&debug));
    assert!(
        matches!(summary.modules[0].problems[..], [Problem::FileGone { .. }]),
        "{summary}"
    );
}

#[test]
fn another_build_of_the_program_gives_no_names() {
    let scratch = Scratch::new();
    let options = ["-O2", "-g", "-Wl,--build-id=sha1"];
    let Some(program) = scratch.compile("app.c", C, &options) else {
        return;
    };
    let inside = function(&program, "outer").start;
    let path = program.to_str().unwrap();

    let mut profile = profile_of(path, &build_id(&program), &[inside]);
    assert_eq!(Symbolizer::new().name_profile(&mut profile).unnamed(), 0);

    let mut profile = profile_of(path, &[1, 2, 3, 4], &[inside]);
    let summary = Symbolizer::new().name_profile(&mut profile);
    assert_eq!(summary.unnamed(), 1);
    assert!(
        summary.to_string().contains("build id differs"),
        "{summary}"
    );
}

#[test]
fn shared_debug_information_is_found_by_dwz() {
    let scratch = Scratch::new();
    let options = ["-O2", "-g", "-Wl,--build-id=sha1"];
    let Some(first) = scratch.compile("app.c", C, &options) else {
        return;
    };
    std::fs::rename(&first, scratch.path().join("first")).unwrap();
    if scratch.compile("app.c", C, &options).is_none() {
        return;
    }
    let inside = function(&scratch.path().join("first"), "outer");
    if scratch
        .run("dwz", &["-m", "common.debug", "first", "program"])
        .is_none()
    {
        return;
    }
    let path = scratch.path().join("first");
    let addresses: Vec<u64> = inside.collect();
    let found = Symbolizer::new().resolve(path.to_str().unwrap(), &[], &addresses);
    let frames = found
        .iter()
        .find(|frames| frames.len() == 3)
        .expect("inlined frames");
    let names: Vec<&str> = frames.iter().map(|frame| &*frame.function).collect();
    assert_eq!(names, ["leaf", "middle", "outer"]);
}

#[test]
fn a_symbol_table_within_the_file_is_read() {
    let scratch = Scratch::new();
    let options = ["-O2", "-g", "-Wl,--build-id=sha1"];
    let Some(program) = scratch.compile("app.c", C, &options) else {
        return;
    };
    let inside = function(&program, "outer").start;
    let steps: [(&str, &[&str]); 4] = [
        ("objcopy", &["--only-keep-debug", "program", "mini"]),
        ("objcopy", &["--strip-debug", "mini"]),
        ("xz", &["mini"]),
        ("strip", &["program"]),
    ];
    for (tool, arguments) in steps {
        if scratch.run(tool, arguments).is_none() {
            return;
        }
    }
    let named = |program: &Path| line(&Symbolizer::new(), program, inside).0;
    assert!(named(&program).starts_with("program+0x"));
    let add = ["--add-section", ".gnu_debugdata=mini.xz", "program"];
    scratch.run("objcopy", &add).unwrap();
    assert_eq!(named(&program), "outer");
    // One that is damaged is as none.
    let mut bytes = std::fs::read(scratch.path().join("mini.xz")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x55);
    std::fs::write(scratch.path().join("mini.xz"), bytes).unwrap();
    let update = ["--update-section", ".gnu_debugdata=mini.xz", "program"];
    scratch.run("objcopy", &update).unwrap();
    assert!(named(&program).starts_with("program+0x"));
}
