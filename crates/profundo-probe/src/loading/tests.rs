//! Programs are judged by their files, and lists of libraries are composed and taken apart.

use super::*;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, process};

use profundo_testing::Folder;

/// A folder that goes with its test.
fn folder() -> Folder {
    Folder::new("loading")
}

fn judged(path: &str) -> Verdict {
    let path = CString::new(path).unwrap();
    judge(Target::Path(&path), &Surroundings::default())
}

fn check(name: &str, contents: &[u8]) -> Verdict {
    let folder = folder();
    let path = folder.write(name, contents);
    judged(path.to_str().unwrap())
}

const FOREIGN: Verdict = Verdict::Nothing(Why::Foreign);

#[test]
fn ordinary_programs_get_the_agent_first() {
    for path in ["/proc/self/exe", "/bin/sh", "/bin/ls", "/does/not/exist"] {
        assert_eq!(judged(path), Verdict::First, "{path}");
    }
    let surroundings = Surroundings {
        path: Some(b"/bin:/usr/bin"),
        library_path: None,
    };
    for name in [c"sh", c"ls", c"there-is-no-such-program"] {
        let verdict = judge(Target::Name(name), &surroundings);
        assert_eq!(verdict, Verdict::First, "{name:?}");
    }
}

#[test]
fn programs_of_other_machines_and_loaders_get_nothing() {
    let shell = fs::read("/bin/sh").unwrap();
    assert_eq!(check("same", &shell), Verdict::First);
    let mut small = shell.clone();
    small[4] = 1;
    assert_eq!(check("small", &small), FOREIGN);
    let mut foreign = shell.clone();
    foreign[18] = 243;
    assert_eq!(check("foreign", &foreign), FOREIGN);
    // Those of glibc and of musl are for the agent, and no others.
    for (loader, verdict) in [
        (GLIBC, Verdict::First),
        (MUSL, Verdict::First),
        (b"ld-uClibc.so.1", FOREIGN),
        (b"ld-", FOREIGN),
    ] {
        let named = with_loader(&shell, loader);
        assert_eq!(check("named", &named), verdict, "{loader:?}");
    }
    // A file cut anywhere is judged, or left to the kernel.
    let other = with_loader(&shell, b"ld-");
    for length in 0..900 {
        check("cut", &other[..length]);
    }
    for length in (900..shell.len()).step_by(977) {
        check("cut", &shell[..length]);
    }
}

/// A program with another loader, whose name is as long or shorter.
fn with_loader(program: &[u8], loader: &[u8]) -> Vec<u8> {
    let found = |window: &[u8]| window == GLIBC;
    let at = program.windows(GLIBC.len()).position(found).unwrap();
    let mut program = program.to_vec();
    program[at..at + GLIBC.len()].fill(0);
    program[at..at + loader.len()].copy_from_slice(loader);
    program
}

#[test]
fn a_program_of_musl_with_the_rights_of_its_file_gets_nothing() {
    let folder = folder();
    let path = folder.join("with-rights");
    let shell = fs::read("/bin/sh").unwrap();
    for (loader, with_rights) in [(GLIBC, Verdict::First), (MUSL, FOREIGN)] {
        fs::write(&path, with_loader(&shell, loader)).unwrap();
        for (mode, verdict) in [(0o755, Verdict::First), (0o4755, with_rights)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                judged(path.to_str().unwrap()),
                verdict,
                "{loader:?}, {mode:o}"
            );
        }
    }
}

#[test]
fn a_script_is_what_its_interpreter_is() {
    let mut small = fs::read("/bin/sh").unwrap();
    small[4] = 1;
    let folder = folder();
    let interpreter = folder.join("interpreter");
    fs::write(&interpreter, small).unwrap();
    let line = format!("#! {} -x\necho", interpreter.display());
    assert_eq!(check("script", line.as_bytes()), FOREIGN);
    assert_eq!(check("shell", b"#!/bin/sh\necho"), Verdict::First);
    assert_eq!(check("empty", b"#!\n"), Verdict::First);
    assert_eq!(check("text", b"echo"), Verdict::First);
    let qemu = check("binfmt", b"#!/usr/bin/qemu-x86_64 -strace\n");
    assert_eq!(qemu, Verdict::Nothing(Why::Emulator(Emulator::Qemu)));
}

#[test]
fn emulators_are_known_by_their_names() {
    for (path, emulator) in [
        ("/usr/bin/valgrind", Some(Emulator::Valgrind)),
        ("valgrind.bin", Some(Emulator::Valgrind)),
        (
            "/usr/libexec/valgrind/memcheck-amd64-linux",
            Some(Emulator::Valgrind),
        ),
        ("/usr/bin/rr", Some(Emulator::Rr)),
        ("/usr/bin/qemu-x86_64", Some(Emulator::Qemu)),
        ("/usr/bin/qemu-aarch64-static", Some(Emulator::Qemu)),
        ("/usr/bin/qemu-system-x86_64", None),
        ("/usr/bin/qemu-img", None),
        ("/usr/bin/grr", None),
        ("/home/me/valgrind/prog", None),
    ] {
        assert_eq!(Emulator::of_path(path.as_bytes()), emulator, "{path}");
    }
}

#[test]
fn runtimes_are_known_by_their_names() {
    for (name, sanitizer) in [
        ("libasan.so.8", Some(Sanitizer::Address)),
        (
            "/usr/lib/gcc/x86_64-linux-gnu/12/libtsan.so",
            Some(Sanitizer::Thread),
        ),
        ("libclang_rt.asan-x86_64.so", Some(Sanitizer::Address)),
        ("libclang_rt.hwasan.so", Some(Sanitizer::HwAddress)),
        ("liblsan.so.0", Some(Sanitizer::Leak)),
        // It replaces nothing, so the agent may stand before it.
        ("libubsan.so.1", None),
        ("libasanity.so", None),
        ("libasan.a", None),
        ("libc.so.6", None),
    ] {
        assert_eq!(Sanitizer::of_library(name.as_bytes()), sanitizer, "{name}");
    }
}

