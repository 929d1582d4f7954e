//! C code that Cython has made, with its comments.

use std::fs;

use profundo_symbols::Symbolizer;

use crate::build::{Scratch, function};

/// A C file as Cython 3 writes it, shortened.
const MADE: &str = r#"volatile double sink;

/* "fast.pyx":1
 * def total(int n):             # <<<<<<<<<<<<<<
 *     cdef double s = 0
 */

__attribute__((noinline)) double __pyx_pf_4fast_3Box_2total(int n) {
  double s;

  /* "fast.pyx":2
 * def total(int n):
 *     cdef double s = 0             # <<<<<<<<<<<<<<
 *     for i in range(n):
 */
  s = sink;

  /* "fast.pyx":4
 *     cdef int i
 *     for i in range(n):             # <<<<<<<<<<<<<<
 */
  for (int i = 0; i < n; i++)

    /* "fast.pyx":5
 *         s += i * 0.5             # <<<<<<<<<<<<<<
 */
    sink = s += i * 0.5;
  return s;
}

int main(int argc, char **argv) { return __pyx_pf_4fast_3Box_2total(argc) < 0; }
"#;

#[test]
fn functions_of_cython_have_the_lines_of_the_program() {
    let scratch = Scratch::new();
    let pyx = scratch.path().join("fast.pyx");
    fs::write(&pyx, "def total(int n):\n").unwrap();
    let Some(program) = scratch.compile("fast.c", MADE, &["-O0", "-g"]) else {
        return;
    };
    let resolve = || -> Vec<(String, String, u32)> {
        let addresses: Vec<u64> = function(&program, "total").collect();
        let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
        let frames = found.iter().flat_map(|frames| frames.iter());
        let mut rows: Vec<_> = frames
            .map(|frame| {
                (
                    frame.function.to_string(),
                    frame.file.to_string(),
                    frame.line,
                )
            })
            .collect();
        rows.sort();
        rows.dedup();
        rows
    };
    let name = "fast.Box.total (__pyx_pf_4fast_3Box_2total)";
    let expected = |file: &str, lines: &[u32]| -> Vec<(String, String, u32)> {
        let row = |line: &u32| (name.to_owned(), file.to_owned(), *line);
        lines.iter().map(row).collect()
    };
    assert_eq!(resolve(), expected(pyx.to_str().unwrap(), &[1, 2, 4, 5]));

    // A C file that is newer than the module is another one.
    let c_file = scratch.path().join("fast.c");
    let file = fs::File::options().append(true).open(&c_file).unwrap();
    let built = fs::metadata(&program).unwrap().modified().unwrap();
    file.set_modified(built + std::time::Duration::from_secs(5))
        .unwrap();
    let rows = resolve();
    assert!(
        rows.iter()
            .all(|row| row.0 == name && row.1.ends_with("fast.c")),
        "{rows:?}"
    );
}
