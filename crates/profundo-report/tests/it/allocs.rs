//! Reports on allocations, as people see them.

use expect_test::expect;
use profundo_analysis::measured;
use profundo_model::{
    Amount, Block, Copied, Domain, Measure, Moment, Nanos, Part, ProcessId, Profile, Sampling,
    Site, StackId, TaskId, ThreadId,
};
use profundo_report::{
    Allocs, Callers, Choices, Filter, Format, Functions, Lines, Look, MemoryLines, Report, Summary,
    View,
};
use profundo_testing::Folder;

use crate::mixed::python;

fn look(columns: usize) -> Look {
    Look::new().width(columns)
}

/// The first stack with a Python line of this number innermost, of those that were sampled.
fn stack(profile: &Profile, line: u32) -> StackId {
    let is_on_line = |stack: &StackId| {
        let locations = profile.stacks.locations(*stack);
        let mut frames = locations.flat_map(|at| &profile.locations.get(at).frames);
        frames
            .find(|frame| profile.file_path(**frame) == crate::mixed::APP)
            .is_some_and(|frame| profile.frames.get(*frame).line == line)
    };
    let mut stacks = profile.samples.iter().map(|sample| sample.stack);
    stacks.find(is_on_line).expect("the line was sampled")
}

/// The program of the other tests with some of its blocks: line 16 takes much that is gone at once,
/// line 53 keeps four large ones, and line 17 loses what it takes.
pub fn memory() -> Profile {
    let mut profile = python();
    let [draws, picks, packs] = [16, 17, 53].map(|line| stack(&profile, line));
    profile.meta.duration = Nanos(10_000_000_000);
    profile.heap.sampling = Sampling::Bytes(512 << 10);
    let mut block = |stack, domain, size, time: u64, freed: Option<u64>| {
        let millisecond = |milliseconds| Nanos(milliseconds * 1_000_000);
        profile.heap.blocks.push(Block {
            time: millisecond(time),
            freed: freed.map(millisecond),
            size,
            thread: ThreadId(0),
            task: TaskId(0),
            stack,
            domain,
            is_temporary: freed == Some(time),
            ..Block::default()
        });
    };
    for step in 0..200 {
        let time = step * 50;
        let lasts = if step % 2 == 0 { 0 } else { 30 };
        block(draws, Domain::Python, 4_000, time, Some(time + lasts));
        if step % 5 == 0 {
            block(picks, Domain::Python, 90_000, time, None);
        }
        if step % 50 == 0 {
            block(packs, Domain::Native, 8 << 20, time, Some(time + 4_000));
        }
    }
    profile.heap.copying = Sampling::Bytes(1 << 20);
    profile.heap.copies_from = 4096;
    for (stack, size) in [(picks, 100_000), (packs, 8 << 20), (packs, 8 << 20)] {
        profile.heap.copies.push(Copied {
            time: Nanos(5_000_000_000),
            size,
            thread: ThreadId(0),
            stack,
            doublings: 0,
        });
    }
    profile
}

/// Like [`memory`], but in exact sums.
pub fn exact_memory() -> Profile {
    let mut profile = python();
    let [draws, packs] = [16, 53].map(|line| stack(&profile, line));
    let amount = |count, bytes| Amount { count, bytes };
    profile.meta.duration = Nanos(10_000_000_000);
    profile.heap.sampling = Sampling::All;
    profile.heap.sites = vec![
        Site {
            process: ProcessId(0),
            stack: draws,
            domain: Domain::Python,
            allocated: amount(200_000, 12_345_678),
            freed: amount(199_000, 12_000_000),
            temporary: amount(100_000, 6_000_000),
            at_peak: amount(1_000, 345_678),
            lifetimes: Nanos(4_000_000_000),
            number: 1,
            unreachable: Amount::default(),
        },
        Site {
            process: ProcessId(0),
            stack: packs,
            domain: Domain::Mapped,
            allocated: amount(1, 1 << 20),
            at_peak: amount(1, 1 << 20),
            lifetimes: Nanos(9_000_000_000),
            ..Site::default()
        },
    ];
    let moment = |site, second: u64, live| Moment {
        site,
        time: Nanos(second * 1_000_000_000),
        allocated: Amount::default(),
        live: amount(1, live),
    };
    profile.heap.moments = vec![
        moment(0, 1, 100_000),
        moment(1, 1, 1 << 20),
        moment(0, 5, 345_678),
    ];
    profile
}

