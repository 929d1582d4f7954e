//! A made-up fleet in a store, the same each time, and the time that questions to it take.
//!
//! ```text
//! cargo run --release -p profundo-store --example fleet -- make DIR 50000000 [fresh]
//! cargo run --release -p profundo-store --example fleet -- ask 'DIR?service=s7&from=…' [TIMES] [THREADS]
//! ```
//!
//! As in a fleet, few services and few stacks take most of the time: services and the stacks of
//! each follow Zipf's law. Files are joined already, as they are an hour later. With `fresh`, the
//! last two hours have segments only, and those that the hour before them was joined from are there
//! still.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::time::Instant;

use profundo_store::ids::{BUCKETS, Contents, Id, bucket, stack_id};
use profundo_store::names::{HOUR, Partition, segment_name};
use profundo_store::table::{FrameRow, LabelRow, SampleRow, SegmentRow, StackRow, Table};
use profundo_store::{Folder, Query, Store, Texts, answer, encode, open, totals};

/// 2026-11-26, in hours since 1970.
const FIRST_HOUR: i64 = 498_792;
const HOURS: i64 = 48;
const SERVICES: usize = 1000;
const HOSTS: usize = 50;
const STACKS: usize = 1000;
const FRAMES: u64 = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["make", folder, rows] => make(&Folder::new(folder), rows.parse()?, 0),
        ["make", folder, rows, "fresh"] => make(&Folder::new(folder), rows.parse()?, 2),
        ["ask", query, ref rest @ ..] => {
            let number = |at: usize| rest.get(at).map_or(Ok(1), |word: &&str| word.parse());
            ask(query, number(0)?, number(1)?)
        }
        _ => Err("make DIR ROWS [fresh], or ask QUERY [TIMES] [THREADS]".into()),
    }
}

/// Asks a query several times.
fn ask(text: &str, times: usize, threads: usize) -> Result<(), Box<dyn Error>> {
    let query = Query::parse(text, (FIRST_HOUR + HOURS) * HOUR)?;
    let store = open(&query.place)?;
    let (mut spent, mut without_names) = (Vec::new(), Vec::new());
    let mut line = String::new();
    let mut notes = Vec::new();
    for _ in 0..times.max(1) {
        let start = Instant::now();
        let sums = totals(&*store, &query, threads)?;
        without_names.push(start.elapsed().as_secs_f64() * 1e3);
        let stacks: BTreeSet<Id> = sums.rows().map(|(stack, ..)| stack).collect();
        let start = Instant::now();
        let profile = answer(&*store, &query, threads)?;
        spent.push(start.elapsed().as_secs_f64() * 1e3);
        let weight: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        let samples = profile.sample_count();
        let (rows, stacks) = (profile.samples.len(), stacks.len());
        line = format!("rows {rows} stacks {stacks} samples {samples} weight {weight}");
        notes = profile.meta.notes;
    }
    if !notes.is_empty() {
        return Err(notes.join("; ").into());
    }
    writeln!(std::io::stdout(), "{line}")?;
    for (what, mut spent) in [("sums by stack", without_names), ("profile", spent)] {
        spent.sort_by(f64::total_cmp);
        let (least, middle) = (spent[0], spent[spent.len() / 2]);
        writeln!(
            std::io::stdout(),
            "{what}: least {least:.1} ms, median {middle:.1} ms"
        )?;
    }
    Ok(())
}

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

/// Zipf's law over ranks.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(ranks: usize, power: f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=ranks).map(|rank| {
            sum += (rank as f64).powf(-power);
            sum
        });
        Self(sums.collect())
    }

    fn rank(&self, chance: &mut Chance) -> usize {
        let all = self.0.last().copied().unwrap_or(1.0);
        let at = chance.next() as f64 / u64::MAX as f64 * all;
        self.0
            .partition_point(|sum| *sum < at)
            .min(self.0.len() - 1)
    }
}

struct Fleet {
    texts: Texts,
    services: Vec<u32>,
    /// By service, its stacks and the frames of each.
    stacks: Vec<Vec<(Id, Vec<u32>)>>,
    frames: Vec<FrameRow>,
    labels: Vec<Vec<LabelRow>>,
}

