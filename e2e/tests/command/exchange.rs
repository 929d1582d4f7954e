//! Profiles to and from other tools: what one command pushes, another one receives, whatever ends
//! in the middle.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use profundo_formats::export::{Format, Options, write};
use profundo_model::Profile;
use profundo_store::{Query, answer};
use profundo_testing::{Folder, profundo, pythons, skip, wait_for, wait_for_exit, wait_until};

/// A server in a folder of its own, which is killed at the end.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(store: &Path, options: &[&str]) -> Self {
        let mut child = Command::new(profundo())
            .args(["receive", "--listen", "127.0.0.1:0", "--to"])
            .arg(store)
            .args(match options.contains(&"--every") {
                true => &[][..],
                false => &["--every", "1s"],
            })
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = wait_for("the address of the server", || {
            let line = lines.next()?.ok()?;
            let (_, rest) = line.split_once("http://")?;
            rest.split(' ').next()?.parse().ok()
        });
        // Its further lines are of no interest.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Sends a body, and returns the status and the answer.
    fn post(&self, path: &str, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{head}\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is refused is not read to its end.
        let _ = stream.write_all(body);
        read(&mut stream)
    }

    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        read(&mut stream)
    }

    fn signal(&self, signal: i32) {
        let pid = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: the child was not waited for, so the number is its own.
        unsafe { libc::kill(pid, signal) };
    }

    /// Ends it by a signal, and returns its exit code.
    fn end(mut self, signal: i32) -> Option<i32> {
        self.signal(signal);
        wait_for_exit(&mut self.child, "the server", Duration::from_secs(60)).code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), text)
}

fn now() -> SystemTime {
    SystemTime::now()
}

/// A profile of this many samples of 10 ms.
fn profile(samples: usize) -> Profile {
    let mut profile = Profile::from_folded(&format!("main;work;inner {samples}")).unwrap();
    let now = now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    profile.meta.started_at_unix = u64::try_from(now.as_nanos()).unwrap();
    profile.meta.period.0 = 10_000_000;
    let each = 10_000_000 * samples as u64 / profile.samples.len() as u64;
    for sample in &mut profile.samples {
        sample.weight.0 = each;
    }
    profile
}

fn pprof(samples: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(
        &profile(samples),
        Format::PPROF,
        &Options::default(),
        &mut bytes,
    )
    .unwrap();
    bytes
}

/// The milliseconds of a service in a store.
fn millis(store: &Path, service: &str) -> u64 {
    answered(store, service).map_or(0, |profile| {
        let weights = profile.samples.iter().map(|sample| sample.weight.0);
        weights.sum::<u64>() / 1_000_000
    })
}

fn answered(store: &Path, service: &str) -> Option<Profile> {
    let query = format!("{}?service={service}&from=-1h", store.display());
    let millis = now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    // Steps begin before now.
    let query = Query::parse(&query, i64::try_from(millis).unwrap() + 1000).unwrap();
    answer(&profundo_store::Folder::new(store), &query, 1).ok()
}

fn recording(folder: &Folder) -> PathBuf {
    let path = folder.join("app.pb.gz");
    fs::write(&path, pprof(50)).unwrap();
    path
}

