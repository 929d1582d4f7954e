//! Any profile that is written in a format of other tools is read again with all that the format
//! can have. Each test says what is lost. The tests of pprof, OTLP, speedscope and Julia's own
//! format are beside the other ones of these.

use std::collections::BTreeMap;

use profundo_formats::export::{Format, Options, write};
use profundo_import::Imported;
use profundo_model::{
    Amount, Nanos, Profile, Sample, SampleKind, Sampling, Site, Thread, ThreadId,
};
use proptest::prelude::*;

use crate::support::{functions_of_samples, stack, stacks};

/// The usual weight of a sample.
const PERIOD: u64 = 1_000_000;

/// A sample: its thread, its functions, its weight in periods.
type Row = (usize, Vec<&'static str>, u64);

/// Names that are hard on texts.
const NAMES: [&str; 7] = [
    "a",
    "main",
    "c::d<T, U>",
    "\"q\"\\",
    "e f",
    "é%{",
    "<module>",
];

fn rows(threads: usize) -> impl Strategy<Value = Vec<Row>> {
    let name = prop::sample::select(NAMES.to_vec());
    let stack = prop::collection::vec(name, 1..6);
    prop::collection::vec((0..threads, stack, 1..4_u64), 1..30)
}

/// A profile of threads that were on a CPU all the time.
fn made(rows: &[Row]) -> Profile {
    let lines: String = (rows.iter())
        .map(|(_, stack, _)| format!("{} 1\n", stack.join(";")))
        .collect();
    let mut profile = Profile::from_folded(&lines).unwrap();
    profile.meta.kind = SampleKind::Cpu;
    profile.meta.period = Nanos(PERIOD);
    profile.meta.lacks_times = false;
    profile.processes.clear();
    let process = profile.hand_made_process(7, "app");
    let threads: Vec<ThreadId> = (1..=3)
        .map(|number| {
            let name = profile
                .strings
                .intern(["main", "a b", "worker"][number as usize - 1]);
            profile.threads.push(Thread {
                number: number + 10,
                tid: 70 + number as u32,
                name,
                process,
                ..Thread::default()
            })
        })
        .collect();
    let mut ends = [0; 3];
    for (sample, (thread, _, weight)) in profile.samples.iter_mut().zip(rows) {
        let end = &mut ends[*thread];
        *end += weight * PERIOD;
        sample.thread = threads[*thread];
        sample.time = Nanos(*end);
        sample.weight = Nanos(weight * PERIOD);
    }
    profile.samples.sort_by_key(|sample| sample.time);
    profile
}

/// A profile of memory: each stack has allocated, freed, and held something at the peak.
fn made_memory(rows: &[Row]) -> Profile {
    let mut profile = made(rows);
    let samples = std::mem::take(&mut profile.samples);
    let process = profile.threads.get(samples[0].thread).process;
    profile.meta.duration = Nanos(60 * PERIOD);
    profile.heap.sampling = Sampling::All;
    let mut seen = Vec::new();
    for (number, sample) in (1..).zip(samples) {
        if seen.contains(&sample.stack) {
            continue;
        }
        seen.push(sample.stack);
        let many = |count: u64, size: u64| Amount {
            count,
            bytes: count * size,
        };
        let size = 8 * u64::from(number);
        profile.heap.sites.push(Site {
            process,
            stack: sample.stack,
            allocated: many(5, size),
            freed: many(1 + u64::from(number % 4), size),
            at_peak: many(5 - u64::from(number % 2), size),
            lifetimes: Nanos(u64::from(number) * 3000),
            number,
            ..Site::default()
        });
    }
    profile
}

/// Writes a profile and reads it again, without a gap.
fn again(profile: &Profile, format: Format, reader: &str) -> Imported {
    let mut file = Vec::new();
    write(profile, format, &Options::default(), &mut file).unwrap();
    let imported = profundo_import::read(&file, &profundo_import::Options::default());
    let imported = imported.unwrap_or_else(|error| {
        panic!("{error}\n{}", String::from_utf8_lossy(&file));
    });
    let text = || String::from_utf8_lossy(&file);
    assert_eq!(imported.reader.name(), reader, "{}", text());
    assert_eq!(imported.warnings, [], "{}", text());
    imported
}

/// The weight of each stack of each thread.
fn by_thread(profile: &Profile) -> BTreeMap<(u32, String, String), u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let thread = profile.threads.get(sample.thread);
        let name = profile.strings.get(thread.name).to_owned();
        let key = (thread.tid, name, stack(profile, sample.stack));
        *sums.entry(key).or_default() += sample.weight.0;
    }
    sums
}

/// The amounts of each stack: allocated, freed, at the peak, lifetimes.
type Amounts = (Amount, Amount, Amount, Nanos);