fn runtime() -> Verdict {
    let name = b"libasan.so.8";
    Verdict::Behind(Runtime::new(name).unwrap())
}

#[test]
fn what_is_put_into_a_list_is_taken_out_again() {
    const AGENT: &[u8] = b"/cache/agent.so";
    for (verdict, theirs, composed) in [
        (Verdict::First, None, "AGENT"),
        (Verdict::First, Some(""), "AGENT:"),
        (Verdict::First, Some("/a.so:/b.so"), "AGENT:/a.so:/b.so"),
        (runtime(), None, "libasan.so.8:AGENT:AGENT"),
        (runtime(), Some("/a.so"), "/a.so:libasan.so.8:AGENT:AGENT"),
        (runtime(), Some(""), ":libasan.so.8:AGENT:AGENT"),
        // The user has put the runtime there.
        (runtime(), Some("/x/libasan.so.8"), "/x/libasan.so.8:AGENT"),
        (
            Verdict::First,
            Some("libtsan.so.2 /a.so"),
            "libtsan.so.2 /a.so:AGENT",
        ),
    ] {
        let mut room = [0; 200];
        let length = compose(verdict, theirs.map(str::as_bytes), AGENT, &mut room).unwrap();
        let list = &room[..length];
        assert!(length <= room_for(theirs.map_or(0, str::len), AGENT.len()));
        let shown = String::from_utf8_lossy(list).replace("/cache/agent.so", "AGENT");
        assert_eq!(shown, composed);
        let taken = take_out(list, AGENT);
        assert_eq!(taken.theirs, theirs.map(str::as_bytes), "{composed}");
        assert_eq!(
            taken.is_behind,
            !composed.starts_with("AGENT"),
            "{composed}"
        );
        // A list that has ours already does not get it twice.
        let mut again = [0; 200];
        let length = compose(verdict, Some(list), AGENT, &mut again).unwrap();
        assert_eq!(&again[..length], list);
        // Nor does a list without room.
        let mut small: Vec<u8> = std::vec![0; length - 1];
        assert_eq!(compose(verdict, Some(list), AGENT, &mut small), None);
    }
    let mut room = [0; 200];
    assert_eq!(compose(FOREIGN, Some(b"/a.so"), AGENT, &mut room), None);
    assert_eq!(take_out(b"/a.so", AGENT).theirs, Some(&b"/a.so"[..]));
}

/// Compiles an empty program with these flags. `None`: that is not possible here.
fn built(folder: &Folder, compiler: &str, flags: &[&str]) -> Option<String> {
    let source = folder.join("empty.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let name: String = [&[compiler], flags].concat().concat();
    let output = folder.join(name);
    let run = process::Command::new(compiler)
        .args(flags)
        .arg("-o")
        .arg(&output)
        .arg(&source)
        .output();
    let is_built = run.is_ok_and(|output| output.status.success());
    is_built.then(|| output.to_str().unwrap().to_string())
}

/// HWASan on a processor that does not ignore a part of each address.
const HWASAN: &[&str] = &[
    "-fsanitize=hwaddress",
    "-fsanitize-hwaddress-experimental-aliasing",
    "-Wl,--no-relax",
];

#[test]
fn sanitizers_are_found_in_programs() {
    let folder = folder();
    let within = |sanitizer| Verdict::Nothing(Why::Sanitizer(sanitizer));
    for (compiler, flags, wanted) in [
        ("gcc", &["-fsanitize=undefined"][..], Verdict::First),
        (
            "gcc",
            &["-fsanitize=address", "-static-libasan"],
            within(Sanitizer::Address),
        ),
        (
            "gcc",
            &["-fsanitize=thread", "-static-libtsan"],
            within(Sanitizer::Thread),
        ),
        (
            "gcc",
            &["-fsanitize=leak", "-static-liblsan"],
            within(Sanitizer::Leak),
        ),
        (
            "gcc",
            &["-fsanitize=undefined", "-static-libubsan"],
            Verdict::First,
        ),
        ("clang", &["-fsanitize=address"], within(Sanitizer::Address)),
        ("clang", &["-fsanitize=thread"], within(Sanitizer::Thread)),
        ("clang", &["-fsanitize=memory"], within(Sanitizer::Memory)),
        ("clang", &["-fsanitize=leak"], within(Sanitizer::Leak)),
        ("clang", HWASAN, within(Sanitizer::HwAddress)),
        ("clang", &["-fsanitize=undefined"], Verdict::First),
        ("clang", &[], Verdict::First),
    ] {
        for strip in [&[][..], &["-s"]] {
            if let Some(path) = built(&folder, compiler, &[flags, strip].concat()) {
                assert_eq!(judged(&path), wanted, "{compiler} {flags:?} {strip:?}");
            }
        }
    }
    for (flag, name) in [
        ("-fsanitize=address", "libasan.so."),
        ("-fsanitize=thread", "libtsan.so."),
        ("-fsanitize=leak", "liblsan.so."),
    ] {
        let Some(path) = built(&folder, "gcc", &[flag]) else {
            continue;
        };
        let Verdict::Behind(runtime) = judged(&path) else {
            panic!("{flag}: {:?}", judged(&path));
        };
        assert!(runtime.name().starts_with(name.as_bytes()), "{runtime:?}");
    }
}