fn push(file: &Path, to: &str, options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(profundo())
        .arg("push")
        .arg(file)
        .args(["--to", to])
        .args(options)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

#[test]
fn what_is_pushed_is_received() {
    let folder = Folder::new("exchange-push");
    let (store, file) = (folder.join("store"), recording(&folder));
    let server = Server::start(&store, &[]);
    let address = server.address;
    for (service, to) in [
        ("otlp", format!("otlp://{address}")),
        ("pyroscope", format!("pyroscope://{address}")),
        ("plain", format!("http://{address}/pprof?service=plain")),
    ] {
        let options = ["--service", service, "--label", "host=node-1,zone=eu"];
        let (code, text) = push(&file, &to, &options);
        assert_eq!(code, Some(0), "{text}");
        wait_until("the segment", || millis(&store, service) > 0);
        assert_eq!(millis(&store, service), 500, "{service}");
    }
    let (code, text) = push(
        &file,
        &store.display().to_string(),
        &["--service", "direct"],
    );
    assert_eq!(code, Some(0), "{text}");
    let found = answered(&store, "otlp").unwrap();
    let functions: Vec<&str> = found
        .frames
        .iter()
        .map(|frame| found.strings.get(frame.function))
        .collect();
    assert!(functions.contains(&"inner"), "{functions:?}");
    let labels: Vec<(&str, &str)> = (found.origins[0].labels.iter())
        .map(|&(key, value)| (found.strings.get(key), found.strings.get(value)))
        .collect();
    for wanted in [("host", "node-1"), ("service", "otlp"), ("zone", "eu")] {
        assert!(labels.contains(&wanted), "{labels:?}");
    }
    assert_eq!(server.get("/ready").0, 200);
    assert!(server.get("/").1.contains("profiles 3\n"));
    // Instructions are no part of a store.
    let query = format!("{}?service=otlp&from=-1h", store.display());
    let output = Command::new(profundo())
        .args(["report", &query, "annotate", "inner"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("a store keeps no addresses of functions with names"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_pushed_is_a_sentence() {
    let folder = Folder::new("exchange-refused");
    let file = recording(&folder);
    let server = Server::start(&folder.join("store"), &[]);
    let nowhere = format!("http://{}/none", server.address);
    for (to, options, code, words) in [
        ("ftp://a", &[][..], 2, "is no destination"),
        ("otlp://a", &["--header", "x"][..], 2, "write NAME:VALUE"),
        (
            "otlp://127.0.0.1:1",
            &["--timeout", "2"][..],
            1,
            "cannot reach",
        ),
        (&nowhere[..], &[][..], 1, "refuses it (404)"),
    ] {
        let (found, text) = push(&file, to, options);
        assert_eq!(found, Some(code), "{text}");
        assert!(text.contains(words) && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn a_server_that_ends_has_written_what_it_answered() {
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let folder = Folder::new("exchange-end");
        let store = folder.join("store");
        let spool = folder.join("spool");
        let spool = spool.to_str().unwrap();
        // A segment would be written in an hour.
        let options = ["--every", "3600", "--spool", spool];
        let server = Server::start(&store, &options);
        let mut taken = 0;
        for _ in 0..20 {
            let (status, text) = server.post("/pprof?service=api", "", &pprof(5));
            assert_eq!(status, 200, "{text}");
            taken += 50;
        }
        // A body that has not arrived yet is not taken.
        let mut half = TcpStream::connect(server.address).unwrap();
        half.write_all(b"POST /pprof HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\n\r\nhalf")
            .unwrap();
        let code = server.end(signal);
        if signal == libc::SIGTERM {
            assert_eq!(code, Some(0));
            assert_eq!(millis(&store, "api"), taken);
        }
        // What was taken before is written at the next start, once.
        let server = Server::start(&store, &options);
        wait_until("what was left", || millis(&store, "api") > 0);
        assert_eq!(server.end(libc::SIGTERM), Some(0));
        assert_eq!(millis(&store, "api"), taken, "signal {signal}");
    }
}

#[test]
fn a_store_that_is_away_is_waited_for_within_a_bound() {
    let folder = Folder::new("exchange-away");
    let store = folder.join("store");
    let spool = folder.join("spool");
    // No folder can be made below a file.
    fs::write(&store, "in the way").unwrap();
    let options = ["--spool", spool.to_str().unwrap(), "--spool-size", "1M"];
    let server = Server::start(&store, &options);
    let mut refused = None;
    let mut taken = 0;
    for round in 0..400 {
        // Stacks that are new each time take room.
        let text: String = (0..4000)
            .map(|at| format!("main;f{round}_{at} 1\n"))
            .collect();
        let (status, answer) = server.post("/ingest?name=api&format=folded", "", text.as_bytes());
        match status {
            200 => taken += 40_000,
            _ => {
                refused = Some((status, answer));
                break;
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    let (status, answer) = refused.expect("a refusal");
    assert_eq!(status, 503, "{answer}");
    assert!(
        answer.to_ascii_lowercase().contains("retry-after: "),
        "{answer}"
    );
    assert_eq!(server.get("/ready").0, 503);
    fs::remove_file(&store).unwrap();
    wait_until("room", || server.get("/ready").0 == 200);
    assert_eq!(server.end(libc::SIGTERM), Some(0));
    assert_eq!(millis(&store, "api"), taken);
}

/// Files of OpenTelemetry's own messages.
#[test]
fn otlp_in_json_is_taken_as_in_protobuf() {
    let folder = Folder::new("exchange-json");
    let store = folder.join("store");
    let server = Server::start(&store, &[]);
    let body = |name: &str| {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/import/otlp");
        fs::read(data.join(name)).unwrap()
    };
    let head = "Content-Type: application/json\r\n";
    let (status, answer) = server.post("/v1development/profiles", head, &body("cpu.json"));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("application/json") && answer.ends_with("\r\n\r\n{}"));
    wait_until("the segment", || millis(&store, "shop") > 0);
    let once = millis(&store, "shop");
    let (status, answer) = server.post("/v1development/profiles", "", &body("cpu.otlp"));
    assert_eq!(status, 200, "{answer}");
    wait_until("the other segment", || millis(&store, "shop") > once);
    assert_eq!(millis(&store, "shop"), 2 * once);
}

#[test]
fn bodies_that_are_wrong_are_refused() {
    let folder = Folder::new("exchange-wrong");
    let store = folder.join("store");
    let server = Server::start(&store, &["--max-body", "1M"]);
    let json = "Content-Type: application/json\r\n";
    let form = "Content-Type: multipart/form-data; boundary=x\r\n";
    let good = pprof(3);
    for (path, head, body, status) in [
        ("/pprof", "", &b"garbage"[..], 400),
        ("/pprof", "", &[][..], 400),
        ("/pprof", "", &good[..good.len() / 2], 400),
        ("/v1development/profiles", "", &[0xff; 100][..], 400),
        ("/v1development/profiles", json, b"[]", 400),
        (
            "/v1development/profiles",
            "Content-Encoding: br\r\n",
            b"",
            415,
        ),
        ("/push.v1.PusherService/Push", json, b"{\"series\": 7}", 400),
        ("/ingest?name=a", form, b"--x\r\nno end", 400),
        ("/ingest?name=a&format=jfr", "", b"", 415),
        ("/pprof", "", &vec![b'a'; 2_000_000][..], 413),
        ("/other", "", b"", 404),
    ] {
        let (found, answer) = server.post(path, head, body);
        assert_eq!(found, status, "{path} {answer}");
    }
    let (status, answer) = server.post("/pprof?service=good", "", &good);
    assert_eq!(status, 200, "{answer}");
    wait_until("the segment", || millis(&store, "good") == 30);
}

#[test]
fn clients_that_are_slow_or_many_do_not_hold_up_others() {
    let folder = Folder::new("exchange-many");
    let store = folder.join("store");
    let server = Server::start(&store, &[]);
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            let head = b"POST /pprof HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx";
            stream.write_all(head).unwrap();
            stream
        })
        .collect();
    let body = pprof(1);
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let (status, answer) = server.post("/pprof?service=many", "", &body);
                    assert_eq!(status, 200, "{answer}");
                }
            });
        }
    });
    wait_until("all segments", || millis(&store, "many") == 10_000);
    drop(slow);
    assert_eq!(server.end(libc::SIGTERM), Some(0));
}

#[test]
fn addresses_get_their_names_when_symbols_come() {
    let folder = Folder::new("exchange-symbols");
    let store = folder.join("store");
    let add = |file: &Path| {
        let output = Command::new(profundo())
            .args(["symbols", "add", "--to"])
            .arg(&store)
            .arg(file)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let text = folder.write("a.txt", "text");
    let (code, words) = add(&text);
    assert_eq!(code, Some(1));
    assert!(words.contains("is no ELF file"), "{words}");
    let source = "int work(int n) { return n * 3; }\nint main(void) { return work(7); }\n";
    let flags = ["-g", "-O0", "-Wl,--build-id"];
    let Some(program) = profundo_testing::compile_text("cc", &folder, "api.c", source, &flags)
    else {
        return skip("there is no compiler of C");
    };
    let (code, words) = add(&program);
    assert_eq!(code, Some(0), "{words}");
    let listed = Command::new(profundo())
        .args(["symbols", "list"])
        .arg(&store)
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.starts_with("api"), "{listed}");
    // An agent that samples from the kernel has sent addresses of the file, and its build id.
    let Some(address) = address_of(&program, "work") else {
        return skip("there is no nm");
    };
    let (_, build_id) = words.split_once('(').unwrap();
    let (build_id, _) = build_id.split_once(')').unwrap();
    let server = Server::start(&store, &[]);
    let body = pprof_of_addresses(
        build_id,
        &[address + 4, address_of(&program, "main").unwrap() + 8],
    );
    assert_eq!(server.post("/pprof?service=bare", "", &body).0, 200);
    wait_until("the segment", || millis(&store, "bare") > 0);
    let report = |what: &str| {
        let query = format!("{}?service=bare&from=-1h", store.display());
        let output = Command::new(profundo())
            .args(["report", &query])
            .args(what.split('='))
            .env("PROFUNDO_NO_CONFIG", "1")
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let functions = report("functions");
    assert!(
        functions.contains("work  ") && functions.contains("api.c:1"),
        "{functions}"
    );
    // The code of the function is in the file that was fetched for its name.
    if cfg!(target_arch = "x86_64") {
        let annotated = report("annotate=work");
        assert!(annotated.contains("%rbp"), "{annotated}");
    }
    let tree = report("tree");
    let (main, work) = (tree.find("main").unwrap(), tree.find("work").unwrap());
    assert!(main < work, "{tree}");
    assert!(!tree.contains("have no names"), "{tree}");
    // Without symbols, the note says what to do.
    let other = "0123456789abcdef0123456789abcdef01234567";
    let body = pprof_of_addresses(other, &[0x1234]);
    assert_eq!(server.post("/pprof?service=bare", "", &body).0, 200);
    wait_until("the second segment", || millis(&store, "bare") > 1000);
    let functions = report("functions");
    assert!(
        functions.contains("work  ")
            && functions.contains(other)
            && functions.contains("profundo symbols add"),
        "{functions}"
    );
}

/// The address of a function in its file.
fn address_of(program: &Path, function: &str) -> Option<u64> {
    let output = Command::new("nm").arg(program).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = (text.lines()).find(|line| line.ends_with(&format!(" T {function}")))?;
    u64::from_str_radix(line.split(' ').next()?, 16).ok()
}

/// A pprof of 100 samples of 10 ms on one stack, the function that ran first, which has addresses
/// in a file alone.
fn pprof_of_addresses(build_id: &str, addresses: &[u64]) -> Vec<u8> {
    fn varint(out: &mut Vec<u8>, mut left: u64) {
        while left > 127 {
            out.push(left as u8 | 128);
            left >>= 7;
        }
        out.push(left as u8);
    }
    fn number(out: &mut Vec<u8>, field: u64, value: u64) {
        varint(out, field << 3);
        varint(out, value);
    }
    fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
        varint(out, field << 3 | 2);
        varint(out, value.len() as u64);
        out.extend_from_slice(value);
    }
    let now = now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut out = Vec::new();
    for text in ["", "cpu", "nanoseconds", "/srv/api", build_id] {
        bytes(&mut out, 6, text.as_bytes());
    }
    let row = |fields: &[(u64, u64)]| {
        let mut row = Vec::new();
        for &(field, value) in fields {
            number(&mut row, field, value);
        }
        row
    };
    bytes(&mut out, 1, &row(&[(1, 1), (2, 2)]));
    bytes(&mut out, 11, &row(&[(1, 1), (2, 2)]));
    number(&mut out, 12, 10_000_000);
    number(
        &mut out,
        9,
        u64::try_from(now.as_nanos()).unwrap() - 2_000_000_000,
    );
    number(&mut out, 10, 1_000_000_000);
    let mapping = [(1, 1), (2, 0), (3, 1 << 40), (4, 0), (5, 3), (6, 4)];
    bytes(&mut out, 3, &row(&mapping));
    for (id, &address) in (1..).zip(addresses) {
        bytes(&mut out, 4, &row(&[(1, id), (2, 1), (3, address)]));
    }
    let stack: Vec<(u64, u64)> = (1..=addresses.len() as u64).map(|id| (1, id)).collect();
    for _ in 0..100 {
        let mut sample = row(&stack);
        number(&mut sample, 2, 10_000_000);
        bytes(&mut out, 2, &sample);
    }
    out
}

/// A call of gRPC by the client of Google, and of a Python with OpenTelemetry's messages: where
/// they are installed.
#[test]
fn an_exporter_of_opentelemetry_is_answered() {
    let modules = "import grpc, opentelemetry.proto.collector.profiles.v1development";
    let has = |python: &Path| {
        let output = Command::new(python).args(["-c", modules]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let named = std::env::var_os("PROFUNDO_E2E_OTEL_PYTHON").map(PathBuf::from);
    let known = pythons().iter().map(|python| python.path.clone());
    let Some(python) = named.into_iter().chain(known).find(|python| has(python)) else {
        return skip("no Python has grpcio and opentelemetry-proto");
    };
    let folder = Folder::new("exchange-grpc");
    let store = folder.join("store");
    let server = Server::start(&store, &[]);
    // What our own push sends is a message of theirs, and goes through their client.
    let otlp = folder.join("app.otlp");
    let mut out = fs::File::create(&otlp).unwrap();
    write(&profile(50), Format::OTLP, &Options::default(), &mut out).unwrap();
    let script = "
import grpc, sys
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as messages
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2_grpc as calls
request = messages.ExportProfilesServiceRequest.FromString(open(sys.argv[2], 'rb').read())
attributes = request.resource_profiles[0].resource.attributes
attributes[0].value.string_value = 'grpc'
stub = calls.ProfilesServiceStub(grpc.insecure_channel(sys.argv[1]))
stub.Export(request, timeout=30)
stub.Export(request, timeout=30, compression=grpc.Compression.Gzip)
call = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export'
try:
    grpc.insecure_channel(sys.argv[1]).unary_unary(call)(bytes([255, 255]), timeout=30)
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
else:
    raise AssertionError('garbage was taken')
";
    let output = Command::new(python)
        .args(["-c", script, &server.address.to_string()])
        .arg(&otlp)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    wait_until("both profiles", || millis(&store, "grpc") == 1000);
}
