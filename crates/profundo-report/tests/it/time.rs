//! The text of `time`: a run, several runs, and what is remarkable about them.

use expect_test::{Expect, expect};
use profundo_analysis::usage::{Around, Ending, Run};
use profundo_report::{Look, Time};

const MS: u64 = 1_000_000;

/// A run of two processes, one of which is unreaped.
pub fn run() -> Run {
    Run {
        ending: Ending::Exited(0),
        real: 2_013 * MS,
        user: 1_650 * MS,
        system: 210 * MS,
        unwaited: Some(0),
        split_is_estimated: false,
        peak_resident: Some(58_200_000),
        peak_is_bound: false,
        tree_resident: Some(71_000_000),
        minor_faults: 9_812,
        major_faults: 3,
        voluntary: 120,
        involuntary: 45,
        calls: Some((12_300_000, 1_200_000)),
        disk: (4_096, 0),
        processes: Some(2),
        threads: Some(7),
        still_running: Some(0),
        around: Around {
            cpus: 2,
            busy: Some(1_900 * MS),
            overheated: Some(0),
            ..Around::default()
        },
    }
}

/// A run of which little is known.
pub fn dark() -> Run {
    Run {
        ending: Ending::Killed(9),
        unwaited: None,
        peak_is_bound: true,
        tree_resident: None,
        calls: None,
        processes: None,
        threads: None,
        still_running: None,
        around: Around {
            cpus: 2,
            ..Around::default()
        },
        ..run()
    }
}

/// A run with every remark.
pub fn remarkable() -> Run {
    Run {
        system: 1_300 * MS,
        minor_faults: 600_000,
        major_faults: 200,
        unwaited: Some(300 * MS),
        split_is_estimated: true,
        processes: Some(600),
        still_running: Some(1),
        around: Around {
            cpus: 2,
            busy: Some(4_000 * MS),
            stolen: 500 * MS,
            overheated: Some(1),
            held_back: Some(12 * MS),
            limited: Some((2_000_000, 4_200_000)),
        },
        ..run()
    }
}

fn check(time: Time, expected: Expect) {
    let mut text = Vec::new();
    time.look(Look::new().width(80)).write(&mut text).unwrap();
    expected.assert_eq(&String::from_utf8(text).unwrap());
}

