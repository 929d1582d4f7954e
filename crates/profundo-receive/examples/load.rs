//! A server, and clients that push to it as fast as it answers.
//!
//! ```text
//! load serve FOLDER [ADDRESS]
//! load push ADDRESS SECONDS CLIENTS KILOBYTES
//! ```
//!
//! Each client has a connection of its own and is one of 20 services. A body is a gzipped pprof of
//! this size: Go's CPU time of a second, with stacks of 15 to 45 functions.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

const SERVICES: usize = 20;
/// Bodies of each service that are different.
const BODIES: usize = 40;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", folder] => serve(folder, "127.0.0.1:4040"),
        ["serve", folder, address] => serve(folder, address),
        ["push", address, seconds, clients, size] => push(
            address,
            Duration::from_secs(seconds.parse().expect("seconds")),
            clients.parse().expect("a number of clients"),
            size.parse::<usize>().expect("kilobytes") * 1000,
        ),
        _ => {
            let mut out = std::io::stderr();
            let _ = writeln!(
                out,
                "load serve FOLDER [ADDRESS] | push ADDRESS SECONDS CLIENTS KB"
            );
            std::process::exit(2);
        }
    }
}

fn serve(folder: &str, address: &str) {
    let settings = profundo_receive::Settings {
        listen: address.parse().expect("an address"),
        store: Box::new(profundo_store::Folder::new(format!("{folder}/store"))),
        spool: format!("{folder}/spool").into(),
        host: "bench".to_owned(),
        segment: Duration::from_secs(10),
        limits: profundo_receive::Limits::default(),
        say: Arc::new(|line| _ = writeln!(std::io::stderr(), "{line}")),
    };
    let server = profundo_receive::Server::listen(settings).expect("a server");
    let waiting = server.serve().expect("the end");
    let _ = writeln!(std::io::stderr(), "{waiting} segments wait");
}

