//! The memory of lines, and of the program over time.

use profundo_model::{Amount, Domain, Gauge, Nanos, Sampling, Site};

use super::line::{File, Line};
use crate::Builder;

/// Adds the allocations of a line: those of Python's allocator and those of native code.
pub(super) fn site(builder: &mut Builder, file: &File<'_>, line: &Line) {
    if line.allocated <= 0.0 && line.peak <= 0.0 {
        return;
    }
    let stack = file.stack(builder, line, false);
    let process = builder.process(0, "");
    let heap = &mut builder.profile.heap;
    heap.sampling = Sampling::All;
    let python = line.python_fraction.clamp(0.0, 1.0);
    let amount = |megabytes: f64, part: f64| Amount {
        count: (line.allocations as f64 * part).round() as u64,
        bytes: bytes(megabytes * part),
    };
    for (domain, part) in [(Domain::Python, python), (Domain::Native, 1.0 - python)] {
        if part <= 0.0 {
            continue;
        }
        let allocated = amount(line.allocated, part);
        heap.sites.push(Site {
            process,
            stack,
            domain,
            allocated,
            // Nothing is known to live.
            freed: allocated,
            at_peak: amount(line.peak, part),
            ..Site::default()
        });
    }
    builder.note(
        "Scalene's memory is sampled; at the peak, each line has its own largest size; what lives at the end is unknown",
    );
}

/// Adds the size of the live blocks over time.
pub(super) fn gauges(builder: &mut Builder, footprint: &[(u64, f64)]) {
    let process = builder.process(0, "");
    for &(time, megabytes) in footprint {
        let bytes = bytes(megabytes);
        builder.profile.heap.gauges.push(Gauge {
            process,
            time: Nanos(time),
            resident: bytes,
            in_use: Some(bytes),
            ..Gauge::default()
        });
    }
}

/// Megabytes of 2^20 bytes. A cast takes what is no number as 0.
fn bytes(megabytes: f64) -> u64 {
    (megabytes * 1024.0 * 1024.0).round() as u64
}
