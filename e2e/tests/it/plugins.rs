//! Two libraries, compiled here, that a target loads and unloads in turn.

use std::path::Path;
use std::process::Command;

use profundo_e2e::sys::skip;

use crate::run::{Target, on_each_engine};

const SOURCE: &str = r#"
#include <stdint.h>
static uint64_t inner(uint64_t n, volatile uint64_t *x) {
    for (uint64_t i = 0; i < n; i++) *x = *x * 3 + i;
    return *x;
}
#ifdef TWO
/* Another layout, so that the same address means another function. */
__attribute__((noinline)) uint64_t other(uint64_t n) { volatile uint64_t y = n; return y * 7; }
uint64_t work_of_two(uint64_t n) {
    volatile uint64_t buffer[100];
    buffer[5] = other(n);
    volatile uint64_t x = 1;
    return inner(n, &x) + buffer[5];
}
#else
uint64_t work_of_one(uint64_t n) { volatile uint64_t x = 1; return inner(n, &x); }
#endif
"#;

fn compile(source: &Path, library: &Path, definition: &str) -> bool {
    let flags = [
        "-O1",
        "-fomit-frame-pointer",
        "-shared",
        "-fPIC",
        definition,
        "-o",
    ];
    let compiler = Command::new("cc")
        .args(flags)
        .arg(library)
        .arg(source)
        .status();
    compiler.is_ok_and(|status| status.success())
}

#[test]
fn libraries_that_come_and_go() {
    let folder = std::env::temp_dir().join(format!("profundo-plugins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("plugin.c");
    std::fs::write(&source, SOURCE).unwrap();
    let (one, two) = (folder.join("one.so"), folder.join("two.so"));
    if compile(&source, &one, "-DONE") && compile(&source, &two, "-DTWO") {
        on_each_engine(|engine| {
            let plugins = Target::new(env!("CARGO_BIN_EXE_plugins"));
            let arguments = [one.to_str().unwrap(), two.to_str().unwrap(), engine];
            plugins.with(&arguments).says("the libraries are gone");
        });
    } else {
        skip("there is no C compiler");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