fn push(address: &str, time: Duration, clients: usize, size: usize) {
    let bodies: Vec<Vec<Vec<u8>>> = (0..SERVICES).map(|service| bodies(service, size)).collect();
    let all: usize = bodies.iter().flatten().map(Vec::len).sum();
    let count = SERVICES * BODIES;
    say(&format!("{} bytes a body", all / count));
    let (taken, refused, bytes) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let slowest = AtomicU64::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..clients {
            let bodies = &bodies[client % SERVICES];
            let (taken, refused, bytes) = (&taken, &refused, &bytes);
            let slowest = &slowest;
            scope.spawn(move || {
                let stream = TcpStream::connect(address).expect("a connection");
                stream.set_nodelay(true).expect("an option");
                let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
                let mut stream = stream;
                let mut request = Vec::new();
                let mut next = client;
                while begin.elapsed() < time {
                    let body = &bodies[next % BODIES];
                    next += 1;
                    request.clear();
                    let service = client % SERVICES;
                    let head = format!(
                        "POST /ingest?name=service-{service:02}%7Bhostname%3Dnode-{client}%7D\
                         &format=pprof&spyName=gospy HTTP/1.1\r\nHost: {address}\r\n\
                         Content-Length: {}\r\n\r\n",
                        body.len()
                    );
                    request.extend_from_slice(head.as_bytes());
                    request.extend_from_slice(body);
                    let sent = Instant::now();
                    stream.write_all(&request).expect("a request");
                    let status = answer(&mut reader);
                    let took = sent.elapsed().as_micros() as u64;
                    slowest.fetch_max(took, Ordering::Relaxed);
                    if status == 200 {
                        taken.fetch_add(1, Ordering::Relaxed);
                        bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
                    } else {
                        refused.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
            });
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    let taken = taken.into_inner();
    say(&format!(
        "{taken} taken in {seconds:.1} s: {:.0} a second, {:.1} MB a second; {} refused; \
         the slowest took {} ms",
        taken as f64 / seconds,
        bytes.into_inner() as f64 / 1e6 / seconds,
        refused.into_inner(),
        slowest.into_inner() / 1000,
    ));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The status of an answer, which is read to its end.
fn answer(reader: &mut BufReader<TcpStream>) -> u16 {
    let (mut status, mut length) = (0, 0);
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).expect("an answer");
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        let lower = text.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().expect("a status");
        }
        if let Some(rest) = lower.strip_prefix("content-length: ") {
            length = rest.parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    status
}

/// Numbers that are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// The bodies of a service: the number of samples is raised until they are as large as wanted.
fn bodies(service: usize, size: usize) -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + service as u64);
    // The stacks that the service has.
    let stacks: Vec<Vec<u64>> = (0..2000)
        .map(|_| {
            let depth = 15 + random.below(30);
            let (mut stack, mut at) = (Vec::new(), random.below(8));
            for _ in 0..depth {
                stack.push(at);
                // Functions near the root are few, and each calls a few others.
                at = (at * 3 + 1 + random.below(3)) % 600;
            }
            stack
        })
        .collect();
    let mut samples = 50;
    loop {
        let body = pprof(service, &stacks, samples, &mut random);
        if body.len() >= size {
            break;
        }
        samples = (samples * size / body.len()).max(samples + 5);
    }
    say_once(service, samples);
    (0..BODIES)
        .map(|_| pprof(service, &stacks, samples, &mut random))
        .collect()
}

fn say_once(service: usize, samples: usize) {
    if service == 0 {
        say(&format!("{samples} samples a body"));
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn number(out: &mut Vec<u8>, field: u64, number: u64) {
    varint(out, field << 3);
    varint(out, number);
}

fn framed(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn pprof(service: usize, stacks: &[Vec<u64>], samples: usize, random: &mut Random) -> Vec<u8> {
    const MODULES: [&str; 6] = ["handler", "storage", "codec", "auth", "index", "runtime"];
    let mut message = Vec::new();
    let mut strings: Vec<String> = Vec::new();
    let mut known: HashMap<String, u64> = HashMap::new();
    let mut text = |text: String| {
        let next = known.len() as u64;
        *known.entry(text.clone()).or_insert_with(|| {
            strings.push(text);
            next
        })
    };
    text(String::new());
    for (name, unit) in [("samples", "count"), ("cpu", "nanoseconds")] {
        let mut value = Vec::new();
        number(&mut value, 1, text(name.to_owned()));
        number(&mut value, 2, text(unit.to_owned()));
        framed(&mut message, 1, &value);
    }
    let mut locations: HashMap<u64, u64> = HashMap::new();
    let mut order = Vec::new();
    for _ in 0..samples {
        let stack = &stacks[random.below(stacks.len() as u64) as usize];
        let mut ids = Vec::new();
        for &function in stack.iter().rev() {
            let next = locations.len() as u64 + 1;
            let id = *locations.entry(function).or_insert_with(|| {
                order.push(function);
                next
            });
            varint(&mut ids, id);
        }
        let count = 1 + random.below(5);
        let mut values = Vec::new();
        varint(&mut values, count);
        varint(&mut values, count * 10_000_000);
        let mut sample = Vec::new();
        framed(&mut sample, 1, &ids);
        framed(&mut sample, 2, &values);
        framed(&mut message, 2, &sample);
    }
    let mut mapping = Vec::new();
    number(&mut mapping, 1, 1);
    number(&mut mapping, 2, 0x40_0000);
    number(&mut mapping, 3, 0x200_0000);
    number(&mut mapping, 5, text(format!("/app/service-{service:02}")));
    framed(&mut message, 3, &mapping);
    for (at, &function) in order.iter().enumerate() {
        let id = at as u64 + 1;
        let module = MODULES[function as usize % MODULES.len()];
        let name = format!(
            "github.com/acme/platform/{module}.(*Worker{}).Process{function}",
            function % 37
        );
        let mut line = Vec::new();
        number(&mut line, 1, id);
        number(&mut line, 2, 10 + function);
        let mut location = Vec::new();
        number(&mut location, 1, id);
        number(&mut location, 2, 1);
        number(&mut location, 3, 0x40_0000 + function * 97);
        framed(&mut location, 4, &line);
        framed(&mut message, 4, &location);
        let mut of = Vec::new();
        number(&mut of, 1, id);
        number(&mut of, 2, text(name.clone()));
        number(&mut of, 3, text(name));
        number(
            &mut of,
            4,
            text(format!(
                "/src/platform/{module}/worker_{}.go",
                function % 37
            )),
        );
        framed(&mut message, 5, &of);
    }
    let mut period = Vec::new();
    number(&mut period, 1, text("cpu".to_owned()));
    number(&mut period, 2, text("nanoseconds".to_owned()));
    for text in &strings {
        framed(&mut message, 6, text.as_bytes());
    }
    framed(&mut message, 11, &period);
    number(&mut message, 12, 10_000_000);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&message).expect("memory");
    packed.finish().expect("memory")
}