fn memory(profile: &Profile) -> BTreeMap<String, Amounts> {
    let mut sums: BTreeMap<String, Amounts> = BTreeMap::new();
    for site in &profile.heap.sites {
        let sum = sums.entry(stack(profile, site.stack)).or_default();
        sum.0 += site.allocated;
        sum.1 += site.freed;
        sum.2 += site.at_peak;
        sum.3.0 += site.lifetimes.0;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Lost: nothing of these.
    #[test]
    fn firefox(rows in rows(3)) {
        let before = made(&rows);
        let after = again(&before, Format::FIREFOX, "firefox").profile;
        prop_assert_eq!(by_thread(&after), by_thread(&before));
        prop_assert_eq!(after.samples.len(), before.samples.len());
    }

    /// Lost: the bounds of samples, for neighbours with one stack are one call; and the kernel's
    /// numbers of threads: tracks have our own, which no two threads share.
    #[test]
    fn chrome(rows in rows(3)) {
        let before = made(&rows);
        let after = again(&before, Format::CHROME, "chrome-trace").profile;
        let named = |profile: &Profile| -> Vec<_> {
            let sums = by_thread(profile).into_iter();
            let mut sums: Vec<_> = sums.map(|((_, name, stack), sum)| (name, stack, sum)).collect();
            sums.sort();
            sums
        };
        prop_assert_eq!(named(&after), named(&before));
    }

    /// Lost: the thread's name; whether time is a CPU's, for it is taken for elapsed time; the
    /// bounds of samples, for neighbours with one stack are one row.
    #[test]
    fn cpuprofile(rows in rows(1)) {
        let before = made(&rows);
        let mut after = again(&before, Format::CPUPROFILE, "cpuprofile").profile;
        // The last row, which is idle, ends the one before it.
        after.samples.retain(|sample| sample.weight.0 > 0);
        let runs = |profile: &Profile| {
            let mut runs: Vec<(String, u64)> = Vec::new();
            for sample in &profile.samples {
                let stack = stack(profile, sample.stack);
                match runs.last_mut() {
                    Some(last) if last.0 == stack => last.1 += sample.weight.0,
                    _ => runs.push((stack, sample.weight.0)),
                }
            }
            runs
        };
        prop_assert_eq!(runs(&after), runs(&before));
    }

    /// Lost: lines. Times count from the first sample.
    #[test]
    fn perf_script(rows in rows(3)) {
        let before = made(&rows);
        let after = again(&before, Format::PERF_SCRIPT, "perf script").profile;
        let whole = |profile: &Profile| -> Vec<_> {
            let first = profile.samples[0].time.0;
            let row = |sample: &Sample| {
                let thread = profile.threads.get(sample.thread);
                let pid = profile.processes[thread.process.index()].pid;
                let time = sample.time.0 - first;
                (time, pid, thread.tid, stack(profile, sample.stack), sample.weight)
            };
            let mut rows: Vec<_> = profile.samples.iter().map(row).collect();
            rows.sort();
            rows
        };
        prop_assert_eq!(whole(&after), whole(&before));
        prop_assert_eq!(after.meta.kind, before.meta.kind);
    }

    /// Lost: all but stacks and their numbers of samples.
    #[test]
    fn collapsed(rows in rows(3)) {
        let before = made(&rows);
        let after = again(&before, Format::COLLAPSED, "collapsed").profile;
        let periods = stacks(&before).into_iter().map(|(stack, weight)| (stack, weight / PERIOD));
        prop_assert_eq!(stacks(&after), periods.collect());
    }

    /// Lost: stacks. Own weights of functions are exact.
    #[test]
    fn callgrind(rows in rows(3)) {
        let before = made(&rows);
        let after = again(&before, Format::CALLGRIND, "callgrind").profile;
        let own = |profile: &Profile| -> BTreeMap<String, u64> {
            let sums = functions_of_samples(profile).into_iter();
            sums.map(|(name, (own, _))| (name, own)).filter(|(_, own)| *own > 0).collect()
        };
        prop_assert_eq!(own(&after), own(&before));
    }

    /// Lost: numbers of blocks, and all memory but that in use.
    #[test]
    fn heapprofile(rows in rows(3)) {
        let before = made_memory(&rows);
        let after = again(&before, Format::HEAPPROFILE, "heapprofile").profile;
        let live = |profile: &Profile| -> BTreeMap<String, u64> {
            let sums = memory(profile).into_iter();
            let sums = sums.map(|(stack, sums)| (stack, sums.0.bytes - sums.1.bytes));
            sums.filter(|(_, bytes)| *bytes > 0).collect()
        };
        prop_assert_eq!(live(&after), live(&before));
    }

    /// Lost: parts of a microsecond, and owners: all processes are one.
    #[test]
    fn dhat(rows in rows(3)) {
        let before = made_memory(&rows);
        let after = again(&before, Format::DHAT, "dhat").profile;
        prop_assert_eq!(memory(&after), memory(&before));
        prop_assert_eq!(after.meta.duration, before.meta.duration);
    }

    /// Lost: numbers of blocks, what was allocated, and stacks under a hundredth of the whole.
    #[test]
    fn massif(rows in rows(3)) {
        let before = made_memory(&rows);
        let after = again(&before, Format::MASSIF, "massif").profile;
        let sum = |profile: &Profile, bytes: fn(&Site) -> u64| -> u64 {
            profile.heap.sites.iter().map(bytes).sum()
        };
        let in_use = |profile: &Profile| sum(profile, |site| site.live().bytes);
        let at_peak = |profile: &Profile| sum(profile, |site| site.at_peak.bytes);
        prop_assert_eq!(in_use(&after), in_use(&before));
        prop_assert_eq!(at_peak(&after), at_peak(&before));
        let gauges = after.heap.gauges.iter().map(|gauge| gauge.in_use.unwrap_or(0));
        let expected = [at_peak(&before), in_use(&before)];
        prop_assert_eq!(gauges.collect::<Vec<_>>(), expected);
    }
}
