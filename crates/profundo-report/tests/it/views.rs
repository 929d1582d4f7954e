//! The command's reports on programs as they are.

use expect_test::{Expect, expect};
use profundo_model::{LocationKind, Reason, Sample, State};
use profundo_report::{
    Callers, Choices, Filter, Functions, Libraries, Lines, Look, NextStep, SortBy, Stacks,
    Statprof, Summary, View, When,
};

use crate::mixed::{APP, Maker, crowd, metered, python, rust, waiting};

fn look() -> Look {
    Look::new().width(80)
}

fn check(text: Result<String, profundo_report::Error>, expected: Expect) {
    expected.assert_eq(&text.unwrap());
}

#[test]
fn waiting_has_a_column_and_a_table() {
    check(
        Summary::new().look(look()).render(&waiting()),
        expect![[r#"
            python3 confidence.py 600000
            34.9 s CPU · 1 process · 2 threads · CPython 3.12.1
            ██···············  █ Python 10.5 %  ▓ native 0 %  ░ system 0 %  · waiting 89.5 %
              100 % is 1.90 s: the time of 2 threads, with their waits

            One thread waited 800 ms in confidence.py:12: sleeps.
            100 % of 200 ms sampled CPU time is spent in line 12 of confidence.py, nearly all in Python.

            Time %      Waited Threads  Where threads wait
              42.1      800 ms       1  confidence.py:12  pause  [sleeps]
              26.3      500 ms       1  confidence.py:17  worker  [waits for the lock at 0x…
              21.1      400 ms       1  confidence.py:19  worker  [reads /tmp/fifo]

            Time %       Seconds   Py  Nat  Sys Wait  Hottest lines
              52.6 ±0.0    1.000   11             42  confidence.py:12  in pause
              26.3 ±0.0    0.500                  26  confidence.py:17  in worker
              21.1 ±0.0    0.400                  21  confidence.py:19  in worker

            Self %       Seconds   Py  Nat  Sys Wait  Total %  Hottest functions
              10.5 ±0.0    0.200   11                    52.6  pause  confidence.py:12

            Total %  Self  Calls
              100.0        <module>  confidence.py:60
               52.6  10.5  ├ pause  confidence.py:12
               42.1  42.1  │ └ [sleeps]
               47.4        └ worker  confidence.py:17
               26.3  26.3    ├ [waits for the lock at 0x7f0000001000]
               21.1  21.1    └ [reads /tmp/fifo]

            Time %        CPU   Py  Nat  Sys Wait  Thread
              52.6     200 ms   11             42  #1 MainThread
              47.4        0 s                  47  #2 worker

            Quality: 1900 samples.
        "#]],
    );
}

#[test]
fn nothing_is_hidden_where_threads_only_wait() {
    let mut profile = waiting();
    profile
        .samples
        .retain(|sample| sample.state == State::WallWaiting);
    let said = Summary::new().look(look()).render(&profile).unwrap();
    assert!(said.contains("Where threads wait"), "{said}");
    assert!(!said.contains("Warning"), "{said}");
}

#[test]
fn stacks_are_listed_thread_by_thread() {
    let mut profile = waiting();
    profile
        .samples
        .dedup_by_key(|sample| (sample.thread, sample.stack));
    check(
        Stacks::new().look(look()).render(&profile),
        expect![[r#"
        Process 4711: python3 confidence.py 600000  CPython 3.12.1

        Thread 1 MainThread (tid 4711): runs
            pause  confidence.py:12
            <module>  confidence.py:60
        Thread 1 MainThread (tid 4711): waits
            [sleeps]
            pause  confidence.py:12
            <module>  confidence.py:60
        Thread 2 worker (tid 4712): waits
            [waits for the lock at 0x7f0000001000]
            worker  confidence.py:17
            <module>  confidence.py:60
        Thread 2 worker (tid 4712): waits
            [reads /tmp/fifo]
            worker  confidence.py:19
            <module>  confidence.py:60
    "#]],
    );
}

#[test]
fn the_share_of_garbage_is_not_cut_off() {
    let mut profile = python();
    let mark = LocationKind::Reason(Reason::Collecting);
    let mark = profile.locations.intern(mark, None);
    let stack = profile.hand_made_stack(&[mark]);
    let sample = *profile.samples.first().unwrap();
    for _ in 0..profile.samples.len() {
        profile.samples.push(Sample { stack, ..sample });
    }
    for columns in [60, 80, 100, 200] {
        let summary = Summary::new().look(Look::new().width(columns));
        let text = summary.render(&profile).unwrap();
        let line = text
            .lines()
            .find(|line| line.contains("of it garbage collection"));
        let line = line.unwrap_or_else(|| panic!("{columns}: {text}"));
        assert!(
            line.ends_with(" %") && line.chars().count() <= columns,
            "{line}"
        );
        // Where there is room, there is one line.
        assert_eq!(line.contains("Python"), columns == 200, "{line}");
    }
}

#[test]
fn a_summary_fits_on_a_screen() {
    let summary = Summary::new().look(look()).next([
        NextStep::new("profundo report x", "the source"),
        NextStep::new("profundo flame x", "a picture"),
    ]);
    check(
        summary.render(&python()),
        expect![[r#"
            python3 confidence.py 600000
            5.10 s wall · 5.02 s CPU (98 %) · 1 process · 1 thread · CPython 3.12.1
            ████████████████████▓▓▓▓▓▓▓▓▓▓  █ Python 67.9 %  ▓ native 30.9 %  ░ system 1.2 %

            60 % of 5.02 s CPU time is spent in line 16 of confidence.py, mostly in Python: `indices = [rng.randint(0, n - 1) for _ in range(n)]`.

            Time %       Seconds  Py Nat Sys  Hottest lines
              59.8 ±0.1    3.000  46  14      confidence.py:16  indices = [rng.randint(0, n…
              21.9 ±0.0    1.100  22          confidence.py:17  return [values[i] for i in …
              12.0 ±0.0    0.600      12      confidence.py:10  return sum(values) / len(va…
               6.2 ±0.2    0.310       5   1  confidence.py:53  packed = zlib.compress(pick…
               0.1 ±0.1    0.004  <1          1 other line

            Self %       Seconds  Py Nat Sys  Total %  Hottest functions
              39.9 ±0.1    2.000  40             81.8  resample  confidence.py:17
              27.9 ±0.0    1.400  28             41.9  …elow_with_getrandbits  random.py:242
              14.0 ±0.0    0.700      14         14.0  _random_Random_getrandbits
              12.0 ±0.0    0.600      12         12.0  builtin_sum
               5.0 ±0.0    0.250       5          5.0  deflate
               1.2 ±0.2    0.060           1      1.2  __read
               0.1 ±0.1    0.004  <1                   1 other function

            Total %  Self  Calls
              100.0        <module> › main  confidence.py:54
               93.8   0.1  ├ bootstrap  confidence.py:29
               81.8  39.9  │ ├ resample  confidence.py:16
               41.9        │ │ └ Random.randint › …  random.py:336
               12.0  12.0  │ └ mean › builtin_sum
                5.0        ├ zlib_compress › …
                1.2   1.2  └ __read

            Quality: good. 4960 samples cover all of 5.02 s CPU time. Own cost 0.6 %.
            Next: profundo report x   # the source
                  profundo flame x    # a picture
        "#]],
    );
    check(
        summary.render(&rust()),
        expect![[r#"
            target/release/wordcount big.txt
            1.02 s wall · 1.00 s CPU (98 %) · 1 process · 1 thread
            ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓  ▓ native 100.0 %  ░ system 0 %

            92 % of 1.00 s CPU time is spent in line 21 of @wordcount/src/main.rs, nearly all in native code.

            Time %       Seconds Nat Sys  Hottest lines
              92.0 ±0.1    0.920  92      @wordcount/src/main.rs:21  in wordcount::count
               8.0 ±0.1    0.080   8      @wordcount/src/main.rs:8   in wordcount::main

            Self %       Seconds Nat Sys  Total %  Hottest functions
              50.0 ±0.1    0.500  50         50.0  …ildHasher::hash_one  …re/hash/mod.rs:652
              30.0 ±0.1    0.300  30         80.0  …hMap<K,V,S>::insert  …s/hash/map.rs:1200
              12.0 ±0.1    0.120  12         92.0  wordcount::count  …rdcount/src/main.rs:21
               8.0 ±0.1    0.080   8        100.0  wordcount::main  @wordcount/src/main.rs:8

            Total %  Self  Calls
              100.0   8.0  wordcount::main  @wordcount/src/main.rs:8
               92.0  12.0  └ wordcount::count  @wordcount/src/main.rs:21
               80.0  30.0    └ …ashMap<K,V,S>::insert › …  @std/collections/hash/map.rs:1200

            Quality: good. 1000 samples cover all of 1.00 s CPU time. Own cost not known.
            Next: profundo report x   # the source
                  profundo flame x    # a picture
        "#]],
    );
    check(
        summary.render(&crowd()),
        expect![[r#"
            python3 confidence.py 600000
            5.10 s wall · 4.78 s CPU (94 %) · 2 processes · 6 threads · CPython 3.12.1
            ███████████████████████████▓▓▓  █ Python 91.5 %  ▓ native 8.5 %  ░ system 0 %

            91 % of 4.78 s CPU time is spent in line 16 of confidence.py, nearly all in Python.

            Time %       Seconds  Py Nat Sys  Hottest lines
              90.7 ±0.0    4.280  91          confidence.py:16                in worker
               8.5 ±0.0    0.400       8      /build/gzip-1.12/deflate.c:710  in deflate
               0.8 ±0.0    0.040   1          confidence.py:53                in main

            Self %       Seconds  Py Nat Sys  Total %  Hottest functions
              90.7 ±0.0    4.280  91             90.7  worker  confidence.py:16
               8.5 ±0.0    0.400       8          8.5  deflate  …ild/gzip-1.12/deflate.c:710
               0.8 ±0.0    0.040   1              0.8  main  confidence.py:53

            Total %  Self  Calls
               90.7  90.7  <module> › worker  confidence.py:16
                8.5   8.5  main › deflate  /build/gzip-1.12/deflate.c:710

            Time %        CPU  Py Nat Sys  Process
              91.5     4.36 s  92          4711 python3 confidence.py 600000  (5 threads)
               8.5     420 ms       8      4720   gzip -9 /nowhere/confi…  killed by SIGKILL

            Time %        CPU  Py Nat Sys     GIL wait  Thread
              23.3     1.10 s  23               3.50 s  #5 worker-5  (process 4711)
              22.9     1.08 s  23               2.80 s  #4 worker-4  (process 4711)
              22.5     1.06 s  22               2.10 s  #3 worker-3  (process 4711)
              22.0     1.04 s  22               1.40 s  #2 worker-2  (process 4711)
               8.5     400 ms       8                   #6 gzip  (process 4720)
               0.8    40.0 ms   1                       #1 MainThread  (process 4711)

            Quality: good. 4720 samples cover all of 4.78 s CPU time. Own cost not known.
            Next: profundo report x   # the source
                  profundo flame x    # a picture
        "#]],
    );
}

#[test]
fn energy_has_a_column_and_a_sentence() {
    let summary = Summary::new().look(look()).tree(0);
    check(
        summary.render(&metered()),
        expect![[r#"
            python3 confidence.py 600000
            5.10 s wall · 5.02 s CPU (98 %) · 1 process · 1 thread · CPython 3.12.1
            ████████████████████▓▓▓▓▓▓▓▓▓▓  █ Python 67.9 %  ▓ native 30.9 %  ░ system 1.2 %

            60 % of 5.02 s CPU time is spent in line 16 of confidence.py, mostly in Python: `indices = [rng.randint(0, n - 1) for _ in range(n)]`.

            Time %       Seconds  Py Nat Sys   Energy  Hottest lines
              59.8 ±0.1    3.000  46  14       23.9 J  confidence.py:16  indices = [rng.ran…
              21.9 ±0.0    1.100  22           8.78 J  confidence.py:17  return [values[i] …
              12.0 ±0.0    0.600      12       4.79 J  confidence.py:10  return sum(values)…
               6.2 ±0.2    0.310       5   1   2.47 J  confidence.py:53  packed = zlib.comp…
               0.1 ±0.1    0.004  <1          31.9 mJ  1 other line

            Self %       Seconds  Py Nat Sys   Energy  Total %  Hottest functions
              39.9 ±0.1    2.000  40           16.0 J     81.8  resample  confidence.py:17
              27.9 ±0.0    1.400  28           11.2 J     41.9  …_getrandbits  random.py:242
              14.0 ±0.0    0.700      14       5.58 J     14.0  _random_Random_getrandbits
              12.0 ±0.0    0.600      12       4.79 J     12.0  builtin_sum
               5.0 ±0.0    0.250       5       1.99 J      5.0  deflate
               1.2 ±0.2    0.060           1   479 mJ      1.2  __read
               0.1 ±0.1    0.004  <1          31.9 mJ           1 other function

            Energy: 80.0 J by package-0 in 5.10 s (15.7 W, the whole machine); about 40.0 J of it is this program's, by its share of the CPU time of all that ran (50.0 %).
            Quality: good. 4960 samples cover all of 5.02 s CPU time. Own cost 0.6 %.
        "#]],
    );
    // Of a part, its part: what it costs does not depend on what is selected.
    let choices = Choices::command().filter(Filter::default().function("zlib_compress"));
    let functions = Functions::new().look(look()).choices(choices);
    check(
        functions.render(&metered()),
        expect![[r#"
            Self %      Total %       Py Nat Sys   Energy Samples  Function
             100.0 ±1.5  100.0 ±1.5      100       1.99 J     250  deflate
                         100.0 ±1.5      100       1.99 J     250  zlib_compress
                         100.0 ±1.5      100       1.99 J     250  <module>  …nfidence.py:60
                         100.0 ±1.5      100       1.99 J     250  main  confidence.py:53

            Only: function=zlib_compress: 250 of 4960 samples (5.0 %).
            Quality: 5.014 s of 5.021 s CPU time sampled (99.9 %), in the kernel 60.000 ms of 61.000 ms; 4960 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms, in the kernel every few ms; own cost 0.6 %; shares are ± 6.2 points (95 %).
        "#]],
    );
}

#[test]
fn a_summary_fits_every_screen() {
    for profile in [python(), crowd()] {
        for columns in [60, 80, 120, 200] {
            let look = Look::new()
                .width(columns)
                .terminal(true)
                .colors(When::Never);
            let text = Summary::new().look(look).render(&profile).unwrap();
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{columns} columns");
            // Where the hottest line is, and where a function of the tree is, is never cut.
            let hottest = text
                .lines()
                .skip_while(|line| !line.contains("Hottest lines"));
            let hottest = hottest.take(2).last().unwrap();
            assert!(hottest.contains(" confidence.py:16 "), "{text}");
            let tree = text
                .lines()
                .skip_while(|line| !line.ends_with("Calls"))
                .skip(1);
            let first = tree.take(1).last().unwrap();
            assert!(first.contains(" confidence.py:"), "{text}");
        }
    }
}

#[test]
fn a_wide_screen_shows_ranges() {
    let summary = Summary::new().look(Look::new().width(120));
    check(
        summary.render(&python()),
        expect![[r#"
            python3 confidence.py 600000
            5.10 s wall · 5.02 s CPU (98 %) · 1 process · 1 thread · CPython 3.12.1
            ████████████████████▓▓▓▓▓▓▓▓▓▓  █ Python 67.9 %  ▓ native 30.9 %  ░ system 1.2 %

            60 % of 5.02 s CPU time is spent in line 16 of confidence.py, mostly in Python: `indices = [rng.randint(0, n - 1) for _ in range(n)]`.

            Time %             Seconds  Py % Nat % Sys %  Hottest lines
              59.8 59.7–59.9     3.000  45.9  14.0        confidence.py:16  indices = [rng.randint(0, n - 1) for _ in range(n)]
              21.9 21.9–22.0     1.100  21.9              confidence.py:17  return [values[i] for i in indices]
              12.0 11.9–12.0     0.600        12.0        confidence.py:10  return sum(values) / len(values)
               6.2 6.0–6.3       0.310         5.0   1.2  confidence.py:53  packed = zlib.compress(pickle.dumps(values), 9)
               0.1 0.0–0.2       0.004   0.1              1 other line

            Self %             Seconds  Py % Nat % Sys %  Total %  Hottest functions
              39.9 39.8–40.0     2.000  39.9                 81.8  resample  confidence.py:17
              27.9 27.9–28.0     1.400  27.9                 41.9  Random._randbelow_with_getrandbits  random.py:242
              14.0 13.9–14.0     0.700        14.0           14.0  _random_Random_getrandbits
              12.0 11.9–12.0     0.600        12.0           12.0  builtin_sum
               5.0 5.0–5.0       0.250         5.0            5.0  deflate
               1.2 1.0–1.4       0.060               1.2      1.2  __read
               0.1 0.0–0.2       0.004   0.1                       1 other function

            Total %  Self  Calls
              100.0        <module> › main  confidence.py:54
               93.8   0.1  ├ bootstrap  confidence.py:29
               81.8  39.9  │ ├ resample  confidence.py:16
               41.9        │ │ └ Random.randint › …  random.py:336
               12.0  12.0  │ └ mean › builtin_sum
                5.0        ├ zlib_compress › …
                1.2   1.2  └ __read

            Quality: good. 4960 samples cover all of 5.02 s CPU time. Own cost 0.6 %.
        "#]],
    );
}

#[test]
fn lines_have_their_neighbours() {
    let lines = Lines::new().look(look()).quality(false);
    check(
        lines.render(&python()),
        expect![[r#"
            confidence.py  100.0 % of the time ±0.1
            Time %               Py Nat Sys Line  Source
                                               9  def mean(values):
              12.0 ±0.0  ▋           12       10      return sum(values) / len(values)
                                              11
                                              12
                                               ⋮
                                              14  """Draws as many values as there are."""
                                              15      n = len(values)
              59.8 ±0.1  ███     46  14       16      indices = [rng.randint(0, n - 1) for …
              21.9 ±0.0  █▏      22           17      return [values[i] for i in indices]
                                              18
                                               ⋮
                                              52  def main():
               6.2 ±0.2  ▎            5   1   53      packed = zlib.compress(pickle.dumps(v…
                                              54      print(bootstrap(values, 10))

        "#]],
    );
    check(
        lines.clone().total(true).context(0).render(&python()),
        expect![[r#"
            confidence.py  100.0 % of the time ±0.1
            Total %              Py Nat Sys Line  Source
              12.0 ±0.0  ▋           12       10  return sum(values) / len(values)
                                               ⋮
              59.8 ±0.1  ███     46  14       16  indices = [rng.randint(0, n - 1) for _ in…
              21.9 ±0.0  █▏      22           17  return [values[i] for i in indices]
                                               ⋮
              81.8 ±0.1  ████▏   68  14       29      sample = resample(values, rng)
              12.0 ±0.0  ▋           12       30      means.append(mean(sample))
                                               ⋮
               6.2 ±0.2  ▎            5   1   53  packed = zlib.compress(pickle.dumps(value…
              93.8 ±0.2  ████▊   68  26       54  print(bootstrap(values, 10))
                                               ⋮
             100.0 ±0.1  █████   68  31   1   60
            (source not found)

            random.py
            Total %              Py Nat Sys Line  Source
              27.9 ±0.0  █▍      28          242
                                               ⋮
              14.0 ±0.0  ▊           14      245
                                               ⋮
              41.9 ±0.1  ██▏     28  14      319
                                               ⋮
              41.9 ±0.1  ██▏     28  14      336
            (source not found)

        "#]],
    );
    check(
        lines.clone().libraries(true).render(&python()),
        expect![[r#"
            confidence.py  58.1 % of the time ±0.1
            Time %               Py Nat Sys Line  Source
                                               9  def mean(values):
              12.0 ±0.0  ▋           12       10      return sum(values) / len(values)
                                              11
                                              12
                                               ⋮
                                              14  """Draws as many values as there are."""
                                              15      n = len(values)
              17.9 ±0.0  ▉       18           16      indices = [rng.randint(0, n - 1) for …
              21.9 ±0.0  █▏      22           17      return [values[i] for i in indices]
                                              18
                                               ⋮
                                              52  def main():
               6.2 ±0.2  ▎            5   1   53      packed = zlib.compress(pickle.dumps(v…
                                              54      print(bootstrap(values, 10))

            random.py  41.9 % of the time ±0.1
            Time %               Py Nat Sys Line  Source
              27.9 ±0.0  █▍      28          242
                                               ⋮
              14.0 ±0.0  ▊           14      245
            (source not found)

        "#]],
    );
    check(
        lines.render(&rust()),
        expect![[r#"
            @wordcount/src/main.rs  100.0 % of the time ±0.4
            Time %              Nat Sys Line  Source
               8.0 ±0.1  ▍        8        8
                                           ⋮
              92.0 ±0.1  ████▋   92       21
            (source not found)

        "#]],
    );
}

#[test]
fn whole_files_have_cold_lines_too() {
    let lines = Lines::new().look(look()).quality(false).all_lines(true);
    check(
        lines.render(&python()),
        expect![[r#"
            confidence.py  100.0 % of the time ±0.1
            Time %               Py Nat Sys Line  Source
                                               9  def mean(values):
              12.0 ±0.0  ▋           12       10      return sum(values) / len(values)
                                              11
                                              12
                                              13  def resample(values, rng):
                                              14  """Draws as many values as there are."""
                                              15      n = len(values)
              59.8 ±0.1  ███     46  14       16      indices = [rng.randint(0, n - 1) for …
              21.9 ±0.0  █▏      22           17      return [values[i] for i in indices]
                                              18
                                               ⋮
                                              29          sample = resample(values, rng)
                                              30          means.append(mean(sample))
               0.1 ±0.0          <1           31      means.sort()
                                               ⋮
                                              52  def main():
               6.2 ±0.2  ▎            5   1   53      packed = zlib.compress(pickle.dumps(v…
                                              54      print(bootstrap(values, 10))
                                               ⋮
                                              60
            (source not found)

        "#]],
    );
}

#[test]
fn functions_have_both_shares() {
    let functions = Functions::new().look(look()).quality(false);
    check(
        functions.render(&python()),
        expect![[r#"
        Self %      Total %       Py Nat Sys Samples  Function
          39.9 ±0.1   81.8 ±0.1   68  14        4100  resample  confidence.py:17
          27.9 ±0.0   41.9 ±0.1   28  14        2100  …w_with_getrandbits  random.py:242
          14.0 ±0.0   14.0 ±0.0       14         700  _random_Random_getrandbits
          12.0 ±0.0   12.0 ±0.0       12         600  builtin_sum
           5.0 ±0.0    5.0 ±0.0        5         250  deflate
           1.2 ±0.2    1.2 ±0.2            1       6  __read
           0.1 ±0.0   93.8 ±0.2   68  26        4704  bootstrap  confidence.py:31
                     100.0 ±0.1   68  31   1    4960  <module>  confidence.py:60
                     100.0 ±0.1   68  31   1    4960  main  confidence.py:54
                      41.9 ±0.1   28  14        2100  Random.randint  random.py:336
                      41.9 ±0.1   28  14        2100  Random.randrange  random.py:319
                      12.0 ±0.0       12         600  mean  confidence.py:10
                       5.0 ±0.0        5         250  zlib_compress

    "#]],
    );
    let some = functions
        .clone()
        .sorted_by(SortBy::Count)
        .limit(4)
        .min_share(0.1);
    check(
        some.render(&python()),
        expect![[r#"
        Self %      Total %       Py Nat Sys Samples  Function
                     100.0 ±0.1   68  31   1    4960  <module>  confidence.py:60
                     100.0 ±0.1   68  31   1    4960  main  confidence.py:54
           0.1 ±0.0   93.8 ±0.2   68  26        4704  bootstrap  confidence.py:31
          39.9 ±0.1   81.8 ±0.1   68  14        4100  resample  confidence.py:17
        … and 9 more

    "#]],
    );
    let mine = functions.choices(Choices::command().only_mine(true));
    check(
        mine.render(&crowd()),
        expect![[r#"
        Self %      Total %       Py Nat Sys Samples  Function
          90.7 ±0.0   90.7 ±0.0   91            4280  worker  confidence.py:16
           8.5 ±0.0    8.5 ±0.0        8         400  deflate  …/gzip-1.12/deflate.c:710
           0.8 ±0.0    0.8 ±0.0    1              40  main  confidence.py:53
                      91.5 ±0.0   92            4320  <module>  confidence.py:60
                       8.5 ±0.0        8         400  main  /build/gzip-1.12/gzip.c:420

    "#]],
    );
    check(
        mine.render(&rust()),
        expect![[r#"
        Self %      Total %      Nat Sys Samples  Function
          92.0 ±0.1   92.0 ±0.1   92         920  wordcount::count  …ount/src/main.rs:21
           8.0 ±0.1  100.0 ±0.4  100        1000  wordcount::main  …dcount/src/main.rs:8

    "#]],
    );
}

#[test]
fn folded_libraries_are_what_was_called() {
    let choices = Choices::command().libraries(Libraries::Folded);
    let functions = Functions::new()
        .look(look())
        .quality(false)
        .choices(choices);
    check(
        functions.render(&python()),
        expect![[r#"
        Self %      Total %       Py Nat Sys Samples  Function
          41.9 ±0.1   41.9 ±0.1   28  14        2100  Random.randint  random.py:336
          39.9 ±0.1   81.8 ±0.1   68  14        4100  resample  confidence.py:17
          12.0 ±0.0   12.0 ±0.0       12         600  builtin_sum
           5.0 ±0.0    5.0 ±0.0        5         250  zlib_compress
           1.2 ±0.2    1.2 ±0.2            1       6  __read
           0.1 ±0.0   93.8 ±0.2   68  26        4704  bootstrap  confidence.py:31
                     100.0 ±0.1   68  31   1    4960  <module>  confidence.py:60
                     100.0 ±0.1   68  31   1    4960  main  confidence.py:54
                      12.0 ±0.0       12         600  mean  confidence.py:10

    "#]],
    );
}

#[test]
fn self_in_the_tree_is_that_of_the_table_of_functions() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let parse = maker.python(APP, "parse", 10, true);
    let decoder = "/usr/lib/python3.12/json/decoder.py";
    let decode = maker.python(decoder, "decode", 337, true);
    let scan = maker.python(decoder, "raw_decode", 353, true);
    let hook = maker.python(APP, "hook", 16, false);
    maker.samples(100, &[root, parse], State::Running);
    maker.samples(142, &[root, parse, decode], State::Running);
    maker.samples(495, &[root, parse, decode, scan], State::Running);
    maker.samples(263, &[root, parse, decode, scan, hook], State::Running);
    let tables = |choices: Choices| {
        let summary = Summary::new().look(look()).quality(false).choices(choices);
        let text = summary.render(&maker.profile).unwrap();
        let from = text.find("Self %").unwrap();
        text[from..].to_owned()
    };
    check(
        Ok(tables(Choices::command())),
        expect![[r#"
            Self %       Seconds  Py Nat Sys  Total %  Hottest functions
              49.5 ±0.1    0.495  50             75.8  raw_decode  json/decoder.py:353
              26.3 ±0.1    0.263  26             26.3  hook  confidence.py:16
              14.2 ±0.1    0.142  14             90.0  decode  json/decoder.py:337
              10.0 ±0.1    0.100  10            100.0  parse  confidence.py:10

            Total %  Self  Calls
              100.0  10.0  <module> › parse  confidence.py:10
               90.0  14.2  └ decode › …  json/decoder.py:337
               26.3  26.3    └ hook  confidence.py:16

        "#]],
    );
    // Folded libraries have their time in what was called, in both tables.
    check(
        Ok(tables(Choices::command().libraries(Libraries::Folded))),
        expect![[r#"
            Self %       Seconds  Py Nat Sys  Total %  Hottest functions
              63.7 ±0.1    0.637  64             90.0  decode  json/decoder.py:337
              26.3 ±0.1    0.263  26             26.3  hook  confidence.py:16
              10.0 ±0.1    0.100  10            100.0  parse  confidence.py:10

            Total %  Self  Calls
              100.0  10.0  <module> › parse  confidence.py:10
               90.0  63.7  └ decode  json/decoder.py:337
               26.3  26.3    └ hook  confidence.py:16

        "#]],
    );
}

#[test]
fn a_function_that_calls_itself_is_one_row() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let fact = maker.python(APP, "fact", 10, true);
    let leaf = maker.python(APP, "leaf", 16, false);
    // It calls itself by way of two others.
    let [visit, call, each] =
        ["visit", "call", "each"].map(|function| maker.python(APP, function, 31, true));
    for depth in [1, 2, 5, 30] {
        let mut stack = vec![root];
        stack.extend(vec![fact; depth]);
        maker.samples(100, &stack, State::Running);
        stack.push(leaf);
        maker.samples(50, &stack, State::Running);
        let mut stack = vec![root];
        stack.extend([visit, call, each].repeat(depth));
        maker.samples(50, &stack, State::Running);
        maker.samples(25, &[&stack[..], &[visit, leaf]].concat(), State::Running);
    }
    // One that is called again from elsewhere does not call itself.
    let timed = maker.python(APP, "timed", 17, true);
    let [one, other] = ["one", "other"].map(|name| maker.python(APP, name, 30, true));
    maker.samples(100, &[root, timed, one, timed, other], State::Running);
    let summary = Summary::new().look(look()).quality(false);
    let text = summary.render(&maker.profile).unwrap();
    let from = text.find("Total %  Self").unwrap();
    check(
        Ok(text[from..].to_owned()),
        expect![[r#"
            Total %  Self  Calls
              100.0        <module>  confidence.py:60
               60.0  40.0  ├ fact  confidence.py:10
               20.0  20.0  │ └ leaf  confidence.py:16
               30.0  20.0  ├ visit › call › each  confidence.py:31
               10.0  10.0  │ └ visit › leaf  confidence.py:16
               10.0  10.0  └ timed › one › timed › other  confidence.py:30

        "#]],
    );
}

#[test]
fn statprof_looks_like_statprof() {
    check(
        Statprof::new().look(look()).render(&python()),
        expect![[r#"
              %   cumulative      self
             time    seconds   seconds  name
             27.92       1.40      1.40  random.py:242:Random._randbelow_with_getrandbits
             21.94       1.10      1.10  confidence.py:17:resample
             17.95       3.00      0.90  confidence.py:16:resample
             13.96       0.70      0.70  _random_Random_getrandbits
             11.97       0.60      0.60  builtin_sum
              4.99       0.25      0.25  deflate
              1.20       0.06      0.06  __read
              0.08       0.00      0.00  confidence.py:31:bootstrap
              0.00       5.01      0.00  confidence.py:60:<module>
              0.00       4.70      0.00  confidence.py:54:main
              0.00       4.10      0.00  confidence.py:29:bootstrap
              0.00       2.10      0.00  random.py:336:Random.randint
              0.00       2.10      0.00  random.py:319:Random.randrange
              0.00       0.70      0.00  random.py:245:Random._randbelow_with_getrandbits
              0.00       0.60      0.00  confidence.py:30:bootstrap
              0.00       0.60      0.00  confidence.py:10:mean
              0.00       0.31      0.00  confidence.py:53:main
              0.00       0.25      0.00  zlib_compress
            ---
            Sample count: 4960
            Total time: 5.014000 seconds
        "#]],
    );
}

#[test]
fn callers_and_callees_add_up() {
    let look = look();
    check(
        Callers::both("bootstrap")
            .look(look.clone())
            .quality(false)
            .render(&python()),
        expect![[r#"
            bootstrap  confidence.py:29
            93.8 % of the time ±0.2, 0.1 % by itself ±0.0, 4704 samples.

              Of it %      All %  Py Nat Sys  Callers
                100.0 ±0.1  93.8  68  26      main  confidence.py:54

              Of it %      All %  Py Nat Sys  Callees
                 87.2 ±0.0  81.8  68  14      resample  confidence.py:16
                 12.8 ±0.0  12.0      12      mean  confidence.py:10
                  0.1 ±0.0   0.1  <1          (itself)

        "#]],
    );
    check(
        Callers::new("randbelow*")
            .look(look.clone())
            .quality(false)
            .render(&python()),
        expect![[r#"
            Warning: no function that is shown and was sampled is called “randbelow*”; nearest: Random._randbelow_with_getrandbits.
        "#]],
    );
    check(
        Callers::new("_randbelow*")
            .look(look.clone())
            .quality(false)
            .render(&python()),
        expect![[r#"
            Random._randbelow_with_getrandbits  random.py:242
            41.9 % of the time ±0.1, 27.9 % by itself ±0.0, 2100 samples.

              Of it %      All %  Py Nat Sys  Callers
                100.0 ±0.2  41.9  28  14      Random.randrange  random.py:319

        "#]],
    );
    check(
        Callers::callees_of("<module>")
            .look(look)
            .quality(false)
            .render(&python()),
        expect![[r#"
            <module>  confidence.py:60
            100.0 % of the time ±0.1, 0 % by itself ±0.1, 4960 samples.

              Of it %      All %  Py Nat Sys  Callees
                100.0 ±0.1 100.0  68  31   1  main  confidence.py:54

        "#]],
    );
}
