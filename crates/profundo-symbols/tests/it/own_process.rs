//! The profile of this very process, made by hand: addresses of functions of the test binary.

use std::sync::Arc;

use profundo_model::{
    Avma, CodeAddress, FrameId, Language, LocationId, LocationKind, Module, Profile, Reason,
};
use profundo_symbols::{Symbolizer, Unnamed};

/// A profile with a module that is mapped at its own file addresses, and a location at each.
pub fn profile_of(path: &str, build_id: &[u8], addresses: &[u64]) -> Profile {
    let mut profile = Profile::default();
    let path = profile.strings.intern(path);
    let module = profile.modules.push(Module {
        path,
        build_id: build_id.to_vec(),
        end: Avma(u64::MAX),
        ..Module::default()
    });
    for address in addresses {
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(*address)));
        profile.locations.intern(kind, Some(module));
    }
    profile
}

/// Adds the module at `address`, from `/proc/self/maps`.
fn own_module(profile: &mut Profile, address: u64) -> profundo_model::ModuleId {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let range = |line: &str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        (
            u64::from_str_radix(start, 16).unwrap(),
            u64::from_str_radix(end, 16).unwrap(),
        )
    };
    // The path is the last field and may hold blanks: a deleted file's ends in ` (deleted)`.
    let path_of = |line: &str| line.find('/').map_or("", |at| &line[at..]).to_owned();
    let line = maps
        .lines()
        .find(|line| (range(line).0..range(line).1).contains(&address))
        .unwrap();
    let path = path_of(line);
    // The last one below the address: another test may have the same file mapped, to read it.
    let at_file_start = |line: &str| line.split_whitespace().nth(2) == Some("00000000");
    let start = maps
        .lines()
        .filter(|line| path_of(line) == path && at_file_start(line))
        .map(|line| range(line).0)
        .filter(|start| *start <= address)
        .max()
        .unwrap();
    let path = profile.strings.intern(&path);
    // The test binary is position independent: its first segment is at file address 0.
    profile.modules.push(Module {
        path,
        start: Avma(start),
        end: Avma(range(line).1),
        bias: start,
        ..Module::default()
    })
}

#[inline(never)]
fn landmark() -> u32 {
    std::hint::black_box(line!())
}

/// The frame of the function itself: a callee may be inlined at its first instruction.
fn own_frame(profile: &Profile, location: LocationId) -> FrameId {
    *profile.locations.get(location).frames.last().unwrap()
}

fn landmark_profile() -> (Profile, LocationId) {
    let mut profile = Profile::default();
    let address = landmark as fn() -> u32 as usize as u64;
    let module = own_module(&mut profile, address);
    let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
    let location = profile.locations.intern(kind, Some(module));
    (profile, location)
}

#[test]
fn a_function_of_this_test_is_named() {
    let (mut profile, location) = landmark_profile();
    let reason = profile
        .locations
        .intern(LocationKind::Reason(Reason::Truncated), None);
    let nowhere = LocationKind::Code(CodeAddress::Return(Avma(0x10)));
    let nowhere = profile.locations.intern(nowhere, None);
    let symbolizer = Symbolizer::new();
    let summary = symbolizer.name_profile(&mut profile);
    assert_eq!((summary.addresses(), summary.unnamed()), (2, 1));

    let id = own_frame(&profile, location);
    let frame = *profile.frames.get(id);
    assert_eq!(profile.function_name(id), "it::own_process::landmark");
    assert_eq!(frame.language, Language::Rust);
    assert!(
        (landmark() - 1..=landmark()).contains(&frame.line),
        "{}",
        frame.line
    );
    let file = profile.files.get(frame.file);
    assert_eq!(profile.strings.get(file.prefix), "@profundo-symbols");
    assert_eq!(profile.strings.get(file.rest), "/tests/it/own_process.rs");
    assert_eq!(
        profile.strings.get(file.path),
        format!("{}/tests/it/own_process.rs", env!("CARGO_MANIFEST_DIR"))
    );

    let reason = profile.locations.get(reason).frames[0];
    assert_eq!(profile.function_name(reason), Reason::Truncated.name());
    let nowhere = profile.locations.get(nowhere).frames[0];
    assert_eq!(
        (profile.function_name(nowhere), profile.file_path(nowhere)),
        ("", "")
    );

    // Named locations are left alone.
    let again = symbolizer.name_profile(&mut profile);
    assert_eq!(again.addresses(), 0);
}

