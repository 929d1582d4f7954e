//! The cost of recording servers under load: redis, PostgreSQL and a threaded one in Python, alone
//! and under a profiler in turn, with a fixed number of requests. The cost is the CPU time of the
//! server's whole tree of processes, the profiler's own included.
//!
//! ```text
//! servers [--rounds N] [--python PYTHON] [--only SERVER]… [--alone] PROFUNDO
//! ```
//!
//! `perf record` runs in turn with us if it is installed, unless `--alone` is given. A server that
//! is not installed is left out. PostgreSQL does not run as root: in that case it is run as the
//! user `postgres`.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use profundo_bench::process::{machine, wait};
use profundo_bench::stats::Summary;
use profundo_bench::verdict;

const USAGE: &str =
    "usage: servers [--rounds N] [--python PYTHON] [--only SERVER]… [--alone] PROFUNDO";

/// A server and its client.
struct Server {
    name: &'static str,
    /// A prefix of all commands: another user.
    user: Vec<String>,
    server: Vec<String>,
    client: Vec<String>,
    /// A command that succeeds as soon as the server answers; if empty, the server is ready once it
    /// listens.
    ready: Vec<String>,
    port: u16,
    /// The name of the server's first process, and the signal that ends it.
    process: &'static str,
    stop: i32,
}

/// A way to run a server: a prefix of its command line, in which [`FILE`] is the name of a file.
struct Runner {
    name: &'static str,
    before: Vec<String>,
}

const FILE: &str = "FILE";

impl Runner {
    /// The prefix with a file per server, since the server may run as another user.
    fn before(&self, folder: &Path, server: &Server) -> Vec<String> {
        let file = folder.join(format!("{}-{}", self.name, server.name));
        let file = file.to_string_lossy().into_owned();
        let word = |word: &String| if word == FILE { &file } else { word }.clone();
        self.before.iter().map(word).collect()
    }
}

struct Plan {
    folder: PathBuf,
    rounds: usize,
    servers: Vec<Server>,
    runners: Vec<Runner>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("profundo-servers-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    // Recordings and data of another user are here too.
    run(&words(&["chmod", "777", &folder.to_string_lossy()]))?;
    let result = plan(&folder).and_then(|plan| {
        println!("{}", machine());
        for server in &plan.servers {
            compare(&plan, server)?;
        }
        println!("\n{}", machine());
        Ok(())
    });
    fs::remove_dir_all(&folder)?;
    result
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The path of a program in `PATH`.
fn found(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut paths = env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

fn plan(folder: &Path) -> Result<Plan, Box<dyn Error>> {
    let (mut rounds, mut python, mut only) = (5, "python3".to_owned(), Vec::new());
    let (mut is_alone, mut profundo) = (false, None);
    let mut rest = env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(USAGE);
        match &*argument {
            "--rounds" => rounds = value()?.parse()?,
            "--python" => python = value()?,
            "--only" => only.push(value()?),
            "--alone" => is_alone = true,
            _ if profundo.is_none() && !argument.starts_with('-') => profundo = Some(argument),
            _ => return Err(USAGE.into()),
        }
    }
    let profundo = fs::canonicalize(profundo.ok_or(USAGE)?)?;
    let ours = [&profundo.to_string_lossy(), "run", "-o", FILE, "--"];
    let mut runners = vec![Runner {
        name: "profundo",
        before: words(&ours),
    }];
    if !is_alone && found("perf").is_some() {
        let perf = ["perf", "record", "-q", "-F", "1000", "-g", "-o", FILE, "--"];
        runners.push(Runner {
            name: "perf",
            before: words(&perf),
        });
    }
    let all = [redis(), postgres(folder)?, threaded(&python)];
    let is_wanted =
        |server: &Server| only.is_empty() || only.iter().any(|only| only == server.name);
    let servers = all.into_iter().flatten().filter(is_wanted).collect();
    Ok(Plan {
        folder: folder.to_owned(),
        rounds,
        servers,
        runners,
    })
}

fn redis() -> Option<Server> {
    const PORT: &str = "16399";
    found("redis-server").zip(found("redis-benchmark"))?;
    Some(Server {
        name: "redis",
        user: Vec::new(),
        server: words(&[
            "redis-server",
            "--port",
            PORT,
            "--save",
            "",
            "--bind",
            "127.0.0.1",
        ]),
        client: words(&[
            "redis-benchmark",
            "-p",
            PORT,
            "-t",
            "get,set",
            "-n",
            "250000",
            "-q",
        ]),
        ready: Vec::new(),
        port: 16399,
        process: "redis-server",
        stop: libc::SIGTERM,
    })
}

fn threaded(python: &str) -> Option<Server> {
    const PORT: &str = "18399";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/threaded.py");
    let script = script.to_string_lossy();
    Some(Server {
        name: "threaded",
        user: Vec::new(),
        server: words(&[python, &script, "serve", PORT]),
        client: words(&[python, &script, "ask", PORT, "32000"]),
        ready: Vec::new(),
        port: 18399,
        process: "python",
        stop: libc::SIGTERM,
    })
}

/// Creates a database.
fn postgres(folder: &Path) -> Result<Option<Server>, Box<dyn Error>> {
    const PORT: &str = "15499";
    let Some(binaries) = postgres_binaries() else {
        return Ok(None);
    };
    let binary = |name: &str| binaries.join(name).to_string_lossy().into_owned();
    let data = folder.join("data").to_string_lossy().into_owned();
    let place = folder.to_string_lossy();
    // SAFETY: takes nothing and cannot fail.
    let user = match unsafe { libc::geteuid() } {
        0 => words(&[
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            "env",
            &format!("HOME={place}"),
        ]),
        _ => Vec::new(),
    };
    let with_user = |rest: &[&str]| [&user[..], &words(rest)].concat();
    run(&with_user(&[
        &binary("initdb"),
        "-D",
        &data,
        "-A",
        "trust",
        "-N",
    ]))?;
    let server = words(&[
        &binary("postgres"),
        "-D",
        &data,
        "-p",
        PORT,
        "-k",
        &place,
        "-c",
        "listen_addresses=127.0.0.1",
    ]);
    let ask = |rest: &[&str]| {
        let first = [&*binary("pgbench"), "-h", &place, "-p", PORT];
        with_user(&[&first[..], rest, &["postgres"]].concat())
    };
    let mut child = start(&[&user[..], &server].concat())?;
    let ready = words(&[&binary("pg_isready"), "-q", "-h", &place, "-p", PORT]);
    wait_for(15499, &ready)?;
    run(&ask(&["-i", "-q"]))?;
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    child.wait()?;
    Ok(Some(Server {
        name: "postgres",
        server,
        client: ask(&["-S", "-c", "4", "-j", "2", "-t", "15000"]),
        ready: ready.clone(),
        user,
        port: 15499,
        process: "postgres",
        stop: libc::SIGINT,
    }))
}

fn postgres_binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut folders = versions.map(|version| version.path().join("bin"));
    folders.find(|folder| folder.join("postgres").is_file() && folder.join("pgbench").is_file())
}

fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).current_dir(env::temp_dir());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

