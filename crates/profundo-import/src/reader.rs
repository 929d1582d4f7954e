//! A format that is read, in one row: its names, the start of its files, its reader.

use std::fmt;

use memchr::memmem;

use crate::{
    Builder, Error, Source, austin, caliper, callgrind, chrome_trace, collapsed, counted_source,
    cpuprofile, cube, dhat, dtrace, firefox, gmon, gperftools, gprof, heapprofile, heaptrack,
    hpctoolkit, instruments, jemalloc, jfr, jlprof, lcov, lprof, macos_sample, massif,
    memory_profiler, memray, nettrace, nsight, oprofile, otf2, otlp, perf, pprof, pstats,
    pyinstrument, scalene, speedscope, tachyon, tau, v8, vtune,
};

/// A format that is read: one row of [`Reader::ALL`].
#[derive(Clone, Copy)]
pub struct Reader(pub(crate) &'static Table);

/// The row of a format.
pub(crate) struct Table {
    /// Its name in sentences and options.
    pub name: &'static str,
    /// The tools that write it, in a few words.
    pub writers: &'static str,
    /// Whether a file that begins with these unpacked bytes is of this format. It may have less
    /// than the whole file.
    pub is_start: fn(&[u8]) -> bool,
    pub fill: fn(&Source<'_>, &mut Builder) -> Result<(), Error>,
}

impl Reader {
    /// Every format. Those with a mark of their own come first; plain texts, which are known by the
    /// shape of their lines, come last.
    pub const ALL: &'static [Reader] = &[
        // Binary files with a mark.
        jfr::READER,
        nettrace::READER,
        nsight::READER,
        tachyon::READER,
        austin::MOJO,
        jlprof::READER,
        otf2::READER,
        otlp::READER,
        hpctoolkit::DATABASE,
        cube::READER,
        gmon::READER,
        perf::data::READER,
        pstats::READER,
        lprof::READER,
        gperftools::READER,
        pprof::READER,
        // JSON.
        speedscope::READER,
        cpuprofile::READER,
        heapprofile::READER,
        v8::log::READER,
        firefox::READER,
        chrome_trace::READER,
        pyinstrument::READER,
        scalene::READER,
        memray::GPROF2DOT,
        memray::STATS,
        dhat::READER,
        caliper::JSON,
        // Texts.
        caliper::TEXT,
        hpctoolkit::EXPERIMENT,
        callgrind::READER,
        callgrind::CACHEGRIND,
        massif::READER,
        heaptrack::READER,
        gprof::READER,
        jemalloc::READER,
        lcov::READER,
        vtune::READER,
        perf::script::READER,
        perf::report::READER,
        oprofile::READER,
        tau::READER,
        instruments::READER,
        macos_sample::READER,
        dtrace::READER,
        memory_profiler::PLOT,
        memory_profiler::REPORT,
        memray::CSV,
        austin::TEXT,
        counted_source::READER,
        collapsed::READER,
    ];

    /// The reader of a file that begins with these unpacked bytes.
    pub(crate) fn of(bytes: &[u8]) -> Option<Reader> {
        /// Enough to know any format by.
        const START: usize = 64 << 10;
        let start = &bytes[..bytes.len().min(START)];
        (Self::ALL.iter().copied()).find(|reader| (reader.0.is_start)(start))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The tools that write it.
    pub fn writers(self) -> &'static str {
        self.0.writers
    }

    pub(crate) fn fill(self, source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
        (self.0.fill)(source, builder)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader").field(&self.name()).finish()
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Reader {}

/// A format that is known and not read: the file in words, and the way around it.
pub(crate) fn refused(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    /// The starts of such files.
    const REFUSED: &[(&[u8], &str, &str)] = &[
        (
            b"NVIDIA Tegra Profiler Report",
            "a report of Nsight Systems",
            "`nsys export --type sqlite FILE` makes a file that is",
        ),
        (
            b"v8-version,",
            "a raw log of V8",
            "`node --prof-process --preprocess FILE` prints one that is",
        ),
        (
            b"SIMPLEPERF",
            "a trace of Android's simpleperf",
            "its `pprof_proto_generator.py` and `stackcollapse.py` make files that are",
        ),
        (b"*version\n", "a method trace of Android", OPEN_AND_SAVE),
        (b"SLOW\x02\0", "a method trace of Android", OPEN_AND_SAVE),
        (b"SLOW\x03\0", "a method trace of Android", OPEN_AND_SAVE),
        (b"SLOW\xf2\0", "a method trace of Android", OPEN_AND_SAVE),
        (b"SLOW\xf3\0", "a method trace of Android", OPEN_AND_SAVE),
        (
            b"QPERFSTREAM",
            "a file of hotspot",
            "the `perf.data` that it was made of is",
        ),
        (
            b"PERFFILE",
            "a `perf.data` of a perf before 2010",
            "the text of that perf's `perf script` is",
        ),
        (b"PK\x03\x04", "a zip archive", "the files in it may be"),
        (b"\xfd7zXZ\0", "packed by xz", "`unxz FILE` unpacks it"),
        (b"BZh", "packed by bzip2", "`bunzip2 FILE` unpacks it"),
    ];
    const OPEN_AND_SAVE: &str = "what the Firefox Profiler saves of it is";
    /// JSON of other tools, by words near its start.
    const JSON: &[(&[&[u8]], &str, &str)] = &[
        (
            &[b"\"mode\":", b"\"interval\":", b"\"gc_samples\":"],
            "a profile of Ruby's stackprof in JSON",
            "`stackprof --stackcollapse` prints a text that is",
        ),
        (
            &[b"\"cost_centres\":", b"\"tick_interval\":"],
            "a profile of GHC",
            EXPORT_BY_SPEEDSCOPE,
        ),
        (
            &[b"\"recording\":", b"\"instrumentTypes\":"],
            "a recording of Safari",
            EXPORT_BY_SPEEDSCOPE,
        ),
    ];
    const EXPORT_BY_SPEEDSCOPE: &str = "speedscope opens it, and what it exports is";
    if memray::is_recording(bytes) {
        return Some((
            "a recording of memray",
            "`memray transform csv FILE` makes a file that is",
        ));
    }
    let row = REFUSED.iter().find(|(start, ..)| bytes.starts_with(start));
    if let Some(&(_, what, instead)) = row {
        return Some((what, instead));
    }
    let first = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    if first.starts_with(b"@ ") && first.trim_ascii_end().ends_with(b" samples]") {
        return Some((
            "a text of FreeBSD's `pmcstat`",
            "`stackcollapse-pmc.pl FILE` prints one that is",
        ));
    }
    let has = |words: &&[u8]| memmem::find(bytes, words).is_some();
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    let row = JSON
        .iter()
        .find(|(words, ..)| is_json && words.iter().all(has));
    row.map(|&(_, what, instead)| (what, instead))
}