#[test]
fn a_deleted_program_names_itself() {
    const SECOND_RUN: &str = "PROFUNDO_SYMBOLS_DELETED";
    let own = std::env::current_exe().unwrap();
    if std::env::var_os(SECOND_RUN).is_some() {
        std::fs::remove_file(&own).unwrap();
        let (mut profile, location) = landmark_profile();
        let (id, module) = profile.modules.iter().next().unwrap();
        assert!(profile.strings.get(module.path).ends_with(" (deleted)"));
        // A path noted while the file was there lacks that suffix.
        let kept = profile.strings.intern(own.to_str().unwrap());
        let second = profile.modules.push(Module {
            path: kept,
            ..module.clone()
        });
        let kind = profile.locations.get(location).kind;
        let again = profile.locations.intern(kind, Some(second));
        assert_ne!(id, second);
        Symbolizer::new().name_profile(&mut profile);
        for location in [location, again] {
            let id = own_frame(&profile, location);
            assert_eq!(profile.function_name(id), "it::own_process::landmark");
            assert!(profile.frames.get(id).line > 0);
        }
        return;
    }
    let scratch = crate::build::Scratch::new();
    let copy = scratch.path().join("copy");
    std::fs::copy(own, &copy).unwrap();
    let output = std::process::Command::new(&copy)
        .args(["--exact", "own_process::a_deleted_program_names_itself"])
        .env(SECOND_RUN, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
fn a_correction_rewrites_frames_and_its_panics_are_swallowed() {
    let symbolizer = Symbolizer::new();
    let line = |symbolizer: &Symbolizer| {
        let (mut profile, location) = landmark_profile();
        symbolizer.name_profile(&mut profile);
        let id = own_frame(&profile, location);
        (
            profile.file_path(id).to_owned(),
            profile.frames.get(id).line,
        )
    };
    let plain = line(&symbolizer);
    symbolizer.set_correction(Some(Arc::new(|frames| {
        let frame = frames.last_mut().unwrap();
        frame.line = 1234;
        frame.file = "/edited.rs".into();
    })));
    assert_eq!(line(&symbolizer), ("/edited.rs".to_owned(), 1234));
    symbolizer.set_correction(Some(Arc::new(|frames| {
        let frame = frames.last_mut().unwrap();
        frame.line = 1234;
        panic!("this panic is part of the test");
    })));
    assert_eq!(line(&symbolizer), plain);
    symbolizer.set_correction(None);
    assert_eq!(line(&symbolizer), plain);
}

#[test]
fn the_vdso_has_names_from_our_own_copy_or_a_supplied_one() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    if !maps.contains("[vdso]") {
        return profundo_testing::skip("no vDSO here");
    }
    use object::{Object, ObjectSymbol};
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).unwrap();
    let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
    let start = u64::from_str_radix(start, 16).unwrap();
    let size = u64::from_str_radix(end, 16).unwrap() - start;
    let mut image = vec![0; size as usize];
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut image, start).unwrap();
    let file = object::File::parse(&*image).unwrap();
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| {
            symbol
                .name()
                .is_ok_and(|name| name.ends_with("clock_gettime"))
        })
        .expect("the vDSO tells the time")
        .address();

    let found = Symbolizer::new().resolve("[vdso]", &[], &[symbol]);
    assert!(found[0][0].function.ends_with("clock_gettime"), "{found:?}");
    let supplied = Symbolizer::new().with_image("[vdso]", image);
    assert_eq!(supplied.resolve("[vdso]", &[], &[symbol]), found);
    let refused = supplied.resolve("[vdso]", &[9; 20], &[symbol]);
    assert_eq!(&*refused[0][0].function, "");
}

#[test]
fn libc_is_named_by_its_symbols_and_shown_by_its_path() {
    let mut profile = Profile::default();
    let address = libc_function();
    let module = own_module(&mut profile, address);
    let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
    let location = profile.locations.intern(kind, Some(module));
    Symbolizer::new().name_profile(&mut profile);
    let id = own_frame(&profile, location);
    assert!(
        profile.function_name(id).contains("getpid"),
        "{:?} in {:?}",
        profile.function_name(id),
        profile.modules.get(module)
    );
    assert_eq!(profile.frames.get(id).language, Language::Native);
    let file = profile.files.get(profile.frames.get(id).file);
    assert_eq!(profile.strings.get(file.prefix), "");
}

/// The address of `getpid` in the C library that this process uses.
fn libc_function() -> u64 {
    unsafe extern "C" {
        fn getpid() -> i32;
    }
    getpid as unsafe extern "C" fn() -> i32 as usize as u64
}

#[test]
fn names_are_looked_up_apart_from_the_profile_and_given_at_once() {
    let (mut profile, location) = landmark_profile();
    let nowhere = LocationKind::Code(CodeAddress::Return(Avma(0x10)));
    let nowhere = profile.locations.intern(nowhere, None);
    let symbolizer = Symbolizer::new();
    let unnamed = Unnamed::of(&profile);
    assert!(!unnamed.is_empty());
    // An address without a lookup stays without a name; but for code in no module there is nothing
    // to look up.
    symbolizer.name_known(&mut profile);
    assert!(profile.locations.get(location).frames.is_empty());
    assert_eq!(profile.locations.get(nowhere).frames.len(), 1);
    symbolizer.look_up(&unnamed);
    // Another address of the same module comes meanwhile.
    let module = profile.locations.get(location).module;
    let later = LocationKind::Code(CodeAddress::Instruction(Avma(0x7)));
    let later = profile.locations.intern(later, module);
    symbolizer.name_known(&mut profile);
    let name = profile.function_name(own_frame(&profile, location));
    assert!(name.ends_with("landmark"), "{name}");
    assert!(profile.locations.get(later).frames.is_empty());
    symbolizer.look_up(&Unnamed::of(&profile));
    symbolizer.name_known(&mut profile);
    assert!(Unnamed::of(&profile).is_empty());
}