#[test]
fn lines_and_functions_have_a_table_each() {
    let text = |profile: &Profile, columns| {
        let text = Allocs::new().look(look(columns)).render(profile).unwrap();
        let is_sentence = |line: &str| line.starts_with("Quality:") || line.starts_with("Memory:");
        assert!(
            (text.lines()).all(|line| is_sentence(line) || line.chars().count() <= columns),
            "{text}"
        );
        text
    };
    expect![[r#"
        Memory: 162 MB (±16.9 MB) allocated in about 26 thousand blocks, 31.7 MB of them live when the program began to end; most at 8.75 s: 37.8 MB (±7.10 MB).

        Size %     Size ±         Live  At peak  Trend     Lines that allocate
          65.1   105 MB ±15%    526 kB   526 kB  ████ ██   …idence.py:16  indices = [rn…
          20.8  33.6 MB ±4.6%  8.39 MB  16.8 MB  ▄██████▄  …idence.py:53  packed = zlib…
          14.1  22.8 MB ±33%   22.8 MB  20.5 MB  ▂▃▄▅▆███  …idence.py:17  return [value…

        Size %     Size ±         Live  At peak  Functions that allocate
          79.2   128 MB ±13%   23.3 MB  21.1 MB  resample  confidence.py
          20.8  33.6 MB ±4.6%  8.39 MB  16.8 MB  main  confidence.py

        Peak %  Holding  Who held it at the peak, at 8.75 s
          54.3  20.5 MB  confidence.py:17  return [values[i] for i in indices]
          44.3  16.8 MB  confidence.py:53  packed = zlib.compress(pickle.dumps(values),…
           1.4   526 kB  confidence.py:16  indices = [rng.randint(0, n - 1) for _ in ra…

        Sure % At least    a second  Blocks  Lines that seem to leak
            96  21.7 MB   2.29 MB/s     241  confidence.py:17  return [values[i] for i …

        Copy %   Copied ±        a second  Lines that copy
          93.9  16.8 MB ±19%    1.46 MB/s  confidence.py:53  packed = zlib.compress(pic…
           6.1  1.10 MB rough   95.6 kB/s  confidence.py:17  return [values[i] for i in…

        Quality: 244 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&text(&memory(), 80));
    expect![[r#"
        Memory: 162 MB (±16.9 MB) allocated in about 26 thousand blocks, 31.7 MB of them live when the program began to end; most at 8.75 s: 37.8 MB (±7.10 MB).

        Size %     Size ±      Blocks     Live  At peak Temp% Lifetime  Py%  Trend         Lines that allocate
          65.1   105 MB ±15%    26315   526 kB   526 kB    50  15.0 ms  100  █ ██ █ ██ █   confidence.py:16  indices = [rng.randint(0, n …
          20.8  33.6 MB ±4.6%       4  8.39 MB  16.8 MB         4.00 s       ▄▄██▄█████▄▄  confidence.py:53  packed = zlib.compress(pickl…
          14.1  22.8 MB ±33%      254  22.8 MB  20.5 MB         6.62 s  100  ▁▂▃▄▅▅▆▇████  confidence.py:17  return [values[i] for i in i…

        Size %     Size ±      Blocks     Live  At peak Temp% Lifetime  Py%  Functions that allocate
          79.2   128 MB ±13%    26568  23.3 MB  21.1 MB    41  78.1 ms  100  resample  confidence.py
          20.8  33.6 MB ±4.6%       4  8.39 MB  16.8 MB         4.00 s       main  confidence.py

        Peak %  Holding  Who held it at the peak, at 8.75 s
          54.3  20.5 MB  confidence.py:17  return [values[i] for i in indices]
          44.3  16.8 MB  confidence.py:53  packed = zlib.compress(pickle.dumps(values), 9)
           1.4   526 kB  confidence.py:16  indices = [rng.randint(0, n - 1) for _ in range(n)]

        Sure % At least    a second  Blocks  Lines that seem to leak
            96  21.7 MB   2.29 MB/s     241  confidence.py:17  return [values[i] for i in indices]

        Copy %   Copied ±        a second  Lines that copy
          93.9  16.8 MB ±19%    1.46 MB/s  confidence.py:53  packed = zlib.compress(pickle.dumps(values), 9)
           6.1  1.10 MB rough   95.6 kB/s  confidence.py:17  return [values[i] for i in indices]

        Quality: 244 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&text(&memory(), 130));
    expect![[r#"
        Memory: 13.4 MB allocated in 200001 blocks, 1.39 MB of them live when the program began to end; most at 5.00 s: 1.39 MB; 8 % are the kernel's pages; no leak was found.

        Size %     Size  Blocks     Live  At peak Temp% Lifetime  Py%  Trend         Lines that allocate
          92.2  12.3 MB    200k   346 kB   346 kB    49  20.0 µs  100   ▃▃▃▃▃██████  confidence.py:16  indices = [rng.randint(0, n - 1) f…
           7.8  1.05 MB       1  1.05 MB  1.05 MB         9.00 s        ███████████  confidence.py:53  packed = zlib.compress(pickle.dump…

        Size %     Size  Blocks     Live  At peak Temp% Lifetime  Py%  Functions that allocate
          92.2  12.3 MB    200k   346 kB   346 kB    49  20.0 µs  100  resample  confidence.py
           7.8  1.05 MB       1  1.05 MB  1.05 MB         9.00 s       main  confidence.py

        Peak %  Holding  Who held it at the peak, at 5.00 s
          75.2  1.05 MB  confidence.py:53  packed = zlib.compress(pickle.dumps(values), 9)
          24.8   346 kB  confidence.py:16  indices = [rng.randint(0, n - 1) for _ in range(n)]

        Quality: every allocation was recorded; the numbers are exact.
    "#]].assert_eq(&text(&exact_memory(), 130));
}

#[test]
fn the_summary_has_it_among_others() {
    let text = Summary::new().look(look(80)).render(&memory()).unwrap();
    for part in ["Lines that allocate", "Memory:", "Lines that seem to leak"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let none = Summary::new().look(look(80)).render(&python()).unwrap();
    assert!(!none.contains("allocate"), "{none}");
    // A program that only allocates has no samples of time.
    let mut profile = memory();
    profile.samples.clear();
    let text = Summary::new().look(look(80)).render(&profile).unwrap();
    assert!(text.contains("Lines that allocate"), "{text}");
}

#[test]
fn filters_and_missing_records_have_sentences() {
    let text = Allocs::new().look(look(80)).render(&python()).unwrap();
    assert!(
        text.starts_with("Warning: what is allocated was not recorded: that wants `--memory`."),
        "{text}"
    );
    let packs = Choices::command().filter(Filter::default().function("deflate"));
    let allocs = Allocs::new().look(look(100)).choices(packs);
    let text = allocs.render(&memory()).unwrap();
    assert!(
        text.contains("Only: function=deflate.") && !text.contains("confidence.py:16"),
        "{text}"
    );
    // Sums know no time.
    let late = Choices::command().filter(Filter::default().from_seconds(1.0));
    let allocs = Allocs::new().look(look(100)).choices(late);
    let text = allocs.render(&exact_memory()).unwrap();
    assert!(
        text.contains("Note: what was allocated is summed up"),
        "{text}"
    );
}

#[test]
fn source_is_shown_where_it_is_known() {
    let mut profile = memory();
    let path = crate::mixed::APP;
    let file = profile.file(path, "", "");
    let text = profile.strings.intern("    indices = draw(n)");
    profile.sources.insert(file, 16, text);
    let shown = Allocs::new().look(look(100)).render(&profile).unwrap();
    assert!(
        shown.contains("confidence.py:16  indices = draw(n)"),
        "{shown}"
    );
}

fn of(part: Part, counts: bool) -> Profile {
    measured(memory(), Measure { part, counts })
}

#[test]
fn reports_on_time_are_reports_on_memory_too() {
    let allocated = of(Part::Allocated, false);
    let functions = Functions::new().look(look(80)).render(&allocated).unwrap();
    expect![[r#"
        Self %      Total %          Size Records  Function
          79.2 ±4.9   79.2 ±4.9    128 MB     240  resample  confidence.py:16
          20.8 ±4.9   20.8 ±4.9   33.6 MB       4  deflate
                     100.0 ±1.2    162 MB     244  <module>  confidence.py:60
                     100.0 ±1.2    162 MB     244  main  confidence.py:54
                      79.2 ±4.9    128 MB     240  bootstrap  confidence.py:29
                      20.8 ±4.9   33.6 MB       4  zlib_compress

        Memory: 162 MB allocated; shares are of these bytes.
        Quality: 244 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&functions);
    let blocks = of(Part::Temporary, true);
    let functions = Functions::new().look(look(80)).render(&blocks).unwrap();
    expect![[r#"
        Self %      Total %        Blocks Records  Function
         100.0 ±3.7  100.0 ±3.7     13157     100  resample  confidence.py:16
                     100.0 ±3.7     13157     100  <module>  confidence.py:60
                     100.0 ±3.7     13157     100  bootstrap  confidence.py:29
                     100.0 ±3.7     13157     100  main  confidence.py:54

        Memory: 13157 blocks freed before anything else was allocated; shares are of these blocks.
        Quality: 100 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&functions);
    let lines = Lines::new().look(look(80)).render(&allocated).unwrap();
    expect![[r#"
        confidence.py  100.0 % of the bytes ±1.2
        Size %                  Size Line  Source
                                       14  """Draws as many values as there are."""
                                       15      n = len(values)
          65.1 ±5.5  ███▎     105 MB   16      indices = [rng.randint(0, n - 1) for _ i…
          14.1 ±4.3  ▊       22.8 MB   17      return [values[i] for i in indices]
                                       18
                                        ⋮
                                       52  def main():
          20.8 ±4.9  █       33.6 MB   53      packed = zlib.compress(pickle.dumps(valu…
                                       54      print(bootstrap(values, 10))

        Memory: 162 MB allocated; shares are of these bytes.
        Quality: 244 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&lines);
    let callers = Callers::new("resample").look(look(80));
    expect![[r#"
        resample  confidence.py:17
        55.7 % of the bytes ±11.5, 55.7 % by itself ±11.5, 37 records.

          Of it %      All %     Size  Callers
            100.0 ±8.7  55.7  21.1 MB  bootstrap  confidence.py:29

        Memory: 37.8 MB live at the peak; shares are of these bytes.
        Quality: 39 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&callers.render(&of(Part::Peak, false)).unwrap());
    let flat = Report::new()
        .choices(Choices::command())
        .format(Format::Flat);
    let flat = flat.width(80).render(&of(Part::Live, false)).unwrap();
    expect![[r#"
           Count  Overhead File            Line Function
           =====  ======== ====            ==== ========
         8388609   8388609 [unknown file]     ? deflate
         8388609         0 [unknown file]     ? zlib_compress
        31737893         0 confidence.py     60 <module>
        23349284         0 confidence.py     29 bootstrap
         8388609         0 confidence.py     53 main
        23349284         0 confidence.py     54 main
          526291    526291 confidence.py     16 resample
        22822993  22822993 confidence.py     17 resample
        Total bytes live at the end: 31737893
        Memory: 31.7 MB live at the end; shares are of these bytes.
        Quality: 42 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&flat);
    let copied = Functions::new().look(look(80));
    expect![[r#"
        Self        Total          Blocks Records  Function
        1 of 3      1 of 3             11       1  resample  confidence.py:17
        2 of 3      2 of 3              2       2  deflate
                    3 of 3             13       3  <module>  confidence.py:60
                    3 of 3             13       3  main  confidence.py:54
                    1 of 3             11       1  bootstrap  confidence.py:29
                    2 of 3              2       2  zlib_compress

        Note: 3 records are too few for shares: a longer run gives more, and --memory=exact records all.
        Memory: 13 times copied; shares are of these copies.
        Quality: 3 copies of 4.10 kB and more recorded, one about each 1.05 MB; ranges hold the true value 95 times in 100.
    "#]].assert_eq(&copied.render(&of(Part::Copied, true)).unwrap());
    // No word of time where there is none.
    for text in [functions, lines, flat] {
        for word in ["Time", "the time", "CPU", "Utilization", "snapshots"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
    let mut nothing = memory();
    nothing.heap.blocks.clear();
    let nothing = measured(nothing, Measure::default());
    let text = Lines::new().look(look(80)).render(&nothing).unwrap();
    assert!(
        text.starts_with("Warning: nothing is known that was allocated."),
        "{text}"
    );
}

#[test]
fn json_has_bytes_or_blocks_in_place_of_seconds() {
    let members = |profile: &Profile| {
        let json = Functions::new().json(profile).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let row = &value["functions"][0];
        let has = |name: &str| row.get(format!("self_{name}")).is_some();
        (
            value["recording"]["measures"].as_str().unwrap().to_owned(),
            value["recording"]["period_seconds"].is_null(),
            ["seconds", "bytes", "blocks"].map(has),
        )
    };
    assert_eq!(
        members(&memory()),
        ("cpu".into(), false, [true, false, false])
    );
    assert_eq!(
        members(&of(Part::Live, false)),
        ("live_bytes".into(), true, [false, true, false])
    );
    assert_eq!(
        members(&of(Part::Allocated, true)),
        ("allocated_blocks".into(), true, [false, false, true])
    );
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    use profundo_report::When;
    let allocs = |when| Allocs::new().look(look(80).colors(when)).render(&memory());
    assert!(allocs(When::Always).unwrap().contains("\u{1b}["));
    assert!(!allocs(When::Never).unwrap().contains('\u{1b}'));
}

#[test]
fn memory_at_each_line_is_in_the_columns_of_memory_profiler() {
    let text = MemoryLines::new().look(look(80)).render(&memory()).unwrap();
    // As that tool writes them.
    let head = "Filename: /nowhere/confidence/confidence.py\n\n\
                Line #    Mem usage    Increment  Occurrences   Line Contents\n\
                =============================================================\n";
    assert!(text.starts_with(head), "{text}");
    expect![[r#"
        Filename: /nowhere/confidence/confidence.py

        Line #    Mem usage    Increment  Occurrences   Line Contents
        =============================================================
            13                                         def resample(values, rng):
            14                                         """Draws as many values as there are."""
            15                                             n = len(values)
            16   30.268 MiB    0.502 MiB                   indices = [rng.randint(0, n - 1) for _ in range(n)]
            17   30.268 MiB   21.766 MiB                   return [values[i] for i in indices]
            29   30.268 MiB   22.268 MiB                       sample = resample(values, rng)
            30   18.339 MiB    0.000 MiB                       means.append(mean(sample))
            31   18.339 MiB    0.000 MiB                   means.sort()
            52                                         def main():
            53   32.868 MiB   16.000 MiB                   packed = zlib.compress(pickle.dumps(values), 9)
            54   30.268 MiB   22.268 MiB                   print(bootstrap(values, 10))
            60   30.268 MiB   36.091 MiB               


        Increments are estimates; 95 of 100 such ranges hold the true one:
         30.383 MiB to 42.867 MiB  confidence.py:60
         16.000 MiB to 17.494 MiB  confidence.py:53
         16.444 MiB to 29.536 MiB  confidence.py:54
         16.444 MiB to 29.536 MiB  confidence.py:29
          0.007 MiB to 2.783 MiB  confidence.py:16
         16.019 MiB to 28.957 MiB  confidence.py:17

        Quality: 244 allocations recorded, one about each 524 kB; ranges hold the true value 95 times in 100. A line with less than 1.57 MB may be missing.
    "#]].assert_eq(&text);
    let text = MemoryLines::new().limit(1).look(look(80));
    expect![[r#"
        Filename: /nowhere/confidence/confidence.py

        Line #    Mem usage    Increment  Occurrences   Line Contents
        =============================================================
            60    1.330 MiB    1.330 MiB               


        Quality: every allocation was recorded; the numbers are exact.
    "#]]
    .assert_eq(&text.render(&exact_memory()).unwrap());
    let none = MemoryLines::new().look(look(80)).render(&python()).unwrap();
    assert!(
        none.starts_with("Warning: what is allocated was not"),
        "{none}"
    );
    let nothing = Choices::command().filter(Filter::default().function("nobody"));
    let none = MemoryLines::new()
        .choices(nothing)
        .render(&memory())
        .unwrap();
    assert!(none.contains("passes the filter: function"), "{none}");
}

#[test]
fn functions_are_shown_from_their_decorators_to_their_ends() {
    let mut profile = memory();
    let folder = Folder::new("memory");
    let source = "import os\n\n\n@cache\n@profile\ndef work(\n    n,\n):\n    a = [n]\n\n    b = a * n\n    return b\n\n\nx = work(3)\n";
    let path = folder.write("work.py", source);
    let at = profile.hand_made_python(path.to_str().unwrap(), "Some.work", 11, false);
    let stack = profile.hand_made_stack(&[at]);
    profile.heap.blocks.truncate(1);
    profile.heap.blocks[0].stack = stack;
    profile.heap.blocks[0].freed = None;
    let text = MemoryLines::new().look(look(80)).render(&profile).unwrap();
    let numbers: Vec<&str> = (text.lines().skip(4))
        .take_while(|line| !line.is_empty())
        .map(|line| line[..6].trim())
        .collect();
    assert_eq!(
        numbers,
        ["4", "5", "6", "7", "8", "9", "10", "11", "12"],
        "{text}"
    );
    let eleventh = text
        .lines()
        .find(|line| line.starts_with("    11"))
        .unwrap();
    assert!(eleventh.ends_with("                   b = a * n"), "{text}");
}

#[test]
fn a_page_has_the_first_rows_and_blocks_of_one_type() {
    let profile = memory();
    let json = |view: Allocs| {
        let value: serde_json::Value = serde_json::from_str(&view.json(&profile).unwrap()).unwrap();
        value["allocations"].clone()
    };
    let all = json(Allocs::new());
    let first = json(Allocs::new().rows(1));
    assert!(all["lines"].as_array().unwrap().len() > 1);
    assert_eq!(first["lines"].as_array().unwrap().len(), 1);
    assert_eq!(first["lines"][0], all["lines"][0]);
    assert_eq!(first["total"], all["total"]);
    let none = json(Allocs::new().of_type("no such type".to_owned()));
    assert_eq!(none["total"]["allocated_bytes"], 0);
    assert_eq!(none["lines"].as_array().unwrap().len(), 0);
}
