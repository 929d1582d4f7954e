//! Time inside the agent, in the programs that it was loaded into, is one row with the profiler's
//! name.

use profundo_model::{
    Avma, CodeAddress, Engine, LocationId, LocationKind, Nanos, Profile, Sample, State,
};
use profundo_report::{Lines, Look, Summary, View};
use serde_json::Value;

/// Two programs' agents at work, and a thread that the agent has started for a library.
fn profile() -> Profile {
    let mut profile = Profile::from_folded("main;work 1").unwrap();
    let sample = profile.samples.remove(0);
    profile.meta.engine = Engine::PerfSignal;
    let loader = code(&mut profile, "/lib64/ld-linux-x86-64.so.2", 1);
    let first = code(&mut profile, "/dev/shm/libprofundo-agent-1.so", 2);
    let second = code(&mut profile, "/dev/shm/libprofundo-agent-2.so", 3);
    let starts = code(&mut profile, "/lib/libc.so.6", 4);
    let pool = code(&mut profile, "/v/libpool.so", 5);
    let line = profile.hand_made_python("/home/me/app.py", "<module>", 5, false);
    let stacks = [
        (&[line][..], 50),
        (&[loader, first], 20),
        (&[loader, second], 20),
        (&[starts, first, pool], 10),
    ];
    for (path, count) in stacks {
        let stack = profile.hand_made_stack(path);
        for _ in 0..count {
            profile.samples.push(Sample {
                stack,
                weight: Nanos(1_000_000),
                state: State::Running,
                ..sample
            });
        }
    }
    profile.mark_runtime();
    profile
}

fn code(profile: &mut Profile, module: &str, address: u64) -> LocationId {
    let module = profile.hand_made_module(module);
    let address = CodeAddress::Return(Avma(0x1000 * address));
    profile.hand_made_location(LocationKind::Code(address), Some(module), &[])
}

#[test]
fn the_agent_is_one_row() {
    let profile = profile();
    let wide = Look::new().width(100);
    let text = Summary::new().look(wide).render(&profile).unwrap();
    let wanted = "in no line: profundo itself 40.0, 1 thread of libpool";
    assert!(text.contains(wanted), "{text}");
    for text in [text, Lines::new().render(&profile).unwrap()] {
        assert!(!text.contains("libprofundo"), "{text}");
    }
    for json in [
        Summary::new().json(&profile).unwrap(),
        Lines::new().json(&profile).unwrap(),
    ] {
        let document: Value = serde_json::from_str(&json).unwrap();
        let rows = document["lineless"].as_array().unwrap().iter();
        let rows: Vec<_> = rows
            .map(|row| (row["of"].as_str().unwrap(), row["share"].as_f64().unwrap()))
            .collect();
        assert_eq!(rows, [("profundo itself", 0.4), ("libpool.so", 0.1)]);
    }
}
