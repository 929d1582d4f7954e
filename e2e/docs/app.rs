//! Two instances of a generic function.

fn biggest<T: PartialOrd + Copy>(list: &[T]) -> T {
    let mut best = list[0];
    for &it in list {
        if it > best {
            best = it;
        }
    }
    best
}

fn main() {
    for _ in 0..10 {
        println!("{} {}", biggest(&[1, 3, 2]), biggest(&[0.5, 0.25, 0.75]));
    }
}
