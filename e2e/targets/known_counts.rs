//! A program in which rustc counts, and of which it is known how often each function is called.

use std::fmt::Display;
use std::process::Command;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    fib(n - 1) + fib(n - 2)
}

fn biggest<T: PartialOrd + Copy>(list: &[T]) -> T {
    let mut best = list[0];
    for &it in list {
        if it > best {
            best = it;
        }
    }
    best
}

struct Dropped(u32);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0 += 1;
    }
}

trait Speaks {
    fn speak(&self) -> String;
}

impl<T: Display> Speaks for T {
    fn speak(&self) -> String {
        format!("<{self}>")
    }
}

fn kind(n: u32) -> &'static str {
    match n % 5 {
        0 => "none",
        1 | 2 if n > 10 => "many",
        1 => "one",
        _ => {
            let mut left = n;
            while left > 3 {
                left -= 3;
            }
            if left == 1 { "left" } else { "some" }
        }
    }
}

fn fails(n: u32) -> Result<u32, String> {
    let found = if n % 3 == 0 { Err("third") } else { Ok(n) }?;
    Ok(found + 1)
}

fn panics(n: u32) {
    assert!(n < 3, "too many");
}

fn in_child() {
    for it in 0..7 {
        kind(it);
    }
}

fn main() {
    let mut words = std::env::args();
    let own = words.next().unwrap();
    let what = words.next();
    match what.as_deref() {
        Some("child") => return in_child(),
        Some("abort") => {
            in_child();
            std::process::abort();
        }
        _ => {}
    }
    let mut said = fib(15).to_string();
    for it in 0..10 {
        said += &biggest(&[1, 5, it]).to_string();
        said += &biggest(&[1.0, 0.5, f64::from(it)]).to_string();
    }
    for it in 0..30 {
        let _dropped = Dropped(it);
        said += kind(it);
        said += &fails(it).map_or_else(|why| why, |it| it.speak());
    }
    said += &"a".speak();
    let odd = (0..99).filter(|it| it % 2 == 1).count();
    std::panic::set_hook(Box::new(|_| {}));
    for it in 0..5 {
        let _ = std::panic::catch_unwind(|| panics(it));
    }
    let thread = std::thread::spawn(|| fib(5));
    said += &thread.join().unwrap().to_string();
    let children: &[&str] = if what.is_some() { &[] } else { &["child", "child", "abort"] };
    for what in children {
        let _ = Command::new(&own).arg(what).status();
    }
    println!("{said} {odd}");
    std::process::exit(3);
}