fn fleet() -> Fleet {
    let mut texts = Texts::default();
    let mut chance = Chance(7);
    let frames: Vec<FrameRow> = (0..FRAMES)
        .map(|number| frame(number, &mut texts))
        .collect();
    let (mut services, mut stacks, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for service in 0..SERVICES {
        let name = texts.add(&format!("s{service}"));
        services.push(name);
        // A service has a pool of frames, half of them shared with all.
        let pool: Vec<u32> = (0..400)
            .map(|at| match at % 2 {
                0 => chance.below(2000) as u32,
                _ => chance.below(FRAMES) as u32,
            })
            .collect();
        let mut of: Vec<(Id, Vec<u32>)> = Vec::with_capacity(STACKS);
        for number in 0..STACKS {
            // Most stacks begin as another one does.
            let mut list = match number {
                0 => Vec::new(),
                _ => {
                    let (_, other) = &of[chance.below(number as u64) as usize];
                    let kept = other.len() * 2 / 3;
                    other[..kept].to_vec()
                }
            };
            let depth = 10 + chance.below(31) as usize;
            while list.len() < depth {
                list.push(pool[chance.below(pool.len() as u64) as usize]);
            }
            let id = list
                .iter()
                .fold(0, |id, &at| stack_id(id, frames[at as usize].frame));
            of.push((id, list));
        }
        stacks.push(of);
        labels.push(
            (0..HOSTS)
                .map(|host| label(name, host, &mut texts))
                .collect(),
        );
    }
    Fleet {
        texts,
        services,
        stacks,
        frames,
        labels,
    }
}

fn frame(number: u64, texts: &mut Texts) -> FrameRow {
    let (kind, file) = match number % 3 {
        0 => (
            "native",
            format!("/src/lib{}/part{}.rs", number / 400, number / 20),
        ),
        _ => (
            "python",
            format!("/srv/app{}/module{}.py", number / 400, number / 20),
        ),
    };
    let mut row = FrameRow {
        kind: texts.add(kind),
        function: texts.add(&format!("function_{number}")),
        file: texts.add(&file),
        line: (number % 900) as i32 + 1,
        ..FrameRow::default()
    };
    row.frame = row.id(texts);
    row
}

fn label(service: u32, host: usize, texts: &mut Texts) -> LabelRow {
    let mut row = LabelRow {
        service,
        host: texts.add(&format!("host{host}")),
        version: texts.add(if host.is_multiple_of(5) { "1.5" } else { "1.4" }),
        pid: 1000 + host as i64,
        command: texts.add("python3 -m serve"),
        tid: 1000 + host as i64,
        number: 1,
        ..LabelRow::default()
    };
    row.series = row.id(texts);
    row
}

fn make(store: &Folder, rows: u64, fresh_hours: i64) -> Result<(), Box<dyn Error>> {
    let mut fleet = fleet();
    let (of_services, of_stacks) = (Zipf::new(SERVICES, 1.0), Zipf::new(STACKS, 1.1));
    let per_hour = rows / HOURS as u64;
    let kind = fleet.texts.add("cpu");
    let state = fleet.texts.add("running");
    let (mut written, mut bytes) = (0_u64, [0_u64; 5]);
    for hour in FIRST_HOUR..FIRST_HOUR + HOURS {
        let mut chance = Chance(hour as u64);
        let mut parts: Vec<Vec<(SampleRow, u32, u32)>> = vec![Vec::new(); usize::from(BUCKETS)];
        for _ in 0..per_hour {
            let service = of_services.rank(&mut chance);
            let stack = of_stacks.rank(&mut chance);
            let host = chance.below(HOSTS as u64) as usize;
            let count = 1 + chance.below(4) as i64;
            let row = SampleRow {
                service: fleet.services[service],
                ts: hour * HOUR + chance.below(360) as i64 * 10_000,
                kind,
                series: fleet.labels[service][host].series,
                stack: fleet.stacks[service][stack].0,
                value: count * 10_309_278,
                count,
                state,
                ..SampleRow::default()
            };
            let name = fleet.texts.get(row.service);
            parts[usize::from(bucket(name))].push((row, service as u32, stack as u32));
        }
        for (bucket, rows) in (0_u8..).zip(parts) {
            written += rows.len() as u64;
            let partition = Partition { hour, bucket };
            let to_end = FIRST_HOUR + HOURS - hour;
            let lies = match to_end - fresh_hours {
                ..=0 => Lies::Fresh,
                1 if fresh_hours > 0 => Lies::Both,
                _ => Lies::Joined,
            };
            write_part(store, &fleet, (partition, lies), rows, &mut bytes)?;
        }
    }
    let [samples, ..] = bytes;
    writeln!(
        std::io::stdout(),
        "{written} rows; bytes of samples, stacks, frames, labels, segments: {bytes:?}; {:.2} B/row",
        samples as f64 / written as f64
    )?;
    Ok(())
}

/// Where the samples of an hour lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    Joined,
    Fresh,
    Both,
}

