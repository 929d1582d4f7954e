//! gperftools 2.10's binary and text profiles and Go 1.19's texts, against Google's `pprof` and
//! gperftools' own `google-pprof`.

use std::collections::BTreeMap;

use profundo_model::{SampleKind, Sampling, Site, State};

use crate::oracle::{addresses, raw, top};
use crate::support::{functions, functions_of_samples, read, read_text, stacks};

/// Sums of values by stack of addresses.
type Sums = BTreeMap<Vec<u64>, Vec<u64>>;

/// Compares sums; those of estimates are rounded row by row, `rows` of them.
fn assert_near(found: &Sums, wanted: &Sums, rows: u64) {
    assert_eq!(found.len(), wanted.len());
    for (stack, values) in wanted {
        for (one, other) in values.iter().zip(&found[stack]) {
            assert!(
                one.abs_diff(*other) <= rows,
                "{stack:x?}: {values:?} {found:?}"
            );
        }
    }
}

fn heap(name: &str, without: &str, has_allocated: bool, rows: u64) {
    let imported = read(name);
    assert_eq!(imported.reader.name(), "gperftools");
    let profile = &imported.profile;
    let raw = raw(&format!("{name}.raw.txt"), without);
    let mut found = Sums::new();
    for site in &profile.heap.sites {
        let (stack, files) = addresses(profile, site.stack);
        assert_eq!(files, raw[&stack].1);
        let (live, allocated) = (site.live(), site.allocated);
        let all = [allocated.count, allocated.bytes, live.count, live.bytes];
        let values = if has_allocated { &all[..] } else { &all[2..] };
        let sums = found.entry(stack).or_insert(vec![0; values.len()]);
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
    let wanted = raw.into_iter().map(|(stack, (values, _))| (stack, values));
    assert_near(&found, &wanted.collect(), rows);
}

#[test]
fn a_heap_of_all_allocations() {
    heap("gperftools/exact.heap", "", true, 0);
    let profile = read("gperftools/exact.heap").profile;
    assert_eq!(profile.heap.sampling, Sampling::All);
}

#[test]
fn a_sampled_heap_is_scaled() {
    heap("gperftools/sampled.heap", "libtcmalloc", false, 132);
    let profile = read("gperftools/sampled.heap").profile;
    assert_eq!(profile.heap.sampling, Sampling::Bytes(65_536));
}

#[test]
fn the_growth_of_a_heap() {
    heap("gperftools/growth.heap", "libtcmalloc", false, 0);
}

#[test]
fn cpu_time() {
    let imported = read("gperftools/cpu.prof");
    assert_eq!(imported.reader.name(), "gperftools");
    let profile = &imported.profile;
    let raw = raw("gperftools/cpu.prof.raw.txt", "");
    let mut found = Sums::new();
    for (row, sample) in profile.samples.iter().enumerate() {
        let (stack, files) = addresses(profile, sample.stack);
        assert_eq!(files, raw[&stack].1);
        let sums = found.entry(stack).or_insert(vec![0, 0]);
        sums[0] += profile.samples_of_row(row);
        sums[1] += sample.weight.0;
    }
    let wanted = raw.into_iter().map(|(stack, (values, _))| (stack, values));
    assert_near(&found, &wanted.collect(), 0);
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.meta.period.0, 4_000_000);
}

#[test]
fn names_before_a_profile_are_read() {
    let imported = read("gperftools/named.prof");
    assert_eq!(imported.reader.name(), "gperftools");
    let samples = functions_of_samples(&imported.profile);
    let samples = |name: &str| samples[name];
    // The numbers of `google-pprof --text`.
    assert_eq!(samples("squares"), (9, 9));
    assert_eq!(samples("fibonacci"), (7, 7));
    assert_eq!(samples("block"), (0, 2));
    assert_eq!(samples("main"), (0, 11));
    assert_eq!(imported.profile.meta.kind, SampleKind::Events);
}

#[test]
fn texts_of_go_have_names() {
    for name in ["mutex", "block"] {
        let imported = read(&format!("gperftools/go-{name}.txt"));
        assert_eq!(imported.reader.name(), "gperftools");
        let found = functions_of_samples(&imported.profile);
        // The same program's profile, whose stacks begin above `runtime.main`.
        let wanted = top(&format!("pprof/go-{name}.top.txt"));
        assert_eq!(found, wanted);
        assert_eq!(imported.profile.samples[0].state, State::WallWaiting);
    }
    let profile = read("gperftools/go-heap.txt").profile;
    assert_eq!(profile.heap.sampling, Sampling::Bytes(512 << 10));
    let live = |site: &Site| (site.stack, site.live().bytes);
    let found = functions(&profile, profile.heap.sites.iter().map(live));
    let wanted = top("pprof/go-heap.live.top.txt");
    for (name, (own, total)) in wanted {
        let near = found[&name];
        assert!(
            near.0.abs_diff(own) <= 20 && near.1.abs_diff(total) <= 20,
            "{name}"
        );
    }
    let goroutines = read("gperftools/go-goroutine.txt").profile;
    assert_eq!(goroutines.meta.event, "goroutine");
    assert_eq!(goroutines.sample_count(), 2);
    let threads = profundo_import::read(
        b"threadcreate profile: total 5\n5 @\n#\t0x0\n\n",
        &Default::default(),
    );
    assert_eq!(threads.expect("a profile").reader.name(), "gperftools");
}

/// From the documented shape, not from a file of the tool.
#[test]
fn stacks_of_threads() {
    let text = "--- threadz 1 ---\n\n\
        --- Thread 7eff063d9940 (name: main/25376) stack: ---\n\
        \x20 PC:  0x0040b688: helper(arg *)\n\
        \x20 0x004d5f51: main\n\
        --- Thread 7eff05a42700 (name: pool/25377) stack: ---\n\
        \x20 PC:  0x40bce4\n\x20      0x4d5f51\n\
        --- Thread 7eff05a42701 (name: pool/25378) stack: ---\n\
        \x20 [same as previous thread]\n\
        --- Memory map: ---\n\
        00400000-00fcb000: cppbench_server_main\n";
    let profile = read_text(text).profile;
    assert_eq!(profile.sample_count(), 3);
    assert!(stacks(&profile).contains_key("main;helper"));
    let tids: Vec<u32> = profile
        .threads
        .iter()
        .map(|(_, thread)| thread.tid)
        .collect();
    assert!(tids.ends_with(&[25376, 25377, 25378]), "{tids:?}");
    let (stack, _) = addresses(&profile, profile.samples[2].stack);
    assert_eq!(stack, [0x40_bce4, 0x4d_5f50]);
}