#[test]
fn a_run() {
    check(
        Time::new("python3 app.py", vec![run()]),
        expect![[r#"
        python3 app.py

        real             2.013 s   from its start to its end
        user             1.650 s   on CPUs, in programs and libraries
        sys           210.000 ms   on CPUs, in the kernel, at work for them
        CPU               92.4 %   user + sys by real: 100 % is one CPU, of 2

        Peak memory      58.2 MB   of the largest process (RSS)
                         71.0 MB   of all at once, as seen ten times per second
        Page faults         9812   minor: memory used first, or shared
                               3   major: read from a disk

        Read             12.3 MB   by calls, from files, pipes, terminals …
                         4.10 kB   from disks
        Written          1.20 MB   by calls
                             0 B   to disks, then or later

        Switches             120   voluntary: a thread waited for something
                              45   involuntary: another one got its CPU
        Processes              2   its own and all that it started
        Threads                7   in all of them

        Signals          unknown   Linux does not count those that were received
        Ended with   exit code 0
    "#]],
    );
}

#[test]
fn unknown_figures_are_shown_as_unknown() {
    check(
        Time::new("sudo true", vec![dark()]).gap("perf_event_open is refused"),
        expect![[r#"
            sudo true

            real             2.013 s   from its start to its end
            user             1.650 s   on CPUs, in programs and libraries
            sys           210.000 ms   on CPUs, in the kernel, at work for them
            CPU               92.4 %   user + sys by real: 100 % is one CPU, of 2

            Peak memory    ≤ 58.2 MB   of one process (RSS), if not less
            Page faults         9812   minor: memory used first, or shared
                                   3   major: read from a disk

            Read             unknown   by calls: the kernel does not count them
                             4.10 kB   from disks
            Written          unknown
                                 0 B   to disks, then or later

            Switches             120   voluntary: a thread waited for something
                                  45   involuntary: another one got its CPU
            Processes        unknown   how many began was not told
            Threads          unknown   how many began was not told

            Signals          unknown   Linux does not count those that were received
            Ended with  signal 9 (SIGKILL)

            Note: processes that nobody waited for are missing in all figures:
                  perf_event_open is refused
        "#]],
    );
}

#[test]
fn remarks_have_sentences() {
    let time = Time::new("make", vec![remarkable()]);
    let mut text = Vec::new();
    time.look(Look::new().width(80)).write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (_, notes) = text.split_once("\n\nNote: ").unwrap();
    expect![[r#"
        300 ms of user + sys is of processes that nobody waited for (what of it
              was user and what sys is estimated); the figures below sys are without
              theirs
        Note: 1 process that it has started still ran at its end: what that takes from
              then on is not counted
        Note: 44.1 % of the CPU time is sys, the kernel's: 600000 page faults as memory
              is first used and 600 processes that were started took a part of that;
              `profundo run` shows from where it is called
        Note: user + sys is 1.47 times real: so many CPUs were at work for it at once,
              on average
        Note: 200 page faults had to read from a disk (major): what it reads was not in
              memory, and it may be faster the next time
        Note: the machine was busy: other programs had 0.5 of its 2 CPUs meanwhile, so
              real may be longer than on a quiet one, and user as well
        Note: the hypervisor gave 500 ms of CPU time to other machines (steal), so real
              is longer than it might be
        Note: a quota of CPU time (of a container or a cgroup) held it back: its CPUs
              stood still for 12.0 ms, added up over all of them
        Note: CPUs were slowed down once because they were hot, so all times are longer
              than they might be
        Note: CPUs are limited to 2.00 of 4.20 GHz, so all times are longer than they
              might be
    "#]]
    .assert_eq(notes);
}

#[test]
fn several_runs() {
    let of = |real: u64, faults| Run {
        real: real * MS,
        minor_faults: faults,
        ..run()
    };
    let mut runs = vec![of(2_013, 9_812), of(2_100, 9_813), of(1_990, 9_900)];
    runs[1].ending = Ending::Exited(7);
    check(
        Time::new("python3 app.py", runs.clone()).warmups(1),
        expect![[r#"
            3 runs, after 1 run to warm up, of python3 app.py

                               mean ± std. dev.        least         most
            real            2.034 s   ± 0.058 s      1.990 s …    2.100 s
            user            1.650 s   ± 0.000 s      1.650 s …    1.650 s
            sys          210.000 ms  ± 0.000 ms   210.000 ms … 210.000 ms
            CPU              91.5 %     ± 2.6 %       88.6 % …     93.5 %

            Peak memory     58.2 MB       ± 0 B      58.2 MB …    58.2 MB
                            71.0 MB       ± 0 B      71.0 MB …    71.0 MB  of all at once
            Page faults      9841.7      ± 50.5         9812 …       9900  minor
                                  3       ± 0.0            3 …          3  major

            Read            12.3 MB       ± 0 B      12.3 MB …    12.3 MB  by calls
                            4.10 kB       ± 0 B      4.10 kB …    4.10 kB  from disks
            Written         1.20 MB       ± 0 B      1.20 MB …    1.20 MB  by calls
                                0 B       ± 0 B          0 B …        0 B  to disks

            Switches            120       ± 0.0          120 …        120  voluntary
                                 45       ± 0.0           45 …         45  involuntary
            Processes             2       ± 0.0            2 …          2
            Threads               7       ± 0.0            7 …          7

            Note: 1 of the 3 runs did not end with exit code 0 (the first of them: exit code
                  7)
        "#]],
    );
    runs[0].real = 4_000 * MS;
    for run in &mut runs {
        (run.user, run.system) = (run.real / 40, 0);
        run.processes = None;
    }
    check(
        Time::new("fetch", runs),
        expect![[r#"
        3 runs of fetch

                          mean ± std. dev.       least         most
        real           2.697 s   ± 1.130 s     1.990 s …    4.000 s
        user         67.417 ms ± 28.251 ms   49.750 ms … 100.000 ms
        sys           0.000 ms  ± 0.000 ms    0.000 ms …   0.000 ms
        CPU              2.5 %     ± 0.0 %       2.5 % …      2.5 %

        Peak memory    58.2 MB       ± 0 B     58.2 MB …    58.2 MB
                       71.0 MB       ± 0 B     71.0 MB …    71.0 MB  of all at once
        Page faults     9841.7      ± 50.5        9812 …       9900  minor
                             3       ± 0.0           3 …          3  major

        Read           12.3 MB       ± 0 B     12.3 MB …    12.3 MB  by calls
                       4.10 kB       ± 0 B     4.10 kB …    4.10 kB  from disks
        Written        1.20 MB       ± 0 B     1.20 MB …    1.20 MB  by calls
                           0 B       ± 0 B         0 B …        0 B  to disks

        Switches           120       ± 0.0         120 …        120  voluntary
                            45       ± 0.0          45 …         45  involuntary
        Processes      unknown                        
        Threads              7       ± 0.0           7 …          7

        Note: 1 of the 3 runs did not end with exit code 0 (the first of them: exit code
              7)
        Note: for 2.63 s of 2.70 s no CPU was at work for it: it waited, for input, a
              disk, the network, other programs, time, or a free CPU; `profundo run
              --wall` shows where
        Note: the machine was busy: other programs had 0.7 of its 2 CPUs meanwhile, so
              real may be longer than on a quiet one, and user as well
        Note: the first run took 4.00 s, no other one more than 2.10 s: --warmup 1
              leaves it out
    "#]],
    );
}

#[test]
fn posix() {
    let mut text = Vec::new();
    Time::new("x", vec![run()]).write_posix(&mut text).unwrap();
    let expected = "real 2.013000\nuser 1.650000\nsys 0.210000\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn no_runs() {
    check(
        Time::new("x", Vec::new()),
        expect![[r#"
        no run was measured
    "#]],
    );
}