fn start(words: &[String]) -> io::Result<Child> {
    command(words).spawn()
}

fn run(words: &[String]) -> Result<(), Box<dyn Error>> {
    let status = command(words).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} ended with {status}", words.join(" ")).into()),
    }
}

/// Waits until a server answers.
fn wait_for(port: u16, ready: &[String]) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let answers = || match ready.is_empty() {
        true => TcpStream::connect(("127.0.0.1", port)).is_ok(),
        false => command(ready).status().is_ok_and(|status| status.success()),
    };
    while !answers() {
        if began.elapsed() > Duration::from_secs(20) {
            return Err(format!("no server answers on port {port}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn compare(plan: &Plan, server: &Server) -> Result<(), Box<dyn Error>> {
    println!("\n{}: {}", server.name, server.server.join(" "));
    let mut ratios: Vec<Vec<f64>> = plan.runners.iter().map(|_| Vec::new()).collect();
    // A warm-up.
    one(server, &[])?;
    for round in 0..plan.rounds {
        let mut plain = 0.0;
        // In turn, with the plain run first or last.
        let mut order: Vec<usize> = (0..=plan.runners.len()).collect();
        order.rotate_left(round % (plan.runners.len() + 1));
        let mut costs = vec![0.0; plan.runners.len()];
        for at in order {
            match at.checked_sub(1) {
                None => plain = one(server, &[])?,
                Some(at) => {
                    let before = plan.runners[at].before(&plan.folder, server);
                    costs[at] = one(server, &before)?;
                }
            }
        }
        for (ratios, cost) in ratios.iter_mut().zip(costs) {
            ratios.push(cost / plain);
        }
    }
    for (runner, ratios) in plan.runners.iter().zip(&ratios) {
        let ratio = Summary::of(ratios);
        let target = if runner.name == "profundo" {
            "at most 1.05"
        } else {
            "none: a peer"
        };
        verdict(
            &format!("{} on {}, CPU ratio", runner.name, server.name),
            format!(
                "{:.3} ({:.3} to {:.3})",
                ratio.median, ratio.low, ratio.high
            ),
            target,
        );
    }
    Ok(())
}

/// Runs the server until its client is done; returns the CPU time of its tree.
fn one(server: &Server, before: &[String]) -> Result<f64, Box<dyn Error>> {
    let child = start(&[&server.user, before, &server.server].concat())?;
    wait_for(server.port, &server.ready)?;
    let asked = run(&server.client);
    let first = first_process(child.id(), server.process);
    // SAFETY: a descendant of our own child, which lives.
    unsafe { libc::kill(first as libc::pid_t, server.stop) };
    let (_, cpu) = wait(child)?;
    asked?;
    Ok(cpu.total())
}

/// The server's first process: the child itself, or the one that a profiler has started.
fn first_process(mut process: u32, name: &str) -> u32 {
    loop {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
        let children = read(&format!("task/{process}/children")).unwrap_or_default();
        let is_it = read("comm").is_ok_and(|comm| comm.starts_with(name));
        match children.split_whitespace().next().map(str::parse) {
            Some(Ok(child)) if !is_it => process = child,
            _ => return process,
        }
    }
}
