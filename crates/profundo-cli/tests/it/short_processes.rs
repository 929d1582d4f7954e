//! Many processes, or threads, that each are too short to be sampled.

use serde_json::Value;

use crate::machine::{Folder, c_program};

/// So many of each. What one of them takes is a part of a period, or little more.
const EACH: usize = 40;

/// Three programs that the shell executes, and subshells that execute nothing.
fn script() -> String {
    format!(
        "i=0
        while [ $i -lt {EACH} ]; do
            sed s/root/x/ /etc/passwd >/dev/null
            grep -c root /etc/passwd >/dev/null
            expr $i + 1 >/dev/null
            (:)
            i=$((i + 1))
        done"
    )
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn each_program_has_its_part_of_the_time() {
    let folder = Folder::new();
    folder.file("short.sh", &script());
    let recorded = folder.run(&["record", "-o", "x.profundo", "sh", "short.sh"]);
    recorded.succeeded();
    let json = folder.run(&["report", "x.profundo", "--json"]);
    let report: Value = serde_json::from_str(&json.succeeded().out).unwrap();
    let recording = &report["recording"];
    // The shell, and a process for each fork, whatever it executes.
    assert_eq!(recording["processes"], 1 + 4 * EACH, "{recording}");
    let commands = report["commands"].as_array().unwrap();
    let of = |name: &str| {
        let row = commands.iter().find(|row| row["command"] == name);
        row.unwrap_or_else(|| panic!("no {name} in {commands:?}"))
    };
    for name in ["sed", "grep", "expr"] {
        assert_eq!(of(name)["processes"], EACH, "{commands:?}");
        // By samples alone the shell would have all of it.
        assert!(number(&of(name)["share"]) > 0.10, "{commands:?}");
    }
    assert_eq!(of("sh")["processes"], 1 + EACH, "{commands:?}");
    // Numbers add up: commands, processes, what is selected, and the head.
    let all = number(&recording["cpu_seconds"]);
    let sum = |rows: &Value| {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| number(&row["seconds"])).sum::<f64>()
    };
    for (what, seconds) in [
        ("commands", sum(&report["commands"])),
        ("processes", sum(&report["processes"])),
        ("threads", sum(&report["threads"])),
        ("selection", number(&report["selection"]["seconds"])),
    ] {
        assert!((seconds - all).abs() < 1e-4, "{what}: {seconds} of {all}");
    }
    let sampled = number(&recording["cpu_sampled_seconds"]);
    let share = number(&recording["cpu_sampled_share"]);
    assert!((share - sampled / all).abs() < 1e-3, "{recording}");
    // Starting the agent is most of what it costs here.
    assert!(number(&recording["own_cost_share"]) > 0.01, "{recording}");
    let warnings = recording["warnings"].to_string();
    assert!(warnings.contains("too short to be sampled"), "{warnings}");
}

#[test]
fn the_text_says_the_same() {
    let folder = Folder::new();
    folder.file("short.sh", &script());
    let recorded = folder.run(&["record", "-o", "x.profundo", "sh", "short.sh"]);
    recorded.succeeded();
    let text = folder.run(&["report", "x.profundo", "--groupby", "command"]);
    let text = &text.succeeded().out;
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no {part}: {text}"))
    };
    assert!(place("Warning: ") < place("Hottest functions"), "{text}");
    assert!(text.contains("[too short to be sampled]"), "{text}");
    assert!(text.contains(&format!("sed  ({EACH} processes)")), "{text}");
    assert!(
        text.contains(&format!(" {} processes", 1 + 4 * EACH)),
        "{text}"
    );
    // Not all that many starts cost can be counted.
    assert!(text.contains("Own cost at least "), "{text}");
    let functions = folder.run(&["report", "x.profundo", "functions"]);
    let text = &functions.succeeded().out;
    assert!(text.contains("own cost at least "), "{text}");
    // The pair of numbers has the share beside it as its quotient.
    let line = text.split_once("Quality: ").unwrap().1;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [
        sampled,
        unit,
        "of",
        used,
        other,
        "CPU",
        "time",
        "sampled",
        share,
        ..,
    ] = words[..]
    else {
        panic!("{line}");
    };
    assert_eq!(unit, other, "{line}");
    let value = |text: &str| text.trim_start_matches('(').parse::<f64>().unwrap();
    let quotient = value(sampled) / value(used) * 100.0;
    assert!((quotient - value(share)).abs() < 0.1, "{line}");
}

/// Threads one after another, each at work for 0.5 ms in `early` and as long in `late`.
const SHORT_THREADS: &str = r#"
#include <pthread.h>
#include <time.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
__attribute__((noinline)) long early(long until) {
    long turns = 0;
    while (now() < until) for (volatile int i = 0; i < 1000; i++) turns++;
    return turns;
}
__attribute__((noinline)) long late(long until) {
    long turns = 1;
    while (now() < until) for (volatile int i = 0; i < 1000; i++) turns += 2;
    return turns;
}
static volatile long sum;
static void *run(void *unused) {
    long began = now();
    sum += early(began + 500000);
    sum += late(began + 1000000);
    return unused;
}
int main(void) {
    for (int i = 0; i < 800; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, run, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
"#;

#[test]
fn threads_that_are_shorter_than_a_period_are_sampled() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "threads", SHORT_THREADS) else {
        return;
    };
    let program = program.to_str().unwrap();
    for engine in ["perf-signal", "cpu-timer"] {
        let words = ["record", "--engine", engine, "-o", "x.profundo", program];
        folder.run(&words).succeeded();
        let json = folder.run(&["report", "x.profundo", "--json"]);
        let report: Value = serde_json::from_str(&json.succeeded().out).unwrap();
        let recording = &report["recording"];
        // A clock that first ticks after a whole period sees 2 to 15 % of it. The kernel's ticks
        // are no pure chance: on a busy machine threads begin right behind one more often than not.
        let share = number(&recording["cpu_sampled_share"]);
        assert!((0.4..1.6).contains(&share), "{engine}: {recording}");
        // No instant of a thread's life is preferred, as the end of a first period would be.
        let functions = report["functions"].as_array().unwrap();
        let of = |name: &str| {
            let row = functions.iter().find(|row| row["function"] == name);
            row.map_or(0.0, |row| number(&row["self_share"]))
        };
        let (early, late) = (of("early"), of("late"));
        assert!(
            early > 0.2 && late > 0.2,
            "{engine}: {early} and {late}: {functions:#?}"
        );
    }
}
