//! Names of the functions that make system calls.
//!
//! One call has many names: `read` is `__libc_read` in the C library, `__x64_sys_read` in the
//! kernel and `syscall.read` in Go. And some functions only hand on the call that they are given.

/// A function's name without the affixes that C libraries, the kernel and Go add to those of system
/// calls.
pub(crate) fn bare(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    let mut name = name.rsplit(['.', '/']).next().unwrap_or(name);
    for before in ["__x64_sys_", "__arm64_sys_", "__se_sys_", "ksys_"] {
        name = name.strip_prefix(before).unwrap_or(name);
    }
    loop {
        let shorter = name.trim_start_matches('_');
        let shorter = ["GI_", "libc_", "new_"]
            .iter()
            .find_map(|before| shorter.strip_prefix(before))
            .unwrap_or(shorter);
        if shorter == name {
            break;
        }
        name = shorter;
    }
    name.strip_suffix("_nocancel").unwrap_or(name)
}

/// Whether a function makes any system call that it is given. The name is a [`bare`] one.
pub(crate) fn passes_on(name: &str) -> bool {
    [
        // The GNU C library's.
        "syscall",
        "syscall_cancel",
        "syscall_cancel_arch",
        "syscall_cancel_arch_end",
        "internal_syscall_cancel",
        "restore_rt",
        // musl's.
        "syscall_cp",
        "syscall_cp_c",
        "syscall_cp_asm",
        "cp_end",
        // Go's.
        "Syscall",
        "Syscall6",
        "RawSyscall",
        "RawSyscall6",
    ]
    .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_one_bare_name() {
        for (name, expected) in [
            ("__GI___libc_read", "read"),
            ("__x64_sys_pread64", "pread64"),
            ("__pread64_nocancel", "pread64"),
            ("syscall.read", "read"),
            ("read@@GLIBC_2.2.5", "read"),
            ("fread", "fread"),
            ("__", ""),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_of_each_library_pass_calls_on() {
        for name in [
            "internal/runtime/syscall.Syscall6",
            "__syscall_cancel_arch",
            "__syscall_cp_asm",
        ] {
            assert!(passes_on(bare(name)), "{name}");
        }
        for name in ["read", "", "cancel"] {
            assert!(!passes_on(name), "{name}");
        }
    }
}
