//! The rows of `docs/julia.md`, compiled: each row of the page that has code stands here as a
//! function, and a row that is missing on either side, or differs, fails the test.

use std::io::Write;

use profundo::*;

/// A row: Julia's name, and ours.
struct Row {
    julia: &'static str,
    code: &'static str,
    /// Never called: it only has to compile.
    _compiled: fn(Given<'_>) -> Result<()>,
}

/// The values that the rows assume.
struct Given<'a> {
    data: Data,
    names: Names,
    words: Words,
    frames: Vec<StackFrame>,
    frame: StackFrame,
    out: &'a mut dyn Write,
    number: u64,
    signal: i32,
    results: allocs::AllocResults,
}

fn work() -> u64 {
    42
}

async fn work_later() {}

fn work_for_nothing() {}

fn correction(_: &mut [NamedFrame]) {}

macro_rules! rows {
    (
        ($data:ident $names:ident $words:ident $frames:ident $frame:ident $out:ident $ip:ident
         $i:ident $threadid:ident $taskid:ident $signal:ident $results:ident)
        $($julia:literal => { $($code:tt)* })*
    ) => {
        const ROWS: &[Row] = &[$({
            #[allow(unused_variables, unused_mut, reason = "a row uses what it needs")]
            fn compiled(given: Given<'_>) -> Result<()> {
                let Given {
                    data: $data,
                    names: mut $names,
                    words: $words,
                    frames: $frames,
                    frame: $frame,
                    out: mut $out,
                    number: $ip,
                    signal: $signal,
                    results: $results,
                } = given;
                let ($i, $threadid, $taskid) = (5_usize, 1_u64, 0x1_0001_u64);
                let _value = { $($code)* };
                Ok(())
            }
            Row { julia: $julia, code: stringify!($($code)*), _compiled: compiled }
        }),*];
    };
}

