//! A query that a cluster answers: one request over HTTP to the gateway of `profundo-fleet`.
//!
//! The answer is a `.profundo` file, the same as [`answer`](crate::answer) would give here. It has
//! a checksum, so that half an answer is none.
//!
//! ```text
//! POST /v1/profile HTTP/1.1                      HTTP/1.1 200 OK
//!                                                profundo-sum: 16 hexadecimal digits (XXH3_64)
//! the query as text, with
//! times that are not before now                  the file
//! ```
//!
//! Any other status has a sentence as its body.

use std::time::Duration;

use twox_hash::XxHash3_64;

use crate::{Error, Query};

/// The path of the request. Its first part is the version of what goes over the network.
pub const PATH: &str = "/v1/profile";
/// The header with the checksum of the answer.
pub const SUM: &str = "profundo-sum";

/// The number of times that a gateway is asked which goes away before it answers.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// The longest answer that is taken, in bytes.
const LONGEST: u64 = 4 << 30;

/// The `.profundo` file that answers a query. `cluster` is the gateway's address, such as
/// `http://10.0.0.1:50080`.
pub fn ask(cluster: &str, query: &Query) -> Result<Vec<u8>, Error> {
    let text = with_whole_path(query).to_string();
    // It fails where the caller has chosen another one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| failed(cluster, &error))?;
    runtime.block_on(async {
        let mut attempt = 1;
        loop {
            match request(cluster, &text).await {
                Err((_, true)) if attempt < ATTEMPTS => {}
                Err((error, _)) => return Err(error),
                Ok(file) => return Ok(file),
            }
            attempt += 1;
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// The checksum of an answer.
pub fn checksum(file: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(file))
}

/// The query with the whole path of its folder, as the gateway works in another one.
fn with_whole_path(query: &Query) -> Query {
    let mut query = query.clone();
    if !query.place.starts_with("s3://")
        && let Ok(whole) = std::path::absolute(&query.place)
    {
        query.place = whole.display().to_string();
    }
    query
}

/// One request. The truth says that another attempt may succeed.
async fn request(cluster: &str, text: &str) -> Result<Vec<u8>, (Error, bool)> {
    let passing = |error: reqwest::Error| (failed(cluster, &error), !error.is_builder());
    let wrong = |why: &str| {
        let address = cluster.to_owned();
        let why = why.to_owned();
        (Error::Cluster { address, why }, false)
    };
    let client = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(5))
        .tcp_keepalive(Duration::from_secs(10))
        .build()
        .map_err(passing)?;
    let asked = client
        .post(format!("{}{PATH}", cluster.trim_end_matches('/')))
        .body(text.to_owned());
    let mut answer = asked.send().await.map_err(passing)?;
    let status = answer.status();
    if answer
        .content_length()
        .is_some_and(|length| length > LONGEST)
    {
        return Err(wrong("the answer is too long"));
    }
    let sum = answer.headers().get(SUM).cloned();
    let mut file: Vec<u8> = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(passing)? {
        if file.len() as u64 + part.len() as u64 > LONGEST {
            return Err(wrong("the answer is too long"));
        }
        file.extend_from_slice(&part);
    }
    if !status.is_success() {
        let sentence = String::from_utf8_lossy(&file);
        return Err(wrong(match sentence.trim() {
            "" => status.as_str(),
            sentence => sentence,
        }));
    }
    match sum {
        Some(sum) if sum.as_bytes() == checksum(&file).as_bytes() => Ok(file),
        Some(_) => Err(wrong("the answer is damaged")),
        None => Err(wrong("this is no gateway of profundo-fleet")),
    }
}

/// The innermost reason, which says most.
fn failed(cluster: &str, error: &dyn std::error::Error) -> Error {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    Error::Cluster {
        address: cluster.to_owned(),
        why: innermost.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    const NINE: i64 = 1_795_856_400_000;

    /// Answers one request after the other with these texts, and gives back the requests. An empty
    /// text ends the connection without an answer.
    fn gateway(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let answered = answers.into_iter().map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut part = [0; 1024];
                // The question of the tests is the last thing of a request.
                while !request.ends_with(b"by=thread") {
                    let count = stream.read(&mut part).unwrap();
                    assert!(count > 0, "the request is cut");
                    request.extend_from_slice(&part[..count]);
                }
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8(request).unwrap()
            });
            answered.collect()
        });
        (address, answering)
    }

    fn answer(status: &str, sum: Option<&str>, body: &str, length: usize) -> String {
        let sum = sum
            .map(|sum| format!("{SUM}: {sum}\r\n"))
            .unwrap_or_default();
        format!(
            "HTTP/1.1 {status}\r\n{sum}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    fn query(place: &str) -> Query {
        Query::parse(&format!("{place}?service=a"), NINE).unwrap()
    }

    fn why(address: &str) -> String {
        let error = ask(address, &query("/srv/f")).unwrap_err().to_string();
        let start = format!("no answer from the cluster {address}: ");
        error.strip_prefix(&start).expect(&error).to_owned()
    }

    #[test]
    fn a_whole_answer_is_taken() {
        let sum = checksum(b"file");
        let whole = answer("200 OK", Some(&sum), "file", 4);
        let (address, answering) = gateway(vec![whole.clone(), whole]);
        let file = ask(&format!("{address}/"), &query("/srv/f")).unwrap();
        assert_eq!(file, b"file");
        ask(&address, &query("f")).unwrap();
        let asked = answering.join().unwrap();
        assert!(
            asked[0].starts_with("POST /v1/profile HTTP/1.1\r\n"),
            "{}",
            asked[0]
        );
        let wanted = format!("\r\n\r\n{}", query("/srv/f"));
        assert!(asked[0].ends_with(&wanted), "{}", asked[0]);
        let folder = std::env::current_dir().unwrap();
        let wanted = format!("\r\n\r\n{}/{}", folder.display(), query("f"));
        assert!(asked[1].ends_with(&wanted), "{}", asked[1]);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let sum = checksum(b"file");
        let (address, answering) = gateway(vec![
            answer("200 OK", Some(&sum), "fire", 4),
            answer("200 OK", None, "file", 4),
            answer(
                "503 Service Unavailable",
                None,
                "the scheduler is away\n",
                22,
            ),
            answer("404 Not Found", None, "", 0),
        ]);
        assert_eq!(why(&address), "the answer is damaged");
        assert_eq!(why(&address), "this is no gateway of profundo-fleet");
        assert_eq!(why(&address), "the scheduler is away");
        assert_eq!(why(&address), "404");
        answering.join().unwrap();
    }

    #[test]
    fn a_gateway_that_goes_away_is_asked_again() {
        let sum = checksum(b"file");
        let cut = answer("200 OK", Some(&sum), "fi", 4);
        let (address, answering) = gateway(vec![
            String::new(),
            cut,
            answer("200 OK", Some(&sum), "file", 4),
        ]);
        let file = ask(&address, &query("/srv/f")).unwrap();
        assert_eq!(file, b"file");
        assert_eq!(answering.join().unwrap().len(), 3);
    }

    #[test]
    fn where_there_is_no_gateway_the_reason_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        assert!(why(&address).starts_with("Connection refused"));
        let error = ask("nowhere", &query("/srv/f")).unwrap_err().to_string();
        assert!(
            error.starts_with("no answer from the cluster nowhere: "),
            "{error}"
        );
    }
}
