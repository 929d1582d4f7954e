fn twice<T: Copy + std::ops::Add<Output = T>>(it: T) -> T {
    it + it
}

fn main() {
    for n in 0..5 {
        if n > 3 {
            twice(n);
        }
    }
    twice(1.0);
}
