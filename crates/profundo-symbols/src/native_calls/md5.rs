//! MD5: LLVM identifies functions and lists of files by its first eight bytes.

/// The first eight bytes of the hash, as a number.
pub(super) fn short(bytes: &[u8]) -> u64 {
    let [a, b, ..] = sum(bytes);
    u64::from(a) | u64::from(b) << 32
}

/// The rotations of each of the four rounds.
const TURNS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

fn sum(bytes: &[u8]) -> [u32; 4] {
    let mut state = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        add(&mut state, block);
    }
    // A one, zeros, and at the end of the last block the number of bits.
    let mut last = rest.to_vec();
    last.push(0x80);
    while last.len() % 64 != 56 {
        last.push(0);
    }
    last.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in last.as_chunks::<64>().0 {
        add(&mut state, block);
    }
    state
}

fn add(state: &mut [u32; 4], block: &[u8; 64]) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64_usize {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // The constants are the fractions of sines.
        let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let turned = a
            .wrapping_add(mixed)
            .wrapping_add(constant)
            .wrapping_add(words[at])
            .rotate_left(TURNS[step / 16][step % 4]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(turned));
    }
    for (sum, it) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_standard_says() {
        let hex = |text: &[u8]| -> String {
            let bytes = sum(text).map(u32::to_le_bytes);
            bytes
                .as_flattened()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        let long = [b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'8', b'9', b'0'].repeat(8);
        for (text, expected) in [
            (&b""[..], "d41d8cd98f00b204e9800998ecf8427e"),
            (b"abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                b"abcdefghijklmnopqrstuvwxyz",
                "c3fcd3d76192e4007dfb496cca67e13b",
            ),
            (&long, "57edf4a22be3c955ac49da2e2107b67a"),
        ] {
            assert_eq!(hex(text), expected);
        }
        assert_eq!(short(b"abc"), 0xb04f_d23c_9850_0190);
    }
}