rows! {
    (data names words frames frame out ip i threadid taskid signal results)
    "`@profile ex`" => { profile!(work())? }
    "`@profile_walltime ex`" => { profile_walltime!(work())? }
    "`Profile.start_timer()`" => { start()? }
    "`Profile.start_timer(true)`" => { start_walltime()? }
    "`Profile.stop_timer()`" => { stop() }
    "`Profile.is_running()`" => { is_running() }
    "error codes −1 to −4 of the start" => { matches!(start(), Err(Error::Capture(_))) }
    "`Threads.@spawn work()`" => { work_later().profiled("name") }
    "`Profile.init()`" => { init!() }
    "`Profile.init(n=10^6)`" => { init!(n = 1_000_000)? }
    "`Profile.init(delay=0.01)`" => { init!(delay = 0.01)? }
    "`Profile.init(n=10^6, delay=0.01)`" => { init!(n = 1_000_000, delay = 0.01)? }
    "`Profile.init(10^6, 0.01)`" => { init(1_000_000, 0.01)? }
    "`Profile.clear()`" => { clear() }
    "`Profile.len_data()`" => { len() }
    "`Profile.maxlen_data()`" => { capacity() }
    "`Profile.is_buffer_full()`" => { is_full() }
    "`Profile.fetch()`" => { fetch()? }
    "`Profile.fetch(include_meta=false)`" => { fetch_with(FetchOptions { include_meta: false, ..FetchOptions::default() })? }
    "`Profile.fetch(limitwarn=false)`" => { fetch_with(FetchOptions { limitwarn: false, ..FetchOptions::default() })? }
    "`Vector{UInt}` of `fetch`" => { data.words().to_vec() }
    "`length(data)`" => { data.words().len() }
    "`Profile.retrieve()`" => { retrieve()? }
    "`Profile.retrieve(include_meta=false)`" => { names_of(&fetch_with(FetchOptions { include_meta: false, limitwarn: true })?) }
    "`Profile.getdict(data)`" => { names_of(&data) }
    "`Profile.getdict!(dict, data)`" => { names.extend(names_of(&data)) }
    "`lidict[ip]`" => { names.get(ip) }
    "`lidict[ip] = frames`" => { names.insert(ip, frames) }
    "`StackTraces.StackFrame`" => { StackFrame::default() }
    "`frame.from_c`" => { frame.from_c() }
    "`Profile.flatten(data, lidict)`" => { flatten(&data, &names)? }
    "`Profile.callers(\"work\")`" => { callers("work").ask()? }
    "`Profile.callers(work)`" => { callers(std::any::type_name_of_val(&work)).ask()? }
    "`Profile.callers(\"work\", data, lidict)`" => { callers("work").ask_of(&data, &names)? }
    "`Profile.callers(…; filename)`" => { callers("work").filename("src/main.rs").ask()? }
    "`Profile.callers(…; linerange)`" => { callers("work").filename("src/main.rs").linerange(10..=20).ask()? }
    "`Profile.has_meta(data)`" => { data.has_meta() }
    "`Profile.strip_meta(data)`" => { data.strip_meta() }
    "`Profile.add_fake_meta(data)`" => { data.add_fake_meta(1, 0xf0f0_f0f0)? }
    "`Profile.add_fake_meta(data; threadid, taskid)`" => { data.add_fake_meta(threadid, taskid)? }
    "`Profile.is_block_end(data, i)`" => { words.is_block_end(i) }
    "`Profile.get_task_ids(data)`" => { data.get_task_ids(None)? }
    "`Profile.get_task_ids(data, threadid)`" => { data.get_task_ids(Some(threadid))? }
    "`Profile.get_thread_ids(data)`" => { data.get_thread_ids(None)? }
    "`Profile.get_thread_ids(data, taskid)`" => { data.get_thread_ids(Some(taskid))? }
    "`Profile.nmeta`" => { NMETA }
    "`Profile.META_OFFSET_SLEEPSTATE`" => { META_OFFSET_SLEEPSTATE }
    "`Profile.META_OFFSET_CPUCYCLECLOCK`" => { META_OFFSET_CPUCYCLECLOCK }
    "`Profile.META_OFFSET_TASKID`" => { META_OFFSET_TASKID }
    "`Profile.META_OFFSET_THREADID`" => { META_OFFSET_THREADID }
    "`serialize(io, (data, lidict))`" => { save("work.profundo", &data, &names)? }
    "`deserialize(io)`" => { load("work.profundo")? }
    "`data` made by another tool" => { Data::from_words(&words)? }
    "`Profile.print()`" => { print()? }
    "`Profile.print(io)`" => { report().write(&mut out)? }
    "`Profile.print(data, lidict)`" => { report().of(&data, &names).print()? }
    "`Profile.print(io, data, lidict)`" => { print_to(&mut out, &data, &names)? }
    "`sprint(Profile.print)`" => { report().to_text()? }
    "`Profile.print(\"profile.txt\")`" => { print_path("profile.txt")? }
    "`Profile.print(\"profile.txt\", 200)`" => { report().width(200).write_path("profile.txt")? }
    "`IOContext(io, :displaysize => (24, 120))`" => { report().width(120) }
    "`IOContext(io, :color => true)`" => { report().colors(When::Always) }
    "`format=:tree`" => { report().format(Format::Tree) }
    "`format=:flat`" => { report().format(Format::Flat) }
    "`C=true`" => { report().c(true) }
    "`combine=false`" => { report().combine(false) }
    "`maxdepth=5`" => { report().maxdepth(5) }
    "`mincount=10`" => { report().mincount(10) }
    "`noisefloor=2.0`" => { report().noisefloor(2.0) }
    "`sortedby=:filefuncline`" => { report().sorted_by(SortBy::FileFuncLine) }
    "`sortedby=:count`" => { report().sorted_by(SortBy::Count) }
    "`sortedby=:overhead`" => { report().sorted_by(SortBy::Overhead) }
    "`sortedby=:flat_count`" => { report().sorted_by(SortBy::FlatCount) }
    "`groupby=:none`" => { report().group_by(GroupBy::None) }
    "`groupby=:thread`" => { report().group_by(GroupBy::Thread) }
    "`groupby=:task`" => { report().group_by(GroupBy::Task) }
    "`groupby=[:thread, :task]`" => { report().group_by(GroupBy::ThreadTask) }
    "`groupby=[:task, :thread]`" => { report().group_by(GroupBy::TaskThread) }
    "`recur=:off`" => { report().recur(Recur::Off) }
    "`recur=:flat`" => { report().recur(Recur::Flat) }
    "`recur=:flatc`" => { report().recur(Recur::FlatC) }
    "`threads=1`" => { report().threads(1) }
    "`threads=1:2`" => { report().threads(1..=2) }
    "`threads=[1, 2]`" => { report().threads([1, 2]) }
    "`tasks=id`" => { report().tasks(taskid) }
    "`tasks=[a, b]`" => { report().tasks([taskid, 0x1_0002]) }
    "`Base.update_stackframes_callback[] = f`" => { set_line_correction(Some(correction)) }
    "SIGUSR1" => { peek::install()? }
    "SIGINFO" => { peek::install_for(signal)? }
    "`Profile.get_peek_duration()`" => { get_peek_duration() }
    "`Profile.set_peek_duration(2.0)`" => { set_peek_duration(2.0)? }
    "`Profile.peek_report[] = f`" => { set_peek_report(work_for_nothing) }
    "`COLUMNS`" => { report().width(120) }
    "`JULIA_EDITOR`" => { report().editor("code") }
    "`@time ex`" => { time!(work()) }
    "`@time \"label\" ex`" => { time!("label", work()) }
    "`@timev ex`" => { timev!(work()) }
    "`@showtime ex`" => { showtime!(work()) }
    "`@elapsed ex`" => { elapsed!(work()) }
    "`@allocated ex`" => { allocated!(work()) }
    "`@allocations ex`" => { allocations!(work()) }
    "`@lock_conflicts ex`" => { lock_conflicts!(work()) }
    "`@timed ex`" => { timed!(work()) }
    "`(@timed ex).time`" => { timed!(work()).time }
    "`(@timed ex).bytes`" => { timed!(work()).bytes }
    "BenchmarkTools' `@benchmark ex`" => { bench!(work()) }
    "BenchmarkTools' `judge(a, b)`" => { bench!("a" => work(), "b" => work()).ratio("a", "b") }
    "`GC.enable_logging(true)`" => { allocs::enable_logging(true)? }
    "`Profile.Allocs.@profile ex`" => { allocs::profile!(work())? }
    "`Profile.Allocs.@profile sample_rate=0.1 ex`" => { allocs::profile!(sample_rate = 0.1, work())? }
    "`Profile.Allocs.start(sample_rate=0.1)`" => { allocs::start(0.1)? }
    "`Profile.Allocs.stop()`" => { allocs::stop() }
    "`Profile.Allocs.fetch()`" => { allocs::fetch()? }
    "`Profile.Allocs.clear()`" => { allocs::clear() }
    "`Profile.Allocs.print()`" => { allocs::print()? }
    "`Profile.Allocs.print(io)`" => { allocs::report().write(&mut out)? }
    "`Profile.Allocs.print(io, data)`" => { allocs::print_to(&mut out, &results)? }
    "`Profile.Allocs.print(format=:flat)`" => { allocs::report().format(Format::Flat).print()? }
    "`Profile.Allocs.print(C=true)`" => { allocs::report().c(true).print()? }
    "`Profile.Allocs.print(maxdepth=5)`" => { allocs::report().maxdepth(5).print()? }
    "`Profile.Allocs.print(mincount=1000)`" => { allocs::report().mincount(1000).print()? }
    "`Profile.Allocs.print(noisefloor=2.0)`" => { allocs::report().noisefloor(2.0).print()? }
    "`Profile.Allocs.print(sortedby=:count)`" => { allocs::report().sorted_by(SortBy::Count).print()? }
    "`Profile.Allocs.print(recur=:flat)`" => { allocs::report().recur(Recur::Flat).print()? }
    "`Profile.Allocs.print(combine=false)`" => { allocs::report().combine(false).print().is_err() }
    "`Profile.Allocs.AllocResults`" => { allocs::AllocResults::default() }
    "`results.allocs`" => { results.iter() }
    "`Profile.Allocs.Alloc`" => { results.iter().collect::<Vec<allocs::Alloc<'_>>>() }
    "`alloc.type`" => { results.iter().map(allocs::Alloc::type_of).collect::<Vec<_>>() }
    "`alloc.stacktrace`" => { results.iter().map(allocs::Alloc::stacktrace).collect::<Vec<_>>() }
    "`alloc.size`" => { results.iter().map(allocs::Alloc::size).sum::<u64>() }
    "`alloc.task`" => { results.iter().map(allocs::Alloc::task).collect::<Vec<_>>() }
    "`alloc.timestamp`" => { results.iter().map(allocs::Alloc::timestamp).collect::<Vec<_>>() }
    "`Profile.Allocs.BufferType`" => { results.iter().any(allocs::Alloc::is_buffer) }
    "`Profile.Allocs.UnknownType`" => { allocs::AllocType::UnknownType }
    "`Profile.take_heap_snapshot()`" => { heap::snapshot()? }
    "`Profile.take_heap_snapshot(filepath)`" => { heap::options().to("work.heapsnapshot").take()? }
    "`Profile.take_heap_snapshot(io)`" => { heap::options().write(&mut out)? }
    "`Profile.HeapSnapshot.assemble_snapshot(prefix)`" => { heap::assemble("work", "work.heapsnapshot")? }
    "`Profile.HeapSnapshot.cleanup_streamed_files(prefix)`" => { heap::remove_parts("work")? }
    "`Profile.take_page_profile(io)`" => { heap::take_page_profile("pages.json")? }
    "`Profile.clear_malloc_data()`" => { clear_malloc_data() }
}

/// Spaces are insignificant in Rust, and `stringify!` adds its own.
fn without_spaces(code: &str) -> String {
    code.split_whitespace().collect()
}

/// The cells of the rows of the page's three-column tables.
fn cells(page: &str) -> Vec<[&str; 3]> {
    let mut cells = Vec::new();
    let mut in_table = false;
    for line in page.lines() {
        let row: Vec<&str> = line.split('|').map(str::trim).collect();
        match row.as_slice() {
            ["", "Julia", "Profundo", "Notes", ""] => in_table = true,
            ["", julia, profundo, notes, ""] if in_table => {
                if !julia.starts_with("---") {
                    cells.push([*julia, profundo, notes]);
                }
            }
            [""] => in_table = false,
            _ => assert!(!in_table, "a row without three cells: {line}"),
        }
    }
    cells
}

#[test]
fn every_row_of_the_page_compiles() {
    let page = include_str!("../../../../docs/julia.md");
    let mut compiled = ROWS.iter();
    let mut seen = std::collections::HashSet::new();
    for [julia, profundo, notes] in cells(page) {
        assert!(seen.insert(julia), "{julia} stands twice on the page");
        if profundo == "–" {
            assert!(!notes.is_empty(), "{julia} has neither code nor a reason");
            continue;
        }
        let code = profundo
            .strip_prefix('`')
            .and_then(|code| code.strip_suffix('`'))
            .unwrap_or_else(|| panic!("{profundo} is not one piece of code"));
        let row = compiled
            .next()
            .unwrap_or_else(|| panic!("{julia} is on the page, but not compiled here"));
        assert_eq!(
            (row.julia, without_spaces(row.code)),
            (julia, without_spaces(code)),
            "the page's next row is not the next that is compiled"
        );
    }
    let rest: Vec<_> = compiled.map(|row| row.julia).collect();
    assert!(rest.is_empty(), "not on the page: {rest:?}");
    assert!(seen.len() > 100, "the page's tables were not found");
}
