//! The programs that pages need, and the commands that a test cannot run as they stand.

/// The command that is run in place of another.
pub enum Instead {
    /// No command.
    Nothing,
    /// This command. Its output is not compared.
    Other(&'static str),
    /// A shorter command, whose output has the shape of the page's screen. `BLESS` runs the page's
    /// own command.
    Shorter(&'static str),
    /// A command that does the same.
    Same(&'static str),
}

pub struct StandIn {
    /// The command of a page.
    pub command: &'static str,
    pub instead: Instead,
    pub why: &'static str,
}

const fn none(command: &'static str, why: &'static str) -> StandIn {
    let instead = Instead::Nothing;
    StandIn {
        command,
        instead,
        why,
    }
}

const fn other(command: &'static str, instead: &'static str, why: &'static str) -> StandIn {
    let instead = Instead::Other(instead);
    StandIn {
        command,
        instead,
        why,
    }
}

const fn shorter(command: &'static str, instead: &'static str, why: &'static str) -> StandIn {
    let instead = Instead::Shorter(instead);
    StandIn {
        command,
        instead,
        why,
    }
}

const fn same(command: &'static str, instead: &'static str, why: &'static str) -> StandIn {
    let instead = Instead::Same(instead);
    StandIn {
        command,
        instead,
        why,
    }
}

const TERMINAL: &str = "it draws on a terminal, and waits for keys";
const WATCH: &str = "it goes on without an end; the tests of the command watch, too";
const SERVERS: &str = "it needs a server that tests do not have";
const LONG: &str = "it takes longer than a test should";
const CARGO: &str = "cargo builds a package first";
const PUBLISHED: &str = "it takes the package from PyPI, where there is none yet";
const PYTEST: &str = "it runs the reader's tests; the package's own tests run pytest";
const PAGE: &str = "it serves a page until that is closed; the tests of the page ask its server";
const SERVER: &str = "it asks the reader's server; the package's own tests ask one";
const MACHINE: &str =
    "it records what else runs on the machine; the tests of the command do that, too";
const FOREIGN: &str = "the file is another tool's";
const OTHER_TOOL: &str = "it is another tool's command, which few machines have";

/// Commands that are replaced, each with the reason. One that is in no page is an error.
pub const STAND_INS: &[StandIn] = &[
    none(
        "profundo diff a1.profundo a2.profundo a3.profundo -- b1.profundo b2.profundo b3.profundo",
        "the recordings are the reader's",
    ),
    none(
        "profundo diff main.profundo branch.profundo --fail-above 5%",
        "the recordings are the reader's",
    ),
    none("profundo record -a -d 10", MACHINE),
    none("profundo top -a", TERMINAL),
    none(
        "profundo push app.profundo --to pyroscope://localhost --service api",
        SERVERS,
    ),
    none(
        "profundo push app.profundo --to otlp://collector --service api --label host=node-1,zone=eu",
        SERVERS,
    ),
    none(
        "profundo push app.profundo --to s3://bucket/profiles --service api --label version=1.4",
        SERVERS,
    ),
    none("profundo receive --to profiles", SERVERS),
    none(
        "profundo receive --to s3://bucket/profiles --every 60s --listen 0.0.0.0:4040",
        SERVERS,
    ),
    none(
        "profundo symbols add target/release/api --to s3://bucket/profiles",
        SERVERS,
    ),
    none("profundo symbols list s3://bucket/profiles", SERVERS),
    none("profundo watch -a --to /var/lib/profiles", WATCH),
    none("profundo watch -a --to s3://bucket/prod", WATCH),
    none(
        "profundo watch --to s3://bucket/prod -- gunicorn app:app",
        WATCH,
    ),
    none("profundo watch --to /var/lib/profiles 4151 4152", WATCH),
    none(
        "profundo report 's3://bucket/prod?service=api&version=1.4&from=-1h'",
        SERVERS,
    ),
    none(
        "profundo report '/var/profiles?service=api&from=-1h' tree",
        SERVERS,
    ),
    none(
        "profundo report '/var/lib/profiles?service=api&from=-1h'",
        SERVERS,
    ),
    none(
        "profundo report 's3://bucket/prod?service=api&version=1.4&from=-1d'",
        SERVERS,
    ),
    none("profundo run -a -- make -j8", MACHINE),
    none("profundo report machine", MACHINE),
    none(
        "profundo report machine --label unit=nginx.service",
        MACHINE,
    ),
    none("profundo report machine tree --by label:container", MACHINE),
    none("profundo report machine --process python3", MACHINE),
    none("profundo report machine tree --by command", MACHINE),
    none("cargo install --locked --path crates/profundo-cli", CARGO),
    none("pip install profundo", PUBLISHED),
    none("uvx profundo run app.py", PUBLISHED),
    none("pytest --profundo", PYTEST),
    none("pytest --profundo=memory", PYTEST),
    none("pytest --profundo --profundo-dir=profiles", PYTEST),
    none(
        "pytest --profundo --profundo-top 3 --profundo-dir profiles",
        PYTEST,
    ),
    none(
        "pytest --profundo --profundo-compare=profiles --profundo-fail-above=10%",
        PYTEST,
    ),
    none(
        "profundo report app.profundo lines --debuginfod",
        "it asks the reader's server; a test of the command asks one",
    ),
    none("curl 'http://127.0.0.1:8000/orders?profile=text'", SERVER),
    none("cargo profundo run -- --port 8080", CARGO),
    none("cargo profundo run --memory --example tour", CARGO),
    none("cargo profundo test --release -p parser", CARGO),
    none("cargo profundo bench", CARGO),
    none("profundo view", PAGE),
    none("profundo view after.profundo", PAGE),
    none("profundo view before.profundo after.profundo", PAGE),
    none("profundo view before.profundo --editor code", PAGE),
    none("profundo view PID", PAGE),
    none("profundo view memory.profundo", PAGE),
    none("profundo view before.heapsnapshot", PAGE),
    none("profundo view before.heapsnapshot now.heapsnapshot", PAGE),
    none("profundo view memory.profundo now.heapsnapshot", PAGE),
    none("profundo run --live -- ./server --port 8080", PAGE),
    none("profundo record --live -- ./server --port 8080", PAGE),
    none(
        "profundo view a1.profundo a2.profundo a3.profundo -- b1.profundo b2.profundo b3.profundo",
        PAGE,
    ),
    other("profundo top PID", "profundo top PID --once", TERMINAL),
    other(
        "profundo report service.profundo functions --span route=/search --limit 5",
        "profundo report service.profundo functions --span route=/search --limit 5",
        "the line of the standard library that is hit most often is nearly a tie",
    ),
    other(
        "profundo top --batch -i 5 --limit 10 PID",
        "profundo top --batch -i 1 -d 2 --limit 10 PID",
        "it goes on until the process ends",
    ),
    none(
        "profundo run --mine '**/site-packages/ours' -- python3 -m ours",
        "the module is the reader's",
    ),
    other(
        "profundo top -- ./server --port 8080",
        "profundo top --once -- ./server --port 8080",
        TERMINAL,
    ),
    other(
        "profundo attach PID --dump",
        "profundo attach PID --dump",
        "where the program is at that moment is a matter of chance",
    ),
    other(
        "profundo attach PID --dump --locals",
        "profundo attach PID --dump --locals",
        "where the program is at that moment is a matter of chance",
    ),
    other(
        "profundo attach PID -d 10",
        "profundo attach PID -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --inside -d 60",
        "profundo attach PID --inside -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --inside --wall -d 60",
        "profundo attach PID --inside --wall -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --memory -d 60",
        "profundo attach PID --memory -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --memory=exact -d 10",
        "profundo attach PID --memory=exact -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --memory=outside -d 60",
        "profundo attach PID --memory=outside -d 1",
        LONG,
    ),
    other(
        "profundo attach PID -r 100 -d 5",
        "profundo attach PID -r 200 -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --trace -d 5",
        "profundo attach PID --trace -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --trace=lines -d 5",
        "profundo attach PID --trace=lines -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --trace=lines --lines=app.py:price -d 5",
        "profundo attach PID --trace=lines --lines=app.py:price -d 1",
        LONG,
    ),
    other(
        "profundo attach PID --trace=exceptions -d 5",
        "profundo attach PID --trace=exceptions -d 1",
        LONG,
    ),
    other(
        "profundo doctor",
        "profundo doctor; true",
        "each machine permits something else",
    ),
    other(
        "profundo doctor PID",
        "profundo doctor PID; true",
        "as above",
    ),
    other(
        "profundo gc-log PID -d 60 --slow 10",
        "profundo gc-log PID -d 1 --slow 10",
        LONG,
    ),
    other(
        "profundo gc-log -d 60 -- python3 app.py",
        "profundo gc-log -d 1 -- python3 app.py 5",
        LONG,
    ),
    other(
        "profundo record --memory=exact -- ./holds wait",
        "profundo record --memory=exact -- ./holds",
        "it goes on while the next commands are typed",
    ),
    other(
        "profundo ctl PID start",
        "profundo record --paused -- sh -c 'echo $$ > pid; exec python3 app.py' & sleep 1; \
         profundo ctl $(cat pid) start; code=$?; wait; exit $code",
        "the program has to be one that is recorded",
    ),
    other(
        "profundo ctl PID stop",
        "profundo record -- sh -c 'echo $$ > pid; exec python3 app.py' & sleep 1; \
         profundo ctl $(cat pid) stop; code=$?; wait; exit $code",
        "as above",
    ),
    other(
        "profundo ctl PID keep",
        "profundo record --last 5m -o all.profundo -- sh -c 'echo $$ > pid; exec python3 app.py' & sleep 1; \
         profundo ctl $(cat pid) keep; code=$?; wait; exit $code",
        "the program has to be one that is recorded",
    ),
    other(
        "profundo ctl PID keep slow.profundo",
        "profundo record --last 5m -o all.profundo -- sh -c 'echo $$ > pid; exec python3 app.py' & sleep 1; \
         profundo ctl $(cat pid) keep slow.profundo; code=$?; wait; exit $code",
        "as above",
    ),
    other(
        "profundo attach PID --last 5m",
        "profundo attach PID --last 5m -d 1",
        LONG,
    ),
    other(
        "profundo recover killed.profundo",
        "profundo record -o killed.profundo app.py & sleep 1; kill -9 $!; wait; \
         profundo recover killed.profundo",
        "a recorder has to be killed first",
    ),
    none(
        "profundo heap PID --native --growth 2",
        "what it looks at does not grow",
    ),
    same(
        "profundo heap PID --native --types --limit 5",
        "profundo record --memory=exact -- sh -c 'echo $$ > pid; exec ./holds wait' & sleep 1.5; \
         profundo heap $(cat pid) --native --types --limit 5; kill $(cat pid)",
        "the program is the one that was recorded in another terminal",
    ),
    none("profundo view cpu.pb.gz", PAGE),
    other(
        "profundo report app.folded",
        "profundo record -o app.profundo app.py 1; \
         profundo export app.profundo --to collapsed -o app.folded; profundo report app.folded",
        FOREIGN,
    ),
    other(
        "profundo diff before.speedscope.json after.speedscope.json",
        "for one in before after; do profundo record -o $one.profundo app.py 1; \
         profundo export $one.profundo --to speedscope -o $one.speedscope.json; done; \
         profundo diff before.speedscope.json after.speedscope.json",
        FOREIGN,
    ),
    other(
        "profundo merge run1.folded run2.folded -o all.profundo",
        "cp app.folded run1.folded; cp app.folded run2.folded; \
         profundo merge run1.folded run2.folded -o all.profundo",
        FOREIGN,
    ),
    same(
        "profundo report perf.script --value branches",
        concat!(
            "gzip -cd ",
            env!("CARGO_MANIFEST_DIR"),
            "/../testdata/import/perf/two.script.txt.gz > perf.script; \
             profundo report perf.script --value branches; true"
        ),
        FOREIGN,
    ),
    shorter(
        "profundo run examples/confidence/1_plain.py",
        "profundo run examples/confidence/1_plain.py 60000",
        LONG,
    ),
    none("go tool pprof -top app.pb.gz", OTHER_TOOL),
    none("go tool pprof -tags app.pb.gz", OTHER_TOOL),
    none(
        "go tool pprof -top -sample_index=samples app.pb.gz",
        OTHER_TOOL,
    ),
    none(
        "go tool pprof -top -diff_base=before.pb.gz after.pb.gz",
        OTHER_TOOL,
    ),
];

/// Blocks of text without a command, by page and first line, each with the reason.
pub const BARE: &[(&str, &str, &str)] = &[
    (
        "docs/notebooks.md",
        "In [3]: 2.32 s",
        "a notebook shows it; the package's own tests run cells",
    ),
    ("docs/notebooks.md", "In [5]", "a notebook shows it"),
    ("docs/notebooks.md", "In [9]: 187 ms", "a notebook shows it"),
    ("docs/notebooks.md", "peak memory:", "a notebook shows it"),
    (
        "docs/notebooks.md",
        "                   best of",
        "a notebook shows it",
    ),
    (
        "docs/pytest.md",
        "   Grown  Counted",
        "pytest prints it; the package's own tests run pytest",
    ),
    ("docs/pytest.md", "Against profiles/", "pytest prints it"),
    (
        "docs/servers.md",
        "GET /sync/b:",
        "a server answers it; the package's own tests ask one",
    ),
    (
        "docs/compare.md",
        "Warning: more than the code differs",
        "it takes two machines",
    ),
    (
        "docs/annotate.md",
        "divide  hot.c:6",
        "instructions depend on the compiler",
    ),
    (
        "docs/filters.md",
        "thread=main from=1.5",
        "the text of a filter is no screen",
    ),
    (
        "docs/energy.md",
        "Energy: 41.2 J by package-0",
        "few machines may read the counters",
    ),
    ("docs/top.md", "python3 py.py", TERMINAL),
    ("docs/top.md", "███", TERMINAL),
    ("docs/top.md", "  no CPU time was used", TERMINAL),
    ("docs/top.md", " CPU %   Memory   Growth", TERMINAL),
];

/// Pages whose blocks of text are formats and no screens.
pub const FORMATS: &[&str] = &[
    "docs/cluster.md",
    "docs/file-format.md",
    "docs/fleet.md",
    "docs/fleet-queries.md",
    "docs/json.md",
];

/// Code in sentences that looks like a command and is none.
pub const NO_COMMANDS: &[&str] = &["profundo itself"];

/// Programs that have to be compiled, by a part of the command that wants one.
pub const COMPILED: &[(&str, &[&str])] = &[
    ("./holds", &["g++", "-O1", "-g", "holds.cpp", "-o", "holds"]),
    ("./lost", &["gcc", "-g", "lost.c", "-o", "lost"]),
    ("./prog", &["gcc", "-g", "prog.c", "-o", "prog"]),
    (
        "./service",
        &["cp", env!("CARGO_BIN_EXE_service"), "service"],
    ),
];

/// Tools that a machine may lack. A command that wants one is then skipped.
pub const TOOLS: &[&str] = &["node", "rustc", "gcc"];

/// The programs that PID in a command stands for: the page's own, or the usual one.
pub const RUNNING: &[(&str, &[&str])] = &[
    ("docs/heap.md", &["python3", "sessions.py"]),
    ("", &["python3", "app.py", "100000"]),
];
