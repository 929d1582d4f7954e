//! Who may ask: only a page that was opened by its address.

use std::time::Duration;

use profundo_testing::{Folder, wait_until};

use crate::client::{Served, record};

fn served(name: &str) -> (Folder, Served) {
    let folder = Folder::new(name);
    let path = folder.join("app.profundo");
    record(&path, "main;work 7\nmain;rest 3");
    let served = Served::new(&[path]);
    (folder, served)
}

#[test]
fn the_page_and_its_questions_are_answered() {
    let (_folder, served) = served("view-page");
    let page = served.get(&format!("/{}/", served.token()), "");
    assert_eq!(page.status, 200);
    assert!(page.body.starts_with("<!doctype html>"));
    for line in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(line), "{line}: {}", page.head);
    }
    assert!(!page.head.contains("access-control-allow-origin"));
    let about = served.ask("about");
    assert_eq!(about.status, 200);
    assert_eq!(about.json()["recordings"][0]["name"], "app.profundo");
    assert_eq!(served.ask("flame").json()["total_count"], 10);
}

#[test]
fn strangers_are_refused() {
    let (_folder, served) = served("view-strangers");
    let (token, host) = (served.token().to_owned(), served.host().to_owned());
    let about = format!("/{token}/api/about");
    let mut wrong = token.clone();
    wrong.replace_range(..1, if token.starts_with('0') { "1" } else { "0" });
    for (path, status) in [
        (format!("/{wrong}/api/about"), 404),
        (format!("/{wrong}/"), 404),
        ("/".to_owned(), 404),
        ("/api/about".to_owned(), 404),
        (format!("/{token}/../{token}/api/about"), 404),
        (format!("/{token}/api/../../etc/passwd"), 404),
        (format!("/{token}/etc/passwd"), 404),
        (format!("/{token}/api/%2e%2e%2fetc%2fpasswd"), 404),
        (format!("/{token}/api/nothing"), 404),
        (format!("/{token}/api/report?what=nothing"), 400),
        (format!("/{token}/api/report?filter=%ff"), 400),
    ] {
        let answer = served.get(&path, "");
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    for (lines, status) in [
        ("Origin: http://evil.example\r\n".to_owned(), 403),
        ("Origin: null\r\n".to_owned(), 403),
        (format!("Origin: https://{host}\r\n"), 403),
        ("Sec-Fetch-Site: cross-site\r\n".to_owned(), 403),
        (format!("Origin: http://{host}\r\n"), 200),
    ] {
        assert_eq!(served.get(&about, &lines).status, status, "{lines}");
    }
    for host in ["evil.example", "127.0.0.1", "localhost", "[::1]:80"] {
        let request = format!("GET {about} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(served.send(&request).status, 421, "{host}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"] {
        let request = format!(
            "{method} {about} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(served.send(&request).status, 405, "{method}");
    }
    // It still answers.
    assert_eq!(served.ask("about").status, 200);
}

#[test]
fn broken_requests_are_refused() {
    let (_folder, served) = served("view-broken");
    let long = "x".repeat(1 << 20);
    let (token, host) = (served.token(), served.host());
    for request in [
        format!("GET /{token}/api/search?text={long} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("GET /{token}/api/about HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n\r\n"),
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
    ] {
        let status = served.send(&request).status;
        assert!(matches!(status, 0 | 400..500), "{status}");
    }
    // One that a person can type is answered.
    let some = "x".repeat(20_000);
    assert_eq!(served.ask(&format!("search?text={some}")).status, 200);
}

#[test]
fn two_pages_are_served_at_once() {
    let (_folder, served) = served("view-two");
    let (mut one, mut other) = (served.events(), served.events());
    assert_eq!(one.version(), other.version());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for question in ["about", "flame", "report?what=lines", "search?text=work"] {
                    assert_eq!(served.ask(question).status, 200, "{question}");
                }
            });
        }
    });
}

#[test]
fn the_server_ends_after_its_page() {
    let folder = Folder::new("view-end");
    let path = folder.join("app.profundo");
    record(&path, "main 1");
    let soon = Duration::from_millis(300);
    let served = Served::patient(std::slice::from_ref(&path), Duration::from_secs(3600), soon);
    let mut page = served.events();
    page.version();
    // Time is the subject: it stays for longer than the page would have to be closed.
    std::thread::sleep(3 * soon);
    assert!(!served.has_ended());
    drop(page);
    wait_until("the server ends", || served.has_ended());
    let unopened = Served::patient(&[path], soon, Duration::from_secs(3600));
    wait_until("the server ends without a page", || unopened.has_ended());
}
