//! `memray stats --json`: the sum of all allocations, and the lines with the most bytes and the
//! most allocations. All others are one place, `[other places]`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use profundo_model::{Amount, Language, Sampling, Site};

use super::named;
use crate::encoding::json::{Json, Read, member, members};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "memray-stats",
    writers: "memray stats --json",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key).is_some();
    has("total_bytes_allocated") && has("allocation_size_histogram")
}

/// The sums of a file.
#[derive(Debug, Default)]
struct Sums<'a> {
    all: Amount,
    /// Bytes and numbers, of those places for which they are known.
    places: BTreeMap<Cow<'a, str>, (Option<u64>, Option<u64>)>,
    command: Cow<'a, str>,
    pid: u32,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut sums = Sums::default();
    if let Err(damage) = read(source.bytes, &mut sums) {
        builder.warn(damage.warning());
    }
    let process = builder.process(sums.pid, &sums.command);
    builder.profile.heap.sampling = Sampling::All;
    let mut rest = sums.all;
    for (place, &(bytes, count)) in &sums.places {
        let amount = Amount {
            count: count.unwrap_or(0),
            bytes: bytes.unwrap_or(0),
        };
        rest.bytes = rest.bytes.saturating_sub(amount.bytes);
        rest.count = rest.count.saturating_sub(amount.count);
        let (place, line) = place.rsplit_once(':').unwrap_or((place, ""));
        let (function, file) = place.split_once(':').unwrap_or((place, ""));
        site(
            builder,
            process,
            named(function, file, line.parse().unwrap_or(0)),
            amount,
        );
    }
    let other = Named {
        function: "[other places]",
        language: Some(Language::Synthetic),
        ..Named::default()
    };
    if rest != Amount::default() {
        site(builder, process, other, rest);
    }
    builder.note(
        "memray's statistics have the largest places alone, their allocated memory and no callers: \
         `memray transform csv` has all",
    );
    Ok(())
}

fn site(
    builder: &mut Builder,
    process: profundo_model::ProcessId,
    named: Named<'_>,
    allocated: Amount,
) {
    let location = builder.location(named);
    let stack = builder.stack(None, location);
    builder.profile.heap.sites.push(Site {
        process,
        stack,
        allocated,
        // Nothing is known to live.
        freed: allocated,
        ..Site::default()
    });
}

fn read<'a>(bytes: &'a [u8], sums: &mut Sums<'a>) -> Read<()> {
    let whole = |json: &mut Json<'_>| {
        let number = json.whole()?;
        Ok(number.and_then(|number| u64::try_from(number).ok()))
    };
    Json::new(bytes).object(|json, key| match key {
        "total_num_allocations" => {
            sums.all.count = whole(json)?.unwrap_or(0);
            Ok(())
        }
        "total_bytes_allocated" => {
            sums.all.bytes = whole(json)?.unwrap_or(0);
            Ok(())
        }
        "top_allocations_by_size" | "top_allocations_by_count" => json.array(|json| {
            let (mut place, mut bytes, mut count) = (None, None, None);
            json.object(|json, key| {
                match key {
                    "location" => place = json.text()?,
                    "size" => bytes = whole(json)?,
                    "count" => count = whole(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            let known = sums.places.entry(place.unwrap_or_default()).or_default();
            *known = (known.0.or(bytes), known.1.or(count));
            Ok(())
        }),
        "metadata" => json.object(|json, key| {
            match key {
                "command_line" => sums.command = json.text()?.unwrap_or_default(),
                "pid" => sums.pid = json.index()?.unwrap_or(0),
                _ => json.skip()?,
            }
            Ok(())
        }),
        _ => json.skip(),
    })
}
