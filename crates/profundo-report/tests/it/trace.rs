//! The table of calls.

use expect_test::{Expect, expect};
use profundo_model::{Callers, Clock, Profile};
use profundo_report::{
    CallOrder, Choices, CountedLines, Filter, Format, Functions, GroupBy, Lines, Look, Neighbours,
    Only, Recur, Report, Statprof, Summary, Trace, View, When,
};

use crate::traced::{counted_lines, traced};

fn check(view: Trace, expected: Expect) {
    check_of(&traced(), view, expected);
}

fn check_of(profile: &Profile, view: Trace, expected: Expect) {
    let text = view.look(Look::new().width(90)).render(profile).unwrap();
    expected.assert_eq(&text);
}

fn order(text: &str) -> CallOrder {
    text.parse().unwrap()
}

#[test]
fn calls_and_resumptions_are_distinguished() {
    check(
        Trace::new(),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes in 0.127 seconds

            Ordered by: internal time

            ncalls resumes  tottime  percall  cumtime  percall  filename:lineno(function)
               7/1           100 ms  14.3 ms   100 ms   100 ms  app.py:4(fib)
                 3      40  18.5 ms  6.17 ms  19.0 ms  6.33 ms  asyncio/tasks.py:655(wait)
                 1          6.00 ms  6.00 ms  7.00 ms  7.00 ms  lib/rows.py:10(read)
                 1          1.00 ms  1.00 ms   120 ms   120 ms  app.py:1(<module>)
              1000           800 µs   800 ns   800 µs   800 ns  {method 'append' of 'list' objects}
              1043           700 µs   671 ns   700 µs   671 ns  {built-in method builtins.len}

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn callers_and_callees_have_a_block_each() {
    check(
        Trace::new()
            .neighbours(Neighbours::Callers)
            .sorted_by(order("cumulative")),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes in 0.127 seconds

            Ordered by: cumulative time

            ncalls resumes  tottime  cumtime  function, and who called it
                 1          1.00 ms   120 ms  app.py:1(<module>)
                                                (nobody: it is a root)
               7/1           100 ms   100 ms  app.py:4(fib)
                 1          10.0 ms   100 ms    app.py:1(<module>)
               6/2          90.0 ms  90.0 ms    app.py:4(fib)
                 3      40  18.5 ms  19.0 ms  asyncio/tasks.py:655(wait)
                 3      40  18.5 ms  19.0 ms    app.py:1(<module>)
                 1          6.00 ms  7.00 ms  lib/rows.py:10(read)
                                                (nobody: it is a root)
              1000           800 µs   800 µs  {method 'append' of 'list' objects}
              1000           800 µs   800 µs    lib/rows.py:10(read)
              1043           700 µs   700 µs  {built-in method builtins.len}
              1000           200 µs   200 µs    lib/rows.py:10(read)
                43           500 µs   500 µs    asyncio/tasks.py:655(wait)

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
    check(
        Trace::new()
            .neighbours(Neighbours::Callees)
            .only(Only::Named("wait".into())),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes in 0.127 seconds

            Ordered by: internal time; 1 of 6 functions are shown

            ncalls resumes  tottime  cumtime  function, and what it called
                 3      40  18.5 ms  19.0 ms  asyncio/tasks.py:655(wait)
                43           500 µs   500 µs    {built-in method builtins.len}

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn a_table_can_be_of_each_thread() {
    check(
        Trace::new().group_by(GroupBy::Thread).only(Only::First(2)),
        expect![[r#"
            Thread 1 (MainThread)
            54 function calls (48 primitive calls) and 40 generator resumes in 0.120 seconds

            Ordered by: internal time; 2 of 4 functions are shown

            ncalls resumes  tottime  percall  cumtime  percall  filename:lineno(function)
               7/1           100 ms  14.3 ms   100 ms   100 ms  app.py:4(fib)
                 3      40  18.5 ms  6.17 ms  19.0 ms  6.33 ms  asyncio/tasks.py:655(wait)

            Thread 2 (reader)
            2001 function calls in 0.007 seconds

            Ordered by: internal time; 2 of 3 functions are shown

            ncalls  tottime  percall  cumtime  percall  filename:lineno(function)
                 1  6.00 ms  6.00 ms  7.00 ms  7.00 ms  rows.py:10(read)
              1000   800 µs   800 ns   800 µs   800 ns  {method 'append' of 'list' objects}

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
    check(
        Trace::new().choices(Choices::command().filter(Filter::default().thread("reader"))),
        expect![[r#"
            2001 function calls in 0.007 seconds

            Ordered by: internal time

            ncalls  tottime  percall  cumtime  percall  filename:lineno(function)
                 1  6.00 ms  6.00 ms  7.00 ms  7.00 ms  rows.py:10(read)
              1000   800 µs   800 ns   800 µs   800 ns  {method 'append' of 'list' objects}
              1000   200 µs   200 ns   200 µs   200 ns  {built-in method builtins.len}

            Only: thread=reader: 2001 of 2055 calls (97.4 %).
            Tracing: 7.70 ms were measured, of which 700 µs were the tracing itself and are taken off: 7.00 ms are left.
        "#]],
    );
}

#[test]
fn it_is_what_pstats_prints() {
    // A snapshot loses the indent that all its lines share; the `⋮` keeps it.
    let check = |view: Trace, expected: Expect| {
        let text = view.render(&traced()).unwrap();
        expected.assert_eq(&format!("⋮\n{text}"));
    };
    check(
        Trace::pstats(),
        expect![[r#"
            ⋮
                     2095 function calls (2089 primitive calls) in 0.127 seconds

               Ordered by: standard name

               ncalls  tottime  percall  cumtime  percall filename:lineno(function)
                    1    0.001    0.001    0.120    0.120 /home/me/app.py:1(<module>)
                  7/1    0.100    0.014    0.100    0.100 /home/me/app.py:4(fib)
                    1    0.006    0.006    0.007    0.007 /home/me/lib/rows.py:10(read)
                   43    0.018    0.000    0.019    0.000 /usr/lib/python3.12/asyncio/tasks.py:655(wait)
                 1043    0.001    0.000    0.001    0.000 {built-in method builtins.len}
                 1000    0.001    0.000    0.001    0.000 {method 'append' of 'list' objects}


        "#]],
    );
    check(
        Trace::pstats()
            .neighbours(Neighbours::Callers)
            .sorted_by(order("time,name"))
            .only(Only::Part(0.5)),
        expect![[r#"
            ⋮
               Ordered by: internal time, function name
               List reduced from 6 to 3 due to restriction <0.5>

            Function                                        was called by...
                                                                ncalls  tottime  cumtime
            /home/me/app.py:4(fib)                          <-       1    0.010    0.100  /home/me/app.py:1(<module>)
                                                                   6/2    0.090    0.090  /home/me/app.py:4(fib)
            /usr/lib/python3.12/asyncio/tasks.py:655(wait)  <-      43    0.018    0.019  /home/me/app.py:1(<module>)
            /home/me/lib/rows.py:10(read)                   <- 


        "#]],
    );
    check(
        Trace::pstats()
            .neighbours(Neighbours::Callees)
            .only(Only::Named("app.py".into()))
            .only(Only::First(1)),
        expect![[r#"
            ⋮
               Ordered by: standard name
               List reduced from 6 to 2 due to restriction <'app.py'>
               List reduced from 2 to 1 due to restriction <1>

            Function                     called...
                                             ncalls  tottime  cumtime
            /home/me/app.py:1(<module>)  ->       1    0.010    0.100  /home/me/app.py:4(fib)
                                                 43    0.018    0.019  /usr/lib/python3.12/asyncio/tasks.py:655(wait)


        "#]],
    );
    check(
        Trace::pstats().only(Only::First(0)),
        expect![[r#"
            ⋮
                     2095 function calls (2089 primitive calls) in 0.127 seconds

        "#]],
    );
}

#[test]
fn where_nothing_was_measured_no_times_are_shown() {
    let mut profile = traced();
    profile.traced.clock = Clock::None;
    check_of(
        &profile,
        Trace::new().only(Only::First(2)),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes

            Ordered by: call count; 2 of 6 functions are shown

            ncalls resumes  filename:lineno(function)
              1043          {built-in method builtins.len}
              1000          {method 'append' of 'list' objects}

        "#]],
    );
    check_of(
        &profile,
        Trace::new()
            .only(Only::First(1))
            .neighbours(Neighbours::Callers),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes

            Ordered by: call count; 1 of 6 functions are shown

            ncalls resumes  function, and who called it
              1043          {built-in method builtins.len}
              1000            /home/me/lib/rows.py:10(read)
                43            asyncio/tasks.py:655(wait)

        "#]],
    );
}

#[test]
fn remarks_stand_below_the_table() {
    let mut profile = traced();
    profile.traced.clock = Clock::Cpu;
    profile.traced.calls[3].callers = Callers::Last {
        is_recursive: true,
        is_repeated: true,
    };
    profile.meta.notes.push("two calls are missing".into());
    check_of(
        &profile,
        Trace::new().only(Only::First(1)),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes in 0.127 seconds of CPU time

            Ordered by: internal time; 1 of 6 functions are shown

            ncalls resumes  tottime  percall  cumtime  percall  filename:lineno(function)
               7/1           100 ms  14.3 ms   100 ms   100 ms  app.py:4(fib)

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
            Calls came from very many places: at 1 of 9 only the last caller is known, so trees begin anew there. Tables are whole.
            Note: two calls are missing
        "#]],
    );
    check_of(
        &profile,
        Trace::new().only(Only::Named("nothing".into())),
        expect![[r#"
            2055 function calls (2049 primitive calls) and 40 generator resumes in 0.127 seconds of CPU time

            No function is left by the restrictions.
            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
            Calls came from very many places: at 1 of 9 only the last caller is known, so trees begin anew there. Tables are whole.
            Note: two calls are missing
        "#]],
    );
    check_of(
        &Profile::default(),
        Trace::new(),
        expect![[r#"
        Warning: no calls were counted in this recording: `profundo trace` counts them.
    "#]],
    );
    let mut refused = Profile::default();
    refused.meta.notes = vec!["there is a reason".into()];
    check_of(
        &refused,
        Trace::new(),
        expect![[r#"
        Warning: no calls were counted in this recording: `profundo trace` counts them.
        Note: there is a reason
    "#]],
    );
    let nobody = Choices::command().filter(Filter::default().thread("nobody"));
    check_of(
        &profile,
        Trace::new().choices(nobody),
        expect![[r#"
            Warning: no calls pass the filter: thread=nobody.
        "#]],
    );
}

#[test]
fn rows_fit_into_the_screen() {
    for width in [1, 20, 60, 75, 200] {
        for view in [Trace::new(), Trace::new().neighbours(Neighbours::Callers)] {
            let text = view
                .look(Look::new().width(width))
                .render(&traced())
                .unwrap();
            let rows = text.lines().skip_while(|line| !line.contains("ncalls"));
            for row in rows.take_while(|row| !row.is_empty()) {
                assert!(row.chars().count() <= width, "{width}: {row}");
            }
        }
    }
}

#[test]
fn colours_say_what_is_hot() {
    let look = Look::new()
        .width(90)
        .colors(When::Always)
        .hyperlinks(When::Never);
    let text = Trace::new().look(look).render(&traced()).unwrap();
    let fib = text.lines().find(|line| line.contains("fib")).unwrap();
    assert!(fib.contains("\u{1b}[1;31m"), "{fib}");
}

#[test]
fn lines_are_in_the_columns_of_line_profiler() {
    let check = |view: CountedLines, expected: Expect| {
        let look = Look::new().width(90);
        let text = view.look(look).render(&counted_lines()).unwrap();
        expected.assert_eq(&text);
    };
    check(
        CountedLines::new(),
        expect![[r#"
            Timer unit: 1e-06 s

            Total time: 0.0900252 s
            File: /home/me/app.py
            Function: fib at line 3

            Line #      Hits         Time  Per Hit   % Time  Line Contents
            ==============================================================
                 3                                           @cache
                 4                                           def fib(n):
                 5                                               # The slow way.
                 6         7         21.0      3.0      0.0      if n < 2:
                 7         4          4.2      1.1      0.0          return n
                 8         3      90000.0  30000.0    100.0      return fib(n - 1) + fib(n - 2)

            Total time: 7654.32 s
            File: /home/me/lib/rows.py
            Function: read at line 10
            (source not found)

            Line #        Hits         Time  Per Hit   % Time  Line Contents
            ================================================================
                12 1.23457e+09 7654321000.0      6.2    100.0  
                14           1          0.0      0.0      0.0  

        "#]],
    );
    check(
        CountedLines::new().limit(1),
        expect![[r#"
            Timer unit: 1e-06 s

            Total time: 7654.32 s
            File: /home/me/lib/rows.py
            Function: read at line 10
            (source not found)

            Line #        Hits         Time  Per Hit   % Time  Line Contents
            ================================================================
                12 1.23457e+09 7654321000.0      6.2    100.0  
                14           1          0.0      0.0      0.0  

            … and 1 more
        "#]],
    );
    let nobody = Choices::command().filter(Filter::default().function("nobody"));
    check(
        CountedLines::new().choices(nobody),
        expect![[r#"
            Warning: no lines pass the filter: function=nobody.
        "#]],
    );
}

/// A report of a recording of calls speaks of calls and times, and of no samples.
#[track_caller]
fn speaks_of_calls(text: Result<String, profundo_report::Error>, expected: Expect) {
    let text = text.unwrap();
    expected.assert_eq(&text);
    for word in ["ample", "snapshot", "±", "95 %", "Quality", "every"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

fn narrow() -> Look {
    Look::new().width(80)
}

/// The command's reports in the shape of Julia's.
fn command() -> Report {
    Report::new().choices(Choices::command()).look(narrow())
}

#[test]
fn the_summary_speaks_of_calls() {
    speaks_of_calls(
        Summary::new().look(narrow()).render(&traced()),
        expect![[r#"
            python3 app.py
            2055 function calls in 127 ms · 1 process · 2 threads · CPython 3.12.1
            ██████████████████████████████  █ Python 98.8 %  ▓ native 1.2 %

            79 % of 127 ms in function calls is spent in the function fib (app.py:4) itself, nearly all in Python.

            Self %  Seconds  Py Nat  Total %      Calls  Hottest functions
              78.7   0.1000  79         78.7          7  fib  app.py:4
              14.6   0.0185  15         15.0          3  wait  asyncio/tasks.py:655
               4.7   0.0060   5          5.5          1  read  lib/rows.py:10
               0.8   0.0010   1         94.5          1  <module>  app.py:1
               0.6   0.0008       1      0.6       1000  method 'append' of 'list' objects
               0.6   0.0007       1      0.6       1043  built-in method builtins.len

            Total %  Self  Calls
               94.5   0.8  <module>  app.py:1
               78.7  78.7  ├ fib  app.py:4
               15.0  14.6  └ wait  asyncio/tasks.py:655
                5.5   4.7  read  lib/rows.py:10
                            … smaller shares are left out

            Time %       Time  Py Nat  Thread
              94.5     120 ms  94  <1  #1 MainThread
               5.5    7.00 ms   5   1  #2 reader

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn functions_speak_of_calls() {
    speaks_of_calls(
        Functions::new().look(narrow()).render(&traced()),
        expect![[r#"
            Self % Total %   Py Nat   Calls  Function
              78.7   78.7   79           7  fib  app.py:4
              14.6   15.0   15  <1       3  wait  asyncio/tasks.py:655
               4.7    5.5    5   1       1  read  lib/rows.py:10
               0.8   94.5   94  <1       1  <module>  app.py:1
               0.6    0.6        1    1000  method 'append' of 'list' objects
               0.6    0.6        1    1043  built-in method builtins.len

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn callers_and_callees_speak_of_calls() {
    speaks_of_calls(
        profundo_report::Callers::both("fib")
            .look(narrow())
            .render(&traced()),
        expect![[r#"
            fib  app.py:4
            78.7 % of the time, 78.7 % by itself, 7 calls.

              Of it % All %  Py Nat  Callers
                100.0  78.7  79      <module>  app.py:1

              Of it % All %  Py Nat  Callees
                100.0  78.7  79      (itself)

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_flat_table_of_statprof_speaks_of_calls() {
    speaks_of_calls(
        Statprof::new().look(narrow()).render(&traced()),
        expect![[r#"
          %   cumulative      self
         time    seconds   seconds  name
         78.74       0.10      0.10  app.py:4:fib
         14.57       0.02      0.02  asyncio/tasks.py:655:wait
          4.72       0.01      0.01  lib/rows.py:10:read
          0.79       0.12      0.00  app.py:1:<module>
          0.63       0.00      0.00  method 'append' of 'list' objects
          0.55       0.00      0.00  built-in method builtins.len
        ---
        Function calls: 2055
        Total time: 0.127000 seconds
    "#]],
    );
}

#[test]
fn lines_without_counts_speak_of_calls() {
    speaks_of_calls(
        Lines::new().look(narrow()).render(&traced()),
        expect![[r#"
            app.py  94.5 % of the time
            Time %          Py Nat Line  Source
              15.7  ▊       15  <1    1
                                      ⋮
              78.7  ███▉    79        4
            (source not found)

            lib/rows.py  5.5 % of the time
            Time %          Py Nat Line  Source
               5.5  ▎        5   1   10
            (source not found)

            Calls were counted, not lines: all the time of a function stands at its first line. `profundo trace --lines` counts lines.
            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_tree_speaks_of_calls() {
    speaks_of_calls(
        command().render(&traced()),
        expect![[r#"
            Own time ╎ Time and calls, indented by depth File:Line  Function
            ================================================================
            1.00 ms╎120 ms, 1×    app.py:1  <module>
            10.0 ms╎ 100 ms, 1×    app.py:4  fib
            30.0 ms╎  90.0 ms, 2×   app.py:4  fib
            60.0 ms╎   60.0 ms, 4×   app.py:4  fib
            18.5 ms╎ 19.0 ms, 3×   asyncio/tasks.py:655  wait
             500 µs╎  500 µs, 43×   built-in method builtins.len
            6.00 ms╎7.00 ms, 1×   lib/rows.py:10  read
             200 µs╎ 200 µs, 1000× built-in method builtins.len
             800 µs╎ 800 µs, 1000× method 'append' of 'list' objects
            Total: 2055 function calls in 127 ms
            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_tree_with_folded_recursion_speaks_of_calls() {
    speaks_of_calls(
        command().recur(Recur::Flat).render(&traced()),
        expect![[r#"
            Own time ╎ Time and calls, indented by depth File:Line  Function
            ================================================================
            1.00 ms╎120 ms, 1×    app.py:1  <module>
             100 ms╎ 100 ms, 7×    app.py:4  fib
            18.5 ms╎ 19.0 ms, 3×   asyncio/tasks.py:655  wait
             500 µs╎  500 µs, 43×   built-in method builtins.len
            6.00 ms╎7.00 ms, 1×   lib/rows.py:10  read
             200 µs╎ 200 µs, 1000× built-in method builtins.len
             800 µs╎ 800 µs, 1000× method 'append' of 'list' objects
            Total: 2055 function calls in 127 ms
            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_flat_table_by_thread_speaks_of_calls() {
    let by_thread = command().group_by(GroupBy::Thread);
    speaks_of_calls(
        by_thread.format(Format::Flat).render(&traced()),
        expect![[r#"
            Thread 1 (MainThread) Total: 54 function calls in 120 ms
                   Time    Own time  Calls File              Line Function
                   ====    ========  ===== ====              ==== ========
                 500 µs      500 µs     43 [unknown file]       ? built-in method builtins…
                 120 ms     1.00 ms      1 app.py               1 <module>
                 100 ms      100 ms      7 app.py               4 fib
                19.0 ms     18.5 ms      3 asyncio/tasks.py   655 wait

            Thread 2 (reader) Total: 2001 function calls in 7.00 ms
                   Time    Own time  Calls File              Line Function
                   ====    ========  ===== ====              ==== ========
                 200 µs      200 µs   1000 [unknown file]       ? built-in method builtins…
                 800 µs      800 µs   1000 [unknown file]       ? method 'append' of 'list…
                7.00 ms     6.00 ms      1 lib/rows.py         10 read

            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_list_of_functions_speaks_of_calls() {
    speaks_of_calls(
        command().format(Format::Functions).render(&traced()),
        expect![[r#"
             Self %  Total % File              Function
             ======  ======= ====              ========
               78.7     78.7 app.py            fib
               14.6     15.0 asyncio/tasks.py  wait
                4.7      5.5 lib/rows.py       read
                0.8     94.5 app.py            <module>
                0.6      0.6 [unknown file]    method 'append' of 'list' objects
                0.6      0.6 [unknown file]    built-in method builtins.len
            Total: 2055 function calls in 127 ms
            Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
        "#]],
    );
}

#[test]
fn the_tree_of_julia_speaks_of_calls() {
    // Built-in functions are C to Julia, and hidden: their calls have no caller then.
    speaks_of_calls(
        Report::new().look(narrow()).render(&traced()),
        expect![[r#"
        Own time ╎ [+additional indent] Time, calls File:Line  Function
        ===============================================================
        1.00 ms╎120 ms, 1×  /home/me/app.py:1  <module>
        10.0 ms╎ 100 ms, 1×  /home/me/app.py:4  fib
        30.0 ms╎  90.0 ms, 2× /home/me/app.py:4  fib
        60.0 ms╎   60.0 ms, 4× /home/me/app.py:4  fib
        19.0 ms╎ 19.0 ms, 3× …asyncio/tasks.py:655  wait
        7.00 ms╎7.00 ms, 1× …me/me/lib/rows.py:10  read
        Total: 2055 function calls in 127 ms
        Tracing: 140 ms were measured, of which 12.7 ms were the tracing itself and are taken off: 127 ms are left.
    "#]],
    );
}

#[test]
fn a_filter_without_calls_gives_a_warning() {
    let nobody = Choices::command().filter(Filter::default().thread("nobody"));
    speaks_of_calls(
        Summary::new()
            .look(narrow())
            .choices(nobody.clone())
            .render(&traced()),
        expect![[r#"
            python3 app.py
            0 function calls in 0 s · 1 process · 2 threads · CPython 3.12.1
            Warning: no calls pass the filter: thread=nobody.
        "#]],
    );
    speaks_of_calls(
        command().choices(nobody).render(&traced()),
        expect![[r#"
            Own time ╎ Time and calls, indented by depth File:Line  Function
            ================================================================
            Only: thread=nobody: 0 of 2055 calls (0.0 %).
            Warning: no calls were counted of what was asked for.
        "#]],
    );
}

/// Lines of functions that begin at some line each, with hits and time.
fn with_lines(rows: &[(&str, u32, u32, u64, u64)]) -> Profile {
    let mut profile = counted_lines();
    profile.traced.lines.clear();
    for &(function, first, line, hits, time) in rows {
        let frame = profile.frame(profundo_model::FrameKey {
            function,
            file: "/home/me/app.py",
            line,
            language: profundo_model::Language::Python,
            ..profundo_model::FrameKey::default()
        });
        profile.traced.lines.push(profundo_model::Line {
            process: profundo_model::ProcessId(0),
            frame,
            first,
            hits,
            time: profundo_model::Nanos(time),
        });
    }
    profile
}

#[test]
fn a_limit_leaves_those_that_took_most() {
    let profile = with_lines(&[
        ("one", 1, 2, 1, 5_000),
        ("other", 10, 11, 7, 5_000),
        ("third", 20, 21, 7, 5_000),
        ("hottest", 30, 31, 1, 9_000),
    ]);
    let shown = |limit| {
        let text = CountedLines::new().limit(limit).render(&profile).unwrap();
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("Function: "));
        let names = lines.map(|line| line.split(' ').next().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    assert_eq!(shown(0), [""; 0]);
    assert_eq!(shown(1), ["hottest"]);
    // Of equal times more hits, and then the first.
    assert_eq!(shown(2), ["other", "hottest"]);
    assert_eq!(shown(3), ["other", "third", "hottest"]);
    assert_eq!(shown(4), ["one", "other", "third", "hottest"]);
}

#[test]
fn lines_of_any_number_are_no_more_than_there_are() {
    let profile = with_lines(&[("fib", 3, 6, 7, 21_000), ("fib", 3, u32::MAX, 1, 1)]);
    let text = CountedLines::new().render(&profile).unwrap();
    assert!(text.contains("4294967295         1"), "{text}");
    assert!(text.contains("     6         7"), "{text}");
    assert!(text.contains("        return n\n"), "{text}");
}

/// If lines alone were counted, the other reports say so, and where they are.
#[test]
fn lines_alone_are_no_samples() {
    let mut profile = counted_lines();
    profile.samples.clear();
    profile.traced.calls.clear();
    profile.meta.kind = profundo_model::SampleKind::Cpu;
    profile.meta.engine = profundo_model::Engine::PerfSignal;
    let command = Report::new().choices(Choices::command());
    for text in [
        Summary::new().render(&profile).unwrap(),
        Functions::new().render(&profile).unwrap(),
        command.render(&profile).unwrap(),
        command.format(Format::Flat).render(&profile).unwrap(),
    ] {
        assert!(
            text.contains("because lines were counted: `profundo report FILE lines`"),
            "{text}"
        );
        assert!(!text.contains("Quality"), "{text}");
    }
}

/// A terminal shows those of very many functions that matter; a file, or an explicit option, gets
/// all.
#[test]
fn a_terminal_shows_the_first_functions() {
    let mut profile = traced();
    let first = profile.traced.calls[0];
    for line in 1..=100 {
        let location = profile.hand_made_python("/home/me/many.py", "f", line, false);
        let stack = profile.hand_made_stack(&[location]);
        profile
            .traced
            .calls
            .push(profundo_model::Call { stack, ..first });
        let sample = profile.samples[0];
        profile
            .samples
            .push(profundo_model::Sample { stack, ..sample });
    }
    let rows = |view: Trace, terminal: bool| {
        let look = Look::new().terminal(terminal).colors(When::Never).width(90);
        let text = view.look(look).render(&profile).unwrap();
        let said = text.contains("… and 91 more: `--limit 106` shows all");
        (
            text.lines().filter(|line| line.ends_with(')')).count() - 1,
            said,
        )
    };
    assert_eq!(rows(Trace::new(), true), (15, true));
    assert!(!rows(Trace::new(), false).1);
    assert!(rows(Trace::new(), false).0 > 100);
    assert!(rows(Trace::new().only(Only::First(106)), true).0 > 100);
    assert!(rows(Trace::pstats(), true).0 > 100);
}
