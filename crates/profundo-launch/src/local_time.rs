//! The time of day where the user is.

/// A moment in local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalTime {
    /// The year.
    pub year: i32,
    /// The month, from 1 on.
    pub month: i32,
    /// The day of the month, from 1 on.
    pub day: i32,
    /// The hour, from 0 on.
    pub hour: i32,
    /// The minute.
    pub minute: i32,
}

impl LocalTime {
    /// The local time of a Unix time in seconds.
    pub fn at(unix_seconds: i64) -> Self {
        let seconds = unix_seconds as libc::time_t;
        // SAFETY: zeros are a valid structure to be filled in.
        let mut parts: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are places of ours. Nothing in this process changes TZ meanwhile.
        unsafe { libc::localtime_r(&seconds, &mut parts) };
        Self {
            year: parts.tm_year + 1900,
            month: parts.tm_mon + 1,
            day: parts.tm_mday,
            hour: parts.tm_hour,
            minute: parts.tm_min,
        }
    }

    /// The form for readers: `2026-11-22 15:19`.
    pub fn shown(self) -> String {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
        } = self;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }

    /// The form in file names: `20261122-1519`.
    pub fn in_name(self) -> String {
        self.shown().replace(['-', ':'], "").replace(' ', "-")
    }

    /// Now.
    pub fn now() -> Self {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self::at(since.as_secs() as i64)
    }
}
