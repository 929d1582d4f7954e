//! A store in a bucket: moto's server on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use object_store::aws::AmazonS3Builder;
use profundo_store::{Error, Folder, Joining, Limits, S3, Store, join, retain, sweep};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, ask, profile, put, sums, writer};
use crate::joining::plain_count;

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// `None`, with a word, where moto is not installed.
    fn start() -> Option<Self> {
        let python =
            std::env::var("PROFUNDO_STORE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let found = Command::new(&python)
            .args(["-c", "import moto.server, flask"])
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            profundo_testing::skip(&format!("{python} has no server of moto"));
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|one| one.local_addr())
            .ok()?
            .port();
        let child = Command::new(&python)
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto starts");
        let server = Self { child, port };
        let start = Instant::now();
        while server.make_bucket().is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "moto does not answer"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    fn make_bucket(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let head = "PUT /bucket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        match answer.starts_with("HTTP/1.1 200") {
            true => Ok(()),
            false => Err(std::io::Error::other(answer)),
        }
    }

    fn store(&self, prefix: &str) -> S3 {
        let settings = AmazonS3Builder::new()
            .with_endpoint(format!("http://127.0.0.1:{}", self.port))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_access_key_id("one")
            .with_secret_access_key("two");
        S3::new(&format!("s3://bucket/{prefix}"), settings).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_bucket_is_a_store() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = server.store("prod");
    assert_eq!(store.list("").unwrap(), []);
    store.put("a/one", b"12345").unwrap();
    assert!(store.put_new("a/two", b"x").unwrap());
    assert!(!store.put_new("a/two", b"yy").unwrap());
    assert_eq!(&store.read("a/one", 1..3).unwrap()[..], b"23");
    assert!(matches!(
        store.read("a/none", 0..1),
        Err(Error::Gone { .. })
    ));
    assert_eq!(store.list("a/").unwrap().len(), 2);
    store.delete("a/one").unwrap();
    store.delete("a/one").unwrap();
    store.delete("a/two").unwrap();

    let folder = Temporary::new("store-s3");
    let local = Folder::new(folder.path());
    for host in ["h1", "h2"] {
        let given = profile(NINE, &["main;a", "main;b", "main;a"]);
        put(&store, &mut writer("api", host), &given);
        put(&local, &mut writer("api", host), &given);
    }
    let wanted = sums(&ask(&local, "service=api").unwrap());
    assert_eq!(sums(&ask(&store, "service=api").unwrap()), wanted);
    // Another prefix is another store.
    assert_eq!(ask(&server.store("test"), "").unwrap().sample_count(), 0);
    assert_eq!(
        join(&store, &Joining::at(NINE + 2 * HOUR))
            .unwrap()
            .segments,
        2
    );
    assert!(sweep(&store).unwrap() > 0);
    assert_eq!(
        sums(&ask(&store, "service=api&host=h1&host=h2").unwrap()),
        wanted
    );
    assert_eq!(plain_count(&store), 6);
    retain(
        &store,
        &Limits {
            age: Some(HOUR),
            bytes: None,
        },
        NINE + 9 * HOUR,
    )
    .unwrap();
    assert_eq!(store.list("").unwrap(), []);
}

#[test]
fn a_server_that_is_away_is_told_in_time() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let settings = AmazonS3Builder::new()
        .with_endpoint(format!("http://127.0.0.1:{port}"))
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("one")
        .with_secret_access_key("two");
    let store = S3::new("s3://bucket/prod", settings).unwrap();
    let start = Instant::now();
    let error = store.put("a", b"1").unwrap_err();
    assert!(error.is_passing(), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60));
}