fn write_part(
    store: &Folder,
    fleet: &Fleet,
    (partition, lies): (Partition, Lies),
    rows: Vec<(SampleRow, u32, u32)>,
    bytes: &mut [u64; 5],
) -> Result<(), Box<dyn Error>> {
    let texts = &fleet.texts;
    let mut used: Vec<(u32, u32)> = rows
        .iter()
        .map(|&(_, service, stack)| (service, stack))
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut services: Vec<u32> = used.iter().map(|&(service, _)| service).collect();
    services.dedup();
    let name = |service: u32| texts.get(fleet.services[service as usize]);
    services.sort_by_key(|&service| name(service));
    let mut samples: Vec<SampleRow> = rows.into_iter().map(|(row, ..)| row).collect();
    samples.sort_by_cached_key(|row| {
        (
            texts.get(row.service),
            row.ts,
            row.series,
            row.stack,
            row.count,
        )
    });
    let (mut stacks, mut frames, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut segments = Vec::new();
    for service in services {
        let text = fleet.services[service as usize];
        let of = used.iter().filter(|&&(of, _)| of == service);
        let of = of.map(|&(_, stack)| &fleet.stacks[service as usize][stack as usize]);
        let mut its_stacks: Vec<StackRow> = Vec::new();
        let mut its_frames: Vec<u32> = Vec::new();
        for (stack, list) in of {
            its_frames.extend(list);
            its_stacks.push(StackRow {
                service: text,
                stack: *stack,
                frames: list
                    .iter()
                    .map(|&at| fleet.frames[at as usize].frame)
                    .collect(),
            });
        }
        its_stacks.sort_by(|one, other| one.frames.cmp(&other.frames));
        its_frames.sort_unstable();
        its_frames.dedup();
        stacks.extend(its_stacks);
        let row = |at: u32| FrameRow {
            service: text,
            ..fleet.frames[at as usize]
        };
        frames.extend(its_frames.into_iter().map(row));
        labels.extend(fleet.labels[service as usize].iter().cloned());
        segments.push(SegmentRow {
            service: text,
            segment: Contents::default().number(partition.hour).id(),
            kind: samples.first().map_or(0, |row| row.kind),
            starts: partition.hour * HOUR,
            ends: (partition.hour + 1) * HOUR,
            period: 10_309_278,
            ..SegmentRow::default()
        });
    }
    let number = 7;
    let replaces = format!("{number:016x}");
    let facts = match lies {
        Lies::Both => vec![("profundo.replaces", replaces)],
        Lies::Joined | Lies::Fresh => Vec::new(),
    };
    let time = partition.hour * HOUR..(partition.hour + 1) * HOUR;
    let segment = format!(
        "{}{}",
        partition.folder(SampleRow::NAME, true),
        segment_name(&time, number)
    );
    if lies != Lies::Joined {
        store.put(&segment, &encode(&samples, texts, &[])?)?;
    }
    if lies == Lies::Fresh {
        samples.clear();
    }
    let files = [
        (SampleRow::NAME, encode(&samples, texts, &facts)?),
        (StackRow::NAME, encode(&stacks, texts, &[])?),
        (FrameRow::NAME, encode(&frames, texts, &[])?),
        (LabelRow::NAME, encode(&labels, texts, &[])?),
        (SegmentRow::NAME, encode(&segments, texts, &[])?),
    ];
    for ((table, file), size) in files.into_iter().zip(bytes) {
        *size += file.len() as u64;
        store.put(
            &format!("{}joined-0001.parquet", partition.folder(table, false)),
            &file,
        )?;
    }
    Ok(())
}
