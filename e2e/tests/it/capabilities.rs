//! Sessions to which the kernel refuses something.

use crate::run::Target;

fn refused(arguments: &[&str]) {
    let refused = Target::new(env!("CARGO_BIN_EXE_refused"));
    refused
        .with(arguments)
        .assert_prints("it went on as well as it could");
}

#[test]
fn perf_events_by_a_filter() {
    // Not permitted, unknown to the kernel, and with an attribute that it does not know.
    for errno in [
        libc::EPERM,
        libc::EACCES,
        libc::ENOSYS,
        libc::EINVAL,
        libc::E2BIG,
    ] {
        refused(&["filter", &errno.to_string()]);
    }
}

#[test]
fn all_clocks_by_a_filter() {
    refused(&["clocks"]);
}

#[test]
fn threads_by_a_filter() {
    refused(&["threads"]);
}

#[test]
fn nothing_to_an_ordinary_user() {
    refused(&["ordinary-user"]);
}

#[test]
fn descriptors_by_a_limit() {
    refused(&["descriptors"]);
}

#[test]
fn memory_by_a_limit() {
    refused(&["memory"]);
}
