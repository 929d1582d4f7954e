//! Two libraries, compiled here, that a target loads and unloads in turn.

use profundo_testing::{Folder, compile};

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

#[test]
fn libraries_that_come_and_go() {
    let folder = Folder::new("plugins");
    let source = folder.write("plugin.c", SOURCE);
    let library = |name: &str, definition: &str| {
        let flags = [
            "-O1",
            "-fomit-frame-pointer",
            "-shared",
            "-fPIC",
            definition,
        ];
        compile("cc", &source, &folder.join(name), &flags)
    };
    let (Some(one), Some(two)) = (library("one.so", "-DONE"), library("two.so", "-DTWO")) else {
        return;
    };
    on_each_engine(|engine| {
        let plugins = Target::new(env!("CARGO_BIN_EXE_plugins"));
        let arguments = [one.to_str().unwrap(), two.to_str().unwrap(), engine];
        plugins
            .with(&arguments)
            .assert_prints("the libraries are gone");
    });
}
