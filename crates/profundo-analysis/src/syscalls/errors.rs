//! The names of the errors that system calls end with.

use std::borrow::Cow;

/// The name of an error: `ENOENT` for 2.
pub fn error_name(error: u32) -> Cow<'static, str> {
    let known = (error as usize).checked_sub(1).and_then(|at| NAMES.get(at));
    let own = || OWN.iter().find(|(number, _)| *number == error);
    match known
        .filter(|name| !name.is_empty())
        .or_else(|| own().map(|(_, name)| name))
    {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("error {error}")),
    }
}

/// From 1 on.
#[rustfmt::skip]
const NAMES: [&str; 133] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV",
    "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC",
    "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK",
    "ENOSYS", "ENOTEMPTY", "ELOOP", "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST",
    "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC",
    "EBADSLT", "", "EBFONT", "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE",
    "ENOLINK", "EADV", "ESRMNT", "ECOMM", "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW",
    "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD", "ELIBSCN", "ELIBMAX", "ELIBEXEC",
    "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ", "EMSGSIZE",
    "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "EPFNOSUPPORT",
    "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET",
    "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS",
    "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS", "ESTALE",
    "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE",
    "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD",
    "ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
];

/// The kernel's own: a signal has interrupted the call, which is made again or fails with `EINTR`.
const OWN: [(u32, &str); 5] = [
    (512, "ERESTARTSYS"),
    (513, "ERESTARTNOINTR"),
    (514, "ERESTARTNOHAND"),
    (516, "ERESTART_RESTARTBLOCK"),
    (524, "ENOTSUPP"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names() {
        let known = [
            (2, "ENOENT"),
            (11, "EAGAIN"),
            (110, "ETIMEDOUT"),
            (133, "EHWPOISON"),
        ];
        for (error, name) in known {
            assert_eq!(error_name(error), name);
        }
        assert_eq!(error_name(512), "ERESTARTSYS");
        assert_eq!(
            (error_name(0), error_name(41)),
            ("error 0".into(), "error 41".into())
        );
    }
}
