//! The names of files: a folder for each hour and bucket, and in them the time that a file covers.
//!
//! Segments lie below `fresh/` as their writers made them. Joined files lie beside it, and are
//! written once: a glob over them never has a row twice.

use std::ops::Range;

use crate::ids::{BUCKETS, bucket};

/// Milliseconds in an hour.
pub const HOUR: i64 = 3_600_000;

/// The folder of segments as their writers made them.
pub const FRESH: &str = "fresh/";

/// An hour of the services of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The hour, in hours since 1970.
    pub hour: i64,
    /// The bucket of the services.
    pub bucket: u8,
}

impl Partition {
    /// The partition of a service at a time in milliseconds.
    pub fn of(service: &str, ts: i64) -> Self {
        Self {
            hour: ts.div_euclid(HOUR),
            bucket: bucket(service),
        }
    }

    /// The folder of a table: `samples/date=2026-11-28/hour=09/bucket=07/`.
    pub fn folder(self, table: &str, is_fresh: bool) -> String {
        let fresh = if is_fresh { FRESH } else { "" };
        let hour = hour_folder(self.hour);
        format!("{fresh}{table}/{hour}bucket={:02}/", self.bucket)
    }

    /// The partition that a path lies in.
    pub fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/');
        let date = parts.find_map(|part| part.strip_prefix("date="))?;
        let hour: i64 = parts.next()?.strip_prefix("hour=")?.parse().ok()?;
        let bucket: u8 = parts.next()?.strip_prefix("bucket=")?.parse().ok()?;
        let is_known = (0..24).contains(&hour) && bucket < BUCKETS;
        let day = days_of(date)?;
        is_known.then_some(Self {
            hour: day * 24 + hour,
            bucket,
        })
    }
}

/// The folders of an hour: `date=2026-11-28/hour=09/`.
pub fn hour_folder(hour: i64) -> String {
    let (year, month, day) = date_of(hour.div_euclid(24));
    let hour = hour.rem_euclid(24);
    format!("date={year:04}-{month:02}-{day:02}/hour={hour:02}/")
}

/// The name of a segment's file: the time that it covers, in milliseconds since 1970, and its
/// number. It is the same each time that the segment is written.
pub fn segment_name(time: &Range<i64>, number: i64) -> String {
    format!("{}-{}-{number:016x}.parquet", time.start, time.end)
}

/// The time that a segment's file covers, by its name.
pub fn time_of(path: &str) -> Option<Range<i64>> {
    let (_, name) = path.rsplit_once('/')?;
    let mut parts = name.split('-');
    let (start, end) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(start..end)
}

/// The part of a segment file's name that tells it from all others of its partition.
pub fn number_of(path: &str) -> Option<&str> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let number = name.strip_suffix(".parquet")?.rsplit('-').next()?;
    (number.len() == 16).then_some(number)
}

/// Year, month and day of a number of days since 1970 (Howard Hinnant's `civil_from_days`).
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    let day = of_year - (153 * part + 2) / 5 + 1;
    let month = if part < 10 { part + 3 } else { part - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The number of days from 1970 to a date such as `2026-11-28`.
pub(crate) fn days_of(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let mut number = |range: std::ops::RangeInclusive<i64>| {
        let part = parts.next()?;
        let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
        let number = part.parse().ok().filter(|_| is_plain)?;
        range.contains(&number).then_some(number)
    };
    let (year, month, day) = (number(0..=9999)?, number(1..=12)?, number(1..=31)?);
    let is_whole = parts.next().is_none();
    let year_from_march = year - i64::from(month <= 2);
    let era = year_from_march.div_euclid(400);
    let of_era = year_from_march.rem_euclid(400);
    let part = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * part + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = era * 146_097 + days - 719_468;
    // The 31st of a short month is no date.
    (is_whole && date_of(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_its_hour_and_bucket() {
        let partition = Partition::of("api", 1_795_856_400_000);
        let folder = partition.folder("samples", true);
        assert_eq!(folder, "fresh/samples/date=2026-11-28/hour=09/bucket=10/");
        assert_eq!(Partition::of_path(&folder), Some(partition));
        for wrong in [
            "samples/date=2026-11-28/hour=9x/bucket=01/",
            "samples/date=2026-11-31/hour=09/bucket=01/",
            "samples/date=2026-11-28/hour=24/bucket=01/",
            "samples/date=2026-11-28/hour=09/bucket=99/",
            "samples/",
        ] {
            assert_eq!(Partition::of_path(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_says_its_time_and_number() {
        let name = format!("fresh/samples/{}", segment_name(&(5..17), -1));
        assert_eq!(name, "fresh/samples/5-17-ffffffffffffffff.parquet");
        assert_eq!(time_of(&name), Some(5..17));
        assert_eq!(number_of(&name), Some("ffffffffffffffff"));
        assert_eq!(time_of("samples/joined-0001.parquet"), None);
        assert_eq!(number_of("samples/joined-0001.parquet"), None);
    }

    #[test]
    fn dates_come_back() {
        for days in (-200_000..200_000).step_by(97) {
            let (year, month, day) = date_of(days);
            if (0..=9999).contains(&year) {
                assert_eq!(
                    days_of(&format!("{year:04}-{month:02}-{day:02}")),
                    Some(days)
                );
            }
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(days_of("2024-02-29"), Some(19_782));
        assert_eq!(days_of("2023-02-29"), None);
        assert_eq!(days_of("2023-02-+9"), None);
    }
}
